//! `/charts`: every chart of the pages under an address of its own, as a drawing or as the figures behind it.

pub(super) mod compare;
pub(super) mod drawn;
pub(super) mod frontier;
mod market;
pub(super) mod model;
mod question;
pub(super) mod record;
pub(super) mod subject;
pub(super) mod time;

use std::pin::Pin;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::compute::Views;
use crate::service::extract::Path;
use unroof_base::input::cursor::nearest_names;
use unroof_edge::answer::described::{StoreRefusals, Unchanged};
use unroof_edge::answer::problem::{NOT_FOUND, Problem};
use unroof_edge::answer::response_cache::CachedBody;
use unroof_report::chart::Chart;

pub(super) use question::Question;

/// A kind of chart: it has one row in [`KINDS`].
struct Kind {
    /// First part of its address.
    name: &'static str,
    /// Parameters that it reads.
    parameters: &'static [&'static str],
    /// Reads the figures and draws them.
    draw: for<'a> fn(&'a Views, &'a Question) -> Drawn<'a>,
}

/// A chart that is being made.
type Drawn<'a> = Pin<Box<dyn Future<Output = Result<Chart, Problem>> + Send + 'a>>;

/// Declares a kind of chart from its name, its parameters and an async function of the application and the question.
macro_rules! kind {
    ($name:literal, [$($parameter:literal),*], $draw:path) => {
        Kind {
            name: $name,
            parameters: &[$($parameter),*],
            draw: |views, question| Box::pin($draw(views, question)),
        }
    };
}

/// All kinds of charts.
const KINDS: &[Kind] = &[
    Kind {
        name: "market",
        parameters: &super::market::PARAMETERS,
        draw: |views, question| Box::pin(market::market(views, question)),
    },
    kind!(
        "density",
        ["model", "provider", "offer", "quantity", "as_of"],
        drawn::density
    ),
    kind!(
        "moves",
        ["model", "provider", "offer", "quantity", "as_of"],
        model::moves
    ),
    kind!(
        "cost",
        ["model", "provider", "offer", "side", "as_of"],
        drawn::cost
    ),
    kind!(
        "roofline",
        ["model", "provider", "offer", "as_of"],
        drawn::roofline
    ),
    kind!(
        "cache-tiers",
        ["model", "provider", "offer", "as_of"],
        model::cache_tiers
    ),
    kind!(
        "neighbours",
        ["model", "provider", "offer", "against", "as_of"],
        model::neighbours
    ),
    kind!("prices", ["model", "side", "as_of"], time::prices),
    kind!("estimates", ["model", "quantity", "as_of"], time::estimates),
    kind!(
        "frontier",
        [
            "view",
            "model",
            "accelerator",
            "chips",
            "rent",
            "weight_bytes",
            "kv_bytes",
            "batch",
            "context",
            "prompt",
            "input_margin",
            "output_margin",
            "input",
            "output",
            "requests",
            "hits",
            "first_token",
            "per_token",
            "total_parameters",
            "active_parameters",
            "layers",
            "hidden",
            "kv_heads"
        ],
        frontier::frontier
    ),
    kind!("compare", ["model", "quantity"], compare::compare),
    kind!("truth", ["quantity", "setting"], record::truth),
    kind!("calibration", ["quantity", "setting"], record::calibration),
];

/// A form of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Svg,
    Csv,
    Json,
}

impl Form {
    const ALL: [(&'static str, Self); 3] =
        [("svg", Self::Svg), ("csv", Self::Csv), ("json", Self::Json)];

    fn media_type(self) -> &'static str {
        match self {
            Self::Svg => "image/svg+xml",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Json => "application/json",
        }
    }

    fn write(self, chart: &Chart) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Svg => Ok(chart.svg().into_string().into_bytes()),
            Self::Csv => chart.table.csv().map_err(Problem::not_serialised),
            Self::Json => {
                let document = ChartDocument {
                    title: &chart.title,
                    description: &chart.description,
                    rows: chart.table.json(),
                };
                serde_json::to_vec(&document).map_err(Problem::not_serialised)
            }
        }
    }
}

