//! The caller of a request, and the check whether the caller may use the route.
//!
//! [`identify`] runs once for every request and finds the caller; [`guarded`] adds the check to a route. A route without one
//! cannot be added: the lists of routes name a scope for each.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tokio::time::{Instant, Interval, interval_at};

use super::middleware::RequestId;
use crate::App;
use crate::clients::Clients;
use unroof_edge::client_limit;
use unroof_edge::{Account, FORBIDDEN, Payer, Peer, Problem, UNAUTHORIZED, is_from_own_page};
use unroof_store::access::{Access, Actor, Caller, Client, Identity, Key, RefusedKey, Scope};

/// The name of the cookie of a signed-in browser.
pub(crate) const SESSION: &str = "unroof_session";

/// Interval at which the key of a stream is looked for. With the age of the keys in memory it is within a second.
const BETWEEN_CHECKS: Duration = Duration::from_millis(400);

/// A route, or several methods of one, with the scope that it needs; none for probes, and texts that are the same on every
/// service.
pub(crate) fn guarded(needed: Option<Scope>, route: MethodRouter<App>) -> MethodRouter<App> {
    route.route_layer(from_fn_with_state(needed, guard))
}

/// Charges a request, also one that is refused for its scope, and checks whether its caller may use the route.
async fn guard(State(needed): State<Option<Scope>>, request: Request, next: Next) -> Response {
    client_limit::charge(needed, request, async |request| {
        let caller = request.extensions().get::<Identified>();
        let checked = needed.map_or(Ok(()), |needed| check(caller, needed));
        match checked {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    })
    .await
}

/// The caller of a request; or why its key is refused, which matters only where a key is needed.
#[derive(Debug, Clone)]
struct Identified(Result<Caller, Problem>);

fn check(caller: Option<&Identified>, needed: Scope) -> Result<(), Problem> {
    // A request without a caller passed no check: nothing is allowed.
    let Some(Identified(caller)) = caller else {
        return Err(missing_key(needed));
    };
    let caller = caller.as_ref().map_err(Clone::clone)?;
    if caller.may(needed) {
        return Ok(());
    }
    Err(match caller.identity {
        Identity::Anonymous => missing_key(needed),
        _ => missing_scope(caller.scope, needed),
    })
}

/// The caller's scope does not allow what it asks.
pub(crate) fn missing_scope(own: Option<Scope>, needed: Scope) -> Problem {
    let own = own.map_or("none", Scope::name);
    let detail = format!("this needs the scope `{needed}`, and the caller has `{own}`");
    Problem::new(FORBIDDEN, detail).hint(format!(
        "use a key with the scope `{needed}`; `unroof keys create NAME --scope {needed}` makes one"
    ))
}

fn missing_key(needed: Scope) -> Problem {
    Problem::new(
        UNAUTHORIZED,
        format!("this needs a key with the scope `{needed}`"),
    )
    .hint("send it as `Authorization: Bearer KEY`, or sign in at /ui/sign-in")
}

fn refused_key(refused: RefusedKey) -> Problem {
    let detail = match refused {
        RefusedKey::Unknown => "the key is unknown or was revoked",
        RefusedKey::Expired => "the key has expired",
    };
    Problem::new(UNAUTHORIZED, detail)
        .hint("ask for a new key: `unroof keys create NAME --scope read` makes one")
}

/// Finds the caller of a request.
pub(crate) async fn identify(clients: &Clients, request: Request) -> Request {
    let (mut head, body) = request.into_parts();
    let identified = clients.caller(&head).await;
    let client = clients.client(&head, identified.as_ref().ok());
    let payer = clients.payer(&client, identified.as_ref().ok());
    if let Some(account) = &payer.account {
        head.extensions.insert(account.clone());
    }
    head.extensions.insert(payer);
    head.extensions.insert(Identified(identified));
    Request::from_parts(head, body)
}

/// A key in a request, and how it was sent.
enum Sent<'a> {
    Bearer(&'a str),
    Cookie(&'a str),
    /// `Authorization` with something else.
    Unreadable,
}

fn sent(headers: &HeaderMap) -> Option<Sent<'_>> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        return Some(bearer(value).map_or(Sent::Unreadable, Sent::Bearer));
    }
    session(headers).map(Sent::Cookie)
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| key.trim_start())
}

/// The cookie of a signed-in browser.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find_map(|(name, value)| (name == SESSION).then_some(value))
}

impl Clients {
    async fn caller(&self, request: &Parts) -> Result<Caller, Problem> {
        let access = &*self.access;
        if !access.requires_keys {
            return Ok(Caller::anonymous(Some(Scope::Admin)));
        }
        let caller = match sent(&request.headers) {
            Some(Sent::Bearer(key)) => return self.holder(key).await,
            Some(Sent::Unreadable) => {
                let problem = Problem::new(UNAUTHORIZED, "`Authorization` is not `Bearer KEY`");
                return Err(problem.hint("send `Authorization: Bearer KEY`"));
            }
            Some(Sent::Cookie(key)) => match self.holder(key).await {
                // A session that has ended is no session: the page is that of a caller without a key.
                Err(problem) if problem.is_of(UNAUTHORIZED) => self.without_key(request),
                holder => holder?,
            },
            None => self.without_key(request),
        };
        // A browser sends by itself what names its user: a page of another site must not write in the user's name.
        let is_of_browser = caller.identity != Identity::Anonymous;
        if is_of_browser && !request.method.is_safe() && !is_from_own_page(&request.headers) {
            let problem = Problem::new(FORBIDDEN, "the form is of another site");
            return Err(problem.hint("send it from a page of this service"));
        }
        Ok(caller)
    }

