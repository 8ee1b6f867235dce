//! What open-weight models, whose truth is public, teach: the law of prices, and how good estimates are.

pub mod prices;
pub mod validation;
