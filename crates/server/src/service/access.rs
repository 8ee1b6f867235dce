//! The caller of a request, and the check whether the caller may use the route.
//!
//! [`identify`] runs once for every request and finds the caller; [`guarded`] adds the check to a route. A route without one
//! cannot be added: the lists of routes name a scope for each.

use std::convert::Infallible;
use std::net::IpAddr;
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
use unroof_edge::{
    Account, Payer, Peer, Problem, UNAUTHORIZED, is_from_own_page, missing_scope, named_user,
};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::access::{Actor, Caller, Client, Identity, Key, Only, Refused, Scope};

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
    let caller = request.extensions().get::<Arc<Identified>>().cloned();
    let own = caller
        .as_ref()
        .and_then(|identified| identified.caller.as_ref().ok()?.scope);
    client_limit::charge(needed, own, request, async |request| {
        let checked = needed.map_or(Ok(()), |needed| check(caller.as_deref(), needed));
        match checked {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    })
    .await
}

/// The caller of a request; or why it is refused, which matters only where a scope is needed.
#[derive(Debug)]
struct Identified {
    caller: Result<Caller, Problem>,
    /// Identity and address of the caller, also where it is refused.
    actor: Actor,
}

/// A caller that is refused, and who it is, where that is known.
struct RefusedCaller {
    identity: Identity,
    problem: Problem,
}

impl From<Problem> for RefusedCaller {
    fn from(problem: Problem) -> Self {
        let identity = Identity::Anonymous;
        Self { identity, problem }
    }
}

fn check(identified: Option<&Identified>, needed: Scope) -> Result<(), Problem> {
    // A request without a caller passed no check: nothing is allowed.
    let Some(identified) = identified else {
        return Err(missing_key(needed));
    };
    let caller = identified.caller.as_ref().map_err(Clone::clone)?;
    if caller.may(needed) {
        return Ok(());
    }
    Err(match caller.identity {
        Identity::Anonymous => missing_key(needed),
        _ => missing_scope(caller.scope, needed),
    })
}

/// The caller's scope does not allow what it asks.
fn missing_key(needed: Scope) -> Problem {
    Problem::refusing(
        Refused::NoKey,
        format!("this needs a key with the scope `{needed}`"),
    )
    .hint("send it as `Authorization: Bearer KEY`, or sign in at /ui/sign-in")
}

/// The caller may not write prices of a provider.
fn refused_provider(provider: &str, allowed: &Only<String>) -> Problem {
    let detail = format!("the key may not write prices of `{provider}`");
    Problem::refusing(Refused::Provider, detail).hint(format!(
        "it may write those of {allowed}; use another key for others"
    ))
}

/// The caller may not send a whole catalog.
pub(crate) fn refused_whole(allowed: &Only<String>) -> Problem {
    let detail = "a whole catalog also ends the offers of other providers that it leaves out";
    Problem::refusing(Refused::Provider, detail).hint(format!(
        "add `provider=` with one of those whose prices the key may write: {allowed}"
    ))
}

fn refused_key(refused: Refused) -> Problem {
    let detail = match refused {
        Refused::ExpiredKey => "the key has expired",
        Refused::Network => "the key is not taken from this address",
        _ => "the key is unknown or was revoked",
    };
    let hint = match refused {
        Refused::Network => {
            "send the request from one of the key's networks; `unroof keys list` shows them"
        }
        _ => "ask for a new key: `unroof keys create NAME --scope read` makes one",
    };
    Problem::refusing(refused, detail).hint(hint)
}

