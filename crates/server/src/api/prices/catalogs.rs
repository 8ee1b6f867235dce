//! `POST /catalogs`, which imports whole catalogs with one line per entry, and `GET /imports`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tokio::sync::OwnedSemaphorePermit;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::app::Work;
use crate::compute::{ESTIMATE, Views};
use crate::list::page::{Direction, FilterText, Moment};
use crate::list::{List, Piece, Rows, list, name_in_order};
use crate::query::query;
use crate::service::access::{Sender, refused_whole};
use crate::service::extract::{MostBytes, Query};
use unroof_base::input::schema::one_of_texts;
use unroof_edge::{Bill, BodyRefusals, NDJSON, Names, Problem, Reply, some_of};
use unroof_import::lines;
use unroof_import::{
    BegunImport, CatalogFormat, Importer, Line, LineReceiver, Options, Priority, Turn, Version,
};
use unroof_infer::estimate::CancelToken;
use unroof_store::{ImportOrder, ImportOutcome, ImportPlace, ImportRow, ImportSelection, Store};

query! {
    /// Options of an import.
    CatalogQuery {
        /// Format of the body; recognised if left out.
        format: FormatName,
        /// Only offers of this provider.
        provider: FilterText,
        /// `true` for a part of a catalog: what it does not list does not end.
        #[param(nullable = false, default = false)]
        partial: Option<bool>,
        /// `true` omits unchanged entries.
        #[param(nullable = false, default = false)]
        only_changed: Option<bool>,
        /// `true` reports the outcome of each entry without storing anything.
        #[param(nullable = false, default = false)]
        dry_run: Option<bool>,
        /// Time of observation of the catalog; now if left out. RFC 3339, milliseconds since 1970, or `now`.
        observed_at: Moment,
    }
}

/// A format, by its name.
#[derive(Debug, Clone, Copy)]
struct FormatName(CatalogFormat);

impl<'de> Deserialize<'de> for FormatName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map(Self).map_err(D::Error::custom)
    }
}

impl PartialSchema for FormatName {
    fn schema() -> RefOr<Schema> {
        one_of_texts(CatalogFormat::names()).into()
    }
}

impl ToSchema for FormatName {}

/// A whole catalog as it is published, or a list of sheets in canonical form.
pub(crate) struct CatalogDocument;

impl PartialSchema for CatalogDocument {
    fn schema() -> RefOr<Schema> {
        let list = ArrayBuilder::new().items(ObjectBuilder::new());
        OneOfBuilder::new()
            .item(ObjectBuilder::new().description(Some("A catalog.")))
            .item(list.description(Some("A list of sheets or of providers.")))
            .description(Some(
                "A whole catalog as it is published, or a list of sheets in canonical form.",
            ))
            .into()
    }
}

impl ToSchema for CatalogDocument {}

impl CatalogQuery {
    async fn options(&self, views: &Views) -> Result<Options, Problem> {
        let now = views.answers.now();
        let seen_at = self
            .observed_at
            .map(|moment| moment.not_after(now))
            .transpose()?;
        let store = &views.answers.store;
        let recorded_at = store.time_to_record(now).await;
        let observed_at = seen_at.map_or(recorded_at, |seen_at| store.not_ahead(seen_at));
        Ok(Options {
            format: self.format.map(|FormatName(format)| format),
            provider: self.provider.clone().map(|FilterText(name)| name),
            partial: self.partial.unwrap_or_default(),
            accepted: None,
            only_changed: self.only_changed.unwrap_or_default(),
            dry_run: self.dry_run.unwrap_or_default(),
            observed_at,
            seen_now: seen_at.is_none(),
            recorded_at,
            estimator: views.compute.estimator.clone(),
            threads: views.limits.computing,
        })
    }
}

impl Work {
    /// The permit to import.
    pub(super) fn import_place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.jobs.importer.try_place().ok_or_else(|| {
            Problem::busy("another catalog is being imported")
                .hint("send it again when that one is done; GET /imports shows it")
        })
    }

    /// A permit to read the lines of an import.
    pub(super) fn line_reader_place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.line_readers)
            .try_acquire_owned()
            .map_err(|_| {
                Problem::busy("too many clients are still reading the results of earlier imports")
                    .hint("send the catalog again once those clients have finished")
            })
    }
}

