//! An estimate in a sentence or two: what is public and how near the prices come to it, else figures of what is identified and
//! the names of the rest, and how often such estimates held the truth.
//!
//! ```
//! use unroof_infer::estimate::judgement::headline::{errors_in_words, listed};
//!
//! assert_eq!(listed(&["input", "output", "cache read"]), "input, output and cache read");
//! assert!(errors_in_words(1.5, 3.0).starts_with("off by a factor of 1.5"));
//! ```

pub use super::words::{margin_in_words, rough};

use super::published::{Published, PublishedBy, PublishedValue};
use crate::estimate::quantities::JointQuantity;
use crate::estimate::record::stored_estimate::{EstimatedQuantity, StoredEstimate, StoredSheet};
use unroof_base::units::compact;
use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::sheet::PriceSheet;

/// A quantity with its estimate.
type Figure<'a> = (JointQuantity, &'a EstimatedQuantity);

/// The model, and its seller where that is another.
#[must_use]
pub fn subject(estimate: &StoredEstimate) -> String {
    let sheets: Vec<&StoredSheet> = estimate.sheets_used().collect();
    let Some(first) = sheets.first() else {
        return estimate.canonical_model.clone().unwrap_or_default();
    };
    let canonical_model = estimate.canonical_model.as_ref();
    let stated = canonical_model.or(first.canonical_model.as_ref());
    let model = stated.unwrap_or(&first.model);
    let sheet = PriceSheet {
        canonical_model: stated.cloned(),
        ..PriceSheet::new(&first.provider, &first.model, Vec::new())
    };
    match sheets.len() {
        1 if is_sold_by_author(&sheet) == Some(true) => model.clone(),
        1 => format!("{model} at {}", first.provider),
        number => format!("{model} from {number} sheets"),
    }
}

/// The sentences without their subject: `probably 60B active parameters (14B to 320B); KV cache not identified from this sheet. In 9
/// of 10 such cases the truth lay inside`. Of a model with public sizes these come first. Margins have no record, and are left out.
#[must_use]
pub fn finding(estimate: &StoredEstimate) -> String {
    if let Some(public) = estimate.published.as_ref().and_then(public_sizes) {
        return known_publicly(estimate, &public);
    }
    let from = match estimate.sheets_used().count() {
        1 => "this sheet".to_owned(),
        sheets => format!("these {sheets} sheets"),
    };
    let figures: Vec<Figure> = estimate.in_order().collect();
    let said = known_and_unknown(&figures, &from).join("; ");
    match held(&figures) {
        Some(cases) => format!("{said}. In {cases} of 10 such cases the truth lay inside"),
        None => said,
    }
}

/// Number of ten such estimates that held the truth, of the quantity with the worst record; none where nothing is identified.
fn held(figures: &[Figure]) -> Option<f64> {
    let identified = figures.iter().filter(|(_, own)| own.identified);
    let records = identified.filter_map(|(_, own)| own.track_record.as_ref()?.least_coverage_90());
    let cases = records.map(|covered| (10.0 * covered).floor());
    cases.min_by(f64::total_cmp)
}

/// Sizes that are public, as `685B total parameters, 37.0B active, as published`.
#[must_use]
pub fn public_sizes(published: &Published) -> Option<String> {
    let of = |quantity| published.value(quantity).map(|public| public.value);
    let sizes = match (
        of(JointQuantity::TotalParameters),
        of(JointQuantity::ActiveParameters),
    ) {
        (Some(total), Some(active)) if active < total => {
            format!(
                "{} total parameters, {} active",
                compact(total),
                compact(active)
            )
        }
        (Some(total), Some(_)) => format!("{} parameters, all active", compact(total)),
        (Some(total), None) => format!("{} total parameters", compact(total)),
        (None, Some(active)) => format!("{} active parameters", compact(active)),
        (None, None) => return None,
    };
    Some(match published.by {
        PublishedBy::Architecture => format!("{sizes}, as published"),
        PublishedBy::Name => format!("{sizes}, by its name"),
    })
}

