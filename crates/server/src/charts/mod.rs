//! `/charts`: every chart of the pages under an address of its own, as a drawing or as the figures behind it.

pub(super) mod compare;
pub(super) mod estimate;
pub(super) mod over_time;
pub(super) mod record;
pub(super) mod subject;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::compute::Views;
use super::market::{self, MarketQuestion};
use crate::api::calculators::calculated::{Calculated, Calculator, VIEW, calculate};
use crate::question::Question;
use crate::service::extract::Path;
use unroof_base::input::cursor::nearest_names;
use unroof_edge::{
    CachedBody, NOT_FOUND, Problem, StoreRefusals, UNREADABLE, Unchanged, require_scope,
};
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::frontier::{of_fleet, of_machine};
use unroof_store::access::Scope;

/// Kinds of charts: the first part of an address.
/// The kind that asks a calculator.
const FRONTIER: &str = "frontier";

const KINDS: [&str; 13] = [
    "market",
    "density",
    "moves",
    "cost",
    "roofline",
    "cache-tiers",
    "neighbours",
    "prices",
    "estimates",
    FRONTIER,
    "compare",
    "truth",
    "calibration",
];

/// Parameters that a kind of chart reads.
fn parameters(kind: &str) -> Vec<&'static str> {
    let own: &[&str] = match kind {
        "market" => &market::PARAMETERS,
        "density" | "moves" => &["model", "provider", "offer", "quantity", "as_of"],
        "cost" => &["model", "provider", "offer", "side", "as_of"],
        "neighbours" => &["model", "provider", "offer", "against", "as_of"],
        "prices" => &["model", "side", "as_of"],
        "estimates" => &["model", "quantity", "as_of"],
        FRONTIER => return frontier_parameters(),
        "compare" => &["model", "quantity"],
        "truth" | "calibration" => &["quantity", "setting"],
        "roofline" | "cache-tiers" => &["model", "provider", "offer", "as_of"],
        _ => &[],
    };
    own.to_vec()
}

/// Parameters of the calculators that have a frontier.
fn frontier_parameters() -> Vec<&'static str> {
    let of_both = [Calculator::Machine, Calculator::Fleet].map(Calculator::parameters);
    let mut names = vec![VIEW];
    for parameter in of_both.into_iter().flatten() {
        if !names.contains(&parameter.name) {
            names.push(parameter.name);
        }
    }
    names
}

/// Reads the figures of a chart and draws them.
async fn draw(kind: &str, views: &Views, question: &Question) -> Result<Chart, Problem> {
    match kind {
        "market" => of_market(views, question).await,
        "density" => estimate::density(views, question).await,
        "moves" => estimate::moves(views, question).await,
        "cost" => estimate::cost(views, question).await,
        "roofline" => estimate::roofline(views, question).await,
        "cache-tiers" => estimate::cache_tiers(views, question).await,
        "neighbours" => estimate::neighbours(views, question).await,
        "prices" => over_time::prices(views, question).await,
        "estimates" => over_time::estimates(views, question).await,
        FRONTIER => frontier(views, question).await,
        "compare" => compare::compare(views, question).await,
        "truth" => record::asked(question).map(record::truth_of),
        "calibration" => record::asked(question).map(record::calibration_of),
        _ => Err(unknown_kind(kind)),
    }
}

/// The estimates of the models that a market page lists.
async fn of_market(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let asked = MarketQuestion::read(question)?;
    let market = market::read(views, &asked).await?;
    let selected = asked.select(&market.models);
    Ok(market.chart(&asked.of_page(&selected), asked.quantity))
}

/// Cost over speed of a question to a calculator.
async fn frontier(views: &Views, question: &Question) -> Result<Chart, Problem> {
    match calculate(views, question).await? {
        Calculated::Machine(answer) => Ok(of_machine(&answer)),
        Calculated::Fleet(answer) => Ok(of_fleet(&answer)),
        Calculated::Layout(_) | Calculated::Training(_) | Calculated::Cost(_) => {
            let detail = "invalid query string: this calculator has no cost over speed";
            Err(Problem::new(UNREADABLE, detail).hint("write view=machine or view=fleet"))
        }
    }
}

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
        ("side" = Option<String>, Query, description = "Price line of the charts of prices and costs: `output` if left out, `input`, or `cache_read` of prices"),
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
    question.require_known(&parameters(kind))?;
    if kind == FRONTIER {
        // It asks a calculator, which a kept chart does not.
        require_scope(Scope::Ask)?;
    }
    // Windows such as the last 90 days move with the day.
    let day = views.answers.now().strftime("%Y-%m-%d");
    let asked = format!("chart of {day} {chart} {question:?}");
    let body = async || {
        let chart = Box::pin(draw(kind, &views, &question)).await?;
        let permit = views.answers.permit_to_write().await?;
        let written = permit.run(move |_| form.write(&chart)).await??;
        let held = views.answers.budget.take(written.len())?;
        Ok(CachedBody::new(held.keep(written), form.media_type(), None))
    };
    views.answers.polled(asked, &headers, body).await
}

fn kind_and_form(chart: &str) -> Result<(&'static str, Form), Problem> {
    let (kind, form) = chart.rsplit_once('.').unwrap_or((chart, ""));
    let Some(known) = KINDS.into_iter().find(|known| *known == kind) else {
        return Err(unknown_kind(kind));
    };
    let mut forms = Form::ALL.into_iter();
    let written = forms.find(|(name, _)| *name == form);
    let (_, form) = written.ok_or_else(|| {
        let detail = format!("the chart `{kind}` has no form `{form}`");
        let forms = Form::ALL.map(|(name, _)| format!("`.{name}`")).join(", ");
        Problem::new(NOT_FOUND, detail).hint(format!("its address ends in one of {forms}"))
    })?;
    Ok((known, form))
}

fn unknown_kind(kind: &str) -> Problem {
    let names = KINDS.join(", ");
    let hint = match nearest_names(kind, &KINDS).as_slice() {
        [] => format!("the charts are: {names}"),
        [nearest, ..] => format!("did you mean `{nearest}`? The charts are: {names}"),
    };
    Problem::new(NOT_FOUND, format!("there is no chart `{kind}`")).hint(hint)
}