/// The figures behind a chart.
#[derive(Serialize, ToSchema)]
pub(super) struct ChartDocument<'a> {
    /// The finding of the chart.
    title: &'a str,
    /// The finding with its figures.
    description: &'a str,
    /// The rows of its table, as objects of one form; the columns have their units in their names.
    #[schema(value_type = Vec<Object>)]
    rows: Value,
}

/// Show a chart, or the figures behind it
///
/// The last part of the path is a kind of chart and a form: `svg`, a drawing that is read alone; `csv` or `json`, the table
/// behind it. The pages under `/ui/` show the same charts. `model` may be repeated for charts that compare models.
#[utoipa::path(
    get,
    path = "/charts/{chart}",
    tag = "charts",
    params(
        ("chart" = String, Path, description = "Kind and form, such as `market.svg` or `density.csv`", example = "market.json"),
        ("model" = Option<String>, Query, description = "Canonical name, `author/model`; repeated for charts that compare",
            example = "google/gemini-2.5-pro"),
        ("quantity" = Option<String>, Query, description = "Quantity of the estimate; `active_parameters` if left out",
            example = "active_parameters"),
        ("provider" = Option<String>, Query, description = "Seller of an offer, with `offer` in place of `model`"),
        ("offer" = Option<String>, Query, description = "Model name of the offer as the seller spells it"),
        ("side" = Option<String>, Query, description = "Price line of the charts of prices and costs: `output` if left out, or `input`"),
        ("against" = Option<String>, Query, description = "Quantity against which active parameters are shown: `total_parameters` \
            if left out, or `kv_bytes_per_token_read`"),
        ("as_of" = Option<String>, Query, description = "Only from sheets that were seen up to this time: RFC 3339, milliseconds \
            since 1970, or `now`"),
        ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has"),
    ),
    responses(
        (status = 200, description = "The chart", headers(("etag" = String)),
            content((ChartDocument = "application/json"), (String = "text/csv"), (String = "image/svg+xml"))),
        Unchanged, StoreRefusals,
        (status = 404, description = "No such chart, or no such model", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The draws were made by another engine or calibration", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn show_chart(
    State(views): State<Views>,
    Path(chart): Path<String>,
    question: Question,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let (kind, form) = kind_and_form(&chart)?;
    question.require_known(kind.parameters)?;
    // Windows such as the last 90 days move with the day.
    let day = views.answers.now().strftime("%Y-%m-%d");
    let asked = format!("chart of {day} {chart} {question:?}");
    let body = async || {
        let chart = (kind.draw)(&views, &question).await?;
        let _place = views.answers.writing.admit().await?;
        let written = form.write(&chart)?;
        let held = views.answers.budget.take(written.len())?;
        Ok(CachedBody::new(held.keep(written), form.media_type(), None))
    };
    views.answers.polled(asked, &headers, body).await
}

fn kind_and_form(chart: &str) -> Result<(&'static Kind, Form), Problem> {
    let (kind, form) = chart.rsplit_once('.').unwrap_or((chart, ""));
    let forms = || Form::ALL.map(|(name, _)| format!("`.{name}`")).join(", ");
    let Some(known) = KINDS.iter().find(|known| known.name == kind) else {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let hint = match nearest_names(kind, &names).as_slice() {
            [] => format!("the charts are: {}", names.join(", ")),
            [nearest, ..] => format!(
                "did you mean `{nearest}`? The charts are: {}",
                names.join(", ")
            ),
        };
        let problem = Problem::new(NOT_FOUND, format!("there is no chart `{kind}`"));
        return Err(problem.hint(hint));
    };
    let written = Form::ALL.into_iter().find(|(name, _)| *name == form);
    let (_, form) = written.ok_or_else(|| {
        let problem = Problem::new(
            NOT_FOUND,
            format!("the chart `{kind}` has no form `{form}`"),
        );
        problem.hint(format!("its address ends in one of {}", forms()))
    })?;
    Ok((known, form))
}
