//! The charts of the draws behind an estimate: densities, cost over context, and the roofline.

use std::collections::BTreeMap;

use super::Question;
use super::model::required;
use super::subject::Subject;
use crate::api::answers::density::{EstimateDensity, read_density};
use crate::compute::Views;
use unroof_base::units::{Decimal, compact};
use unroof_edge::answer::problem::{NOT_FOUND, Problem, UNREADABLE};
use unroof_infer::estimate::LEAST_BITS;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::serving::{CostAt, RooflinePoint};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::cost::{Cost, TariffAndCost};
use unroof_report::chart::kinds::density::Densities;
use unroof_report::chart::kinds::roofline::{Draw, Roofline};

/// Prior and posterior of a quantity.
///
/// # Errors
/// There is no such model or quantity, its draws cannot be made again, or the query fails.
pub(super) async fn density(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    let drawn = read_density(views, subject.estimate.id).await?;
    density_of(&subject, &drawn, question.quantity()?)
}

/// Density chart of a quantity of one estimate.
///
/// # Errors
/// The estimate lacks the quantity.
pub(crate) fn density_of(
    subject: &Subject,
    drawn: &EstimateDensity,
    quantity: JointQuantity,
) -> Result<Chart, Problem> {
    let own = required(subject, quantity)?;
    let definition = quantity.definition();
    let found = drawn
        .densities
        .quantities
        .iter()
        .find(|density| density.quantity == definition.name);
    let found = found.ok_or_else(|| {
        Problem::new(
            NOT_FOUND,
            format!("the stored estimate has no {}", definition.label),
        )
    })?;
    let (low, high) = (own.interval_90.low, own.interval_90.high);
    let span = format!("{} to {}", compact(low), compact(high));
    let label = capital(definition.label);
    let title = if own.identified {
        format!("{label}: probably {} ({span})", compact(own.median))
    } else if own.information_gained_bits < LEAST_BITS {
        format!(
            "{label} not identified: {} ({span}) is mostly the prior",
            compact(own.median)
        )
    } else {
        format!("{label}: {} ({span}), not identified", compact(own.median))
    };
    let truth = subject.truth(quantity);
    let of_truth = truth.map(|truth| {
        let place = if (low..=high).contains(&truth) {
            "inside"
        } else {
            "outside"
        };
        format!(
            " The public value, {}, is {place} the 90\u{a0}% interval.",
            compact(truth)
        )
    });
    let description = format!(
        "{}. Grey is the prior, with a median of {}; blue is the estimate; the bar below has 90\u{a0}% of it.{}",
        definition.description,
        compact(own.prior.median),
        of_truth.unwrap_or_default(),
    );
    let densities = Densities {
        title,
        description,
        values: found.values.clone(),
        prior: found.prior.clone(),
        posterior: found.posterior.clone(),
        estimate: (own.median, (low, high)),
        truth,
    };
    Ok(densities.chart())
}

/// A line of a tariff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The side of fresh prompt tokens.
    Input,
    /// The side of generated tokens.
    Output,
}

impl Side {
    /// The side that a question names; output where it names none.
    ///
    /// # Errors
    /// It names another.
    pub(crate) fn of(question: &Question) -> Result<Self, Problem> {
        match question.last("side") {
            None | Some("output") => Ok(Self::Output),
            Some("input") => Ok(Self::Input),
            Some(other) => {
                let detail = format!("invalid query string: there is no side `{other}`");
                Err(Problem::new(UNREADABLE, detail).hint("`side` is input or output"))
            }
        }
    }

    /// Name of the side in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    fn price(self, rate: &RateCell) -> Option<&Decimal> {
        match self {
            Self::Input => rate.input.as_ref(),
            Self::Output => rate.output.as_ref(),
        }
    }
}

/// The tariff against the cost of a token over context.
///
/// # Errors
/// There is no such model, its draws cannot be made again, or the query fails.
pub(super) async fn cost(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let (subject, side) = (
        Subject::read(&views.answers, question).await?,
        Side::of(question)?,
    );
    let drawn = read_density(views, subject.estimate.id).await?;
    let sheet = subject.sheet(&views.answers).await?;
    Ok(cost_of(&subject, &drawn, sheet.as_ref(), side))
}

/// Context at which a finding is stated.
const TYPICAL: f64 = 8_192.0;
/// Contexts that are shown of a sheet that states no longest one.
const SHOWN: f64 = 262_144.0;

/// Chart of the tariff and costs of one estimate.
pub(crate) fn cost_of(
    subject: &Subject,
    drawn: &EstimateDensity,
    sheet: Option<&PriceSheet>,
    side: Side,
) -> Chart {
    let all = match side {
        Side::Input => &drawn.serving.input,
        Side::Output => &drawn.serving.output,
    };
    let limit = sheet
        .and_then(|sheet| sheet.limits.max_input)
        .map_or(SHOWN, f64::from)
        .max(TYPICAL * 2.0);
    let cost = |cost: &CostAt| Cost {
        tokens: cost.context_tokens,
        median: cost.median,
        interval_90: (cost.interval_90.low, cost.interval_90.high),
    };
    let costs: Vec<Cost> = all
        .iter()
        .filter(|cost| cost.context_tokens <= limit * 1.01)
        .map(cost)
        .collect();
    let prices = sheet.map_or_else(Vec::new, |sheet| steps(sheet, side));
    let crossover = subject.estimate.quantity(JointQuantity::CrossoverContext);
    let mut both = TariffAndCost {
        title: String::new(),
        description: String::new(),
        costs,
        prices,
        crossover: crossover.map(|crossover| crossover.median),
    };
    both.title = finding(&both, side);
    both.description = format!(
        "Orange: the price by length of the prompt, {}. Blue: the cost of a token with its 90\u{a0}% ribbon, at the drawn batch and \
         rent. Grey: the crossover, above which reading the cache takes longer than computing.",
        seller(sheet)
    );
    both.chart()
}

