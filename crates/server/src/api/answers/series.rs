//! `/models/{author}/{model}/series`: the prices and the estimate of a model over time, as steps.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::models::{ModelPath, no_model};
use crate::answers::Answers;
use crate::list::page::AsOfQuery;
use crate::service::extract::{Path, Query};
use unroof_edge::{CachedBody, KnownTag, NoModel, Problem, Reply, StoreRefusals, Unchanged};
use unroof_infer::estimate::StoredRow;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::posterior::Interval;
use unroof_store::{AsOf, DbTime, ModelRow, PriceStep};

/// The prices and the estimate of a model over time
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Series {
    /// Canonical name, `author/model`.
    #[schema(example = "google/gemini-2.5-pro")]
    pub(crate) canonical_model: String,
    /// Prices by provider, model, region and start; a step differs from the one before it in one of the three prices, or
    /// begins after a gap.
    pub(crate) prices: Vec<PriceStep>,
    /// Estimates by time; a step differs from the one before it in a median or an interval.
    pub(crate) estimates: Vec<EstimateStep>,
}

/// The estimate of a model, and the time for which it is the newest
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct EstimateStep {
    /// Id of the estimate.
    pub(crate) id: Uuid,
    /// Time at which the newest of its sheets was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) from: DbTime,
    /// Start of the next step; null for the newest.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) to: Option<DbTime>,
    /// Version of the estimation engine.
    pub(crate) engine_version: String,
    /// The calibration behind it.
    pub(crate) calibration_id: String,
    /// Sheets of the model by then.
    pub(crate) sheets: i64,
    /// Estimates of every quantity.
    pub(crate) quantities: Vec<QuantityStep>,
}

/// One quantity of a stored estimate
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct QuantityStep {
    /// Name of the quantity.
    #[schema(example = "active_parameters")]
    pub(crate) quantity: &'static str,
    /// Median of the estimate.
    pub(crate) median: f64,
    /// Interval that contains the value with a probability of 90 %.
    pub(crate) interval_90: Interval,
    /// Whether it is identified.
    pub(crate) identified: bool,
}

/// Show the prices and the estimate of a model over time
///
/// One step per price of a host, with the time at which the price before was last seen, and one per estimate of the model,
/// with the median and the 90 % interval of every quantity. Only changes are listed. Prices that were withdrawn or are
/// under quarantine are left out.
#[utoipa::path(
    get,
    path = "/models/{author}/{model}/series",
    tag = "estimates",
    params(ModelPath, AsOfQuery, KnownTag),
    responses(
        (status = 200, description = "The steps", body = Series, headers(("etag" = String))),
        Unchanged, StoreRefusals, NoModel,
    )
)]
pub(crate) async fn show_series(
    State(answers): State<Arc<Answers>>,
    Path(path): Path<ModelPath>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let (name, as_of) = (path.name(), query.as_of(answers.now()));
    let body = async || {
        let series = read_series(&answers, &name, as_of).await?;
        CachedBody::json(&answers.budget, &series)
    };
    let question = format!("series {name} {as_of:?}");
    answers.polled(question, &headers, body).await
}

/// The prices and the estimates of a model over time, up to a time where one is given.
///
/// # Errors
/// There is neither a price nor an estimate of the model, or the database is unreachable.
pub(crate) async fn read_series(
    answers: &Answers,
    canonical_model: &str,
    as_of: Option<AsOf>,
) -> Result<Series, Problem> {
    let given = as_of.and_then(AsOf::given);
    if canonical_model.contains('\0') {
        return Err(no_model(canonical_model, given));
    }
    let prices = answers.store.price_steps(canonical_model, as_of).await?;
    let estimates = answers
        .store
        .estimates_of_model(canonical_model, given)
        .await?;
    if prices.is_empty() && estimates.is_empty() {
        return Err(no_model(canonical_model, given));
    }
    Ok(Series {
        canonical_model: canonical_model.to_owned(),
        prices: price_steps(prices),
        estimates: estimate_steps(estimates),
    })
}

/// Whether a price continues the one before it: of the same offer, with the same figures, from its end on.
fn continues(next: &PriceStep, last: &PriceStep) -> bool {
    let figures = |step: &PriceStep| {
        [
            step.input_per_mtok,
            step.output_per_mtok,
            step.cache_read_per_mtok,
        ]
    };
    let offer = |step: &PriceStep| {
        [
            step.provider.clone(),
            step.model.clone(),
            step.region.clone(),
            step.currency.clone(),
        ]
    };
    last.to.is_some()
        && last.to == next.from
        && figures(last) == figures(next)
        && offer(last) == offer(next)
}