/// The public sizes, and what prices alone say of them.
fn known_publicly(estimate: &StoredEstimate, public: &str) -> String {
    let sizes = [
        JointQuantity::TotalParameters,
        JointQuantity::ActiveParameters,
    ];
    let tested = sizes.into_iter().filter_map(|quantity| {
        let public = estimate.published.as_ref()?.value(quantity)?;
        let own = estimate.quantity(quantity)?;
        let mut said = in_words(&(quantity, own));
        said.pop();
        let test = test_in_words(public);
        let is_weak = public.within_90 && !own.identified;
        let doubt = if is_weak { ", but not identified" } else { "" };
        Some(format!("{said}: {test}{doubt})"))
    });
    let tested: Vec<String> = tested.collect();
    format!("{public}. Prices alone say {}", listed(&tested))
}

/// Whether the estimate from prices holds a public value: `inside`, or `a miss by a factor of 9.4`.
#[must_use]
pub fn test_in_words(public: &PublishedValue) -> String {
    if public.within_90 {
        return "inside".to_owned();
    }
    let factor = public.estimate_over_value;
    format!("a miss by a factor of {}", fold(factor.max(1.0 / factor)))
}

/// The figures of what is identified, and the names of the rest.
fn known_and_unknown(figures: &[Figure], from: &str) -> Vec<String> {
    let is_shown = |(_, own): &&Figure| own.track_record.is_some() || own.identified;
    let shown = figures.iter().filter(is_shown);
    let (identified, others): (Vec<&Figure>, Vec<_>) = shown.partition(|(_, own)| own.identified);
    let known: Vec<String> = identified.into_iter().map(in_words).collect();
    let mut others: Vec<&str> = others
        .into_iter()
        .map(|(quantity, _)| quantity.definition().label)
        .collect();
    if !known.iter().any(|figures| is_of_cache(figures)) {
        // Nothing is known of the cache, whichever way it is counted.
        for label in &mut others {
            *label = if is_of_cache(label) {
                "KV cache"
            } else {
                label
            };
        }
        others.dedup();
    }
    let mut parts = Vec::new();
    if !known.is_empty() {
        parts.push(format!("probably {}", listed(&known)));
    }
    if !others.is_empty() {
        let others = listed(&others);
        parts.push(if known.is_empty() {
            format!("nothing identified from {from}: {others} are mostly the prior")
        } else {
            format!("{others} not identified from {from}")
        });
    }
    parts
}

fn is_of_cache(label: &str) -> bool {
    label.starts_with("KV ")
}

/// As `71B active parameters (17B to 285B)`; other quantities have their name in front.
fn in_words((quantity, own): &Figure) -> String {
    let definition = quantity.definition();
    let label = definition.label;
    let [median, low, high] = [own.median, own.interval_90.low, own.interval_90.high].map(rough);
    if definition.unit == "parameters" {
        format!("{median} {label} ({low} to {high})")
    } else {
        format!("{label} {median} ({low} to {high})")
    }
}

/// Errors of estimates on models whose values are public: the median, and that which nine of ten do not exceed, as factors.
#[must_use]
pub fn errors_in_words(median: f64, of_nine_in_ten: f64) -> String {
    format!(
        "off by a factor of {} in the median, by more than {} for one in ten",
        fold(median),
        fold(of_nine_in_ten)
    )
}

/// An error as a factor: a record of some dozen models has two digits.
fn fold(error: f64) -> String {
    const THREE_DIGITS_FROM: f64 = 9.95;
    if error < THREE_DIGITS_FROM {
        format!("{error:.1}")
    } else {
        compact(error)
    }
}

