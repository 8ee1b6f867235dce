//! Calibration from open-weight models, whose figures are public: the law of prices, and the scores of estimates.

pub mod cost_law;
pub mod knowledge;
pub mod prices;
pub mod validation;