/// Finds the caller of a request and has it answered; notes a refusal.
pub(crate) async fn identified(clients: &Clients, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let address = clients.address(&head);
    let (identity, caller) = match clients.caller(&head, address).await {
        Ok(caller) => (caller.identity.clone(), Ok(caller)),
        Err(refused) => (refused.identity, Err(refused.problem)),
    };
    log(&identity, address);
    // One with a refused key counts for its address.
    let known = caller
        .as_ref()
        .map_or(&Identity::Anonymous, |caller| &caller.identity);
    let client = Client::of(known, address);
    head.extensions.insert(clients.payer(&client, known));
    if let Some(quotas) = &clients.quotas {
        let quotas = Arc::clone(quotas);
        head.extensions.insert(Account { quotas, client });
    }
    let id = head.extensions.get::<RequestId>();
    let actor = Actor {
        identity,
        request_id: id.map(|RequestId(id)| id.clone()),
        address,
    };
    let identified = Arc::new(Identified { caller, actor });
    head.extensions.insert(Arc::clone(&identified));
    let response = next.run(Request::from_parts(head, body)).await;
    if let Some(refused) = response.extensions().get::<Refused>() {
        let actor = identified.actor.clone();
        clients.visits.refuse(actor, *refused, clients.clock.now());
    }
    response
}

