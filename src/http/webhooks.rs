//! `/webhooks`: subscriptions to changes.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response as AnyResponse};
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::app::App;
use super::extract::{JsonBody, NoQuery, Path, Query};
use super::page::{Limit, ListItem, ListQuery, Page, PageRequest};
use super::problem::{FULL, Problem};
use super::response_cache::CachedBody;
use crate::jobs::egress::{NOT_PUBLIC, NameFault, is_public, read_url};
use crate::storage::{DbTime, DeliveryRow, NewWebhook, WebhookRow};
use unroof_core::input::cursor::{Cursor, Fault};
use unroof_core::input::{RequestError, read};

/// Limit of webhooks.
const MOST_WEBHOOKS: u32 = 64;
/// Timeout of the DNS lookup.
const NAME_TIME: Duration = Duration::from_secs(5);
/// Length of a secret, in characters.
const SECRET_LENGTH: std::ops::RangeInclusive<usize> = 16..=255;

/// Address and signing key of a webhook.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhookRequest {
    /// Target: `http` or `https`, without user name and password, at a public address.
    #[schema(
        max_length = 2000,
        pattern = "^https?://[^\\x00-\\x20\\x7f-\\x9f@]+$",
        example = "https://hooks.example.com/unroof"
    )]
    url: String,
    /// Key that signs the deliveries; generated if left out.
    #[schema(
        nullable = false,
        min_length = 16,
        max_length = 255,
        pattern = "^[!-~]+$"
    )]
    secret: Option<String>,
}

/// A parsed [`WebhookRequest`].
struct WebhookBody {
    url: Url,
    secret: Option<String>,
}

