//! The HTTP API: the only place that knows status codes. One file per resource.

mod answer_time;
mod app;
mod budget;
mod calculator;
mod catalogs;
mod changes;
mod csv;
mod docs;
mod estimates;
mod extract;
mod health;
mod history;
mod hosts;
mod infer;
mod limits;
mod metrics;
mod metrics_page;
mod middleware;
mod openapi;
mod page;
mod price_sheets;
mod problem;
mod problem_kinds;
mod queue;
mod reference;
mod refusals;
mod response_cache;
mod server;
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

pub use app::App;
pub use budget::LARGEST_ANSWER;
pub use hosts::host_name;
pub use limits::Limits;
pub use metrics_page::metrics_router;
pub use openapi::openapi;
pub use server::{Server, StopSignals, serve, serve_metrics};
pub use watchlist::{WatchedModel, WatchedModelError, Watchlist};

/// All routes, for the router and for the OpenAPI document.
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
        .routes(routes!(calculator::simulate_model))
        .routes(routes!(calculator::lay_out_model))
        .routes(routes!(calculator::plan_training))
        .routes(routes!(reference::list_accelerators))
        .routes(routes!(reference::list_storage_tiers))
        .routes(routes!(reference::list_open_models))
        .routes(routes!(reference::list_readings))
        .routes(routes!(health::check_liveness))
        .routes(routes!(health::check_readiness))
        .routes(routes!(openapi::show_openapi))
        .routes(routes!(problem_kinds::describe_problem))
}

/// The router with all middleware, for tests.
pub fn router(app: App) -> Router {
    let count = from_fn_with_state(Arc::clone(&app.metrics), metrics::count);
    unwrapped(app.clone())
        .layer(from_fn_with_state(app, middleware::request_scope))
        .layer(count)
}

/// The router for connections, with the HTTP checks that the library leaves out.
fn service(app: App) -> Router {
    let count = from_fn_with_state(Arc::clone(&app.metrics), metrics::count);
    let require_host = from_fn_with_state(Arc::clone(&app.limits), hosts::require_known_host);
    unwrapped(app.clone())
        .layer(from_fn(middleware::require_plain_coding))
        .layer(require_host)
        .layer(from_fn_with_state(app, middleware::request_scope))
        .layer(count)
}

fn unwrapped(app: App) -> Router {
    let limits = Arc::clone(&app.limits);
    let (router, _) = routes().split_for_parts();
    let router = router
        .merge(docs::routes())
        .route("/", get(async || Redirect::temporary("/docs")))
        .fallback(middleware::no_route)
        .with_state(app)
        .layer(from_fn_with_state(Arc::clone(&limits), answer_time::limit))
        .layer(CatchPanicLayer::custom(middleware::panicked));
    if limits.allowed_origins.is_empty() {
        return router;
    }
    router.layer(cross_origin(&limits))
}

/// CORS for the allowed origins. Without any, browsers block all other pages.
fn cross_origin(limits: &Limits) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(limits.allowed_origins.clone()))
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers([
            header::CONTENT_TYPE,
            header::IF_NONE_MATCH,
            changes::LAST_EVENT_ID,
            middleware::REQUEST_ID,
        ])
        .expose_headers([
            header::ETAG,
            header::LINK,
            header::LOCATION,
            header::RETRY_AFTER,
            middleware::REQUEST_ID,
        ])
}
