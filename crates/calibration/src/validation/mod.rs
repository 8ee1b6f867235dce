//! The joint estimate against models with published values, each scored by a calibration that has not seen it: in four
//! settings, by whose sheets it is estimated from.

mod board;
mod estimate;
mod published;
mod readings;
mod ridge;
mod rows;
mod score;
mod scored;
mod setting;
mod validate;

pub use board::{Board, DecisionScores, Periods, board};
pub use estimate::Shown;
pub use readings::ReadingScore;
pub use rows::{RivalRow, rival_rows};
pub use score::{Bootstrap, Outcome, Score};
pub use scored::scored_models;
pub use validate::{By, ModelOutcome, Scored, Validation, validate};
