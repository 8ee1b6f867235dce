//! The charts of a stored estimate: of its figures, and of the draws behind it.

use std::sync::Arc;

use super::subject::Subject;
use crate::api::answers::density::read_density;
use crate::api::answers::estimate_density::EstimateDensity;
use crate::compute::Views;
use crate::question::Question;
use unroof_edge::{NOT_FOUND, Problem, UNREADABLE};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::{cost, density, heat, moves, neighbours, roofline};
use unroof_report::price_line::PriceLine;

/// Offers of caches that one drawing shows.
const MOST_OFFERS: usize = 8;

/// The subject of a question with the draws of its estimate.
async fn with_draws(
    views: &Views,
    question: &Question,
) -> Result<(Subject, Arc<EstimateDensity>), Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    let drawn = read_density(views, subject.estimate.id).await?;
    Ok((subject, drawn))
}

/// An estimate by an older engine lacks a quantity.
fn lacking(quantity: JointQuantity) -> Problem {
    let label = quantity.definition().label;
    Problem::new(NOT_FOUND, format!("the stored estimate has no {label}"))
}

/// Prior and posterior of a quantity.
///
/// # Errors
/// The model or the quantity is unknown, its draws cannot be made again, or the query fails.
pub(super) async fn density(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let (subject, drawn) = with_draws(views, question).await?;
    let quantity = question.quantity()?;
    density_of(&subject, &drawn, quantity).ok_or_else(|| lacking(quantity))
}

/// Density chart of a quantity of one estimate; `None` if the estimate lacks it.
pub(crate) fn density_of(
    subject: &Subject,
    drawn: &EstimateDensity,
    quantity: JointQuantity,
) -> Option<Chart> {
    let own = subject.estimate.quantity(quantity)?;
    let mut densities = drawn.densities.quantities.iter();
    let found = densities.find(|density| density.quantity == quantity.name())?;
    let truth = subject.truth(quantity);
    Some(density::density(quantity, own, found, truth))
}

/// The moves of a quantity, clue by clue.
///
/// # Errors
/// The model or the quantity is unknown, or the query fails.
pub(super) async fn moves(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    let quantity = question.quantity()?;
    moves_of(&subject, quantity).ok_or_else(|| lacking(quantity))
}

/// Waterfall chart of the moves of a quantity of one estimate; `None` if the estimate lacks it.
pub(crate) fn moves_of(subject: &Subject, quantity: JointQuantity) -> Option<Chart> {
    let own = subject.estimate.quantity(quantity)?;
    Some(moves::moves(quantity.definition().label, own))
}

/// The price line that a question names as its `side`; output where it names none.
///
/// # Errors
/// The chart has no such line.
pub(super) fn price_line(question: &Question, lines: &[PriceLine]) -> Result<PriceLine, Problem> {
    let name = question.last("side").unwrap_or("output");
    let line = lines.iter().find(|line| line.name() == name).copied();
    line.ok_or_else(|| {
        let detail = format!("invalid query string: unknown side `{name}`");
        let names = lines.iter().map(|line| line.name());
        let names = names.collect::<Vec<_>>().join(", ");
        Problem::new(UNREADABLE, detail).hint(format!("`side` is one of: {names}"))
    })
}

/// The tariff against the cost of a token over context.
///
/// # Errors
/// The model is unknown, its draws cannot be made again, or the query fails.
pub(super) async fn cost(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let line = price_line(question, &PriceLine::WITH_COSTS)?;
    let (subject, drawn) = with_draws(views, question).await?;
    let sheet = subject.sheet(&views.answers).await?;
    Ok(cost_of(&subject, &drawn, sheet.as_ref(), line))
}

/// Chart of the tariff and costs of one estimate.
pub(crate) fn cost_of(
    subject: &Subject,
    drawn: &EstimateDensity,
    sheet: Option<&PriceSheet>,
    line: PriceLine,
) -> Chart {
    let crossover = subject.estimate.quantity(JointQuantity::CrossoverContext);
    let crossover = crossover.map(|crossover| crossover.median);
    cost::cost(&drawn.serving, sheet, crossover, line)
}

/// Decoding on the roofline.
///
/// # Errors
/// The model is unknown, its draws cannot be made again, or the query fails.
pub(super) async fn roofline(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let (_, drawn) = with_draws(views, question).await?;
    let chart = roofline::roofline(&drawn.serving.roofline);
    chart.ok_or_else(|| Problem::new(NOT_FOUND, "no draw has a machine"))
}

/// Storage tiers of the cache offers.
///
/// # Errors
/// The model is unknown, it has no cache offer, or the query fails.
pub(super) async fn cache_tiers(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    heat::cache_tiers(&tiers_shown(&subject)).ok_or_else(|| {
        let detail = format!("no sheet of {} prices a cache", subject.name);
        Problem::new(NOT_FOUND, detail)
            .hint("a chart of storage tiers needs a price of cached input")
    })
}

/// The offers of caches that are shown: of the seller by which the subject is shown, else the first ones.
pub(crate) fn tiers_shown(subject: &Subject) -> Vec<&OfferTiers> {
    let all = &subject.estimate.storage_tiers;
    let provider = subject.own_offer().map(|own| own.offer.provider.as_str());
    let is_own = |tiers: &&OfferTiers| Some(tiers.provider.as_str()) == provider;
    let has_own = all.iter().any(|tiers| is_own(&tiers));
    let shown = all.iter().filter(|tiers| !has_own || is_own(tiers));
    shown.take(MOST_OFFERS).collect()
}

/// The model among open-weight models.
///
/// # Errors
/// The model or the quantity is unknown, or the query fails.
pub(super) async fn neighbours(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    let against = against(question)?;
    let chart = neighbours::neighbours(&subject.estimate, against);
    chart.ok_or_else(|| lacking(against))
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