impl WebhookBody {
    fn read(root: &Cursor<'_>) -> Option<Self> {
        let fields = root.fields()?;
        let url = fields.required("url", "write the address to which changes are sent");
        let url = url.and_then(|url| read_target(&url));
        let secret = fields.optional("secret", read_secret);
        fields.refuse_unknown();
        Some(Self {
            url: url?,
            secret: secret.ok()?,
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
    let is_fit =
        SECRET_LENGTH.contains(&secret.len()) && secret.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_fit {
        field.fault(
            "invalid secret",
            "write 16 to 255 ASCII letters, digits or symbols, or leave it out",
        );
    }
    is_fit.then_some(secret)
}

impl ListItem for WebhookRow {}

/// A webhook that was added.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NewWebhookItem {
    /// Id of the webhook.
    id: Uuid,
    /// Target of the deliveries.
    url: String,
    /// Time at which it was added.
    #[schema(value_type = String, format = DateTime)]
    created_at: DbTime,
    /// Generated signing key, if the request had none. Shown only here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    secret: Option<String>,
}

impl ListItem for DeliveryRow {}

/// Add a webhook
///
/// Later changes are sent as `{"webhook_id", "changes": [...], "next_since"}`, up to 100 at a time, in order and at least
/// once. The header `Unroof-Signature` is `v1=` and the hexadecimal HMAC-SHA256 of `Unroof-Timestamp`, a dot and the body;
/// `Unroof-Delivery` is the same for every attempt of a delivery. Any 2xx confirms it; after any other response it is sent
/// again, up to eight times within a day; 410 ends the webhook. Redirects are not followed.
#[utoipa::path(
    post,
    path = "/webhooks",
    tag = "changes",
    request_body(content = WebhookRequest, content_type = "application/json",
        example = json!({"url": "https://hooks.example.com/unroof"})),
    responses(
        (status = 201, description = "Added", body = NewWebhookItem,
            headers(("location" = String, description = "Path of the webhook"))),
        (status = 400, description = "The body is not JSON, or the query is invalid", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive in time", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The limit of webhooks is reached", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Larger than 1 MiB", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Not JSON in UTF-8", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "Invalid values, or the target address is not public", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable or accepts no writes, or too many DNS lookups are running", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn add_webhook(
    State(app): State<App>,
    _: NoQuery,
    JsonBody(body): JsonBody,
) -> Result<AnyResponse, Problem> {
    let asked = read(&body, WebhookBody::read)?;
    // Before the DNS lookup.
    if app.store.webhooks(None).await?.len() >= MOST_WEBHOOKS as usize {
        return Err(full());
    }
    app.refuse_private(&asked.url).await?;
    let made = asked.secret.is_none().then(new_secret);
    let secret = asked.secret.as_ref().or(made.as_ref());
    let (id, created_at) = (Uuid::new_v4(), app.now());
    let new = NewWebhook {
        id,
        url: asked.url.as_str(),
        secret: secret.map_or("", String::as_str),
        created_at,
    };
    if !app.store.add_webhook(new, MOST_WEBHOOKS.into()).await? {
        return Err(full());
    }
    let item = NewWebhookItem {
        id,
        url: asked.url.into(),
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

/// A secret of 244 random bits.
fn new_secret() -> String {
    [Uuid::new_v4(), Uuid::new_v4()]
        .map(|part| part.simple().to_string())
        .concat()
}

impl App {
    /// Refuses private addresses. The name is resolved again at every delivery, so a name that does not exist now is
    /// accepted.
    async fn refuse_private(&self, url: &Url) -> Result<(), Problem> {
        if self.limits.webhook_allow_private {
            return Ok(());
        }
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
        };
        Err(RequestError::Wrong(vec![fault]).into())
    }

    async fn webhook(&self, id: Uuid) -> Result<WebhookRow, Problem> {
        let row = self.store.webhooks(Some(id)).await?.pop();
        row.ok_or_else(|| Problem::not_found("webhook"))
    }
}

/// List webhooks
///
/// In the order of adding, without their secrets.
#[utoipa::path(
    get,
    path = "/webhooks",
    tag = "changes",
    params(("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "All webhooks", content((Page<WebhookRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String))),
        (status = 304, description = "Not modified"),
        (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_webhooks(
    State(app): State<App>,
    _: NoQuery,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    let page = PageRequest::new(&app, "webhooks", Limit(MOST_WEBHOOKS), &uri, &headers);
    let rows = |_: Option<()>, _| app.store.webhooks(None);
    let body = page.write::<_, WebhookRow, _, _>(None, |_| (), rows);
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
        (status = 304, description = "Not modified"),
        (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such webhook", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show_webhook(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let webhook = app.webhook(id).await?;
    let text = serde_json::to_string(&webhook).map_err(Problem::not_serialised)?;
    Ok(CachedBody::new(text, "application/json", None).respond(&headers))
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
        (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such webhook", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn remove_webhook(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    if app.store.remove_webhook(id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found("webhook"))
    }
}

/// Page of deliveries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct DeliveriesQuery {
    /// Rows per page.
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    limit: Limit,
    /// `next_cursor` of the previous page.
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List the deliveries of a webhook, newest first
///
/// With their outcomes. Deliveries older than 30 days are deleted.
#[utoipa::path(
    get,
    path = "/webhooks/{id}/deliveries",
    tag = "changes",
    params(("id" = Uuid, Path, description = "Id of the webhook"), DeliveriesQuery,
        ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of deliveries", content((Page<DeliveryRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "Not modified"),
        (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such webhook", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_deliveries(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    Query(query): Query<DeliveriesQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "deliveries";
    let limit = query.limit;
    let query = ListQuery {
        cursor: query.cursor,
        ..ListQuery::default()
    };
    let below = query.after::<i64>(LIST)?;
    app.webhook(id).await?;
    let page = PageRequest::new(&app, LIST, limit, &uri, &headers);
    let rows = |below, limit| app.store.webhook_deliveries(id, below, limit);
    let body = page.write::<_, DeliveryRow, _, _>(below, |row| row.since, rows);
    Ok(body.await?.respond(&headers))
}
