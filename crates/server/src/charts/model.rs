//! The charts of what is stored about a model: what moved it, where its cache is kept, and what it is near.

use super::Question;
use super::subject::Subject;
use crate::compute::Views;
use unroof_base::units::compact;
use unroof_edge::answer::problem::{NOT_FOUND, Problem, UNREADABLE};
use unroof_infer::estimate::nearest::NearModel;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::{EstimatedQuantity, StoredMove};
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::heat::{HeatMap, HeatRow};
use unroof_report::chart::kinds::neighbours::{Neighbours, Point};
use unroof_report::chart::kinds::waterfall::{Step, Waterfall};
use unroof_roofline::reference::storage_tiers;

/// Offers of caches that one drawing shows.
const MOST_OFFERS: usize = 8;

/// The moves of a quantity, clue by clue.
///
/// # Errors
/// There is no such model or quantity, or the query fails.
pub(super) async fn moves(views: &Views, question: &Question) -> Result<Chart, Problem> {
    moves_of(
        &Subject::read(&views.answers, question).await?,
        question.quantity()?,
    )
}

/// Waterfall chart of the moves of a quantity of one estimate, clue by clue.
///
/// # Errors
/// The estimate lacks the quantity.
pub(crate) fn moves_of(subject: &Subject, quantity: JointQuantity) -> Result<Chart, Problem> {
    let label = quantity.definition().label;
    let own = required(subject, quantity)?;
    let size = |step: &StoredMove| step.factor.ln().abs();
    let strongest = own
        .moved_by
        .iter()
        .max_by(|one, other| size(one).total_cmp(&size(other)));
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
        "Each bar is the factor by which a clue moved the geometric mean, in the order in which clues are read: from the median \
         before any price, {}, to the estimate, {}.",
        compact(own.prior.median),
        compact(own.median),
    );
    let step = |step: &StoredMove| Step {
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

/// A quantity of an estimate.
///
/// # Errors
/// An estimate by an older engine lacks it.
pub(super) fn required(
    subject: &Subject,
    quantity: JointQuantity,
) -> Result<&EstimatedQuantity, Problem> {
    subject.estimate.quantity(quantity).ok_or_else(|| {
        let label = quantity.definition().label;
        Problem::new(NOT_FOUND, format!("the stored estimate has no {label}"))
    })
}

/// Storage tiers of the cache offers.
///
/// # Errors
/// There is no such model, it has no cache offer, or the query fails.
pub(super) async fn cache_tiers(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    cache_tiers_of(&subject).ok_or_else(|| {
        let detail = format!("no sheet of {} prices a cache", subject.name);
        Problem::new(NOT_FOUND, detail)
            .hint("a chart of storage tiers needs a price of cached input")
    })
}

/// The offers of caches that are shown: of the seller by which the subject is shown, else the first ones.
pub(crate) fn tiers_shown(subject: &Subject) -> Vec<&OfferTiers> {
    let all = &subject.estimate.storage_tiers;
    let provider = subject.own_offer().map(|own| own.offer.provider.as_str());
    let own: Vec<&OfferTiers> = all
        .iter()
        .filter(|tiers| Some(tiers.provider.as_str()) == provider)
        .collect();
    let shown = if own.is_empty() {
        all.iter().collect()
    } else {
        own
    };
    shown.into_iter().take(MOST_OFFERS).collect()
}

/// Chart of the cache tiers of one estimate; none where no sheet prices a cache.
pub(crate) fn cache_tiers_of(subject: &Subject) -> Option<Chart> {
    let shown = tiers_shown(subject);
    let first = shown.first()?;
    let share =
        |tiers: &OfferTiers, id: &str| tiers.probabilities.get(id).copied().unwrap_or_default();
    let title = format!(
        "The cache “{}” is probably kept in {} ({:.0}\u{a0}%)",
        first.name,
        tier_name(&first.most_likely),
        100.0 * share(first, &first.most_likely),
    );
    let columns: Vec<&'static str> = storage_tiers()
        .iter()
        .map(|tier| tier.id.as_str())
        .filter(|id| {
            shown
                .iter()
                .any(|tiers| tiers.probabilities.contains_key(*id))
        })
        .collect();
    let row = |tiers: &&OfferTiers| HeatRow {
        name: format!("{}: {}", tiers.provider, tiers.name),
        shares: columns.iter().map(|id| share(tiers, id)).collect(),
    };
    let map = HeatMap {
        title,
        description: "Rows are cache offers, columns are storage tiers; a cell has the probability that the offer is kept there."
            .to_owned(),
        rows: shown.iter().map(row).collect(),
        columns,
    };
    Some(map.chart())
}

/// The name of a storage tier by its id.
pub(crate) fn tier_name(id: &str) -> &str {
    let found = storage_tiers().iter().find(|tier| tier.id == id);
    found.map_or(id, |tier| tier.name.as_str())
}

/// The model among open-weight models.
///
/// # Errors
/// There is no such model or quantity, or the query fails.
pub(super) async fn neighbours(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    neighbours_of(&subject, against(question)?)
}

/// The quantity against which active parameters are shown.
fn against(question: &Question) -> Result<JointQuantity, Problem> {
    match question.last("against") {
        None | Some("total_parameters") => Ok(JointQuantity::TotalParameters),
        Some("kv_bytes_per_token_read") => Ok(JointQuantity::KvBytesRead),
        Some(other) => {
            let detail =
                format!("invalid query string: active parameters are not shown against `{other}`");
            Err(Problem::new(UNREADABLE, detail)
                .hint("`against` is total_parameters or kv_bytes_per_token_read"))
        }
    }
}

/// Chart of the open-weight neighbours of one estimate.
///
/// # Errors
/// The estimate lacks a quantity.
pub(crate) fn neighbours_of(subject: &Subject, against: JointQuantity) -> Result<Chart, Problem> {
    let active = required(subject, JointQuantity::ActiveParameters)?;
    let other = required(subject, against)?;
    let is_of_cache = against == JointQuantity::KvBytesRead;
    let point = |model: &NearModel| -> Point {
        let vertical = if is_of_cache {
            model.kv_bytes_per_token_read
        } else {
            model.total_parameters
        };
        (model.active_parameters, vertical)
    };
    let near = &subject.estimate.nearest_open_models;
    let title = near.first().map_or_else(
        || "No open-weight model is near".to_owned(),
        |nearest| {
            let distance = compact(nearest.distance);
            format!(
                "Of the open-weight models {} is nearest: {distance} standard deviations away",
                nearest.name
            )
        },
    );
    let label = against.definition().label;
    let neighbours = Neighbours {
        title,
        description: format!(
            "Active parameters against {label}. The cross is the estimate with its 90\u{a0}% intervals, dots are the five open-weight \
             models with the most similar figures."
        ),
        axes: [
            "active_parameters",
            if is_of_cache {
                "kv_bytes_per_token"
            } else {
                "total_parameters"
            },
        ],
        estimate: (active.median, other.median),
        intervals: [active, other].map(|own| (own.interval_90.low, own.interval_90.high)),
        models: near
            .iter()
            .map(|model| (model.name.clone(), point(model)))
            .collect(),
    };
    Ok(neighbours.chart())
}
