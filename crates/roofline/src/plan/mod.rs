//! `/plan`: the layouts that serve a load within limits on latency, ranked by cost.
//!
//! Pure: a function from the text of a request to an answer that serialises. `forward` calls the forward model; the
//! queue model is in `queue`.

mod answer;
mod assemble;
mod binding;
mod front;
mod grid;
pub mod question;
mod search;
mod sensitivity;
mod series;
pub(crate) mod serving;

use self::search::Search;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::{Question, read_question};
use unroof_base::input::{RequestError, read};

pub use self::answer::{
    CheapestTier, DayItem, FirstTokenItem, FrontItem, LoadItem, MoneyItem, OffloadItem, Offloaded,
    PerTokenItem, PlanAnswer, PlanItem, PlanPoint, PoolItem, PowerItem, SearchedItem,
    SensitivityItem, ServingKind, SplitItem,
};
pub use self::grid::Layout;

/// Answers a planning request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn plan(text: &[u8]) -> Result<PlanAnswer, RequestError> {
    read(text, read_question).map(|question| answered(&question))
}

fn answered(question: &Question) -> PlanAnswer {
    let goal = Goal::of(question);
    let search = Search::new(question);
    assemble::answer(question, &search, &goal)
}
