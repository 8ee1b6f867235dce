//! The HTTP API: the only place that knows status codes. One file per resource.

mod app;
mod calculator;
mod envelope;
mod estimates;
mod extract;
mod health;
mod infer;
mod layout;
mod openapi;
mod page;
mod polling;
mod price_sheets;
mod problem;
mod reference;
mod server;
mod simulate;
mod training;

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Redirect;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub use app::{App, Clock};
pub use openapi::openapi;
pub use server::{Server, serve};

/// Largest body that is read.
const MOST_BODY_BYTES: usize = 1024 * 1024;
/// Longest time that an answer may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// The list of routes: it is both the router and the document.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::description())
        .routes(routes!(infer::infer_price_sheet))
        .routes(routes!(estimates::list_estimates))
        .routes(routes!(estimates::list_latest_estimates))
        .routes(routes!(estimates::show_estimate))
        .routes(routes!(price_sheets::list_price_sheets))
        .routes(routes!(price_sheets::show_price_sheet))
        .routes(routes!(simulate::simulate_model))
        .routes(routes!(layout::lay_out_model))
        .routes(routes!(training::plan_training))
        .routes(routes!(reference::list_accelerators))
        .routes(routes!(reference::list_storage_tiers))
        .routes(routes!(reference::list_open_models))
        .routes(routes!(reference::list_readings))
        .routes(routes!(health::check_liveness))
        .routes(routes!(health::check_readiness))
        .routes(routes!(openapi::show_openapi))
        .routes(routes!(problem::describe_problem))
}

/// The page of the docs. Its validator would have a server elsewhere read our document.
fn docs() -> Config<'static> {
    Config::from("/openapi.json").validator_url("none")
}

/// Everything that is served.
pub fn router(app: App) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .merge(SwaggerUi::new("/docs").config(docs()))
        .route("/", get(async || Redirect::temporary("/docs")))
        .fallback(envelope::no_route)
        .with_state(app)
        .layer(DefaultBodyLimit::max(MOST_BODY_BYTES))
        .layer(TimeoutLayer::with_status_code(
            envelope::TIMED_OUT,
            LONGEST_REQUEST,
        ))
        .layer(CatchPanicLayer::custom(envelope::panicked))
        .layer(axum::middleware::from_fn(envelope::surround))
}
