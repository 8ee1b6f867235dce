//! `/imports/{id}/accept`, `/imports/{id}/discard` and `/imports/{id}/undo`: held imports, and imports that are undone.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::catalogs::{Started, line_body};
use crate::answers::Answers;
use crate::app::Work;
use crate::compute::Views;
use crate::service::access::Sender;
use crate::service::extract::{NoQuery, Path};
use unroof_edge::{CONFLICT, Problem, Reply, StoreRefusals};
use unroof_import::{Line, NotAccepted, Options, Priority, Turn};
use unroof_infer::estimate::CancelToken;
use unroof_store::{Discarded, ImportOutcome, StoreError, Undone};

/// Most later imports that a refusal names.
const MOST_NAMED: usize = 10;

/// Time for which a request waits for an import that is about to end.
const MOMENT: Duration = Duration::from_secs(1);

/// The permit to import, after an import that is about to end.
async fn place_of(work: &Work) -> Result<OwnedSemaphorePermit, Problem> {
    let place = tokio::time::timeout(MOMENT, work.jobs.importer.place()).await;
    place.or_else(|_| work.import_place())
}

/// The refusal of an import with an outcome.
fn has_outcome(outcome: ImportOutcome, wanted: &str) -> Problem {
    let detail = format!("the import has the outcome `{}`, {wanted}", outcome.name());
    Problem::new(CONFLICT, detail).hint("GET /imports lists every import with its outcome")
}

/// The refusal to undo an import before later ones.
fn is_followed(later: &[Uuid]) -> Problem {
    let first: Vec<String> = later.iter().take(MOST_NAMED).map(Uuid::to_string).collect();
    let detail = format!(
        "later imports of the catalog depend on it, {} of them: {}",
        later.len(),
        first.join(", ")
    );
    Problem::new(CONFLICT, detail).hint("undo those first, in this order")
}

/// The refusal to accept an import.
fn not_accepted(error: NotAccepted) -> Problem {
    match error {
        NotAccepted::Unknown => Problem::not_found("import"),
        NotAccepted::NotHeld(outcome) => has_outcome(outcome, "and only a held one is accepted"),
        moved @ NotAccepted::Moved(_) => Problem::new(CONFLICT, moved.to_string())
            .hint("send the request again to accept that difference"),
        NotAccepted::Catalog(error) => error.into(),
        NotAccepted::Store(error) => error.into(),
    }
}

/// Accept a held import
///
/// Imports the catalog that was held, as of the time at which it was sent, and answers as `POST /catalogs` does. If the
/// record has changed since, so that the difference is another one, it is refused once and the list of imports shows the new
/// difference.
#[utoipa::path(
    post,
    path = "/imports/{id}/accept",
    tag = "catalogs",
    params(("id" = Uuid, Path, description = "Id of the import")),
    responses(
        (status = 200, description = "Lines, each a JSON object; the last one has the type `done`, `held` or `failed`", body = Line, content_type = "application/x-ndjson"),
        StoreRefusals,
        (status = 404, description = "No such import", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The import is not held, or the record has changed since it was", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable, another catalog is being imported, or four clients are still reading the results of their imports", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn accept_import(
    State(views): State<Views>,
    State(work): State<Arc<Work>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    Sender { actor, .. }: Sender,
) -> Reply {
    let (wanted, waiting) = CancelToken::while_waiting();
    let line_reader = work.line_reader_place()?;
    let turn = Turn::new(place_of(&work).await?, wanted);
    let now = views.answers.now();
    let options = Options {
        format: None,
        provider: None,
        partial: false,
        accepted: None,
        only_changed: false,
        dry_run: false,
        observed_at: now,
        seen_now: false,
        recorded_at: now,
        estimator: views.compute.estimator.clone(),
        threads: views.limits.computing,
    };
    let importer = work.jobs.importer.clone();
    let accepted = importer.accept(id, options, turn, Priority::Batch, &actor);
    let (begun, version) = accepted.await.map_err(not_accepted)?;
    let started = Started {
        importer,
        begun,
        version,
    };
    Ok(line_body(
        started,
        views.limits.write_time,
        (waiting, line_reader),
    ))
}

/// Discard a held import
///
/// Forgets the catalog that was held; nothing of it was recorded. A repeated request changes nothing.
#[utoipa::path(
    post,
    path = "/imports/{id}/discard",
    tag = "catalogs",
    params(("id" = Uuid, Path, description = "Id of the import")),
    responses(
        (status = 204, description = "It is discarded"),
        StoreRefusals,
        (status = 404, description = "No such import", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The import is not held", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn discard_import(
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    Sender { actor, .. }: Sender,
) -> Result<StatusCode, Problem> {
    let discarded = answers.store.discard_import(id, answers.now(), &actor);
    match discarded.await? {
        Discarded::Done => Ok(StatusCode::NO_CONTENT),
        Discarded::Unknown => Err(Problem::not_found("import")),
        Discarded::NotHeld(outcome) => {
            Err(has_outcome(outcome, "and only a held one is discarded"))
        }
    }
}

/// Undo an import
///
/// The offers, prices in force, listings and links to estimates are again those before the import, and the feed says so. An
/// import that a later one depends on is undone after that one.
#[utoipa::path(
    post,
    path = "/imports/{id}/undo",
    tag = "catalogs",
    params(("id" = Uuid, Path, description = "Id of the import")),
    responses(
        (status = 204, description = "It is undone"),
        StoreRefusals,
        (status = 404, description = "No such import", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The import has recorded nothing, or something that was recorded later depends on it", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable, or another catalog is being imported", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn undo_import(
    State(work): State<Arc<Work>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    Sender { actor, .. }: Sender,
) -> Result<StatusCode, Problem> {
    let place = place_of(&work).await?;
    let importer = work.jobs.importer.clone();
    // Done to the end, also where the client leaves.
    let undo = tokio::spawn(async move { importer.undo(id, place, &actor).await });
    let undone = undo.await.unwrap_or(Err(StoreError::Away))?;
    match undone {
        Some(Undone::Done) => Ok(StatusCode::NO_CONTENT),
        Some(Undone::Unknown) => Err(Problem::not_found("import")),
        Some(Undone::Nothing(outcome)) => Err(has_outcome(
            outcome,
            "and has recorded nothing that can be undone",
        )),
        Some(Undone::Later(imports)) => Err(is_followed(&imports)),
        Some(Undone::PostedSince(offers)) => Err(Problem::new(
            CONFLICT,
            format!("sheets of offers of the import were posted since: {offers}"),
        )
        .hint("withdraw what is wrong instead: POST /price-sheets/{id}/withdraw")),
        None => Err(Problem::busy("the catalog is being imported")
            .hint("send the request again when that is done")),
    }
}
