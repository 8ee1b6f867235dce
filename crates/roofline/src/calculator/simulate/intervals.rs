//! Intervals of a simulation's figures.

use super::Question;
use super::answer::{Decode, Prefill};
use crate::forward::{Overheads, Spread};
use crate::reference::{FigureInterval, Predicted, TimeRange, fitted_attainment};

impl Question {
    /// Errors of what is predicted of these chips, or of one's own engine on them; none of the bare rooflines.
    fn time_range(&self, is_decode: bool) -> Option<TimeRange> {
        if self.setup.efficiency.overheads == Overheads::NONE {
            return None;
        }
        let hardware = &self.setup.hardware;
        let of = Predicted {
            has_experts: self.setup.model.architecture.experts.is_some(),
            distributes_experts: hardware.spread == Spread::Experts,
        };
        let Some(learned) = &self.setup.learned else {
            return fitted_attainment()
                .time_range(of, &hardware.row.generation)
                .copied();
        };
        let load = &self.load;
        Some(learned.time_range(of, |efficiency| {
            let serving = self.setup.serving_at(efficiency, load.speculation);
            let pass = if is_decode {
                serving.decode(load.batch, load.context_tokens)
            } else {
                serving.prefill(load.prompts_per_pass, self.prompt())
            };
            pass.total.0
        }))
    }

    /// The generation of the chips, where none of it was measured.
    pub(super) fn unmeasured_generation(&self) -> Option<&'static str> {
        let range = self.time_range(true)?;
        (!range.was_measured).then_some(self.setup.hardware.row.generation.as_str())
    }
}

/// Intervals of times, speeds and costs; none of the bare rooflines, which are several times too fast.
pub(super) fn intervals(
    question: &Question,
    decode: &Decode,
    prefill: &Prefill,
) -> Vec<FigureInterval> {
    let (Some(of_decode), Some(of_prefill)) =
        (question.time_range(true), question.time_range(false))
    else {
        return Vec::new();
    };
    let mut intervals = vec![
        of_decode.of_time("decode.time.total_seconds", decode.time.total_seconds.0),
        of_decode.of_speed(
            "decode.tokens_per_second_per_user",
            decode.tokens_per_second_per_user,
        ),
        of_decode.of_speed(
            "decode.tokens_per_second_per_chip",
            decode.tokens_per_second_per_chip,
        ),
        of_decode.of_speed("decode.tokens_per_second", decode.tokens_per_second),
        of_prefill.of_time("prefill.time.total_seconds", prefill.time.total_seconds.0),
        of_prefill.of_speed(
            "prefill.tokens_per_second_per_chip",
            prefill.tokens_per_second_per_chip,
        ),
        of_prefill.of_speed("prefill.tokens_per_second", prefill.tokens_per_second),
        of_prefill.of_time(
            "prefill.time_to_first_token_seconds",
            prefill.time_to_first_token_seconds.0,
        ),
    ];
    let of_cost =
        |range: &TimeRange, figure, cost: Option<f64>| cost.map(|cost| range.of_time(figure, cost));
    let costs = [
        of_cost(
            &of_decode,
            "decode.cost_usd_per_mtok",
            decode.cost_usd_per_mtok,
        ),
        of_cost(
            &of_prefill,
            "prefill.cost_usd_per_mtok",
            prefill.cost_usd_per_mtok,
        ),
    ];
    intervals.extend(costs.into_iter().flatten());
    intervals
}
