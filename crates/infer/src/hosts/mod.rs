//! Prices of open models at their hosts, over the cost of serving them by the engine.

pub mod engine_cost;
pub mod league;
pub mod usual_price;