/// `a, b and c`.
#[must_use]
pub fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn quantity(identified: bool, is_scored: bool) -> Value {
        let interval = json!({"low": 14e9, "high": 320e9});
        let record = json!({"models": 49, "median_fold_error": 1.5, "fold_error_90": 3.0, "coverage_90": 0.95,
            "rolling": {"models": 30, "median_fold_error": 2.0, "fold_error_90": 6.0, "mean_gain": 0.2, "coverage_90": 0.857}});
        json!({
            "median": 60e9, "interval_50": interval, "interval_90": interval,
            "prior": {"median": 16e9, "interval_50": interval, "interval_90": interval}, "information_gained_bits": 0.5,
            "identified": identified, "moved_by": [], "track_record": is_scored.then_some(record),
        })
    }

    fn estimate(quantities: &Value) -> StoredEstimate {
        let sheet = json!({"id": "00000000-0000-0000-0000-000000000000", "provider": "acme", "model": "m-1"});
        let estimate = json!({
            "id": "00000000-0000-0000-0000-000000000000", "engine_version": "0.1.0", "price_sheets": [sheet],
            "quantities": quantities, "prompt_tokens": 4096.0,
            "misfit": {"threshold": 0.001, "checks": [], "contradictions": []},
            "diagnostics": {
                "effective_sample_size": 900.0, "pareto_k": 0.2, "samples": 9000, "seed": 1, "engine_version": "0.1.0",
                "calibration_id": "eeae3659a11d", "warnings": [],
            },
        });
        serde_json::from_value(estimate).unwrap()
    }

    #[test]
    fn public_sizes_come_first_and_prices_are_tested_by_them() {
        let quantities = json!({"active_parameters": quantity(true, true), "total_parameters": quantity(false, true)});
        let mut of_model = estimate(&quantities);
        let value = |value, within_90, estimate_over_value| PublishedValue {
            value,
            within_90,
            estimate_over_value,
        };
        let mut published = Published {
            model: "M-1".to_owned(),
            by: PublishedBy::Architecture,
            sources: Vec::new(),
            values: [
                ("active_parameters".to_owned(), value(37e9, true, 1.62)),
                ("total_parameters".to_owned(), value(685e9, false, 0.0876)),
            ]
            .into(),
            serving: None,
        };
        of_model.published = Some(published.clone());
        assert_eq!(
            finding(&of_model),
            "685B total parameters, 37.0B active, as published. Prices alone say 60B total parameters (14B to 320B: a miss by \
             a factor of 11.4) and 60B active parameters (14B to 320B: inside)"
        );
        published.by = PublishedBy::Name;
        published.values.remove("active_parameters");
        of_model.published = Some(published);
        let said = finding(&of_model);
        assert!(
            said.starts_with("685B total parameters, by its name. Prices alone say 60B total"),
            "{said}"
        );
    }

    #[test]
    fn errors_are_shown_as_factors() {
        assert_eq!(
            errors_in_words(1.512, 46.345),
            "off by a factor of 1.5 in the median, by more than 46.3 for one in ten"
        );
    }

    #[test]
    fn figures_are_of_what_is_identified_and_the_rest_has_its_name() {
        let mut quantities = json!({
            "active_parameters": quantity(true, true),
            "total_parameters": quantity(false, true),
            "kv_bytes_per_token_read": quantity(false, true),
            "kv_bytes_per_token_stored": quantity(false, true),
            "cost_output_usd_per_mtok": quantity(false, false),
        });
        assert_eq!(
            finding(&estimate(&quantities)),
            "probably 60B active parameters (14B to 320B); total parameters and KV cache not identified from this sheet. In 8 of 10 \
             such cases the truth lay inside"
        );
        quantities
            .as_object_mut()
            .unwrap()
            .remove("active_parameters");
        let unknown = estimate(&quantities);
        assert_eq!(
            finding(&unknown),
            "nothing identified from this sheet: total parameters and KV cache are mostly the prior"
        );
        assert_eq!(subject(&unknown), "m-1 at acme");
    }
}
