//! The whole calibration, from models and their sheets.

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::{Matrix2, Vector2};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::data::{PricedModel, Truth};
use super::price_law::{self, DENSE_CENTRE, Row, Shown, Size};
use super::{Settings, context_tiers, population};
use crate::reference::calibration::{Calibration, HostMarkup, OverLines, PriceLaw, Provenance};
use crate::sheet::PriceSheet;
use crate::sheet::compare::decision::decisions;
use crate::units::significant;

const COMMAND: &str = "unroof-dev calibrate";

/// Learns from models and the sheets of their hosts.
#[must_use]
pub fn calibrate(models: &[&PricedModel], settings: &Settings) -> Calibration {
    let priced: Vec<&PricedModel> = models
        .iter()
        .copied()
        .filter(|model| !model.sheets.is_empty())
        .collect();
    let truths: Vec<Truth> = priced.iter().map(|model| model.truth).collect();
    let hosts: BTreeSet<&str> = priced
        .iter()
        .flat_map(|model| &model.sheets)
        .map(|sheet| sheet.provider.as_str())
        .collect();
    let hosts: Vec<&str> = hosts.into_iter().collect();
    let rows: Vec<Row> = priced
        .iter()
        .enumerate()
        .flat_map(|(place, model)| rows_of(place, model, &hosts, settings))
        .collect();
    let sizes: Vec<Size> = truths
        .iter()
        .map(|truth| Size {
            log_active: truth.log_active,
            log_total: truth.log_total,
        })
        .collect();
    let law = price_law::fit(&sizes, hosts.len(), &rows, settings);
    let [intercept, active, total, dense] = law.fixed.map(Into::into);
    let markup = |(mean, covariance): &(Vector2<f64>, Matrix2<f64>)| HostMarkup {
        mean: (*mean).into(),
        covariance: over_lines(covariance),
    };
    let markups = hosts
        .iter()
        .map(|host| (*host).to_owned())
        .zip(law.hosts.iter().map(markup));
    rounded(&Calibration {
        provenance: provenance(models, &priced, rows.len()),
        population: population::population(&truths, settings.size_degrees_of_freedom),
        price_law: PriceLaw {
            intercept,
            active,
            total,
            dense,
            dense_centre: DENSE_CENTRE,
            host: over_lines(&law.host),
            deviation: over_lines(&law.deviation),
            degrees_of_freedom: settings.deviation_degrees_of_freedom,
            noise: over_lines(&law.noise),
        },
        context_tier: context_tiers::law(&priced),
        hosts: markups.collect::<BTreeMap<_, _>>(),
    })
}

/// Every number to nine significant digits, so that the file is the same wherever it is made.
fn rounded(calibration: &Calibration) -> Calibration {
    fn round(value: &mut Value) {
        match value {
            Value::Number(number) if number.is_f64() => {
                *value = number
                    .as_f64()
                    .map_or(Value::Null, |number| Value::from(significant(number)));
            }
            Value::Array(values) => values.iter_mut().for_each(round),
            Value::Object(fields) => fields.values_mut().for_each(round),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(calibration).expect("a calibration of numbers serialises");
    round(&mut value);
    serde_json::from_value(value).expect("rounding keeps the form")
}

fn over_lines(matrix: &Matrix2<f64>) -> OverLines {
    [
        [matrix[(0, 0)], matrix[(0, 1)]],
        [matrix[(1, 0)], matrix[(1, 1)]],
    ]
}

/// The rows of one model: every decision once, and of a reseller that copies its ratio the level alone.
fn rows_of(model: usize, priced: &PricedModel, hosts: &[&str], settings: &Settings) -> Vec<Row> {
    let sheets: Vec<&PriceSheet> = priced.sheets.iter().collect();
    let mut rows = Vec::new();
    let groups = if settings.copies_count_once {
        decisions(&sheets).groups
    } else {
        (0..sheets.len()).map(|index| vec![index]).collect()
    };
    for group in groups {
        for (place, index) in group.iter().enumerate() {
            let sheet = sheets[*index];
            let Ok(host) = hosts.binary_search(&sheet.provider.as_str()) else {
                continue;
            };
            rows.extend(shown(sheet, place > 0).map(|shown| Row { model, host, shown }));
        }
    }
    rows
}

fn shown(sheet: &PriceSheet, copies_ratio: bool) -> Option<Shown> {
    let base = sheet.base_rate()?;
    let log = |price: &crate::units::Decimal| price.to_f64().ln();
    match (base.input.as_ref().map(log), base.output.as_ref().map(log)) {
        (Some(input), Some(output)) if copies_ratio => Some(Shown::One(
            Vector2::new(0.5, 0.5),
            f64::midpoint(input, output),
        )),
        (Some(input), Some(output)) => Some(Shown::Both(Vector2::new(input, output))),
        (Some(input), None) => Some(Shown::One(Vector2::new(1.0, 0.0), input)),
        (None, Some(output)) => Some(Shown::One(Vector2::new(0.0, 1.0), output)),
        (None, None) => None,
    }
}

fn provenance(models: &[&PricedModel], priced: &[&PricedModel], price_rows: usize) -> Provenance {
    let mut digest = Sha256::new();
    for model in models {
        // Only the digits that change a fit: published files round the same figures differently.
        digest.update(format!(
            "{} {} {:.6?}\n",
            model.name, model.family, model.truth
        ));
        for sheet in &model.sheets {
            digest.update(format!("{}\n", sheet.id()));
        }
    }
    let families: BTreeSet<&String> = priced.iter().map(|model| &model.family).collect();
    let hex = |byte: &u8| format!("{byte:02x}");
    Provenance {
        command: COMMAND.to_owned(),
        models: models.len(),
        priced_models: priced.len(),
        families: families.into_iter().cloned().collect(),
        price_rows,
        data_sha256: digest.finalize().iter().map(hex).collect(),
    }
}