/// Adds who asks to every line of the log about the request.
fn log(identity: &Identity, address: Option<IpAddr>) {
    let span = tracing::Span::current();
    if let Some(address) = address {
        span.record("client", tracing::field::display(address));
    }
    match identity {
        Identity::Key { id, .. } => span.record("key", tracing::field::display(id)),
        Identity::User(name) => span.record("user", name.as_str()),
        _ => &span,
    };
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
    async fn caller(
        &self,
        request: &Parts,
        address: Option<IpAddr>,
    ) -> Result<Caller, RefusedCaller> {
        let access = &*self.access;
        if !access.requires_keys {
            return Ok(Caller::anonymous(Some(Scope::Admin)));
        }
        let caller = match sent(&request.headers) {
            Some(Sent::Bearer(key)) => return self.holder(key, address).await,
            Some(Sent::Unreadable) => {
                let detail = "`Authorization` is not `Bearer KEY`";
                let problem = Problem::refusing(Refused::UnreadableKey, detail);
                return Err(problem.hint("send `Authorization: Bearer KEY`").into());
            }
            Some(Sent::Cookie(key)) => match self.holder(key, address).await {
                // A session that has ended is no session: the page is that of a caller without a key.
                Err(refused) if refused.problem.is_of(UNAUTHORIZED) => self.without_key(request)?,
                holder => holder?,
            },
            None => self.without_key(request)?,
        };
        // A browser sends by itself what names its user: a page of another site must not write in the user's name.
        let is_of_browser = caller.identity != Identity::Anonymous;
        if is_of_browser && !request.method.is_safe() && !is_from_own_page(&request.headers) {
            let problem = Problem::refusing(Refused::OtherSite, "the form is of another site");
            return Err(RefusedCaller {
                identity: caller.identity,
                problem: problem.hint("send it from a page of this service"),
            });
        }
        Ok(caller)
    }

    /// The address of the client, as trusted proxies hand it on.
    fn address(&self, request: &Parts) -> Option<IpAddr> {
        let peer = request.extensions.get::<Peer>()?;
        peer.client(&self.access.proxies, &request.headers)
    }

    /// The budget of bytes of a client.
    fn payer(&self, client: &Client, identity: &Identity) -> Payer {
        let bytes = self.anonymous_bytes.as_ref();
        let bytes = bytes.filter(|_| *identity == Identity::Anonymous);
        Payer {
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
    fn without_key(&self, request: &Parts) -> Result<Caller, Problem> {
        let access = &*self.access;
        let anonymous = Caller::anonymous(access.anonymous);
        let peer = request.extensions.get::<Peer>();
        let is_trusted = peer.is_some_and(|peer| access.proxies.trusts(peer.address()));
        let Some(users) = access.users.as_ref().filter(|_| is_trusted) else {
            return Ok(anonymous);
        };
        let named = named_user(users, &request.headers)?;
        Ok(named.map_or(anonymous, |(name, scope)| Caller {
            identity: Identity::User(name),
            scope: scope.max(access.anonymous),
            providers: Only::ANY,
        }))
    }

    /// The holder of a key, who sends it from an address.
    async fn holder(&self, text: &str, address: Option<IpAddr>) -> Result<Caller, RefusedCaller> {
        let key = self.known_key(text).await?;
        let checked = self.check(&key, address);
        // A signed-in browser acts, and is limited, as the key that it signed in with.
        let identity = Identity::Key {
            id: key.origin,
            name: key.name,
        };
        match checked {
            Ok(()) => Ok(Caller {
                identity,
                scope: Some(key.scope),
                providers: key.providers,
            }),
            Err(problem) => Err(RefusedCaller { identity, problem }),
        }
    }

    /// The key by which a caller was let in; none if it was let in without one.
    pub(crate) async fn held_key(
        self: &Arc<Self>,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Option<HeldKey> {
        let (Sent::Bearer(text) | Sent::Cookie(text)) = sent(headers)? else {
            return None;
        };
        let is_held = self.access.requires_keys && self.key(text, address).await.is_ok();
        is_held.then(|| HeldKey {
            clients: Arc::clone(self),
            text: text.to_owned(),
            address,
            checks: interval_at(Instant::now() + BETWEEN_CHECKS, BETWEEN_CHECKS),
        })
    }

    /// The key with this text, if it is taken from an address.
    ///
    /// # Errors
    /// There is none, it has expired, it is not taken from there, or the database was never reached.
    pub(crate) async fn key(&self, text: &str, address: Option<IpAddr>) -> Result<Key, Problem> {
        let key = self.known_key(text).await?;
        self.check(&key, address)?;
        Ok(key)
    }

    async fn known_key(&self, text: &str) -> Result<Key, Problem> {
        let ring = self.keys.ring(&self.store, self.clock.now()).await?;
        let found = ring.find(text).cloned();
        found.ok_or_else(|| refused_key(Refused::UnknownKey))
    }

    /// Checks whether a key is taken from an address, and notes that it was used.
    fn check(&self, key: &Key, address: Option<IpAddr>) -> Result<(), Problem> {
        let now = self.clock.now();
        key.check(now, address).map_err(refused_key)?;
        self.visits.use_key(key.origin, now);
        Ok(())
    }
}

/// The key of a caller that is sent an answer for a long time.
#[derive(Debug)]
pub(crate) struct HeldKey {
    clients: Arc<Clients>,
    text: String,
    address: Option<IpAddr>,
    checks: Interval,
}

/// Waits until a key is revoked or expires; for ever without one.
pub(crate) async fn refusal_of(key: &mut Option<HeldKey>) {
    let Some(key) = key else {
        return std::future::pending().await;
    };
    loop {
        key.checks.tick().await;
        let found = key.clients.key(&key.text, key.address).await;
        // Without the database no key is revoked.
        if found.is_err_and(|problem| problem.is_of(UNAUTHORIZED)) {
            return;
        }
    }
}

/// The sender of a request, for handlers that record it or that depend on its scope.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Scope; nothing is allowed if none.
    pub(crate) scope: Option<Scope>,
    /// Providers whose prices it may write.
    pub(crate) providers: Only<String>,
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

impl Sender {
    /// Checks whether it may write prices of some providers.
    ///
    /// # Errors
    /// It may not write those of the one that is named.
    pub(crate) fn check_providers<'a>(
        &self,
        named: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Problem> {
        let refused = self.providers.first_other(named.into_iter());
        refused.map_or(Ok(()), |name| Err(refused_provider(name, &self.providers)))
    }

    /// Checks whether it may write the prices of some sheets.
    ///
    /// # Errors
    /// It may not write those of one of them.
    pub(crate) fn check_sheets(&self, sheets: &[PriceSheet]) -> Result<(), Problem> {
        self.check_providers(sheets.iter().map(|sheet| sheet.provider.as_str()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let identified = parts.extensions.get::<Arc<Identified>>();
        let caller = identified.and_then(|identified| identified.caller.as_ref().ok());
        let payer = parts.extensions.get::<Payer>();
        Ok(Self {
            scope: caller.and_then(|caller| caller.scope),
            payer: payer.cloned().unwrap_or_default(),
            providers: caller.map_or(Only::ANY, |caller| caller.providers.clone()),
            actor: identified.map_or(Actor::ANONYMOUS, |identified| identified.actor.clone()),
        })
    }
}
