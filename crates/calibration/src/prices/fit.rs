//! The whole calibration, from models and their sheets.

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::{Matrix2, Vector2};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::data::PricedModel;
use super::price_law::{self, Regressors, Row, Shown};
use super::{Settings, context_tiers, count, population};
use unroof_base::units::significant;
use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::decision::{Decision, decisions};
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::calibration::{
    Calibration, HostMarkup, OverLines, PriceLaw, Provenance,
};

const COMMAND: &str = "unroof-dev calibrate";

/// Learns from models and the sheets of their hosts.
#[must_use]
pub fn calibrate(models: &[&PricedModel], settings: &Settings) -> Calibration {
    let priced: Vec<&PricedModel> = models
        .iter()
        .copied()
        .filter(|model| !model.sheets.is_empty())
        .collect();
    let population = population::population(&priced, settings.size_degrees_of_freedom);
    let sellers = sellers(&priced);
    let rows: Vec<Row> = priced
        .iter()
        .enumerate()
        .flat_map(|(place, model)| rows_of(place, model, &sellers, settings))
        .collect();
    let mean_years = population.dates.mean_years;
    let sizes: Vec<Regressors> = priced
        .iter()
        .map(|model| sizes_of(model, mean_years))
        .collect();
    let are_authors: Vec<bool> = sellers.iter().map(|seller| seller.is_author).collect();
    let law = price_law::fit(&sizes, &are_authors, &rows, settings);
    let [centred, by_active, by_total, ..] = law.fixed;
    let [_, active, total, dense, author, author_per_year] = law.fixed.map(Into::into);
    let markups = |wanted: bool| -> BTreeMap<String, HostMarkup> {
        sellers
            .iter()
            .zip(&law.sellers)
            .filter(|(seller, _)| seller.is_author == wanted)
            .map(|(seller, (mean, covariance))| {
                let markup = HostMarkup {
                    mean: (*mean).into(),
                    covariance: over_lines(covariance),
                };
                (seller.name.clone(), markup)
            })
            .collect()
    };
    rounded(&Calibration {
        provenance: provenance(models, &priced, rows.len()),
        price_law: PriceLaw {
            intercept: (centred - (by_active * CENTRE[0] + by_total * CENTRE[1])).into(),
            active,
            total,
            dense,
            dense_centre: CENTRE[0],
            author,
            author_per_year,
            author_spread: over_lines(&law.unseen_author),
            host: over_lines(&law.host),
            deviation: over_lines(&law.deviation),
            degrees_of_freedom: settings.deviation_degrees_of_freedom,
            noise: over_lines(&law.noise),
            copy_weight: settings.copy_weight.unwrap_or(0.0),
            most_weight: MOST_WEIGHT,
        },
        context_tier: context_tiers::law(&priced),
        // Scores of knowledge are not a part of the data: their publishers hold them.
        knowledge: Calibration::shipped().knowledge,
        // No estimate uses it: it is fitted once, to all models.
        cost_law: Calibration::shipped().cost_law,
        hosts: markups(false),
        authors: markups(true),
        population,
    })
}

/// Weight of a decision that very many sellers copy: invented sellers must not make an answer certain.
const MOST_WEIGHT: f64 = 3.0;

/// Centres of the logarithms of parameters: 16 and 72 billion.
const CENTRE: [f64; 2] = [23.5, 25.0];

/// The sizes of a model as the law of prices has them.
fn sizes_of(model: &PricedModel, mean_years: f64) -> Regressors {
    let truth = &model.truth;
    let levels = [truth.log_active - CENTRE[0], truth.log_total - CENTRE[1]];
    Regressors {
        levels,
        further: if truth.is_dense() { levels[0] } else { 0.0 },
        years: truth.years().map_or(0.0, |years| years - mean_years),
    }
}

/// A seller, of models of others or of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seller {
    pub(crate) is_author: bool,
    pub(crate) name: String,
}

/// Every seller of some models, in order.
pub(crate) fn sellers(models: &[&PricedModel]) -> Vec<Seller> {
    let sellers = models
        .iter()
        .flat_map(|model| model.sheets.iter().map(seller));
    sellers.collect::<BTreeSet<_>>().into_iter().collect()
}

pub(crate) fn seller(sheet: &PriceSheet) -> Seller {
    let is_author = sells_own(sheet);
    Seller {
        is_author,
        name: if is_author {
            vendor(&sheet.provider)
        } else {
            sheet.provider.clone()
        },
    }
}

fn sells_own(sheet: &PriceSheet) -> bool {
    is_sold_by_author(sheet) == Some(true)
}

/// Every number to nine significant digits, so that the file is the same wherever it is made.
pub(crate) fn rounded<Fitted: Serialize + DeserializeOwned>(fitted: &Fitted) -> Fitted {
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
    let mut value = serde_json::to_value(fitted).expect("fitted numbers serialise");
    round(&mut value);
    serde_json::from_value(value).expect("rounding keeps the form")
}

fn over_lines(matrix: &Matrix2<f64>) -> OverLines {
    matrix.transpose().into()
}

/// The rows of one model: every decision once, with a weight for its copies, and of a reseller that copies its ratio the
/// level alone.
pub(crate) fn rows_of(
    model: usize,
    priced: &PricedModel,
    sellers: &[Seller],
    settings: &Settings,
) -> Vec<Row> {
    let sheets: Vec<&PriceSheet> = priced.sheets.iter().collect();
    let groups = if settings.copy_weight.is_some() {
        decisions(&sheets, sells_own)
    } else {
        // Every sheet is a decision of its own.
        let alone = |sheet| vec![Decision { sheet, copies: 0 }];
        (0..sheets.len()).map(alone).collect()
    };
    let mut rows = Vec::new();
    for group in groups {
        for (place, decision) in group.iter().enumerate() {
            let sheet = sheets[decision.sheet];
            let Ok(seller) = sellers.binary_search(&seller(sheet)) else {
                continue;
            };
            let further = settings.copy_weight.unwrap_or(0.0) * count(decision.copies);
            rows.extend(shown(sheet, place > 0).map(|shown| Row {
                model,
                seller,
                shown,
                weight: (1.0 + further).min(MOST_WEIGHT),
            }));
        }
    }
    rows
}

fn shown(sheet: &PriceSheet, copies_ratio: bool) -> Option<Shown> {
    let base = sheet.base_rate()?;
    let log = |price: &unroof_base::units::Decimal| price.to_f64().ln();
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
