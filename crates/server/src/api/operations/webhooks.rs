//! `/webhooks`: subscriptions to changes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response as AnyResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answers::Answers;
use crate::api::prices::change_query::LARGEST_FACTOR;
use crate::app::Work;
use crate::compute::Views;
use crate::list::page::{FieldsQuery, Page, PageRequest, fields};
use crate::list::{List, Piece, Rows, list};
use crate::service::access::Sender;
use crate::service::extract::{JsonBody, NoQuery, Path, Query};
use unroof_base::input::cursor::{Cursor, Fault, FaultKind};
use unroof_base::input::{RequestError, read};
use unroof_edge::{
    BodyRefusals, CachedBody, FULL, KnownTag, MOST_NAMES, Problem, Reply, StoreRefusals, Unchanged,
};
use unroof_jobs::SECRET_PREFIX;
use unroof_jobs::egress::{NOT_PUBLIC, NameFault, is_public, read_url};
use unroof_store::{ChangeFilter, ChangeKind, DbTime, DeliveryRow, NewWebhook, Store, WebhookRow};

/// Greatest number of webhooks.
const MOST_WEBHOOKS: u32 = 64;
/// Timeout of the DNS lookup.
const NAME_TIME: Duration = Duration::from_secs(5);
/// Length of the key of a secret, in bytes.
const KEY_LENGTH: std::ops::RangeInclusive<usize> = 24..=64;

/// Address, signing key and filter of a webhook.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookRequest {
    /// Target: `http` or `https`, without user name and password, at a public address.
    #[schema(
        max_length = 2000,
        pattern = "^https?://[^\\x00-\\x20\\x7f-\\x9f@]+$",
        example = "https://hooks.example.com/unroof"
    )]
    url: String,
    /// Secret of the signatures: `whsec_` and the base64 of a key of 24 to 64 bytes; generated if left out.
    #[schema(
        nullable = false,
        pattern = "^whsec_(([A-Za-z0-9+/]{4}){8,21}([A-Za-z0-9+/][AQgw]==)?|([A-Za-z0-9+/]{4}){8,20}[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)$",
        example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    )]
    secret: Option<String>,
    /// Changes that are sent; all if left out.
    #[schema(nullable = false)]
    filter: Option<ChangeFilter>,
}

/// Parsed body of a [`WebhookRequest`].
struct WebhookBody {
    url: Url,
    secret: Option<String>,
    filter: ChangeFilter,
}

impl WebhookBody {
    fn read(root: &Cursor<'_>) -> Option<Self> {
        let fields = root.fields()?;
        let url = fields.required("url", "write the address to which changes are sent");
        let url = url.and_then(|url| read_target(&url));
        let secret = fields.optional("secret", read_secret);
        let filter = fields.optional("filter", read_filter);
        fields.refuse_unknown();
        Some(Self {
            url: url?,
            secret: secret.ok()?,
            filter: filter.ok()?.unwrap_or_default(),
        })
    }
}

const URL_HINT: &str = "write `http://` or `https://` and a public host, without user name and password, in up to 2,000 characters";

fn read_target(field: &Cursor<'_>) -> Option<Url> {
    let read = read_url(&field.text()?);
    read.map_err(|fault| field.fault(fault, URL_HINT)).ok()
}

fn read_secret(field: &Cursor<'_>) -> Option<String> {
    let secret = field.name()?;
    let key = secret.strip_prefix(SECRET_PREFIX);
    let key = key.and_then(|key| STANDARD.decode(key).ok());
    let is_fit = key.is_some_and(|key| KEY_LENGTH.contains(&key.len()));
    if !is_fit {
        field.fault(
            "invalid secret",
            "write `whsec_` and the base64 of a key of 24 to 64 bytes, or leave it out",
        );
    }
    is_fit.then_some(secret)
}

fn read_filter(filter: &Cursor<'_>) -> Option<ChangeFilter> {
    let fields = filter.fields()?;
    let kinds: Vec<_> = ChangeKind::ALL
        .iter()
        .map(|kind| (kind.name(), *kind))
        .collect();
    let kind = fields.optional("kind", |kind| values(kind, |kind| kind.one_of(&kinds)));
    let names = |name| fields.optional(name, |names| values(names, read_name));
    let (provider, model) = (names("provider"), names("model"));
    let canonical_model = names("canonical_model");
    let in_force = fields.optional("in_force", Cursor::truth);
    let factors = 1.0..=LARGEST_FACTOR;
    let min_factor = fields.optional("min_factor", |least| least.number_within(factors));
    fields.refuse_unknown();
    Some(ChangeFilter {
        kind: kind.ok()?.unwrap_or_default(),
        provider: provider.ok()?.unwrap_or_default(),
        model: model.ok()?.unwrap_or_default(),
        canonical_model: canonical_model.ok()?.unwrap_or_default(),
        in_force: in_force.ok()?,
        min_factor: min_factor.ok()?,
    })
}

