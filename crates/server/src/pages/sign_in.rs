//! The page `/ui/sign-in`: makes a session of a key, which the browser keeps as a cookie.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use jiff::SignedDuration;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;

use super::answer::{html, of};
use super::layout::Page;
use crate::answers::Answers;
use crate::api::operations::keys::random_key;
use crate::clients::Clients;
use crate::compute::Views;
use crate::service::access::{SESSION, Sender, session};
use crate::service::extract::{FormBody, Query};
use unroof_edge::{Problem, UNAUTHORIZED, is_from_own_page};
use unroof_store::access::{Actor, Identity, Refused};

/// Time for which a browser stays signed in.
const SESSION_TIME: SignedDuration = SignedDuration::from_hours(12);

/// The page to go to afterwards.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Next {
    next: Option<String>,
}

/// Shows the page to sign in.
pub(super) async fn show(
    State(clients): State<Arc<Clients>>,
    Query(Next { next }): Query<Next>,
    sender: Sender,
    headers: HeaderMap,
) -> Response<Body> {
    let is_signed_in = match session(&headers) {
        Some(key) => clients.key(key, sender.actor.address).await.is_ok(),
        None => false,
    };
    let next = local(next.as_deref());
    let page = document(&clients, &next, is_signed_in, None);
    html(StatusCode::OK, page.document(clients.clock.now()))
}

/// Signs in with a key.
pub(super) async fn enter(
    State(views): State<Views>,
    State(clients): State<Arc<Clients>>,
    sender: Sender,
    request: Request,
) -> Response<Body> {
    let (is_own, is_encrypted) = (
        is_from_own_page(request.headers()),
        clients.is_encrypted(&request),
    );
    let body = match FormBody::from_request(request, &views).await {
        Ok(FormBody(body)) => body,
        Err(problem) => return of(&views.answers, &problem),
    };
    let field = |name: &str| {
        let mut fields = form_urlencoded::parse(&body);
        let named = fields.find(|(known, _)| known == name);
        named.map(|(_, value)| value.trim().to_owned())
    };
    let next = local(field("next").as_deref());
    if !is_own {
        let problem = Problem::refusing(Refused::OtherSite, "the form is of another site");
        return of(
            &views.answers,
            &problem.hint("send it from the page of this service"),
        );
    }
    match begin(&clients, &field("key").unwrap_or_default(), sender.actor).await {
        Ok(key) => with_cookie(&next, &cookie(&key, SESSION_TIME, is_encrypted)),
        Err(problem) if problem.is_of(UNAUTHORIZED) => {
            let page = document(&clients, &next, false, Some(&problem));
            let page = page.document(clients.clock.now());
            let mut response = html(StatusCode::UNAUTHORIZED, page);
            problem.note_refusal(&mut response);
            response
        }
        Err(problem) => of(&views.answers, &problem),
    }
}

/// Signs out and forgets the key.
pub(super) async fn leave(
    State(answers): State<Arc<Answers>>,
    State(clients): State<Arc<Clients>>,
    headers: HeaderMap,
    sender: Sender,
    request: Request,
) -> Response<Body> {
    if is_from_own_page(&headers)
        && let Some(key) = session(&headers)
        && let Ok(key) = clients.key(key, sender.actor.address).await
    {
        if let Err(error) = clients
            .store
            .end_session(&key, clients.clock.now(), &sender.actor)
            .await
        {
            return of(&answers, &error.into());
        }
        clients.keys.forget();
    }
    let ended = cookie("", SignedDuration::ZERO, clients.is_encrypted(&request));
    with_cookie("/ui/sign-in", &ended)
}

/// A new session of a key: its text.
async fn begin(clients: &Clients, key: &str, actor: Actor) -> Result<String, Problem> {
    let key = clients.key(key, actor.address).await?;
    let session = random_key()?;
    let actor = Actor {
        identity: Identity::Key {
            id: key.id,
            name: key.name.clone(),
        },
        ..actor
    };
    let now = clients.clock.now();
    let end = now + SESSION_TIME;
    if !clients
        .store
        .add_session(&key, session.hash, now, end, &actor)
        .await?
    {
        return Err(Problem::refusing(
            Refused::UnknownKey,
            "the key was revoked, or is a session itself",
        ));
    }
    clients.keys.forget();
    Ok(session.text)
}

/// A page of this service; the market where another address was named.
fn local(next: Option<&str>) -> String {
    let is_local = |next: &&str| {
        next.starts_with("/ui/") && !next.contains(['\\', '\r', '\n']) && next.is_ascii()
    };
    next.filter(is_local).unwrap_or("/ui/").to_owned()
}

/// The cookie: no script reads it, and no other site sends it.
fn cookie(value: &str, time: SignedDuration, is_encrypted: bool) -> String {
    let secure = if is_encrypted { "; Secure" } else { "" };
    let seconds = time.as_secs();
    format!("{SESSION}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

fn with_cookie(next: &str, cookie: &str) -> Response<Body> {
    let mut response = Redirect::to(next).into_response();
    let headers = response.headers_mut();
    headers.extend(HeaderValue::from_str(cookie).map(|cookie| (header::SET_COOKIE, cookie)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn document(clients: &Clients, next: &str, is_signed_in: bool, problem: Option<&Problem>) -> Page {
    Page {
        title: "Sign in".to_owned(),
        tab: None,
        content: html! {
            h1 { "Sign in" }
            @if !clients.access.requires_keys {
                p { "No key is needed here: this service can be reached from this machine alone." }
            } @else if is_signed_in {
                p { "You are signed in." }
                form method="post" action="/ui/sign-out" { button type="submit" { "Sign out" } }
            } @else {
                (form(next, problem))
            }
        },
    }
}

fn form(next: &str, problem: Option<&Problem>) -> Markup {
    html! {
        p { "A key decides what you may do here. The operator of this service creates one with " code { "unroof keys create" } "." }
        form method="post" action="/ui/sign-in" {
            input type="hidden" name="next" value=(next);
            p {
                label for="key" { "Key" } " "
                input id="key" name="key" type="password" autocomplete="current-password" required
                    aria-describedby=[problem.map(|_| "wrong")];
                " " button.primary type="submit" { "Sign in" }
            }
            @if let Some(problem) = problem {
                p.warning id="wrong" role="alert" { (problem.detail) "." }
            }
        }
        p.note { "A browser stays signed in for twelve hours, or until the key is revoked." }
    }
}
