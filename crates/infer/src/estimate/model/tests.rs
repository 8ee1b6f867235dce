//! Tests of the estimate of a model.

use super::super::margins::ImpliedMargin;
use super::super::quantities::JointQuantity;
use super::*;
use crate::posterior::Interval;
use unroof_price_sheet::sheet::{ContextTier, RateCell};

fn sheet(provider: &str, input: &str, output: &str) -> PriceSheet {
    let mut cell = RateCell::new("standard", ContextTier::default(), None);
    cell.input = Some(input.parse().unwrap());
    cell.output = Some(output.parse().unwrap());
    PriceSheet::new(provider, "m-1", vec![cell])
}

fn estimate(sheets: &[PriceSheet]) -> ModelEstimate {
    let pool = ModelPool::new("acme/m-1", sheets);
    let wanted = CancelToken::default();
    pool.estimate(Calibration::shipped(), &wanted).unwrap()
}

fn active(estimate: &ModelEstimate) -> (f64, Interval) {
    let active = &estimate.joint.quantities.active_parameters;
    (active.median, active.interval_90)
}

#[test]
fn the_order_of_the_sheets_changes_no_byte() {
    let mut sheets = vec![
        sheet("zeta", "0.2", "0.8"),
        sheet("acme", "0.15", "0.6"),
        sheet("beta", "0.1", "0.5"),
    ];
    let one = serde_json::to_string(&estimate(&sheets)).unwrap();
    sheets.reverse();
    let pool = ModelPool::new("acme/m-1", &sheets);
    assert_eq!(pool.contents[0].provider, "acme");
    assert_eq!(serde_json::to_string(&estimate(&sheets)).unwrap(), one);
}

#[test]
fn a_sellers_regions_and_periods_of_one_price_are_read_once() {
    let first = sheet("acme", "1", "4");
    let mut region = first.clone();
    region.region = "eu".to_owned();
    let mut period = first.clone();
    period.valid_from = Some("2026-01-01T00:00:00Z".parse().unwrap());
    let copy = sheet("beta", "1", "4");
    let pool = ModelPool::new("acme/m-1", &[period, copy, region, first]);
    assert_eq!(pool.contents.len(), 4);
    assert_eq!(pool.used().len(), 2);
    assert_eq!(pool.decisions(), 1);
}

#[test]
fn a_long_history_is_thinned_to_the_newest_decisions_of_every_seller() {
    let mut sheets: Vec<PriceSheet> = (1..=80)
        .map(|number| {
            let mut sheet = sheet(
                "acme",
                &format!("{number}"),
                &format!("{}", number * number),
            );
            let day = format!("20{:02}-01-01T00:00:00Z", number + 10);
            sheet.valid_from = Some(day.parse().unwrap());
            sheet
        })
        .collect();
    sheets.push(sheet("beta", "0.3", "7"));
    let pool = ModelPool::new("acme/m-1", &sheets);
    let used = pool.used();
    assert_eq!(used.len(), MOST_SHEETS);
    assert_eq!(pool.decisions(), 81);
    assert!(used.iter().any(|sheet| sheet.provider == "beta"));
    let is_oldest = |sheet: &PriceSheet| sheet.valid_from == sheets[0].valid_from;
    assert!(!used.iter().any(is_oldest));
}

#[test]
fn many_sellers_of_one_model_have_one_estimate_and_each_a_margin() {
    let sheets = [
        sheet("acme", "0.15", "0.6"),
        sheet("beta", "0.05", "0.25"),
        sheet("gamma", "0.35", "0.75"),
    ];
    let pooled = estimate(&sheets);
    let (median, interval) = active(&pooled);
    let alone: Vec<f64> = sheets
        .iter()
        .map(|sheet| active(&estimate(std::slice::from_ref(sheet))).0)
        .collect();
    assert!(
        alone[1] < median && median < alone[2],
        "{median} in {alone:?}"
    );
    assert!(interval.low < interval.high);
    let cost = &pooled.joint.quantities.cost_output_usd_per_mtok;
    let margin = |price| ImpliedMargin::new(price, cost.median, cost.interval_90);
    assert!(margin(0.25).unwrap().median < margin(0.75).unwrap().median);
    assert_eq!(margin(0.0), None);
}

#[test]
fn a_repricing_moves_the_architecture_less_than_the_price() {
    let hosts = [
        sheet("acme", "0.15", "0.6"),
        sheet("beta", "0.12", "0.5"),
        sheet("gamma", "0.2", "0.75"),
        sheet("delta", "0.1", "0.45"),
    ];
    let (before, _) = active(&estimate(&hosts));
    let mut repriced = hosts.to_vec();
    repriced.push(sheet("beta", "0.06", "0.27"));
    let (after, interval) = active(&estimate(&repriced));
    assert!(
        (before / after).ln().abs() < 0.5 * 2.0_f64.ln(),
        "{before} to {after}"
    );
    assert!(interval.low < before && before < interval.high);
}

