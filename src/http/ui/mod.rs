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
mod layout;
mod market;
mod model;
mod names;
mod plan;
mod quantities;
mod sign_in;
mod spelling;
mod trial;
mod truth;
mod words;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};

use super::access::{Needs, guarded};
use super::app::App;
use crate::access::Scope;

pub(super) use answer::{HTML, as_page};

/// The routes of the pages, each with what it needs of its caller.
pub(super) fn routes() -> Router<App> {
    const READ: Needs = Needs::Scope(Scope::Read);
    const ASK: Needs = Needs::Scope(Scope::Ask);
    let page = |needs, path: &str, route| (path.to_owned(), guarded(needs, route));
    let pages = [
        page(Needs::Nothing, "/", get(async || Redirect::temporary("/ui/"))),
        page(Needs::Nothing, "/ui", get(async || Redirect::permanent("/ui/"))),
        page(READ, "/ui/", get(market::show)),
        page(READ, "/ui/catalogs", get(catalogs::show)),
        page(READ, "/ui/changes", get(changes::show)),
        page(READ, "/ui/compare", get(compare::show)),
        page(READ, "/ui/truth", get(truth::show)),
        page(ASK, "/ui/plan", get(plan::show)),
        page(ASK, "/ui/try", get(trial::show).post(trial::ask)),
        page(READ, "/ui/models/{author}/{model}", get(model::show)),
        page(READ, "/ui/offers/{provider}/{model}", get(model::show_offer)),
        page(Needs::Nothing, "/ui/sign-in", get(sign_in::show).post(sign_in::enter)),
        page(Needs::Nothing, "/ui/sign-out", post(sign_in::leave)),
        page(Needs::Nothing, "/ui/assets/{name}", get(assets::serve)),
        page(Needs::Nothing, "/ui/{*rest}", get(answer::no_page)),
    ];
    let add = |router: Router<App>, (path, route): (String, _)| router.route(&path, route);
    pages.into_iter().fold(Router::new(), add)
}
