//! `/ui/`: the market, one row per model.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use maud::html;

use super::answer;
use super::layout::{Page, Tab};
use crate::http::app::App;

/// The page.
pub(super) async fn show(State(app): State<App>, headers: HeaderMap) -> Response<Body> {
    let page = async {
        Ok(Page {
            title: "Market".to_owned(),
            tab: Some(Tab::Market),
            content: html! { h1 { "Models" } },
        })
    };
    answer::page(&app, "market", &headers, page).await
}
