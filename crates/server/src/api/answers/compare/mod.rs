//! `/compare`: two to six models side by side.

mod drawn;
mod pairs;
pub(crate) mod terms;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::compute::{DRAW, Views};
use drawn::{Drawn, Stored};
pub(crate) use pairs::ComparedDraws;
use pairs::ComparedPair;
use terms::Terms;
use unroof_edge::{CachedBody, KnownTag, Problem, Reply, StoreRefusals, Unchanged};
use unroof_infer::estimate::StoredRow;
use unroof_infer::estimate::judgement::published::{open_model_of, public_value};
use unroof_infer::estimate::model::author_of;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::samples::Spread;
use unroof_infer::posterior::Interval;

/// Draws of a model: from prices, with its published architecture, and with the other models of its author.
const DRAWS: usize = 3;
/// Numbers of models that are compared.
const COUNTS: std::ops::RangeInclusive<usize> = 2..=6;

/// Models side by side
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Comparison {
    /// The models, in the order of the request.
    pub(crate) models: Vec<ComparedModel>,
    /// Every quantity, with a value per model in the same order.
    pub(crate) quantities: Vec<ComparedQuantity>,
    /// Every ordered pair of models.
    pub(crate) pairs: Vec<ComparedPair>,
}

/// One of the models
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparedModel {
    /// Canonical name, `author/model`.
    #[schema(example = "google/gemini-2.5-pro")]
    pub(crate) canonical_model: String,
    /// Author of the model.
    pub(crate) author: String,
    /// Id of its estimate.
    pub(crate) estimate_id: Uuid,
    /// Sheets of the model: all hosts and all periods.
    pub(crate) sheets: i64,
    /// Name of the open-weight model that it is; null where its architecture is not public.
    pub(crate) open_model: Option<&'static str>,
    /// Prices, costs and margins.
    pub(crate) terms: Terms,
}

/// A quantity of all models
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparedQuantity {
    /// Name of the quantity.
    #[schema(example = "active_parameters")]
    pub(crate) quantity: &'static str,
    /// Name of the quantity in reports.
    pub(crate) label: &'static str,
    /// Unit of the quantity; empty for a plain ratio.
    pub(crate) unit: &'static str,
    /// A value per model.
    pub(crate) values: Vec<ComparedValue>,
}

/// A quantity of one model
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparedValue {
    /// Published value, where the architecture is published, or the median of what follows from it; else the median of the
    /// estimate from prices.
    pub(crate) median: f64,
    /// Interval that contains the value with a probability of 90 %.
    pub(crate) interval_90: Interval,
    /// The estimate from prices alone, where `median` is of the published architecture; null elsewhere.
    #[schema(required)]
    pub(crate) by_prices: Option<Spread>,
    /// Whether the estimate from prices is identified.
    pub(crate) identified: bool,
    /// The public value, of the published architecture or of a size in the name; null where there is none.
    pub(crate) truth: Option<f64>,
}

impl ComparedValue {
    /// Median and interval from prices alone.
    pub(crate) fn prices_alone(&self) -> Spread {
        self.by_prices.unwrap_or(Spread {
            median: self.median,
            interval_90: self.interval_90,
        })
    }
}

