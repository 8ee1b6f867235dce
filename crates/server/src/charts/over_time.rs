//! The charts over time of a model: the prices of its hosts, and its estimate.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::estimate::price_line;
use crate::api::answers::series::{EstimateStep, Series, read_series};
use crate::compute::Views;
use crate::question::Question;
use unroof_base::units::{compact, readable};
use unroof_edge::Problem;
use unroof_infer::estimate::model::author_of;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_price_sheet::vendors::vendor;
use unroof_report::chart::kinds::prices::{self, EstimateSpan, PriceSpan, Window};
use unroof_report::chart::{Chart, Words};
use unroof_report::price_line::PriceLine;
use unroof_report::words::capital;
use unroof_store::{AsOf, DbTime, ModelOfferRow, PriceStep};

/// Hosts that have a colour of their own.
const COLOURED: usize = 6;
/// Shortest time that is shown.
const LEAST_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Longest time that is shown.
const MOST_WINDOW: SignedDuration = SignedDuration::from_hours(2 * 366 * 24);

/// The series of the model of a question.
///
/// # Errors
/// There is no such model, or the query fails.
pub(crate) async fn series(views: &Views, question: &Question) -> Result<Series, Problem> {
    let name = question.required("model")?;
    let as_of = question.as_of(views.answers.now())?;
    read_series(&views.answers, name, as_of).await
}

/// Prices over time.
///
/// # Errors
/// There is no such model, or the query fails.
pub(super) async fn prices(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let line = price_line(question, &PriceLine::ALL)?;
    let (series, now) = (series(views, question).await?, views.answers.now());
    let as_of = question.as_of(now)?.unwrap_or(AsOf::Now(now.into()));
    let store = &views.answers.store;
    let offers = store
        .offers_of_model(&series.canonical_model, as_of)
        .await?;
    Ok(prices_of(&series, offers.iter(), line, now))
}

/// The estimate over time.
///
/// # Errors
/// There is no such model, or the query fails.
pub(super) async fn estimates(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let quantity = question.quantity()?;
    Ok(estimates_of(
        &series(views, question).await?,
        quantity,
        views.answers.now(),
    ))
}

/// First and last time of a drawing that begins with the first of some times.
fn window(times: impl Iterator<Item = Timestamp>, now: Timestamp) -> Window {
    let before = |length: SignedDuration| now.checked_sub(length).unwrap_or(Timestamp::MIN);
    let first = times.min().unwrap_or(now);
    (first.clamp(before(MOST_WINDOW), before(LEAST_WINDOW)), now)
}

/// The price of a line in US dollars, where there is one; prices of input, cached input and output.
fn price(line: PriceLine, currency: &str, prices: [Option<f64>; 3]) -> Option<f64> {
    let [input, cache_read, output] = prices;
    let price = match line {
        PriceLine::Input => input,
        PriceLine::CacheRead => cache_read,
        PriceLine::Output => output,
    };
    price.filter(|price| currency == "USD" && *price > 0.0)
}

fn price_of_step(step: &PriceStep, line: PriceLine) -> Option<f64> {
    let prices = [
        step.input_per_mtok,
        step.cache_read_per_mtok,
        step.output_per_mtok,
    ];
    price(line, &step.currency, prices)
}

fn price_of_offer(offer: &ModelOfferRow, line: PriceLine) -> Option<f64> {
    let prices = [
        offer.input_per_mtok,
        offer.cache_read_per_mtok,
        offer.output_per_mtok,
    ];
    price(line, &offer.currency, prices)
}

