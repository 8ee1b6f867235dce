//! Lengths of prompts and answers: one length, a log-normal spread around a mean, or a list of lengths with shares.
//!
//! ```
//! use unroof_roofline::calculator::scenario::lengths::Lengths;
//!
//! // Most generated tokens are in long answers, so that more tokens are before them than in answers of one length.
//! let (even, spread) = (Lengths::constant(1000.0), Lengths::constant(1000.0).spread(1.0));
//! assert_eq!(even.mean_generated_before(), 500.0);
//! assert!(spread.mean_generated_before() > 900.0);
//! ```

use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema};

use crate::calculator::inputs::InputValue;
use unroof_base::input::body::{Kind, List, Schemas, body, number, object, plain};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Longest prompt or answer, in tokens.
pub const MOST_TOKENS: f64 = 1e8;
/// Points that stand for a log-normal spread: from 6 standard deviations of the logarithm below its mean to as many above,
/// so that the mean square, which attention's work grows with, is kept.
const POINTS: u32 = 21;
const WIDEST: f64 = 6.0;
/// Most lengths of a list.
const MOST_LENGTHS: usize = 64;

body! {
    /// A length, and the share of requests that have it.
    pub(crate) struct LengthShare {
        /// Length in tokens.
        tokens: f64 = plain(number(1.0..=MOST_TOKENS)),
        /// Share of the requests; shares are divided by their sum.
        share: f64 = plain(number(1e-9..=1e9)),
    }
}

/// A distribution of lengths, in tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Lengths {
    /// Lengths with their shares, which add up to 1.
    points: Vec<(f64, f64)>,
    mean: f64,
    /// Squared coefficient of variation.
    variation: f64,
}

impl Lengths {
    /// Every request has this length.
    #[must_use]
    pub fn constant(tokens: f64) -> Self {
        Self {
            points: vec![(tokens, 1.0)],
            mean: tokens,
            variation: 0.0,
        }
    }

    /// A log-normal spread with this standard deviation over the mean.
    #[must_use]
    pub fn spread(&self, deviation_over_mean: f64) -> Self {
        if deviation_over_mean <= 0.0 {
            return self.clone();
        }
        let width = (1.0 + deviation_over_mean * deviation_over_mean)
            .ln()
            .sqrt();
        let step = 2.0 * WIDEST / f64::from(POINTS - 1);
        let points = (0..POINTS).map(|index| {
            let deviations = f64::from(index) * step - WIDEST;
            let density = (-deviations * deviations / 2.0).exp();
            ((width * deviations).exp(), density)
        });
        let points: Vec<(f64, f64)> = points.collect();
        let whole: f64 = points.iter().map(|(_, density)| density).sum();
        let mean: f64 = points
            .iter()
            .map(|(length, density)| length * density)
            .sum();
        let scale = self.mean * whole / mean;
        Self {
            points: points
                .into_iter()
                .map(|(length, density)| (length * scale, density / whole))
                .collect(),
            mean: self.mean,
            variation: deviation_over_mean * deviation_over_mean,
        }
    }

    fn listed(items: &[LengthShare]) -> Self {
        let whole: f64 = items.iter().map(|item| item.share).sum();
        let points: Vec<(f64, f64)> = items
            .iter()
            .map(|item| (item.tokens, item.share / whole))
            .collect();
        let mean: f64 = points.iter().map(|(tokens, share)| tokens * share).sum();
        let square: f64 = points
            .iter()
            .map(|(tokens, share)| tokens * tokens * share)
            .sum();
        Self {
            points,
            mean,
            variation: (square / (mean * mean) - 1.0).max(0.0),
        }
    }

    /// Lengths with their shares.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Mean length, in tokens.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// The length that a share of the requests do not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.points.clone();
        sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut below = 0.0;
        let reached = sorted.iter().find(|(_, of_length)| {
            below += of_length;
            below >= share - 1e-9
        });
        reached
            .or(sorted.last())
            .map_or(self.mean, |(tokens, _)| *tokens)
    }

    /// Lengths of this shape, every one multiplied.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Self {
            points: self
                .points
                .iter()
                .map(|(tokens, share)| (tokens * factor, *share))
                .collect(),
            mean: self.mean * factor,
            variation: self.variation,
        }
    }

    /// Mean number of tokens before the one that is generated, over all generated tokens: half of E\[o²\]/E\[o\].
    #[must_use]
    pub fn mean_generated_before(&self) -> f64 {
        self.mean * (1.0 + self.variation) / 2.0
    }
}

impl From<Lengths> for InputValue {
    fn from(lengths: Lengths) -> Self {
        Self::Number(lengths.mean)
    }
}

/// A length, or a list of lengths with shares.
pub struct LengthsKind;

impl LengthsKind {
    fn list() -> List<unroof_base::input::body::Object<LengthShare>> {
        List::of(object::<LengthShare>(), 1..=MOST_LENGTHS)
    }
}

impl Kind for LengthsKind {
    type Value = Lengths;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Lengths> {
        if matches!(cursor.json, Json::Array(_)) {
            return Self::list()
                .read(cursor)
                .map(|items| Lengths::listed(&items));
        }
        (1.0..=MOST_TOKENS).read(cursor).map(Lengths::constant)
    }

    fn schema(&self) -> RefOr<Schema> {
        let list = ArrayBuilder::new()
            .items(object::<LengthShare>().schema())
            .min_items(Some(1))
            .max_items(Some(MOST_LENGTHS));
        OneOfBuilder::new()
            .item((1.0..=MOST_TOKENS).schema())
            .item(list)
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        object::<LengthShare>().schemas(schemas);
    }

    fn placeholder(&self) -> &'static str {
        "NUMBER"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_keeps_the_mean_and_has_its_median_below() {
        let lengths = Lengths::constant(1_000.0).spread(1.0);
        let mean: f64 = lengths
            .points()
            .iter()
            .map(|(tokens, share)| tokens * share)
            .sum();
        assert!((mean - 1_000.0).abs() < 1e-9);
        assert!(lengths.points()[10].0 < 800.0);
        let square: f64 = lengths
            .points()
            .iter()
            .map(|(tokens, share)| tokens * tokens * share)
            .sum();
        assert!((square / 2e6 - 1.0).abs() < 1e-3, "{square}");
    }

    #[test]
    fn long_answers_hold_more_of_the_generated_tokens() {
        let lengths = Lengths::listed(&[
            LengthShare {
                tokens: 100.0,
                share: 1.0,
            },
            LengthShare {
                tokens: 300.0,
                share: 1.0,
            },
        ]);
        assert!((lengths.mean() - 200.0).abs() < 1e-9);
        assert!((lengths.mean_generated_before() - 125.0).abs() < 1e-9);
    }
}