/// Import a whole catalog
///
/// Reads a catalog in any of the formats, up to 64 MiB, and answers line by line (NDJSON) while it works: one line per
/// sheet or refused entry, progress, the names that match no canonical model, and a summary. Each pricing decision is
/// estimated once; copies of it share the estimate. A line is sent after its entry is stored. Sending the same catalog
/// again is safe and answers `unchanged`. An invalid entry is refused and the others are imported. One catalog at a time:
/// during an import, the body of another catalog is not read. An import that would end more than a fifth of the catalog's
/// offers, or change more than a fifth of its prices by more than a factor of three, records nothing: it is `held` until
/// `POST /imports/{id}/accept`. Several documents of one catalog, such as the files of its sellers, are one snapshot: they are
/// separated by the character U+001E (RFC 7464), and end only offers of sellers that they list. A catalog has up to 1,000,000 JSON values, 100,000 entries
/// of up to 50,000 values, and 160 MiB of sheets in memory. The last line is `done`, `held` or `failed`; a body without it is
/// truncated. The import continues while up to 16 MiB of lines are unread.
#[utoipa::path(
    post,
    path = "/catalogs",
    tag = "catalogs",
    params(CatalogQuery),
    request_body(content = CatalogDocument, content_type = "application/json", example = json!({
        "gpt-5.4": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-6,
                    "output_cost_per_token": 1.5e-5, "cache_read_input_token_cost": 2.5e-7}
    })),
    responses(
        (status = 200, description = "Lines, each a JSON object; the last one has the type `done`, `held` or `failed`", body = Line, content_type = "application/x-ndjson"),
        BodyRefusals,
        (status = 413, description = "Larger than 64 MiB", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The body is JSON but not a catalog, or the catalog is too large", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable, another catalog is being imported, or four clients are still reading the results of their imports", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn import_catalog(
    State(views): State<Views>,
    State(work): State<Arc<Work>>,
    Query(query): Query<CatalogQuery>,
    sender: Sender,
    request: Request,
) -> Reply {
    let options = query.options(&views).await?;
    let most = MostBytes {
        bytes: views.limits.catalog_bytes,
        hint: "send a part of the catalog at a time, such as one provider",
    };
    most.check(request.headers())?;
    // The import is wanted as long as the client is there.
    let (wanted, waiting) = CancelToken::while_waiting();
    let line_reader = work.line_reader_place()?;
    let turn = Turn::new(work.import_place()?, wanted);
    // Dropped before the turn where the client leaves while it sends.
    let reader = (waiting, line_reader);
    let read = most.read(request, views.limits.body_time, |_| Ok(()));
    let text = read.await?;
    let importer = work.jobs.importer.clone();
    let import = importer.read(text, options, turn, Priority::Batch).await?;
    sender.check_providers(import.providers())?;
    if import.is_whole() && !sender.providers.is_any() {
        return Err(refused_whole(&sender.providers));
    }
    let begun = importer.begin("request", import, &sender.actor).await?;
    let started = Started {
        importer,
        begun,
        version: Version::default(),
    };
    Ok(line_body(started, views.limits.write_time, reader))
}

/// An import that is on record, with the version of its catalog.
pub(super) struct Started {
    pub(super) importer: Importer,
    pub(super) begun: BegunImport,
    pub(super) version: Version,
}

/// Runs an import, and answers with its lines; `holds` is dropped when the client has read them or has left.
pub(super) fn line_body(
    started: Started,
    write_time: Duration,
    holds: impl Send + 'static,
) -> Response {
    let Started {
        importer,
        begun,
        version,
    } = started;
    let (sender, receiver) = lines(write_time);
    let bill = Bill::current();
    tokio::spawn(async move {
        let imported = importer.import(begun, version, sender).await;
        // The lines have no headers any more: what an import takes beyond its bytes is owed.
        if let (Some(bill), Ok(summary)) = (bill, imported) {
            let estimated = u32::try_from(summary.estimated).unwrap_or(u32::MAX);
            bill.spend(ESTIMATE.estimate.cpu.saturating_mul(estimated));
        }
    });
    let headers = [
        (header::CONTENT_TYPE, NDJSON),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, body_of(receiver, holds)).into_response()
}

/// Sort key of imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ImportSort {
    /// Start of the run.
    StartedAt,
    /// Source, then start of the run.
    Source,
}

/// Names of outcomes of runs.
#[derive(Debug, Default)]
struct Outcomes(Vec<String>);

impl<'de> Deserialize<'de> for Outcomes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let names = text.split(',').map(|name| {
            let outcome = ImportOutcome::try_from(name.trim().to_owned());
            let outcome = outcome.map_err(|_| {
                let known: Vec<&str> = ImportOutcome::ALL.iter().map(|one| one.name()).collect();
                D::Error::custom(format!("`{name}` is not one of {}", known.join(", ")))
            });
            outcome.map(|outcome| outcome.name().to_owned())
        });
        let names: BTreeSet<String> = names.collect::<Result<_, _>>()?;
        Ok(Self(names.into_iter().collect()))
    }
}