/// Price chart of a series, and of the offers in force: a price of the series may be announced for later.
pub(crate) fn prices_of<'a>(
    series: &Series,
    offers: impl Iterator<Item = &'a ModelOfferRow>,
    line: PriceLine,
    now: Timestamp,
) -> Chart {
    let time = |time: Option<DbTime>| time.map(Timestamp::from);
    let starts = series
        .prices
        .iter()
        .flat_map(|step| [time(step.from), time(step.not_before), time(step.to)]);
    let window = window(starts.flatten(), now);
    let coloured = coloured(series, line);
    let place = |host: &str| coloured.iter().position(|known| known == host);
    let span = |step: &PriceStep| {
        let host = host(step);
        let to = time(step.to);
        let is_past = to.is_some_and(|to| to < window.0);
        Some(PriceSpan {
            series: place(&host),
            host,
            price: price_of_step(step, line).filter(|_| !is_past)?,
            from: time(step.from),
            to,
            not_before: time(step.not_before),
            is_new_source: step.start_basis.as_deref() == Some("source_added"),
        })
    };
    let mut spans: Vec<PriceSpan> = series.prices.iter().filter_map(span).collect();
    // Stable: what has a colour is drawn above the rest.
    spans.sort_by_key(|span| span.series.is_some());
    let now_sold: Vec<f64> = offers
        .filter_map(|offer| price_of_offer(offer, line))
        .collect();
    let least = now_sold.iter().copied().fold(f64::INFINITY, f64::min);
    let most = now_sold.iter().copied().fold(0.0, f64::max);
    let (tokens, least, most) = (line.tokens(), readable(least), readable(most));
    let title = match now_sold.len() {
        0 => format!("No price of {tokens} in US dollars is in force"),
        1 => format!("One price of {tokens} is in force: ${least}"),
        number => {
            format!("{number} prices of {tokens} are in force, from ${least} to ${most}")
        }
    };
    let words = Words {
        title,
        description: "A line per host; dashed from the last sight of the old price to the first sight of the new one. Hosts \
                      without a colour are in grey; free offers and other currencies are left out."
            .to_owned(),
    };
    prices::prices(words, &spans, window, &coloured)
}

/// A host as the key names it.
fn host(step: &PriceStep) -> String {
    if step.region == unroof_price_sheet::sheet::PriceSheet::DEFAULT_REGION {
        format!("{} · {}", step.provider, step.model)
    } else {
        format!("{} · {} · {}", step.provider, step.model, step.region)
    }
}

/// The hosts with a colour: the author's own, then those whose price changed most often, by name.
fn coloured(series: &Series, line: PriceLine) -> Vec<String> {
    let author = author_of(&series.canonical_model);
    let mut hosts: BTreeMap<String, (bool, usize)> = BTreeMap::new();
    for step in series
        .prices
        .iter()
        .filter(|step| price_of_step(step, line).is_some())
    {
        let known = hosts.entry(host(step)).or_default();
        known.0 = vendor(&step.provider) == author;
        known.1 += 1;
    }
    let mut hosts: Vec<(String, (bool, usize))> = hosts.into_iter().collect();
    // Stable: by name where nothing else decides.
    hosts.sort_by_key(|(_, (is_own, steps))| (!is_own, usize::MAX - steps));
    hosts
        .into_iter()
        .take(COLOURED)
        .map(|(host, _)| host)
        .collect()
}

/// The estimate of a quantity over time.
pub(crate) fn estimates_of(series: &Series, quantity: JointQuantity, now: Timestamp) -> Chart {
    let span = |step: &EstimateStep| {
        let own = step
            .quantities
            .iter()
            .find(|own| own.quantity == quantity.name())?;
        Some(EstimateSpan {
            from: step.from.into(),
            to: step.to.map(Timestamp::from),
            median: own.median,
            interval_90: own.interval_90,
        })
    };
    let spans: Vec<EstimateSpan> = series.estimates.iter().filter_map(span).collect();
    let label = quantity.definition().label;
    let (begun, median) = (capital(label), |span: &EstimateSpan| compact(span.median));
    let title = match spans.as_slice() {
        [] => format!("There is no estimate of the {label} yet"),
        [only] => format!("{begun} estimated once, at {}", median(only)),
        [first, .., last] => {
            let (first, last, steps) = (median(first), median(last), spans.len());
            format!("{begun} went from {first} to {last} in {steps} steps")
        }
    };
    let words = Words {
        title,
        description:
            "The median with its 90\u{a0}% interval, from the day on which the newest sheet was seen."
                .to_owned(),
    };
    let window = window(spans.iter().map(|span| span.from), now);
    prices::estimates(words, &spans, window)
}
