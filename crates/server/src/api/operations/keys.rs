//! `/keys`: the keys of clients.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response as AnyResponse};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answers::Answers;
use crate::clients::Clients;
use crate::list::page::{FieldsQuery, Page, PageRequest, fields};
use crate::service::access::Sender;
use crate::service::extract::{JsonBody, NoQuery, Path, Query};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::read;
use unroof_edge::{BodyRefusals, CONFLICT, KnownTag, Problem, Reply, StoreRefusals, Unchanged};
use unroof_store::access::{NewKey, Scope};
use unroof_store::{DbTime, KeyRow, NewKeyRow};

/// Limit of keys that are not revoked.
pub const MOST_KEYS: u32 = 1_000;

/// Name, scope and end of a key.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRequest {
    /// Name of the key: who uses it, and for what.
    #[schema(min_length = 1, max_length = 255, example = "price desk")]
    name: String,
    /// Scope; each includes those before it.
    #[schema(inline, example = "observe")]
    scope: Scope,
    /// Time from which it is refused; never if left out.
    #[schema(value_type = Option<String>, format = DateTime, nullable = false, example = "2027-01-01T00:00:00Z")]
    expires_at: Option<Timestamp>,
}

impl KeyRequest {
    fn read(root: &Cursor<'_>, now: Timestamp) -> Option<Self> {
        let scopes = Scope::ALL.map(|scope| (scope.name(), scope));
        let fields = root.fields()?;
        let name = fields.required("name", "say who uses the key, and for what");
        let name = name.and_then(|name| name.name());
        let scope = fields.required("scope", "write read, ask, observe or admin");
        let scope = scope.and_then(|scope| scope.one_of(&scopes));
        let end = fields.optional("expires_at", |end| later(end, now));
        fields.refuse_unknown();
        Some(Self {
            name: name?,
            scope: scope?,
            expires_at: end.ok()?,
        })
    }
}

fn later(end: &Cursor<'_>, now: Timestamp) -> Option<Timestamp> {
    let time: Option<Timestamp> = end.text()?.parse().ok();
    let later = time.filter(|time| *time > now);
    if later.is_none() {
        end.fault(
            "not a time in the future",
            "write a later time as RFC 3339 has it, such as 2027-01-01T00:00:00Z, or leave it out",
        );
    }
    later
}

/// A key that is to be created
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewKeyItem {
    /// Id of the key.
    #[schema(example = "3f0a9c1e-52b7-4d8e-9a61-c2d3e4f5a6b7")]
    id: Uuid,
    /// Name of the key.
    #[schema(example = "price desk")]
    name: String,
    /// Scope; each includes those before it.
    #[schema(inline, example = "observe")]
    scope: Scope,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    created_at: DbTime,
    /// Time from which it is refused; null if it does not expire.
    #[schema(value_type = Option<String>, format = DateTime, example = "2027-01-01T00:00:00Z")]
    expires_at: Option<DbTime>,
    /// The key. Shown only here.
    #[schema(example = "unroof_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")]
    key: String,
}

/// A new key, or session.
pub(crate) fn random_key() -> Result<NewKey, Problem> {
    NewKey::random().map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        Problem::of_status(StatusCode::INTERNAL_SERVER_ERROR)
    })
}

/// Create a key
///
/// Its text is in this answer and nowhere else: the service keeps a hash.
#[utoipa::path(
    post,
    path = "/keys",
    tag = "access",
    request_body(content = KeyRequest, content_type = "application/json",
        example = json!({"name": "price desk", "scope": "observe"})),
    responses(
        (status = 201, description = "Created", body = NewKeyItem),
        BodyRefusals,
        (status = 409, description = "Another key has the name, or the limit of keys is reached", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn create_key(
    State(clients): State<Arc<Clients>>,
    _: NoQuery,
    sender: Sender,
    JsonBody(body): JsonBody,
) -> Result<AnyResponse, Problem> {
    let created_at = clients.clock.now();
    let asked = read(&body, |root| KeyRequest::read(root, created_at))?;
    let key = random_key()?;
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name: &asked.name,
        scope: asked.scope,
        hash: key.hash,
        created_at,
        expires_at: asked.expires_at,
    };
    if !clients
        .store
        .add_key(new, MOST_KEYS.into(), &sender.actor)
        .await?
    {
        let detail = format!(
            "another key is named `{}`, or there are {MOST_KEYS} keys",
            asked.name
        );
        return Err(
            Problem::new(CONFLICT, detail).hint("choose another name, or revoke a key first")
        );
    }
    clients.keys.forget();
    let item = NewKeyItem {
        id: new.id,
        created_at: created_at.into(),
        expires_at: asked.expires_at.map(DbTime::from),
        name: asked.name,
        scope: asked.scope,
        key: key.text,
    };
    let text = serde_json::to_string(&item).map_err(Problem::not_serialised)?;
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((StatusCode::CREATED, headers, text).into_response())
}

/// List keys
///
/// In the order of creation, without their texts; also those that were revoked or have expired.
#[utoipa::path(
    get,
    path = "/keys",
    tag = "access",
    params(FieldsQuery, KnownTag),
    responses(
        (status = 200, description = "All keys", content((Page<KeyRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_keys(
    State(answers): State<Arc<Answers>>,
    Query(query): Query<FieldsQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let part = query.all(MOST_KEYS);
    let page = PageRequest::new(&answers, "keys", fields::<KeyRow>, part, &uri, &headers);
    let rows = |_: Option<()>, _| answers.store.keys();
    let end = |last: Option<&()>, has_more| Ok(page.with_cursor(last, has_more));
    let body = page.write(None, |_| (), rows, Ok, end);
    Ok(body.await?.respond(&headers))
}

/// Revoke a key
///
/// Every replica refuses it within a second, and with it the browsers that were signed in with it. Revoking it again changes
/// nothing.
#[utoipa::path(
    delete,
    path = "/keys/{id}",
    tag = "access",
    params(("id" = Uuid, Path, description = "Id of the key")),
    responses(
        (status = 204, description = "Revoked"),
        StoreRefusals,
        (status = 404, description = "No such key", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn revoke_key(
    State(clients): State<Arc<Clients>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    sender: Sender,
) -> Result<StatusCode, Problem> {
    let keys = clients.store.keys().await?;
    let key = keys.iter().find(|key| key.id == id);
    let key = key.ok_or_else(|| Problem::not_found("key"))?;
    clients
        .store
        .revoke_key(key, clients.clock.now(), &sender.actor)
        .await?;
    clients.keys.forget();
    Ok(StatusCode::NO_CONTENT)
}
