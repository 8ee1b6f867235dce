//! The charts about one model: what is stored of it, and each of its charts.

use serde::Deserialize;

use super::Question;
use crate::chart::Chart;
use crate::chart::waterfall::{Step, Waterfall};
use crate::http::app::App;
use crate::http::models::{ModelShown, no_model};
use crate::http::problem::{INTERNAL, NOT_FOUND, Problem};
use crate::http::stored_estimate::StoredEstimate;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::units::compact;

/// The estimate of the model that a question names.
///
/// # Errors
/// There is no such model, or the query fails.
pub(in crate::http) async fn estimate(
    app: &App,
    question: &Question,
) -> Result<StoredEstimate, Problem> {
    let (name, as_of) = (question.required("model")?, question.as_of()?);
    let shown = ModelShown::read(&app.store, name, as_of, app.now().into()).await?;
    let shown = shown.ok_or_else(|| no_model(name, as_of))?;
    read(shown.document())
}

/// A stored estimate from its document.
///
/// # Errors
/// It is damaged.
pub(in crate::http) fn read(document: &str) -> Result<StoredEstimate, Problem> {
    let mut reader = serde_json::Deserializer::from_str(document);
    StoredEstimate::deserialize(&mut reader).map_err(|error| {
        tracing::error!(%error, "a stored estimate cannot be read");
        Problem::new(INTERNAL, "the stored estimate cannot be read")
    })
}

/// What moved a quantity.
///
/// # Errors
/// There is no such model or quantity, or the query fails.
pub(super) async fn moves(app: &App, question: &Question) -> Result<Chart, Problem> {
    let estimate = estimate(app, question).await?;
    moves_of(&estimate, question.quantity()?)
}

/// What moved a quantity of an estimate.
///
/// # Errors
/// The estimate lacks the quantity.
pub(in crate::http) fn moves_of(
    estimate: &StoredEstimate,
    quantity: JointQuantity,
) -> Result<Chart, Problem> {
    let label = quantity.definition().label;
    let own = estimate
        .quantity(quantity)
        .ok_or_else(|| Problem::new(NOT_FOUND, format!("the stored estimate has no {label}")))?;
    let strongest = own
        .moved_by
        .iter()
        .max_by(|one, other| one.factor.ln().abs().total_cmp(&other.factor.ln().abs()));
    let title = strongest.map_or_else(
        || format!("No clue moved the {label}: the estimate is the prior"),
        |step| {
            format!(
                "The {} moved the {label} most: × {}",
                step.clue,
                compact(step.factor)
            )
        },
    );
    let description = format!(
        "Each bar is the factor by which a clue moved the geometric mean, in the order in which they are read, from the median \
         before any price ({}) to the estimate ({}).",
        compact(own.prior.median),
        compact(own.median),
    );
    let step = |step: &crate::http::stored_estimate::StoredMove| Step {
        clue: step.clue.clone(),
        factor: step.factor,
    };
    let waterfall = Waterfall {
        title,
        description,
        prior: own.prior.median,
        steps: own.moved_by.iter().map(step).collect(),
        estimate: (own.median, (own.interval_90.low, own.interval_90.high)),
    };
    Ok(waterfall.chart())
}
