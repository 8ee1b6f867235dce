//! Acceptance of drafted tokens, as published for speculative decoding.
//!
//! ```
//! use unroof_roofline::reference::{DraftDomain, token_acceptance_of};
//!
//! let chance = token_acceptance_of;
//! assert!(chance(DraftDomain::Code) > chance(DraftDomain::Chat));
//! assert!((0.4..0.95).contains(&chance(DraftDomain::Mixed)));
//! ```

use std::sync::LazyLock;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::forward::token_acceptance;

embedded_tables! {
    /// Published tokens per step of speculative decoding, by what was written.
    draft_acceptances: DraftAcceptance = "draft_acceptance.csv";
}

/// Kind of answers that tokens are drafted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DraftDomain {
    /// Mixture of all kinds of answers.
    Mixed,
    /// Conversations and instructions.
    Chat,
    /// Programs.
    Code,
    /// Mathematical and logical problems.
    Math,
    /// Summaries, and answers from given documents.
    Summaries,
    /// Stories and role play.
    Writing,
}

/// A published measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DraftAcceptance {
    /// Kind of answers.
    pub domain: DraftDomain,
    /// Set of prompts.
    pub benchmark: String,
    /// Way of drafting: `mtp`, `eagle3` or `dspark`, of one to three layers.
    pub method: String,
    /// Model that checks the drafts.
    pub model: String,
    /// γ: tokens drafted per step, one after the other.
    pub drafted_tokens: f64,
    /// V: tokens accepted per step, with the one that is always correct.
    pub accepted_tokens_per_step: f64,
    /// Temperature of sampling; empty where it is not published.
    pub temperature: Option<f64>,
    /// Day of the publication.
    pub date: Date,
    /// Source of the row.
    pub source: String,
}

/// Kinds of answers; each counts alike among all of them.
const DOMAINS: [DraftDomain; 5] = [
    DraftDomain::Chat,
    DraftDomain::Code,
    DraftDomain::Math,
    DraftDomain::Summaries,
    DraftDomain::Writing,
];

/// Chances by domain, in the order of [`DOMAINS`].
static CHANCES: LazyLock<[f64; 5]> = LazyLock::new(|| {
    DOMAINS.map(|domain| {
        let rows = draft_acceptances()
            .iter()
            .filter(|row| row.domain == domain);
        median(rows.map(|row| token_acceptance(row.accepted_tokens_per_step, row.drafted_tokens)))
    })
});

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// α: chance that the first drafted token is accepted in answers of a domain, the median of what is published; of all domains, the median
/// of these.
#[must_use]
pub fn token_acceptance_of(domain: DraftDomain) -> f64 {
    let place = DOMAINS.iter().position(|of| *of == domain);
    place.map_or_else(|| median(CHANCES.iter().copied()), |place| CHANCES[place])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::Speculation;

    #[test]
    fn every_row_accepts_at_most_what_is_drafted() {
        assert!(draft_acceptances().len() > 40);
        for row in draft_acceptances() {
            let (least, most) = (1.0, row.drafted_tokens + 1.0);
            assert!(
                (least..=most).contains(&row.accepted_tokens_per_step),
                "{row:?}"
            );
            assert!(!row.source.is_empty() && !row.model.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn long_drafts_are_accepted_as_short_ones_of_the_same_drafter_say() {
        let is_same = |one: &DraftAcceptance, other: &DraftAcceptance| {
            let of = |row: &DraftAcceptance| {
                (
                    row.model.clone(),
                    row.method.clone(),
                    row.benchmark.clone(),
                    row.source.clone(),
                )
            };
            of(one) == of(other)
        };
        let rows = draft_acceptances();
        let short = rows
            .iter()
            .filter(|row| (2.5..3.5).contains(&row.drafted_tokens));
        let ratio = |short: &DraftAcceptance| {
            let long = rows
                .iter()
                .find(|row| row.drafted_tokens > 6.5 && is_same(row, short))?;
            let chance = token_acceptance(short.accepted_tokens_per_step, short.drafted_tokens);
            let expected = Speculation::of(chance, long.drafted_tokens, 0.0).accepted;
            Some(expected / long.accepted_tokens_per_step)
        };
        let ratios: Vec<f64> = short.filter_map(ratio).collect();
        assert!(ratios.len() > 10, "{}", ratios.len());
        let middle = median(ratios.into_iter());
        assert!((0.97..1.03).contains(&middle), "{middle}");
    }
}
