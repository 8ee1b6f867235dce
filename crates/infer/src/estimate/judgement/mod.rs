//! Judgements of an answer on itself: conflicts, warnings and the headline.

pub(crate) mod conflict;
pub mod headline;
pub(crate) mod impossible_speed;
pub(crate) mod model_check;
pub mod published;
pub mod warnings;