/// Compare models
///
/// Two to six models by their canonical names: every quantity next to the others, the probability that one model has more of
/// it than another, and what they cost. Sizes and costs of a model whose architecture is published are those of the architecture,
/// with the estimate from prices beside them. Models of different authors are independent. Of two such models that their common author
/// sells itself and does not publish, active and total parameters are compared by joint draws with one markup and one accelerator, so that what
/// is common to both cancels. `draws` says which.
#[utoipa::path(
    get,
    path = "/compare",
    tag = "estimates",
    params(
        ("model" = String, Query, description = "2 to 6 canonical names, `author/model`, separated by commas; the parameter may also be repeated",
            example = "google/gemini-2.5-pro,google/gemini-2.5-flash"),
        KnownTag,
    ),
    responses(
        (status = 200, description = "The comparison", body = Comparison, headers(("etag" = String))),
        Unchanged, StoreRefusals,
        (status = 404, description = "No such model", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "An estimate is by another engine or calibration", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn compare_models(
    State(views): State<Views>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let names = names(uri.query().unwrap_or_default())?;
    let body = async || {
        let comparison = read_comparison(&views, &names).await?;
        CachedBody::json(&views.answers.budget, &comparison)
    };
    views
        .answers
        .polled(format!("compare {names:?}"), &headers, body)
        .await
}

/// The names in a query string.
pub(crate) fn names(query: &str) -> Result<Vec<String>, Problem> {
    let refuse = |detail: String| {
        Err(Problem::of_query(&detail).hint(
            "write 2 to 6 different canonical names: `/compare?model=author/name,author/name`; GET /models lists them",
        ))
    };
    let mut names: Vec<String> = Vec::new();
    for (parameter, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if parameter != "model" {
            let unknown: String = parameter.chars().take(100).collect();
            return refuse(format!("unknown field `{unknown}`, expected `model`"));
        }
        if value.contains('\0') {
            return refuse("a value contains the NUL character".to_owned());
        }
        names.extend(value.split(',').map(|name| name.trim().to_owned()));
    }
    if let Some(name) = names.iter().find(|name| !name.contains('/')) {
        let name: String = name.chars().take(100).collect();
        return refuse(format!("`{name}` is not a canonical name"));
    }
    let mut different = names.clone();
    different.sort_unstable();
    different.dedup();
    if different.len() < names.len() {
        return refuse("a model is named twice".to_owned());
    }
    if !COUNTS.contains(&names.len()) {
        return refuse(format!("{} models", names.len()));
    }
    Ok(names)
}

/// A quantity of a model.
fn value(model: &Drawn, quantity: JointQuantity) -> ComparedValue {
    let best = model.samples(quantity).spread(quantity);
    let stored = StoredRow::read(&model.row.row_values).quantity(quantity);
    ComparedValue {
        median: best.median,
        interval_90: best.interval_90,
        by_prices: model.beside(quantity),
        identified: stored.identified == Some(true),
        truth: public_value(&model.row.canonical_model, quantity),
    }
}

/// A model with its terms.
fn model(drawn: &Drawn) -> ComparedModel {
    let row = &drawn.row;
    let open = open_model_of(&row.canonical_model);
    ComparedModel {
        canonical_model: row.canonical_model.clone(),
        author: row.author.clone(),
        estimate_id: row.id,
        sheets: row.sheets,
        open_model: open.map(|open| open.name.as_str()),
        terms: Terms::new(drawn),
    }
}

/// Two to six models side by side, by their canonical names.
///
/// # Errors
/// A model is not there, was estimated by another engine or calibration, or the service is busy.
pub(crate) async fn read_comparison(
    views: &Views,
    names: &[String],
) -> Result<Comparison, Problem> {
    let mut stored = Vec::with_capacity(names.len());
    for name in names {
        let is_peer = |other: &&String| *other != name && author_of(other) == author_of(name);
        let has_peer = names.iter().any(|other| is_peer(&other));
        stored.push(Stored::read(views, name, has_peer).await?);
    }
    let estimator = views.compute.estimator.clone();
    views
        .compute
        .run(DRAW.times(DRAWS * names.len()), move |running| {
            let wanted = running.wanted();
            let drawn = stored
                .into_iter()
                .map(|stored| Drawn::new(stored, &estimator, wanted));
            let drawn: Vec<Drawn> = drawn.collect::<Result<_, _>>()?;
            let quantity = |quantity: JointQuantity| ComparedQuantity {
                quantity: quantity.name(),
                label: quantity.definition().label,
                unit: quantity.definition().unit,
                values: drawn.iter().map(|model| value(model, quantity)).collect(),
            };
            Ok(Comparison {
                models: drawn.iter().map(model).collect(),
                quantities: JointQuantity::ALL.into_iter().map(quantity).collect(),
                pairs: pairs::of(&drawn, &estimator, wanted)?,
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_repeated_or_separated_by_commas() {
        let three = ["a/x-1.5", "b/y", "c/lab/z"];
        assert_eq!(names("model=a/x-1.5,b/y&model=c%2Flab%2Fz").unwrap(), three);
        for wrong in [
            "",
            "model=a/x",
            "model=a/x,a/x",
            "model=a/x,b",
            "model=a/x,b/y&limit=2",
            "model=a/x,b/%00",
            "model=a/1,a/2,a/3,a/4,a/5,a/6,a/7",
        ] {
            let problem = names(wrong).unwrap_err();
            assert_eq!(problem.status, 400, "{wrong}");
            assert!(problem.hint.is_some_and(|hint| hint.contains("/compare?")));
        }
    }
}
