//! Tests of the estimate of a vendor.

use super::*;
use crate::posterior::Interval;
use unroof_price_sheet::sheet::{ContextTier, RateCell};

fn model(name: &str, input: &str, output: &str) -> VendorModel {
    let mut cell = RateCell::new("standard", ContextTier::default(), None);
    cell.input = Some(input.parse().unwrap());
    cell.output = Some(output.parse().unwrap());
    let canonical_model = format!("acme/{name}");
    let sheet = PriceSheet {
        canonical_model: Some(canonical_model.clone()),
        ..PriceSheet::new("acme", name, vec![cell])
    };
    VendorModel {
        canonical_model,
        sheets: vec![sheet],
    }
}

fn together(models: &[VendorModel]) -> VendorEstimate {
    let wanted = CancelToken::default();
    estimate("acme", models, Calibration::shipped(), &wanted)
        .unwrap()
        .unwrap()
}

fn width(interval: Interval) -> f64 {
    (interval.high / interval.low).ln()
}

#[test]
fn a_ratio_of_two_models_is_known_better_than_either_size() {
    let found = together(&[
        model("large", "5", "25"),
        model("middle", "3", "15"),
        model("small", "1", "5"),
    ]);
    assert_eq!(found.models.len(), 3);
    assert_eq!(found.ratios.len(), 3);
    for ratio in &found.ratios {
        let alone = width(ratio.active_parameters_alone.interval_90);
        let common = width(ratio.active_parameters.interval_90);
        assert!(common < 0.97 * alone, "{common} against {alone}");
        assert!(ratio.active_parameters.median > 1.0);
        assert!(ratio.more_active_parameters > 0.5 && ratio.more_active_parameters <= 1.0);
    }
    assert_eq!(found.ratios[1].larger, "acme/large");
    assert_eq!(found.ratios[1].smaller, "acme/small");
}

#[test]
fn models_of_one_price_have_a_ratio_of_about_one() {
    let found = together(&[model("one", "2", "8"), model("other", "2", "8")]);
    let ratio = &found.ratios[0].active_parameters;
    assert!(ratio.median.ln().abs() < 0.15, "{}", ratio.median);
    let interval = ratio.interval_90;
    assert!(interval.low < 1.0 && 1.0 < interval.high);
    assert!((found.ratios[0].more_active_parameters - 0.5).abs() < 0.1);
}

#[test]
fn one_model_learns_nothing_from_others() {
    let own = model("only", "2", "8");
    let found = together(std::slice::from_ref(&own));
    let contents: Vec<PriceSheet> = own.sheets.iter().map(PriceSheet::pricing_content).collect();
    let joint = crate::joint::estimate(
        &contents,
        &[],
        &Assumptions::default(),
        Calibration::shipped(),
        &CancelToken::default(),
    );
    let median = joint.unwrap().quantities.active_parameters.median;
    let common = found.models[0].active_parameters;
    // The error of a median is 1.25 of the spread over the root of the number of draws.
    let spread = (common.interval_90.high / common.interval_90.low).ln() / 3.29;
    let error = 1.25 * spread * (1.0_f64 / 4_096.0 + 1.0 / 10_000.0).sqrt();
    assert!(
        (common.median / median).ln().abs() < 3.0 * error,
        "{} against {median}, error {error}",
        common.median
    );
    assert_eq!(found.ratios, []);
}

#[test]
fn many_dear_models_are_a_sign_of_a_markup() {
    let dear = [
        model("a", "15", "75"),
        model("b", "20", "80"),
        model("c", "12", "60"),
        model("d", "30", "120"),
    ];
    let found = together(&dear);
    assert!(found.markup.output.median > 1.2, "{:?}", found.markup);
    assert!(found.effective_hypotheses > 10.0);
}

#[test]
fn a_vendor_without_models_has_no_estimate() {
    let wanted = CancelToken::default();
    let found = estimate("acme", &[], Calibration::shipped(), &wanted).unwrap();
    assert_eq!(found, None);
}
