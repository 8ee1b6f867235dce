//! `/keys`: the keys of clients.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response as AnyResponse};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::clients::Clients;
use crate::list::{List, Piece, Rows, list};
use crate::service::access::Sender;
use crate::service::extract::{JsonBody, NoQuery, Path};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::read;
use unroof_edge::{BodyRefusals, CONFLICT, MOST_NAMES, Problem, StoreRefusals};
use unroof_store::access::{Network, NewKey, Only, Scope, network};
use unroof_store::{DbTime, KeyRow, NewKeyRow, Store};

/// Limit of keys that are not revoked.
pub const MOST_KEYS: u32 = 1_000;

/// Time after which a key is refused, unless another end is stated.
pub const KEY_LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Name, scope, end and limits of a key.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRequest {
    /// Name of the key: who uses it, and for what.
    #[schema(min_length = 1, max_length = 255, example = "price desk")]
    name: String,
    /// Scope; each includes those before it.
    #[schema(inline, example = "observe")]
    scope: Scope,
    /// Time from which it is refused, or `never`; 90 days from now if left out.
    #[schema(value_type = Option<String>, nullable = false, example = "2027-01-01T00:00:00Z",
        pattern = "^(never|[2-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$")]
    expires_at: Option<Timestamp>,
    /// Addresses and networks from which it is taken; any if left out.
    #[schema(value_type = Option<Vec<String>>, nullable = false, min_items = 1, max_items = 64, example = json!(["10.0.0.0/8"]))]
    networks: Only<Network>,
    /// Providers whose prices it may write, for a key with the scope `observe`; any if left out.
    #[schema(value_type = Option<Vec<String>>, nullable = false, min_items = 1, max_items = 64, example = json!(["acme"]))]
    providers: Only<String>,
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
        let networks = fields.optional("networks", |list| some(list, read_network));
        let providers = fields.optional("providers", |list| of_scope(list, scope));
        fields.refuse_unknown();
        Some(Self {
            name: name?,
            scope: scope?,
            expires_at: end.ok()?.map_or(Some(now + KEY_LIFETIME), |End(end)| end),
            networks: networks.ok()?.unwrap_or(Only::ANY),
            providers: providers.ok()?.unwrap_or(Only::ANY),
        })
    }
}

/// End of a key; none for `never`.
struct End(Option<Timestamp>);

/// A time in the future, or `never`.
fn later(end: &Cursor<'_>, now: Timestamp) -> Option<End> {
    let text = end.text()?;
    if text == "never" {
        return Some(End(None));
    }
    let time: Option<Timestamp> = text.parse().ok();
    let later = time.filter(|time| *time > now);
    if later.is_none() {
        end.fault(
            "not a time in the future",
            "write a later time as RFC 3339 has it, such as 2027-01-01T00:00:00Z, or `never`, or leave it out for 90 days",
        );
    }
    later.map(|time| End(Some(time)))
}

/// The values of a limit, which has at least one.
fn some<T>(list: &Cursor<'_>, read: impl Fn(&Cursor<'_>) -> Option<T>) -> Option<Only<T>> {
    let count = list.items()?.len();
    if !(1..=MOST_NAMES).contains(&count) {
        let hint = format!("write 1 to {MOST_NAMES}, or leave it out for any");
        return list.refuse(format!("a list of {count} values"), hint);
    }
    Some(list.list_of(read)?.into())
}

fn read_network(text: &Cursor<'_>) -> Option<Network> {
    let read = network(&text.text()?);
    read.map_err(|hint| text.fault("not a network", hint)).ok()
}

fn read_name(name: &Cursor<'_>) -> Option<String> {
    name.name()
}

/// The providers of a key with a scope.
fn of_scope(list: &Cursor<'_>, scope: Option<Scope>) -> Option<Only<String>> {
    if let Some(why) = scope.and_then(Scope::why_no_providers) {
        return list.refuse(why, "leave it out, or write the scope `observe`");
    }
    some(list, read_name)
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
    /// Networks from which it is taken; null for any.
    #[schema(value_type = Option<Vec<String>>, example = json!(["10.0.0.0/8"]))]
    networks: Only<Network>,
    /// Providers whose prices it may write; null for any.
    #[schema(value_type = Option<Vec<String>>, example = json!(["acme"]))]
    providers: Only<String>,
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
/// Its text is in this answer and nowhere else: the service keeps a hash. A key expires after 90 days unless another end is
/// stated. It may be limited to networks, and one with the scope `observe` to providers: sheets, catalogs and withdrawals of
/// other providers are 403, as is a whole catalog without `provider`, which would end their offers.
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
        networks: &asked.networks,
        providers: &asked.providers,
    };
    let id = new.id;
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
        id,
        created_at: created_at.into(),
        expires_at: asked.expires_at.map(DbTime::from),
        name: asked.name,
        scope: asked.scope,
        networks: asked.networks,
        providers: asked.providers,
        key: key.text,
    };
    let text = serde_json::to_string(&item).map_err(Problem::not_serialised)?;
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((StatusCode::CREATED, headers, text).into_response())
}

list! {
    /// List keys
    ///
    /// In the order of creation, without their texts; also those that were revoked or have expired.
    list_keys: "/keys" in "access",
    "A page of keys" of KeyRow,
    /// Fields and page of the keys.
    KeysQuery {}
}

impl List for KeysQuery {
    const NAME: &'static str = "keys";
    const IS_KEPT: bool = false;
    type Row = KeyRow;
    type Key = (Timestamp, Uuid);

    fn key(&self, row: &KeyRow) -> Self::Key {
        row.place()
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, Self::Key>) -> Rows<KeyRow> {
        Ok(store.keys(piece.after, piece.limit).await?)
    }
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
    let key = clients.store.key_with_id(id).await?;
    let key = key.ok_or_else(|| Problem::not_found("key"))?;
    clients
        .store
        .revoke_key(&key, clients.clock.now(), &sender.actor)
        .await?;
    clients.keys.forget();
    Ok(StatusCode::NO_CONTENT)
}