    /// The client that a request counts for. One with a refused key counts for its address.
    fn client(&self, request: &Parts, caller: Option<&Caller>) -> Client {
        let peer = request.extensions.get::<Peer>();
        let address = peer.and_then(|peer| peer.client(&self.access.proxies, &request.headers));
        let identity = caller.map_or(&Identity::Anonymous, |caller| &caller.identity);
        Client::of(identity, address)
    }

    /// The budgets of a client.
    fn payer(&self, client: &Client, caller: Option<&Caller>) -> Payer {
        let has_key = caller.is_some_and(|caller| caller.identity != Identity::Anonymous);
        let bytes = self.anonymous_bytes.as_ref().filter(|_| !has_key);
        let account = |quotas: &Arc<_>| Account {
            quotas: Arc::clone(quotas),
            client: client.clone(),
        };
        Payer {
            account: self.quotas.as_ref().map(account),
            bytes: bytes.map(|bytes| (Arc::clone(bytes), client.clone())),
        }
    }

    /// Whether the client's connection is encrypted, as a trusted proxy says.
    pub(crate) fn is_encrypted(&self, request: &Request) -> bool {
        let peer = request.extensions().get::<Peer>();
        let is_trusted = peer.is_some_and(|peer| self.access.proxies.trusts(peer.address()));
        let stated = request.headers().get("x-forwarded-proto");
        is_trusted && stated.is_some_and(|scheme| scheme == "https")
    }

    /// The caller of a request without a key: the user named by a trusted proxy, or an anonymous one.
    fn without_key(&self, request: &Parts) -> Caller {
        let access = &*self.access;
        user(access, request).unwrap_or_else(|| Caller::anonymous(access.anonymous))
    }

    /// The holder of a key.
    async fn holder(&self, key: &str) -> Result<Caller, Problem> {
        let key = self.key(key).await?;
        Ok(Caller {
            scope: Some(key.scope),
            // A signed-in browser acts, and is limited, as the key that it signed in with.
            identity: Identity::Key {
                id: key.origin,
                name: key.name,
            },
        })
    }

    /// The key by which a caller was let in; none if it was let in without one.
    pub(crate) async fn held_key(self: &Arc<Self>, headers: &HeaderMap) -> Option<HeldKey> {
        let (Sent::Bearer(text) | Sent::Cookie(text)) = sent(headers)? else {
            return None;
        };
        let is_held = self.access.requires_keys && self.key(text).await.is_ok();
        is_held.then(|| HeldKey {
            clients: Arc::clone(self),
            text: text.to_owned(),
            checks: interval_at(Instant::now() + BETWEEN_CHECKS, BETWEEN_CHECKS),
        })
    }

    /// The key with this text.
    ///
    /// # Errors
    /// There is none, it has expired, or the database was never reached.
    pub(crate) async fn key(&self, text: &str) -> Result<Key, Problem> {
        let ring = self.keys.ring(&self.store, self.clock.now()).await?;
        let found = ring.find(text, self.clock.now()).cloned();
        found.map_err(refused_key)
    }
}

/// The key of a caller that is sent an answer for a long time.
#[derive(Debug)]
pub(crate) struct HeldKey {
    clients: Arc<Clients>,
    text: String,
    checks: Interval,
}

/// Waits until a key is revoked or expires; for ever without one.
pub(crate) async fn refusal_of(key: &mut Option<HeldKey>) {
    let Some(key) = key else {
        return std::future::pending().await;
    };
    loop {
        key.checks.tick().await;
        let found = key.clients.key(&key.text).await;
        // Without the database no key is revoked.
        if found.is_err_and(|problem| problem.is_of(UNAUTHORIZED)) {
            return;
        }
    }
}

/// The user named by a trusted proxy.
fn user(access: &Access, request: &Parts) -> Option<Caller> {
    let users = access.users.as_ref()?;
    let peer = request.extensions.get::<Peer>()?;
    if !access.proxies.trusts(peer.address()) {
        return None;
    }
    let text = |name: &str| request.headers.get(name)?.to_str().ok();
    let name = text(&users.user).filter(|name| !name.is_empty())?;
    let groups = text(&users.groups).unwrap_or_default();
    Some(Caller {
        identity: Identity::User(name.to_owned()),
        scope: users.scopes.scope_of(groups).max(access.anonymous),
    })
}

/// The sender of a request, for handlers that record it or that depend on its scope.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Scope; nothing is allowed if none.
    pub(crate) scope: Option<Scope>,
    /// Identity of the sender, and the request.
    pub(crate) actor: Actor,
    /// Budgets of the sender.
    pub(crate) payer: Payer,
}

impl Sender {
    /// Whether it has no key on a service that others reach: where only this machine does, every caller may do everything.
    pub(crate) fn is_stranger(&self) -> bool {
        self.actor.identity == Identity::Anonymous && !self.may_observe()
    }

    /// Whether what it sends may be an observation of a price.
    pub(crate) fn may_observe(&self) -> bool {
        self.scope >= Some(Scope::Observe)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let caller = match parts.extensions.get::<Identified>() {
            Some(Identified(Ok(caller))) => caller.clone(),
            _ => Caller::anonymous(None),
        };
        let id = parts.extensions.get::<RequestId>();
        let payer = parts.extensions.get::<Payer>();
        Ok(Self {
            scope: caller.scope,
            payer: payer.cloned().unwrap_or_default(),
            actor: Actor {
                identity: caller.identity,
                request_id: id.map(|RequestId(id)| id.clone()),
            },
        })
    }
}
