//! The pages under `/ui/`: for people who look. One file per page; the style sheet and the script are under `assets/`.
//!
//! A page is written by the server and is read without a script. It shows what the API answers and computes nothing of its
//! own: its address holds the whole question, so that it can be sent to a colleague.

mod answer;
mod assets;
mod catalogs;
mod changes;
mod compare;
mod figure;
mod hint;
mod layout;
mod market;
mod model;
mod plan;
mod quantities;
mod sign_in;
mod slider;
mod spelling;
mod trial;
mod truth;
mod words;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{MethodRouter, get, post};

use super::app::App;
use crate::service::access::guarded;
use unroof_store::access::Scope;

pub(super) use answer::{HTML, as_page};

/// The pages, each with the scope that it needs.
fn pages() -> [(Option<Scope>, &'static str, MethodRouter<App>); 15] {
    const READ: Option<Scope> = Some(Scope::Read);
    const ASK: Option<Scope> = Some(Scope::Ask);
    const NOTHING: Option<Scope> = None;
    [
        (NOTHING, "/", get(async || Redirect::temporary("/ui/"))),
        (NOTHING, "/ui", get(async || Redirect::permanent("/ui/"))),
        (READ, "/ui/", get(market::show)),
        (READ, "/ui/catalogs", get(catalogs::show)),
        (READ, "/ui/changes", get(changes::show)),
        (READ, "/ui/compare", get(compare::show)),
        (READ, "/ui/truth", get(truth::show)),
        (ASK, "/ui/plan", get(plan::show)),
        (ASK, "/ui/try", get(trial::show).post(trial::ask)),
        (READ, "/ui/models/{author}/{model}", get(model::show)),
        (
            READ,
            "/ui/offers/{provider}/{model}",
            get(model::show_offer),
        ),
        (
            NOTHING,
            "/ui/sign-in",
            get(sign_in::show).post(sign_in::enter),
        ),
        (NOTHING, "/ui/sign-out", post(sign_in::leave)),
        (NOTHING, "/ui/assets/{name}", get(assets::serve)),
        (NOTHING, "/ui/{*rest}", get(answer::no_page)),
    ]
}

/// The routes of the pages.
pub(super) fn routes() -> Router<App> {
    let add =
        |router: Router<App>, (needed, path, route)| router.route(path, guarded(needed, route));
    pages().into_iter().fold(Router::new(), add)
}

/// The path of each page, with the scope that it needs.
pub(super) fn needed_scopes() -> impl Iterator<Item = (String, Option<Scope>)> {
    let pages = pages().into_iter();
    pages.map(|(needed, path, _)| (path.to_owned(), needed))
}
