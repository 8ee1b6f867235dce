//! The HTTP API: the only place that knows status codes. One file per resource.

mod answer_time;
mod app;
mod budget;
mod calculator;
mod catalogs;
mod changes;
mod courier;
mod csv;
mod envelope;
mod estimates;
mod extract;
mod feed;
mod health;
mod history;
mod hosts;
mod import_runs;
mod infer;
mod layout;
mod limits;
mod lines;
mod metrics;
mod openapi;
mod outage;
mod outgoing;
mod page;
mod polling;
mod price_sheets;
mod problem;
mod queue;
mod reference;
mod refresh;
mod refusals;
mod resolver;
mod server;
mod simulate;
mod training;
mod watchlist;
mod webhooks;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub use app::{App, Clock};
pub use budget::LARGEST_ANSWER;
pub use hosts::host_name;
pub use import_runs::keep_imports_closed;
pub use limits::Limits;
pub(crate) use lines::{LineReceiver, lines};
pub use metrics::metrics_router;
pub use openapi::openapi;
pub use refresh::{Refresh, keep_due_known, keep_fresh};
pub use server::{Server, StopSignals, serve, serve_metrics};
pub use watchlist::{WatchedModel, WatchedModelError, Watchlist};

/// The list of routes: it is both the router and the document.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::description())
        .routes(routes!(infer::infer_price_sheet))
        .routes(routes!(estimates::list_estimates))
        .routes(routes!(estimates::list_latest_estimates))
        .routes(routes!(estimates::show_estimate))
        .routes(routes!(price_sheets::list_price_sheets))
        .routes(routes!(price_sheets::show_price_sheet))
        .routes(routes!(history::withdraw_price_sheet))
        .routes(routes!(history::reinstate_price_sheet))
        .routes(routes!(history::show_history))
        .routes(routes!(history::list_disagreements))
        .routes(routes!(catalogs::import_catalog))
        .routes(routes!(catalogs::list_imports))
        .routes(routes!(changes::list_changes))
        .routes(routes!(changes::stream_changes))
        .routes(routes!(webhooks::add_webhook, webhooks::list_webhooks))
        .routes(routes!(webhooks::show_webhook, webhooks::remove_webhook))
        .routes(routes!(webhooks::list_deliveries))
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
    let count = from_fn_with_state(Arc::clone(&app.metrics), metrics::count);
    unwrapped(app.clone())
        .layer(from_fn_with_state(app, envelope::surround))
        .layer(count)
}

/// The same for requests off the wire, which HTTP asks more of than this library does.
fn service(app: App) -> Router {
    let count = from_fn_with_state(Arc::clone(&app.metrics), metrics::count);
    let require_host = from_fn_with_state(Arc::clone(&app.limits), hosts::require_known_host);
    unwrapped(app.clone())
        .layer(from_fn(envelope::require_plain_coding))
        .layer(require_host)
        .layer(from_fn_with_state(app, envelope::surround))
        .layer(count)
}

fn unwrapped(app: App) -> Router {
    let limits = Arc::clone(&app.limits);
    let (router, _) = routes().split_for_parts();
    let router = router
        .merge(SwaggerUi::new("/docs").config(docs()))
        .route("/", get(async || Redirect::temporary("/docs")))
        .fallback(envelope::no_route)
        .with_state(app)
        .layer(from_fn_with_state(Arc::clone(&limits), answer_time::limit))
        .layer(CatchPanicLayer::custom(envelope::panicked));
    if limits.allowed_origins.is_empty() {
        return router;
    }
    router.layer(cross_origin(&limits))
}

/// Lets pages of the allowed origins read answers. Where there are none, browsers keep all pages from it.
fn cross_origin(limits: &Limits) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(limits.allowed_origins.clone()))
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers([
            header::CONTENT_TYPE,
            header::IF_NONE_MATCH,
            changes::LAST_EVENT_ID,
            envelope::REQUEST_ID,
        ])
        .expose_headers([
            header::ETAG,
            header::LINK,
            header::LOCATION,
            header::RETRY_AFTER,
            envelope::REQUEST_ID,
        ])
}
