//! Shares of the tokens of a prompt that are found in the cache: one share of all prompts, or a list with the prompts that have each.
//!
//! ```
//! use unroof_roofline::calculator::scenario::hits::HitRates;
//!
//! let rates = HitRates::constant(0.5);
//! assert_eq!((rates.mean(), rates.points()), (0.5, &[(0.5, 1.0)][..]));
//! ```

use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema};

use crate::calculator::inputs::InputValue;
use unroof_base::input::body::{Kind, List, Object, Schemas, body, number, object, plain};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Most shares of a list.
const MOST_RATES: usize = 8;

body! {
    /// A share of the tokens of a prompt, and the share of requests that find as many in the cache.
    pub(crate) struct HitShare {
        /// Share of the prompt tokens that are found in the cache.
        rate: f64 = plain(number(0.0..=1.0)),
        /// Share of the requests; shares are divided by their sum.
        share: f64 = plain(number(1e-9..=1e9)),
    }
}

/// A distribution of hits over requests, whatever the length of their prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct HitRates(Vec<(f64, f64)>);

impl HitRates {
    /// One share of every prompt.
    #[must_use]
    pub fn constant(rate: f64) -> Self {
        Self(vec![(rate, 1.0)])
    }

    fn listed(items: &[HitShare]) -> Self {
        let all: f64 = items.iter().map(|item| item.share).sum();
        let point = |item: &HitShare| (item.rate, item.share / all);
        Self(items.iter().map(point).collect())
    }

    /// Mean share of the prompt tokens that are found.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|(rate, share)| rate * share).sum()
    }

    /// Shares of the tokens, each with its share of the requests.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// Every share after a change, between none and all tokens.
    #[must_use]
    pub fn changed(&self, change: impl Fn(f64) -> f64) -> Self {
        let points = self.0.iter();
        Self(
            points
                .map(|(rate, share)| (change(*rate).clamp(0.0, 1.0), *share))
                .collect(),
        )
    }
}

impl From<HitRates> for InputValue {
    fn from(rates: HitRates) -> Self {
        Self::Number(rates.mean())
    }
}

/// A share, or a list of shares with the requests that have each.
pub struct HitRatesKind;

impl HitRatesKind {
    fn list() -> List<Object<HitShare>> {
        List::of(object::<HitShare>(), 1..=MOST_RATES)
    }
}

impl Kind for HitRatesKind {
    type Value = HitRates;

    fn read(&self, cursor: &Cursor<'_>) -> Option<HitRates> {
        if matches!(cursor.json, Json::Array(_)) {
            return (Self::list().read(cursor)).map(|items| HitRates::listed(&items));
        }
        (0.0..=1.0).read(cursor).map(HitRates::constant)
    }

    fn schema(&self) -> RefOr<Schema> {
        let list = ArrayBuilder::new()
            .items(object::<HitShare>().schema())
            .min_items(Some(1))
            .max_items(Some(MOST_RATES));
        OneOfBuilder::new()
            .item((0.0..=1.0).schema())
            .item(list)
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        object::<HitShare>().schemas(schemas);
    }

    fn placeholder(&self) -> &'static str {
        "NUMBER"
    }
}