fn read_name(name: &Cursor<'_>) -> Option<String> {
    name.name()
}

/// The values of a list in a filter.
fn values<T>(list: &Cursor<'_>, read: impl Fn(&Cursor<'_>) -> Option<T>) -> Option<Vec<T>> {
    if list.items()?.len() > MOST_NAMES {
        let detail = format!("a list of more than {MOST_NAMES} values");
        return list.refuse(detail, "write fewer, or leave the filter out");
    }
    list.list_of(read)
}

/// A webhook that was added.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewWebhookItem {
    /// Id of the webhook.
    #[schema(example = "3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7")]
    id: Uuid,
    /// Target of the deliveries.
    #[schema(example = "https://hooks.example.com/unroof")]
    url: String,
    /// Changes that are sent to it; all if it is empty.
    filter: ChangeFilter,
    /// Time at which it was added.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    created_at: DbTime,
    /// Generated secret, if the request had none. Shown only here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    secret: Option<String>,
}

/// Add a webhook
///
/// Later changes that pass the filter are sent in messages `{"type": "changes", "timestamp", "webhook_id", "next_since",
/// "data": [...]}`: up to 100 changes each, in order and at least once, within a second. They are signed by the Standard
/// Webhooks scheme: `webhook-signature` is `v1,` and the base64 HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the
/// body, with dots between; `webhook-id` and the body are the same for every attempt. Any 2xx confirms a message; after
/// any other response it is sent again, up to eight times within a day; 410 ends the webhook. Redirects are not followed.
#[utoipa::path(
    post,
    path = "/webhooks",
    tag = "changes",
    request_body(content = WebhookRequest, content_type = "application/json",
        example = json!({"url": "https://hooks.example.com/unroof", "filter": {"kind": ["price.changed"], "min_factor": 1.5}})),
    responses(
        (status = 201, description = "Added", body = NewWebhookItem,
            headers(("location" = String, description = "Path of the webhook"))),
        BodyRefusals,
        (status = 409, description = "The limit of webhooks is reached", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "Invalid values, or the target address is not public", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable or accepts no writes, or too many DNS lookups are running", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn add_webhook(
    State(views): State<Views>,
    State(work): State<Arc<Work>>,
    _: NoQuery,
    sender: Sender,
    JsonBody(body): JsonBody,
) -> Result<AnyResponse, Problem> {
    let asked = read(&body, WebhookBody::read)?;
    // Before the DNS lookup.
    if views.answers.store.webhooks(None).await?.len() >= MOST_WEBHOOKS as usize {
        return Err(full());
    }
    if !views.limits.webhook_allow_private {
        work.refuse_private(&asked.url).await?;
    }
    let made = asked.secret.is_none().then(new_secret);
    let secret = asked.secret.as_ref().or(made.as_ref());
    let (id, created_at) = (Uuid::new_v4(), views.answers.now());
    let new = NewWebhook {
        id,
        url: asked.url.as_str(),
        secret: secret.map_or("", String::as_str),
        filter: &asked.filter,
        created_at,
    };
    let added = views
        .answers
        .store
        .add_webhook(new, MOST_WEBHOOKS.into(), &sender.actor);
    if !added.await? {
        return Err(full());
    }
    let item = NewWebhookItem {
        id,
        url: asked.url.into(),
        filter: asked.filter,
        created_at: created_at.into(),
        secret: made,
    };
    let text = serde_json::to_string(&item).map_err(Problem::not_serialised)?;
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::LOCATION, format!("/webhooks/{id}")),
    ];
    Ok((StatusCode::CREATED, headers, text).into_response())
}

fn full() -> Problem {
    Problem::new(
        FULL,
        format!("the limit of {MOST_WEBHOOKS} webhooks is reached"),
    )
    .hint("delete one first")
}

/// A secret of 32 bytes, 244 bits of which are random.
fn new_secret() -> String {
    let key = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
    format!("{SECRET_PREFIX}{}", STANDARD.encode(key.concat()))
}