/// Prices without those that repeat the one before.
fn price_steps(all: Vec<PriceStep>) -> Vec<PriceStep> {
    let mut steps: Vec<PriceStep> = Vec::new();
    for step in all {
        // A price that was replaced the moment it began was never paid.
        if step.from.is_some() && step.from == step.to {
            continue;
        }
        match steps.last_mut() {
            Some(last) if continues(&step, last) => {
                last.to = step.to;
                last.ending = step.ending;
            }
            _ => steps.push(step),
        }
    }
    steps
}

/// The quantities of a stored row.
pub(crate) fn quantity_steps(row_values: &str) -> Vec<QuantityStep> {
    let stored = StoredRow::read(row_values);
    let step = |quantity: JointQuantity| {
        let own = stored.quantity(quantity);
        let (median, interval_90) = own.span()?;
        Some(QuantityStep {
            quantity: quantity.name(),
            median,
            interval_90,
            identified: own.identified == Some(true),
        })
    };
    JointQuantity::ALL.into_iter().filter_map(step).collect()
}

/// Estimates by time, without those that repeat the one before. A backfilled sheet may be older than the newest one: of two
/// estimates of one time the later counts.
fn estimate_steps(mut rows: Vec<ModelRow>) -> Vec<EstimateStep> {
    // Stable: rows of one time stay in the order of storing.
    rows.sort_by_key(|row| Timestamp::from(row.observed_at));
    let mut steps: Vec<EstimateStep> = Vec::new();
    for row in rows {
        let step = EstimateStep {
            id: row.id,
            from: row.observed_at,
            to: None,
            engine_version: row.engine_version,
            calibration_id: row.calibration_id,
            sheets: row.sheets,
            quantities: quantity_steps(&row.row_values),
        };
        steps.pop_if(|last| last.from == step.from);
        match steps.last_mut() {
            Some(last) if last.quantities == step.quantities => {}
            Some(last) => {
                last.to = Some(step.from);
                steps.push(step);
            }
            None => steps.push(step),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: u32) -> DbTime {
        let time: Timestamp = format!("2026-01-{day:02}T00:00:00Z").parse().unwrap();
        time.into()
    }

    fn price(input: f64, from: u32, to: Option<u32>) -> PriceStep {
        PriceStep {
            provider: "acme".to_owned(),
            model: "m-1".to_owned(),
            region: "global".to_owned(),
            currency: "USD".to_owned(),
            price_sheet_id: Uuid::nil(),
            input_per_mtok: Some(input),
            output_per_mtok: None,
            cache_read_per_mtok: None,
            from: Some(at(from)),
            to: to.map(at),
            start_basis: Some("observed".to_owned()),
            not_before: None,
            ending: to.map(|_| "replaced".to_owned()),
        }
    }

    fn estimate(day: u32, median: f64) -> ModelRow {
        let row_values = serde_json::json!({
            "active_parameters_median": median,
            "active_parameters_low_90": 1.0,
            "active_parameters_high_90": 9.0,
            "active_parameters_identified": true,
        });
        ModelRow {
            id: Uuid::nil(),
            canonical_model: "acme/m-1".to_owned(),
            author: "acme".to_owned(),
            engine_version: "1".to_owned(),
            calibration_id: "c".to_owned(),
            sheets: 1,
            decisions: 1,
            observed_at: at(day),
            published_active_parameters: None.into(),
            published_total_parameters: None.into(),
            row_values: row_values.to_string(),
        }
    }

    #[test]
    fn only_changes_of_a_price_are_steps() {
        let rows = vec![
            price(1.0, 1, Some(2)),
            // Other limits, say, with the same prices.
            price(1.0, 2, Some(3)),
            price(7.0, 3, Some(3)),
            price(2.0, 3, Some(4)),
            price(2.0, 5, None),
        ];
        let steps: Vec<_> = price_steps(rows)
            .into_iter()
            .map(|step| (step.input_per_mtok, step.from, step.to))
            .collect();
        let expected = [
            (Some(1.0), Some(at(1)), Some(at(3))),
            (Some(2.0), Some(at(3)), Some(at(4))),
            (Some(2.0), Some(at(5)), None),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn only_changes_of_an_estimate_are_steps_and_the_last_of_a_moment_counts() {
        let rows = vec![
            estimate(1, 5.0),
            estimate(4, 6.0),
            estimate(2, 5.0),
            estimate(4, 7.0),
        ];
        let steps: Vec<_> = estimate_steps(rows)
            .into_iter()
            .map(|step| (step.quantities[0].median, step.from, step.to))
            .collect();
        assert_eq!(steps, [(5.0, at(1), Some(at(4))), (7.0, at(4), None)]);
    }
}