impl PartialSchema for Outcomes {
    fn schema() -> RefOr<Schema> {
        some_of(ImportOutcome::ALL.iter().map(|outcome| outcome.name()))
    }
}

impl ToSchema for Outcomes {}

/// The lines as a body; `holds` is dropped when the client has read it or has left.
fn body_of(lines: LineReceiver, holds: impl Send + 'static) -> Body {
    let lines = stream::unfold((lines, holds), async |(mut lines, holds)| {
        let text = lines.next_text().await?;
        Some((text, (lines, holds)))
    });
    Body::from_stream(lines)
}

list! {
    /// List imports, newest first
    ///
    /// One row per import: by a request, the command line or a scheduled refresh.
    list_imports: "/imports" in "catalogs",
    "A page of runs" of ImportRow,
    /// Filter, order and page of the runs.
    ImportsQuery {
        /// Source: an address as it was given to `--refresh`, or `request`; several separated by commas.
        source: Names,
        /// Format of the catalog; several separated by commas.
        catalog: Names,
        /// Outcome of the run; several separated by commas.
        outcome: Outcomes,
        /// Sort key; `started_at` if left out.
        sort: ImportSort,
        /// Direction of the sort: `desc` by default for `started_at`, else `asc`.
        order: Direction,
    }
}

impl ImportsQuery {
    /// The order of the runs: by time, the newest first, where none is asked for.
    fn sorted(&self) -> ImportOrder {
        let is_by_source = self.sort == Some(ImportSort::Source);
        let is_descending = self.order.map(|order| order == Direction::Desc);
        ImportOrder {
            is_by_source,
            is_descending: is_descending.unwrap_or(!is_by_source),
        }
    }
}

impl List for ImportsQuery {
    const NAME: &'static str = "imports";
    const IS_KEPT: bool = false;
    type Row = ImportRow;
    type Key = ImportPlace;

    fn name(&self) -> Cow<'static, str> {
        name_in_order(Self::NAME, &self.sorted(), &ImportOrder::NEWEST)
    }

    fn has(&self, place: &ImportPlace) -> bool {
        place.is_in(self.sorted())
    }

    fn key(&self, row: &ImportRow) -> ImportPlace {
        row.place(self.sorted())
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, ImportPlace>) -> Rows<ImportRow> {
        let outcome = self.outcome.as_ref();
        let selection = ImportSelection {
            source: Names::list(self.source.clone()),
            catalog: Names::list(self.catalog.clone()),
            outcome: outcome.map_or_else(Vec::new, |outcomes| outcomes.0.clone()),
        };
        let (order, after) = (self.sorted(), piece.after.as_ref());
        let rows = store.imports(&selection, order, after, piece.limit);
        Ok(rows.await?)
    }
}
