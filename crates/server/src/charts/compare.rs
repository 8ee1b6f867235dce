//! The chart of a comparison: one quantity of two to six models on a shared axis.

use crate::api::answers::compare::{
    ComparedModel, ComparedQuantity, ComparedValue, Comparison, names, read_comparison,
};
use crate::compute::Views;
use crate::question::Question;
use unroof_base::units::compact;
use unroof_edge::Problem;
use unroof_infer::estimate::samples::Spread;
use unroof_report::chart::kinds::strip::{Strip, compared};
use unroof_report::chart::{Chart, Words};
use unroof_report::words::capital;

/// Probability from which one model is said to have more than another.
pub(crate) const CLEAR: f64 = 0.8;
/// Probability from which it probably has.
const LIKELY: f64 = 0.65;

/// A quantity of models.
///
/// # Errors
/// There are no such models, or no such quantity.
pub(super) async fn compare(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let quantity = question.quantity()?;
    let models = question.all("model").map(|name| ("model", name));
    let names = names(&Question::of(models).query())?;
    let comparison = read_comparison(views, &names).await?;
    let mut quantities = comparison.quantities.iter();
    let found = quantities.find(|compared| compared.quantity == quantity.name());
    found
        .map(|found| chart_of(&comparison, found))
        .ok_or_else(|| Problem::not_found("quantity"))
}

/// Probability that the one model has more of a quantity than the other.
pub(crate) fn probability(
    comparison: &Comparison,
    quantity: &str,
    one: usize,
    other: usize,
) -> Option<f64> {
    let name = |place: usize| comparison.models[place].canonical_model.as_str();
    let mut pairs = comparison.pairs.iter();
    let pair = pairs.find(|pair| pair.model == name(one) && pair.than == name(other))?;
    let mut probabilities = pair.quantities.iter();
    probabilities
        .find(|found| found.quantity == quantity)
        .map(|found| found.probability)
}

/// Places of the models, from the least of a quantity to the most.
pub(crate) fn ranking(quantity: &ComparedQuantity) -> Vec<usize> {
    let mut places: Vec<usize> = (0..quantity.values.len()).collect();
    let median = |place: &usize| quantity.values[*place].median;
    places.sort_by(|one, other| median(one).total_cmp(&median(other)));
    places
}

/// The chart of a quantity of a comparison.
pub(crate) fn chart_of(comparison: &Comparison, quantity: &ComparedQuantity) -> Chart {
    let models = comparison.models.iter().zip(&quantity.values);
    let strip = |(model, value): (&ComparedModel, &ComparedValue)| {
        // A published value is the upright line; what prices say is the test beside it.
        let shown = match value.truth {
            Some(_) => value.prices_alone(),
            None => Spread {
                median: value.median,
                interval_90: value.interval_90,
            },
        };
        let strip = Strip {
            prior_90: None,
            interval_90: shown.interval_90,
            interval_50: None,
            median: shown.median,
            identified: value.identified,
            truth: value.truth,
        };
        (model.canonical_model.clone(), strip)
    };
    let unit = if quantity.unit.is_empty() { "" } else { " in " };
    let words = Words {
        title: finding(comparison, quantity),
        description: format!(
            "{}{unit}{}: median and 90 % interval per model, faint where it is not identified; the upright line is the public value, beside what prices say.",
            capital(quantity.label),
            quantity.unit
        ),
    };
    compared(words, &models.map(strip).collect::<Vec<_>>())
}

/// Model with the most of a quantity, and how sure that is.
fn finding(comparison: &Comparison, quantity: &ComparedQuantity) -> String {
    let places = ranking(quantity);
    let (Some(most), Some(next)) = (places.last(), places.iter().rev().nth(1)) else {
        return capital(quantity.label);
    };
    let name = |place: &usize| &comparison.models[*place].canonical_model;
    let (high, low) = (quantity.values[*most].median, quantity.values[*next].median);
    let sure = probability(comparison, quantity.quantity, *most, *next).unwrap_or(0.5);
    let label = capital(quantity.label);
    let (most, next, times) = (name(most), name(next), compact(high / low));
    let percent = format!("{:.0} %", 100.0 * sure);
    match sure {
        CLEAR.. => {
            format!("{label}: {most} has the most, {times} times {next} ({percent} sure)")
        }
        LIKELY.. => {
            format!("{label}: {most} probably has the most, {times} times {next} ({percent} sure)")
        }
        _ => format!(
            "{label}: {most} and {next} are about equal ({percent} to {:.0} %)",
            100.0 * (1.0 - sure)
        ),
    }
}
