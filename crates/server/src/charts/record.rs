//! The charts of the track record: estimates against public values, and the calibration curve.

use crate::api::answers::track_record::{HeldOutModel, TrackedQuantity, track_record};
use crate::question::Question;
use unroof_edge::{Problem, UNREADABLE};
use unroof_infer::estimate::judgement::headline::errors_in_words;
use unroof_report::chart::kinds::calibration::calibration;
use unroof_report::chart::kinds::truth::{Scored, truth};
use unroof_report::chart::{Chart, Words};
use unroof_roofline::reference::RecordSetting;

/// The record of a quantity in a setting: of active parameters from pooled hosts where nothing is asked for.
///
/// # Errors
/// There is no such quantity, or no such record of it.
pub(crate) fn asked(question: &Question) -> Result<&'static TrackedQuantity, Problem> {
    let quantity = question.quantity()?;
    let setting = question
        .last("setting")
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_SETTING);
    let mut records = track_record().quantities.iter();
    let is_asked = |tracked: &&TrackedQuantity| {
        tracked.quantity == quantity.name()
            && tracked.record.decisions.is_none()
            && setting_name(tracked.record.setting) == setting
    };
    records.find(is_asked).ok_or_else(|| {
        let label = quantity.definition().label;
        let shown: String = setting.chars().take(60).collect();
        Problem::new(
            UNREADABLE,
            format!("invalid query string: there is no record of {label} for `{shown}`"),
        )
        .hint("GET /track-record lists all records; of some quantities no value is public")
    })
}

const DEFAULT_SETTING: &str = "pooled_hosts";

/// Name of a setting in addresses.
pub(crate) fn setting_name(setting: RecordSetting) -> String {
    let name = serde_json::to_value(setting).ok();
    name.and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Estimates of a record against public values.
pub(crate) fn truth_of(tracked: &'static TrackedQuantity) -> Chart {
    let counted = || tracked.models.iter().filter(|model| model.counted);
    let hits = counted().filter(|model| model.is_inside).count();
    let all = counted().count();
    let record = &tracked.record;
    let scored = |model: &HeldOutModel| Scored {
        name: model.host.map_or_else(
            || model.model.to_owned(),
            |host| format!("{} at {host}", model.model),
        ),
        truth: model.truth,
        median: model.median,
        interval_90: model.interval_90,
        is_inside: model.is_inside,
    };
    let words = Words {
        title: format!(
            "{hits} of {all} intervals of 90 % hold the public value: {}",
            tracked.label
        ),
        description: format!(
            "Each mark is an estimate by a calibration that has not seen the model's family, from {}. Dots: the interval holds \
             the value. Diamonds: it does not. The estimates are {}.",
            tracked.sheets,
            errors_in_words(record.median_fold_error, record.fold_error_90)
        ),
    };
    truth(words, &counted().map(scored).collect::<Vec<_>>())
}

/// The calibration curve of a record.
pub(crate) fn calibration_of(tracked: &'static TrackedQuantity) -> Chart {
    let points = tracked
        .calibration
        .iter()
        .map(|point| (point.nominal, point.covered));
    let covered = tracked.record.coverage_90;
    let verdict = match covered {
        covered if covered < 0.85 => "intervals are too narrow",
        covered if covered > 0.95 => "intervals are wider than they need be",
        _ => "about as many as there should be",
    };
    let words = Words {
        title: format!("Of the public values, {:.0} % are inside the 90 % interval: {verdict}", 100.0 * covered),
        description: "The curve is the share of public values that intervals of growing width hold; on the dashed line they hold as \
                      many as they should."
            .to_owned(),
    };
    calibration(words, &points.collect::<Vec<_>>())
}