fn seller(sheet: Option<&PriceSheet>) -> String {
    match sheet {
        Some(sheet) if sheet.currency == "USD" => format!("as {} sells it", sheet.provider),
        Some(sheet) => format!("not drawn, as it is in {}", sheet.currency),
        None => "not drawn, as none is in force".to_owned(),
    }
}

/// The prices of the standard tier by the length from which they hold.
fn steps(sheet: &PriceSheet, side: Side) -> Vec<(f64, f64)> {
    if sheet.currency != "USD" {
        return Vec::new();
    }
    let of_standard =
        |rate: &&RateCell| rate.service_tier == RateCell::STANDARD && rate.schedule.is_none();
    let step = |rate: &RateCell| {
        let price = side.price(rate)?.to_f64();
        let from = f64::from(rate.context_tier.min_prompt_tokens);
        (price > 0.0).then_some((from, price))
    };
    let mut steps: Vec<(f64, f64)> = sheet
        .rates
        .iter()
        .filter(of_standard)
        .filter_map(step)
        .collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    steps
}

/// The margin at a usual and at the longest context, or the cost where there is no price.
fn finding(both: &TariffAndCost, side: Side) -> String {
    let near = |tokens: f64| {
        let distance = |cost: &&Cost| (cost.tokens / tokens).ln().abs();
        both.costs
            .iter()
            .min_by(|one, other| distance(one).total_cmp(&distance(other)))
    };
    let (Some(typical), Some(longest)) = (near(TYPICAL), both.costs.last()) else {
        return format!("The cost of {} tokens is not known", side.name());
    };
    let level = |cost: &Cost| Some(level(cost.median, both.price_at(cost.tokens)?));
    match (level(typical), level(longest)) {
        (Some(first), Some(last)) => format!(
            "{} tokens: {first} at {} tokens of context, {last} at {}",
            capital(side.name()),
            compact(typical.tokens),
            compact(longest.tokens),
        ),
        _ => format!(
            "A million {} tokens cost ${} at {} tokens of context and ${} at {}",
            side.name(),
            compact(typical.median),
            compact(typical.tokens),
            compact(longest.median),
            compact(longest.tokens),
        ),
    }
}

/// The margin of a price over a cost, or how far the cost exceeds it.
fn level(cost: f64, price: f64) -> String {
    if cost <= price {
        format!("a margin of {:.0}\u{a0}%", 100.0 * (1.0 - cost / price))
    } else {
        format!("a cost of {} times the price", compact(cost / price))
    }
}

/// Decoding on the roofline.
///
/// # Errors
/// There is no such model, its draws cannot be made again, or the query fails.
pub(super) async fn roofline(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let subject = Subject::read(&views.answers, question).await?;
    let drawn = read_density(views, subject.estimate.id).await?;
    roofline_of(&drawn).ok_or_else(|| Problem::new(NOT_FOUND, "no draw has a machine"))
}

/// Roofline chart of stored draws; `None` if no draw has a machine.
pub(crate) fn roofline_of(drawn: &EstimateDensity) -> Option<Chart> {
    let points = &drawn.serving.roofline;
    let mut counts: BTreeMap<(&str, u64), (usize, &RooflinePoint)> = BTreeMap::new();
    for point in points {
        let key = (name(point), point.peak_flop_per_second.to_bits());
        counts.entry(key).or_insert((0, point)).0 += 1;
    }
    let (count, likely) = counts.into_values().max_by_key(|(count, _)| *count)?;
    let is_likely = |point: &RooflinePoint| {
        name(point) == name(likely)
            && point.peak_flop_per_second.to_bits() == likely.peak_flop_per_second.to_bits()
    };
    let is_memory_bound = |point: &&RooflinePoint| {
        point.flop_per_byte < point.peak_flop_per_second / point.bytes_per_second
    };
    let memory_bound = points.iter().filter(is_memory_bound).count();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred draws")]
    let percent = |count: usize| 100.0 * count as f64 / points.len() as f64;
    let (limit, share) = if 2 * memory_bound >= points.len() {
        ("memory", percent(memory_bound))
    } else {
        ("arithmetic", 100.0 - percent(memory_bound))
    };
    let draw = |point: &RooflinePoint| Draw {
        flop_per_byte: point.flop_per_byte,
        flop_per_second: point.flop_per_second,
        accelerator: name(point).to_owned(),
        is_likely: is_likely(point),
    };
    let roofline = Roofline {
        title: format!("Decoding waits for {limit} in {share:.0}\u{a0}% of the draws"),
        description: format!(
            "A dot per draw of the estimate, by its own machine. Blue dots and the roof are of {}, the most frequent one with \
             {:.0}\u{a0}% of the draws: a sheet says little about the accelerator.",
            name(likely),
            percent(count),
        ),
        draws: points.iter().map(draw).collect(),
        roof: (
            name(likely).to_owned(),
            likely.peak_flop_per_second,
            likely.bytes_per_second,
        ),
    };
    Some(roofline.chart())
}

fn name(point: &RooflinePoint) -> &'static str {
    point.accelerator.unwrap_or("a machine of other figures")
}

/// Words with a capital letter in front.
pub(crate) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
