//! `/ui/`: the market, one row per model. Its address says which models, by which quantity, in which order.

mod view;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use jiff::{SignedDuration, Timestamp};

use self::view::{Row, View};
use super::answer;
use super::layout::Page;
use crate::compute::Views;
use crate::market;
use crate::market::{MarketModel, MarketQuestion, PARAMETERS};
use crate::question::Question;
use unroof_edge::Problem;
use unroof_report::chart::kinds::sparkline::Steps;
use unroof_report::chart::scale::seconds;
use unroof_store::{ChangeFilter, ChangeKind, ChangesFrom, PastPriceRow};

/// Days of a sparkline.
const DAYS: i64 = 90;
/// Changes next to the models.
const CHANGES: u32 = 12;
/// Kinds of changes next to the models: of prices and offers, without first observations.
const KINDS: [ChangeKind; 4] = [
    ChangeKind::PriceChanged,
    ChangeKind::PriceScheduled,
    ChangeKind::OfferDelisted,
    ChangeKind::OfferRetiring,
];

/// Shows the page of all models.
pub(super) async fn show(
    State(views): State<Views>,
    question: Question,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    question.require_known(&PARAMETERS)?;
    let question = MarketQuestion::read(&question)?;
    let name = format!("market {question:?}");
    let page = async || page(&views, &question).await;
    Ok(answer::page(&views.answers, &name, &headers, page).await)
}

async fn page(views: &Views, question: &MarketQuestion) -> Result<Page, Problem> {
    let market = market::read(views, question).await?;
    let selected = question.select(&market.models);
    let shown = question.of_page(&selected);
    let sparklines = sparklines(
        views,
        &shown,
        question.time().unwrap_or_else(|| views.answers.now()),
    )
    .await?;
    let rows = shown.into_iter().zip(sparklines);
    let filter = ChangeFilter {
        kind: KINDS.to_vec(),
        ..ChangeFilter::default()
    };
    let changes = views
        .answers
        .store
        .changes_from(&filter, ChangesFrom::Before(i64::MAX), CHANGES)
        .await?;
    let view = View {
        question,
        market: &market,
        selected: &selected,
        rows: rows.map(|(model, steps)| Row { model, steps }).collect(),
        changes: &changes,
        live: &KINDS,
    };
    Ok(view.page())
}

/// The lowest output price of each model over the last days.
async fn sparklines(
    views: &Views,
    models: &[&MarketModel],
    until: Timestamp,
) -> Result<Vec<Steps>, Problem> {
    let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    let from = until - SignedDuration::from_hours(24 * DAYS);
    let prices = if names.is_empty() {
        Vec::new()
    } else {
        views
            .answers
            .store
            .prices_between(&names, from.into(), until.into())
            .await?
    };
    let window = (seconds(from), seconds(until));
    let of_model = |name: &String| {
        let of_it = prices.iter().filter(|price| price.canonical_model == *name);
        lowest_over_time(&of_it.collect::<Vec<_>>(), window)
    };
    Ok(names.iter().map(of_model).collect())
}

/// The lowest price that is not free, from each time at which it changes.
fn lowest_over_time(prices: &[&PastPriceRow], window: (f64, f64)) -> Steps {
    let span = |price: &PastPriceRow| {
        let end = price
            .ends_at
            .map_or(f64::INFINITY, |end| seconds(end.into()));
        (
            seconds(price.starts_at.into()).max(window.0),
            end,
            price.output_per_mtok,
        )
    };
    let spans: Vec<(f64, f64, f64)> = prices
        .iter()
        .map(|price| span(price))
        .filter(|(_, _, price)| *price > 0.0)
        .collect();
    let ends = spans.iter().map(|(_, end, _)| *end);
    let mut times: Vec<f64> = spans
        .iter()
        .map(|(start, _, _)| *start)
        .chain(ends)
        .collect();
    times.retain(|time| *time < window.1);
    times.sort_by(f64::total_cmp);
    times.dedup();
    let lowest_at = |time: f64| {
        let in_force = spans
            .iter()
            .filter(|(start, end, _)| *start <= time && time < *end);
        in_force.map(|(_, _, price)| *price).reduce(f64::min)
    };
    let mut points: Vec<(f64, f64)> = times
        .into_iter()
        .filter_map(|time| Some((time, lowest_at(time)?)))
        .collect();
    points.dedup_by(|next, before| next.1.total_cmp(&before.1).is_eq());
    Steps { window, points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_store::DbTime;

    fn price(start: i64, end: Option<i64>, output_per_mtok: f64) -> PastPriceRow {
        let time = |seconds| DbTime::from(Timestamp::from_second(seconds).unwrap());
        PastPriceRow {
            canonical_model: "a/b".to_owned(),
            starts_at: time(start),
            ends_at: end.map(time),
            output_per_mtok,
        }
    }

    #[test]
    fn the_lowest_price_changes_when_a_cheaper_one_begins_or_ends() {
        let (dear, cheap, free) = (
            price(0, None, 8.0),
            price(20, Some(60), 5.0),
            price(30, None, 0.0),
        );
        let steps = lowest_over_time(&[&dear, &cheap, &free], (10.0, 100.0));
        assert_eq!(steps.points, [(10.0, 8.0), (20.0, 5.0), (60.0, 8.0)]);
        assert!(lowest_over_time(&[], (10.0, 100.0)).points.is_empty());
    }
}
