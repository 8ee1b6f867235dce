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
mod names;
mod plan;
mod quantities;
mod spelling;
mod trial;
mod truth;
mod words;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;

use super::app::App;

pub(super) use answer::{HTML, as_page};

/// The routes of the pages.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(async || Redirect::temporary("/ui/")))
        .route("/ui", get(async || Redirect::permanent("/ui/")))
        .route("/ui/", get(market::show))
        .route("/ui/catalogs", get(catalogs::show))
        .route("/ui/changes", get(changes::show))
        .route("/ui/compare", get(compare::show))
        .route("/ui/truth", get(truth::show))
        .route("/ui/plan", get(plan::show))
        .route("/ui/try", get(trial::show).post(trial::ask))
        .route("/ui/models/{author}/{model}", get(model::show))
        .route("/ui/offers/{provider}/{model}", get(model::show_offer))
        .route("/ui/assets/{name}", get(assets::serve))
        .route("/ui/{*rest}", get(answer::no_page))
}
