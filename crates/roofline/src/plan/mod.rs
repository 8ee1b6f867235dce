//! `/plan`: the layouts that serve a load within limits on latency, ranked by cost.
//!
//! Pure: a function from the text of a request to an answer that serialises. `forward` calls the forward model; the
//! queue model is in `queue`.
//!
//! ```
//! use unroof_roofline::plan::{PlanItem, plan};
//! use unroof_roofline::reference::FigureInterval;
//!
//! let answer = plan(br#"{"model": "DeepSeek-V3", "machine": "h800", "load": {"requests_per_second": 10},
//!     "limits": {"time_per_output_token_seconds": 0.05}}"#)?;
//! let best = &answer.plans[0];
//! assert!(best.time_per_output_token.at_percentile_seconds.0 <= 0.05 && best.requests_per_second >= 10.0);
//! // Ranked by what they cost at the pessimistic end of the interval.
//! let most = |plan: &PlanItem| FigureInterval::find(&plan.intervals, "cost.usd_per_mtok").unwrap().high_80;
//! assert!(answer.plans.iter().all(|plan| most(plan) >= most(best)));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod accelerators;
mod answer;
mod assemble;
mod binding;
mod engine_flags;
mod front;
mod grid;
mod nearest;
pub mod question;
mod search;
mod sensitivity;
mod series;
pub(crate) mod serving;
mod sources;

use crate::plan::question::request::{Question, read_questions};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::input::{RequestError, read};

pub use self::answer::{
    CheapestTier, DayItem, EngineFlag, FirstTokenItem, FlaggedUnits, FrontItem, LoadItem,
    MoneyItem, NearestItem, OffloadItem, Offloaded, PerTokenItem, PlanAnswer, PlanItem, PlanPoint,
    PlannedAccelerator, PoolItem, PowerItem, SearchedItem, SensitivityItem, ServingEngine,
    ServingKind, SourceItem, SplitItem,
};
pub use self::grid::Layout;

/// Answers a planning request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn plan(text: &[u8]) -> Result<PlanAnswer, RequestError> {
    let planning = read_plan(text)?;
    let answer = planning.answer(&CancelToken::default());
    Ok(answer.expect("nothing cancels it"))
}

/// A parsed request of `/plan`.
#[derive(Debug)]
pub struct Planning(Vec<Question>);

/// Reads a planning request.
///
/// # Errors
/// [`RequestError`] if the text is not JSON or not a valid request.
pub fn read_plan(text: &[u8]) -> Result<Planning, RequestError> {
    read(text, read_questions).map(Planning)
}

impl Planning {
    /// Layouts that are tried, each as often as a search tries it: the plans, the front and the sensitivity take as long as eight
    /// points of the grid, and a further accelerator as one. One with a limit on the time to the first token, which is solved for
    /// each layout, counts as four.
    #[must_use]
    pub fn layouts_tried(&self) -> usize {
        let whole = |question| 8 * search::layouts(question) + series::layouts(question);
        let dearest = self.0.iter().map(whole).max().unwrap_or(0);
        let compared: usize = self.0.iter().skip(1).map(search::layouts).sum();
        let has_limit = (self.0.iter()).any(|question| question.limits.first_token_s.is_some());
        let weight = if has_limit { 4 } else { 1 };
        let prompts = self
            .0
            .iter()
            .map(|question| question.load.prompts().count());
        // A pass of each kind of prompt is computed for a unit.
        let weight = weight * (1 + prompts.max().unwrap_or(0) / 32);
        weight * (dearest + compared)
    }

    /// Computes the answer to the request.
    ///
    /// # Errors
    /// The work is cancelled.
    pub fn answer(&self, wanted: &CancelToken) -> Result<PlanAnswer, Cancelled> {
        match &self.0[..] {
            [question] => assemble::answer(question, wanted),
            all => accelerators::answer(all, wanted),
        }
    }
}