#[test]
fn the_stored_answer_to_the_only_sheet_is_its_models_estimate() {
    let own = sheet("acme", "1", "4");
    let request = super::super::Request {
        sheets: vec![own.clone()],
        assumptions: Assumptions::default(),
    };
    let answer = serde_json::to_string(&super::super::infer(&request)).unwrap();
    let pool = ModelPool::new("acme/m-1", std::slice::from_ref(&own));
    let calibration_id = Calibration::shipped().id();
    let reused = pool.from_answer(&answer, &calibration_id).unwrap();
    let computed = serde_json::to_string(&estimate(&[own])).unwrap();
    assert_eq!(reused.to_string(), computed);
    assert_eq!(pool.from_answer("{}", &calibration_id), None);
}

#[test]
fn estimates_differ_by_a_factor_of_two_or_by_intervals_that_part() {
    let one = estimate(&[sheet("acme", "1", "4")]);
    let quantities = &one.joint.quantities;
    let same = |quantity| {
        let own = quantities.get(quantity);
        Some((own.median, own.interval_90))
    };
    assert_eq!(differences(quantities, same), []);
    let apart = |quantity: JointQuantity| {
        let own = quantities.get(quantity);
        (quantity == JointQuantity::ActiveParameters).then_some((
            own.median * 100.0,
            Interval {
                low: own.interval_90.high * 2.0,
                high: own.interval_90.high * 3.0,
            },
        ))
    };
    let found = differences(quantities, apart);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].quantity, "active_parameters");
    assert!((found[0].factor - 0.01).abs() < 1e-9);
    assert!(!found[0].intervals_overlap);
}

#[test]
fn resellers_of_closed_weights_change_nothing_and_alone_they_are_read() {
    let own = sheet("anthropic", "5", "25");
    let cloud = sheet("amazon-bedrock", "5.5", "27.5");
    let mut sheets = vec![own, cloud];
    let quantities = |sheets: &[PriceSheet]| {
        let pool = ModelPool::new("anthropic/claude-opus-5", sheets);
        let estimate = pool.estimate(Calibration::shipped(), &CancelToken::default());
        serde_json::to_string(&estimate.unwrap().joint.quantities).unwrap()
    };
    let before = quantities(&sheets);
    for number in 1..=30 {
        let factor = 1.0 + 0.013 * f64::from(number);
        let (input, output) = (
            format!("{:.3}", 5.0 * factor),
            format!("{:.3}", 25.0 * factor),
        );
        sheets.push(sheet(&format!("seller-{number}"), &input, &output));
    }
    assert_eq!(quantities(&sheets), before);
    let resold = &sheets[2..];
    assert!(
        !ModelPool::new("anthropic/claude-opus-5", resold)
            .used()
            .is_empty()
    );
}

#[test]
fn near_copies_of_one_list_narrow_nothing() {
    let width = |sheets: &[PriceSheet]| {
        let total = estimate(sheets)
            .joint
            .quantities
            .total_parameters
            .interval_90;
        (total.high / total.low).ln()
    };
    let mut sheets = vec![sheet("acme", "1", "4"), sheet("beta", "1.05", "4.2")];
    let few = width(&sheets);
    for number in 1..=30 {
        let factor = 1.0 + 0.013 * f64::from(number);
        let (input, output) = (format!("{factor:.3}"), format!("{:.3}", 4.0 * factor));
        sheets.push(sheet(&format!("seller-{number}"), &input, &output));
    }
    assert!(width(&sheets) > 0.9 * few, "{} {few}", width(&sheets));
}

#[test]
fn the_author_knows_the_release_and_else_the_middle_of_what_is_stated_counts() {
    let dated = |provider: &str, day: Option<&str>| PriceSheet {
        released: day.map(|day| day.parse().unwrap()),
        ..sheet(provider, "1", "4")
    };
    let of = |sheets: &[PriceSheet]| {
        let used = ModelPool::new("acme/m-1", sheets).used();
        assert!(used.iter().all(|sheet| sheet.released == used[0].released));
        used[0].released.map(|day| day.to_string())
    };
    let mut sheets = vec![
        dated("beta", Some("2023-01-01")),
        dated("gamma", Some("2025-11-13")),
        dated("delta", Some("2025-11-14")),
        dated("acme", None),
    ];
    assert_eq!(of(&sheets).as_deref(), Some("2025-11-13"));
    sheets.push(dated("acme", Some("2025-11-12")));
    assert_eq!(of(&sheets).as_deref(), Some("2025-11-12"));
    assert_eq!(of(&[dated("beta", None)]), None);
}