impl Work {
    /// Refuses private addresses. The name is resolved again at every delivery, so a name that does not exist now is
    /// accepted.
    async fn refuse_private(&self, url: &Url) -> Result<(), Problem> {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Ok(());
        };
        let looked_up = self
            .names
            .look_up(format!("{host}:{port}"), NAME_TIME)
            .await;
        let addresses = match looked_up {
            Ok(addresses) => addresses,
            Err(NameFault::Unknown | NameFault::Late) => return Ok(()),
            Err(NameFault::Busy) => {
                return Err(Problem::busy("too many DNS lookups are running"));
            }
        };
        if addresses.iter().all(|address| is_public(address.ip())) {
            return Ok(());
        }
        let fault = Fault {
            pointer: "/url".to_owned(),
            detail: NOT_PUBLIC.to_owned(),
            hint: "write a host with a public address; an operator can allow private ones with `--webhook-allow-private`"
                .to_owned(),
            kind: FaultKind::Wrong,
        };
        Err(RequestError::Wrong(vec![fault]).into())
    }
}

/// The webhook with an id.
///
/// # Errors
/// There is none, or the query fails.
async fn webhook(store: &Store, id: Uuid) -> Result<WebhookRow, Problem> {
    let row = store.webhooks(Some(id)).await?.pop();
    row.ok_or_else(|| Problem::not_found("webhook"))
}

/// List webhooks
///
/// In the order of adding, without their secrets.
#[utoipa::path(
    get,
    path = "/webhooks",
    tag = "changes",
    params(FieldsQuery, KnownTag),
    responses(
        (status = 200, description = "All webhooks", content((Page<WebhookRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_webhooks(
    State(answers): State<Arc<Answers>>,
    Query(query): Query<FieldsQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let part = query.all(MOST_WEBHOOKS);
    let page = PageRequest::new(
        &answers,
        "webhooks",
        fields::<WebhookRow>,
        part,
        &uri,
        &headers,
    );
    let rows = |_: Option<()>, _| answers.store.webhooks(None);
    let end = |last: Option<&()>, has_more| Ok(page.with_cursor(last, has_more));
    let body = page.write(None, |_| (), rows, Ok, end);
    Ok(body.await?.respond(&headers))
}

/// Show a webhook
///
/// Without its secret.
#[utoipa::path(
    get,
    path = "/webhooks/{id}",
    tag = "changes",
    params(("id" = Uuid, Path, description = "Id of the webhook")),
    responses(
        (status = 200, description = "The webhook", body = WebhookRow, headers(("etag" = String))),
        Unchanged, StoreRefusals,
        (status = 404, description = "No such webhook", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn show_webhook(
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    headers: HeaderMap,
) -> Reply {
    let webhook = webhook(&answers.store, id).await?;
    Ok(CachedBody::json(&answers.budget, &webhook)?.respond(&headers))
}

/// Delete a webhook
///
/// And its deliveries. A delivery already being sent may still arrive.
#[utoipa::path(
    delete,
    path = "/webhooks/{id}",
    tag = "changes",
    params(("id" = Uuid, Path, description = "Id of the webhook")),
    responses(
        (status = 204, description = "Removed"),
        StoreRefusals,
        (status = 404, description = "No such webhook", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn remove_webhook(
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    sender: Sender,
) -> Result<StatusCode, Problem> {
    let webhook = webhook(&answers.store, id).await?;
    let now = answers.now();
    if answers
        .store
        .remove_webhook(&webhook, now, &sender.actor)
        .await?
    {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found("webhook"))
    }
}

list! {
    /// List the deliveries of a webhook, newest first
    ///
    /// With their outcomes. Deliveries older than 30 days are deleted.
    list_deliveries: "/webhooks/{id}/deliveries" in "changes",
    of Deliveries("id": Uuid, "Id of the webhook", or "No such webhook"),
    "A page of deliveries" of DeliveryRow,
    /// Fields and page of the deliveries.
    DeliveriesQuery {}
}

/// The deliveries of the webhook with an id, newest first.
struct Deliveries(Uuid);

impl List for Deliveries {
    const NAME: &'static str = "deliveries";
    const IS_KEPT: bool = false;
    type Row = DeliveryRow;
    type Key = i64;

    fn key(&self, row: &DeliveryRow) -> i64 {
        row.since
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, i64>) -> Rows<DeliveryRow> {
        webhook(store, self.0).await?;
        let rows = store.webhook_deliveries(self.0, piece.after, piece.limit);
        Ok(rows.await?)
    }
}
