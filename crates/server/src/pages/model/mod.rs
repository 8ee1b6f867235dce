//! `/ui/models/{author}/{model}`: all that is known about one model; and `/ui/offers/{provider}/{model}` for an offer
//! without a canonical name.

mod conflicts;
mod drawn;
mod head;
mod offers;
mod quantities;
mod readings;
mod stored;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};

use super::answer;
use super::figure::figure;
use super::layout::{Page, Tab};
use super::spelling::canonical;
use crate::api::answers::density::read_density;
use crate::api::answers::estimate_density::EstimateDensity;
use crate::api::answers::models::ModelPath;
use crate::api::answers::series::Series;
use crate::charts::over_time::series;
use crate::charts::subject::Subject;
use crate::compute::Views;
use crate::question::Question;
use crate::service::extract::Path;
use unroof_edge::{CONFLICT, Problem};
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_price_sheet::history::UNKNOWN_START;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_report::chart::Chart;
use unroof_report::names::model_address;
use unroof_store::{ChangeFilter, ChangeKind, ChangeRow, ChangesFrom, KindCount};

/// Changes that are shown.
const EVENTS: u32 = 40;

/// Shows the page of a model.
pub(super) async fn show(
    State(views): State<Views>,
    Path(path): Path<ModelPath>,
    question: Question,
    headers: HeaderMap,
) -> Response<Body> {
    let name = path.name();
    let asked = format!("model {name} {question:?}");
    let page = async || {
        question.require_known(&["as_of"])?;
        page(&views, question.with("model", &name)).await
    };
    let response = answer::page(&views.answers, &asked, &headers, page).await;
    if response.status() != StatusCode::NOT_FOUND {
        return response;
    }
    let other = canonical(&views.answers, &name).await;
    other.map_or(response, |name| {
        Redirect::temporary(&model_address(&name)).into_response()
    })
}

/// Shows the page of an offer.
pub(super) async fn show_offer(
    State(views): State<Views>,
    Path((provider, model)): Path<(String, String)>,
    question: Question,
    headers: HeaderMap,
) -> Response<Body> {
    let asked = format!("offer {provider} {model} {question:?}");
    let page = async || {
        question.require_known(&["as_of"])?;
        let question = question.with("provider", &provider).with("offer", &model);
        page(&views, question).await
    };
    answer::page(&views.answers, &asked, &headers, page).await
}

/// Everything that the page shows.
struct Shown {
    question: Question,
    subject: Subject,
    /// The draws; none where they cannot be made again.
    drawn: Option<Arc<EstimateDensity>>,
    /// The sheet by which it is shown.
    sheet: Option<PriceSheet>,
    /// The answer to that sheet.
    answer: Option<StoredEstimate>,
    /// Prices and estimates over time, of a model.
    series: Option<Series>,
    /// The newest changes first, of a model.
    events: Vec<ChangeRow>,
    /// All changes of a model by kind.
    changes: Vec<KindCount>,
}

impl Shown {
    async fn read(views: &Views, question: Question) -> Result<Self, Problem> {
        let subject = Subject::read(&views.answers, &question).await?;
        let drawn = match read_density(views, subject.estimate.id).await {
            Ok(drawn) => Some(drawn),
            // Another engine or calibration made it.
            Err(problem) if problem.is_of(CONFLICT) => None,
            Err(problem) => return Err(problem),
        };
        let is_model = question.last("model").is_some();
        let (mut series_of_model, mut events, mut changes) = (None, Vec::new(), Vec::new());
        let answer = if is_model {
            series_of_model = Some(series(views, &question).await?);
            let filter = ChangeFilter {
                canonical_model: vec![subject.name.clone()],
                ..ChangeFilter::default()
            };
            let newest = ChangesFrom::Before(i64::MAX);
            events = views
                .answers
                .store
                .changes_from(&filter, newest, EVENTS)
                .await?;
            let begin = UNKNOWN_START.into();
            changes = views.answers.store.changes_by_kind(&filter, begin).await?;
            subject.answer(&views.answers, &question).await?
        } else {
            Some(subject.estimate.clone())
        };
        Ok(Self {
            drawn,
            sheet: subject.sheet(&views.answers).await?,
            answer,
            series: series_of_model,
            events,
            changes,
            subject,
            question,
        })
    }
}

/// The changes after which the page is read again: those of the model, or of the offer. A state of the past stays as it is.
#[derive(Default)]
struct Live {
    /// Names of the kinds of changes after which the page is read again.
    kinds: Option<String>,
    /// Filter of the stream.
    about: Option<String>,
}

impl Live {
    fn of(shown: &Shown) -> Self {
        let question = &shown.question;
        if question.last("as_of").is_some() {
            return Self::default();
        }
        let filter = match (question.last("provider"), question.last("offer")) {
            (Some(provider), Some(offer)) => Question::default()
                .with("provider", provider)
                .with("model", offer),
            _ => Question::default().with("canonical_model", &shown.subject.name),
        };
        let kinds = ChangeKind::ALL.iter().map(|kind| kind.name());
        Self {
            kinds: Some(kinds.collect::<Vec<_>>().join(" ")),
            about: Some(filter.query()),
        }
    }
}

async fn page(views: &Views, question: Question) -> Result<Page, Problem> {
    let shown = Shown::read(views, question).await?;
    let live = Live::of(&shown);
    let content = html! {
        p.news id="news" role="status" data-news="The prices or the estimate changed. This is the new state." {}
        article.model id="model" data-live=[live.kinds] data-about=[live.about] {
            (head::head(&shown))
            (quantities::table(&shown))
            (drawn::densities(&shown))
            (stored::moves(&shown))
            (drawn::costs(&shown))
            div.columns {
                (drawn::roofline(&shown))
                (stored::caches(&shown))
            }
            (stored::over_time(&shown, views.answers.now()))
            (stored::neighbours(&shown))
            @if shown.series.is_some() { (offers::offers(&shown)) }
            (conflicts::conflicts(&shown))
            (readings::readings(&shown))
            @if shown.series.is_some() { (offers::events(&shown)) }
        }
    };
    Ok(Page {
        title: shown.subject.name.clone(),
        tab: Some(Tab::Market),
        content,
    })
}

/// The figures of some quantities under their own addresses: those that are asked for most, and the others.
fn figures_by_quantity(
    shown: &Shown,
    kind: &str,
    first: &[JointQuantity],
    all: Vec<JointQuantity>,
    draw: impl Fn(JointQuantity) -> Option<Chart>,
) -> (Vec<Markup>, Vec<Markup>) {
    let figure_of = |quantity: JointQuantity| {
        let query = shown.question.with("quantity", quantity.name()).query();
        Some(figure(&draw(quantity)?, kind, &query))
    };
    let figures =
        |quantities: Vec<JointQuantity>| quantities.into_iter().filter_map(figure_of).collect();
    let (first, others) = all
        .into_iter()
        .partition(|quantity| first.contains(quantity));
    (figures(first), figures(others))
}

/// A section with a finding as its heading.
fn section(id: &str, finding: &str, content: &Markup) -> Markup {
    html! {
        section id=(id) {
            h2 { (finding) }
            (content)
        }
    }
}

/// A remedy in place of an empty part.
fn empty(words: &Markup) -> Markup {
    html! { div.empty { (words) } }
}
