//! The HTTP API: the only place that knows status codes. One file per resource.

mod access;
mod answer_time;
mod answers;
mod app;
mod atom;
mod audit;
mod badge;
mod budget;
mod calculated;
mod calculator;
mod catalogs;
mod change_query;
mod change_summary;
mod changes;
mod charts;
mod client_limit;
mod clients;
mod coding;
mod compare;
mod compression;
mod compute;
mod cost;
mod csv;
mod density;
mod described;
mod disagreements;
mod docs;
mod estimates;
mod extract;
mod health;
mod history;
mod hosts;
mod infer;
mod keys;
mod known_answer;
mod known_answers;
mod known_keys;
mod limits;
mod lingering;
mod list;
mod list_text;
mod listener;
mod local;
mod market;
mod meters;
mod metrics;
mod metrics_page;
mod middleware;
mod model_link;
mod models;
mod names;
mod observation;
mod openapi;
mod page;
mod peer;
mod per_address;
mod places;
mod plan;
mod price_sheets;
mod problem;
mod problem_kinds;
mod query;
mod queue;
mod quota;
mod reference;
mod refusals;
mod response_cache;
mod rotation;
mod search;
mod series;
mod server;
mod service;
mod since;
mod some_of_answer;
mod telemetry;
mod track_record;
mod ui;
#[cfg(unix)]
mod unix_socket;
mod webhooks;
mod withdrawals;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, on};
use pastey::paste;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};
use utoipa::Path;
use utoipa::openapi::HttpMethod;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::{PathItemExt, routes};

use access::guarded;

use crate::access::Scope;
use unroof_core::input::cursor::nearest_names;

pub use app::App;
pub use budget::LARGEST_ANSWER;
pub use hosts::host_name;
pub use keys::MOST_KEYS;
pub use limits::{ClientLimits, Limits};
pub use listener::{ListenAddress, Server};
pub(crate) use local::ask;
pub use metrics_page::metrics_router;
pub use openapi::document;
pub use server::{StopSignals, serve, serve_metrics};

/// Calls a macro with the handlers of all routes, each after the name of the scope that it needs, or `anyone`.
macro_rules! with_handlers {
    ($with:ident) => {
        $with! {
            ask infer::infer_price_sheet,
            read estimates::list_estimates,
            read estimates::list_latest_estimates,
            read estimates::show_estimate,
            read density::show_density,
            read price_sheets::list_price_sheets,
            read price_sheets::show_price_sheet,
            observe withdrawals::withdraw_price_sheet,
            observe withdrawals::reinstate_price_sheet,
            read models::list_models,
            read models::show_model,
            read series::show_series,
            read badge::show_badge,
            read compare::compare_models,
            read models::show_vendor,
            read history::show_history,
            read history::find_history,
            read disagreements::list_disagreements,
            read search::search_names,
            observe catalogs::import_catalog,
            read catalogs::list_imports,
            read changes::list_changes,
            read changes::stream_changes,
            read change_summary::summarise_changes,
            read atom::show_atom_feed,
            admin webhooks::add_webhook,
            admin webhooks::list_webhooks,
            admin webhooks::show_webhook,
            admin webhooks::remove_webhook,
            admin webhooks::list_deliveries,
            read charts::show_chart,
            ask cost::price_usage,
            ask calculator::simulate_model,
            ask calculator::lay_out_model,
            ask calculator::plan_training,
            ask plan::plan_serving,
            read track_record::show_track_record,
            read reference::list_accelerators,
            read reference::list_storage_tiers,
            read reference::list_open_models,
            read reference::list_readings,
            admin keys::create_key,
            admin keys::list_keys,
            admin keys::revoke_key,
            admin audit::list_audit,
            anyone health::check_liveness,
            anyone health::check_readiness,
            anyone openapi::show_openapi,
            anyone problem_kinds::describe_problem,
        }
    };
}

/// The scope that a route needs, by its word in the list.
macro_rules! needed {
    (anyone) => {
        None
    };
    (read) => {
        Some(Scope::Read)
    };
    (ask) => {
        Some(Scope::Ask)
    };
    (observe) => {
        Some(Scope::Observe)
    };
    (admin) => {
        Some(Scope::Admin)
    };
}

/// Routes handlers by the path and methods that they declare. `utoipa_axum` would make the API document as well, and
/// the code for it is 2 MB of the program.
macro_rules! router_of {
    ($($needed:ident $module:ident :: $handler:ident),+ $(,)?) => {
        paste! {
            Router::new()$(.route(
                &$module::[<__path_ $handler>]::path(),
                guarded(needed!($needed), on(methods_of::<$module::[<__path_ $handler>]>(), $module::$handler)),
            ))+
        }
    };
}

/// The paths that handlers declare, with their methods and the scopes that they need.
macro_rules! declared {
    ($($needed:ident $module:ident :: $handler:ident),+ $(,)?) => {
        paste! {
            [$((
                $module::[<__path_ $handler>]::path(),
                $module::[<__path_ $handler>]::methods(),
                needed!($needed),
            )),+]
        }
    };
}

/// The routes with their methods, and the scopes that they need.
fn declared_routes() -> Vec<(String, Vec<HttpMethod>, Option<Scope>)> {
    with_handlers!(declared).into()
}

/// Every path of the service, with the scope that it needs; none where it needs no key.
#[must_use]
pub fn needed_scopes() -> Vec<(String, Option<Scope>)> {
    let routes = declared_routes().into_iter();
    let routes = routes.map(|(path, _, needed)| (path, needed));
    routes.chain(ui::needed_scopes()).collect()
}

/// The route of a path as long as it: `{…}` stands for whatever is written there.
fn filled(route: &str, path: &str) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    let places: Vec<&str> = route.split('/').collect();
    let fill = |(place, segment): (&&str, &&str)| {
        let is_any = place.starts_with('{');
        (if is_any { *segment } else { *place }).to_owned()
    };
    let filled: Vec<String> = places.iter().zip(&segments).map(fill).collect();
    (places.len() == segments.len()).then(|| filled.join("/"))
}

/// The path of a route that is like this one.
fn nearest_route(path: &str) -> Option<String> {
    let routes = declared_routes().into_iter();
    let routes: Vec<String> = routes
        .filter_map(|(route, ..)| filled(&route, path))
        .collect();
    let names: Vec<&str> = routes.iter().map(String::as_str).collect();
    let nearest = nearest_names(path, &names);
    nearest.first().map(|name| (*name).to_owned())
}

/// The methods that a path takes.
fn methods_of_path(path: &str) -> Vec<&'static str> {
    let routes = declared_routes().into_iter();
    let same = routes.filter(|(route, ..)| filled(route, path).as_deref() == Some(path));
    let names = [
        (MethodFilter::GET, "GET"),
        (MethodFilter::POST, "POST"),
        (MethodFilter::DELETE, "DELETE"),
    ];
    let name = |method: HttpMethod| {
        let filter = method.to_method_filter();
        names
            .into_iter()
            .find_map(|(known, name)| (known == filter).then_some(name))
    };
    same.flat_map(|(_, methods, _)| methods)
        .filter_map(name)
        .collect()
}

/// The API document of handlers.
macro_rules! document_of {
    ($($needed:ident $module:ident :: $handler:ident),+ $(,)?) => {
        OpenApiRouter::<App>::with_openapi(openapi::description())
            $(.routes(routes!($module::$handler)))+
            .into_openapi()
    };
}

/// The API document but its examples of answers, made from the handlers. The program itself has it as the file
/// `openapi/openapi.json`.
#[must_use]
pub fn openapi() -> serde_json::Value {
    openapi::complete(with_handlers!(document_of))
}

fn methods_of<Declared: Path>() -> MethodFilter {
    let methods = Declared::methods().into_iter();
    let filters = methods.map(|method| method.to_method_filter());
    filters
        .reduce(MethodFilter::or)
        .expect("a handler has a method")
}

/// The router with all middleware, for the command line and for tests: a request without a connection is not checked.
pub fn router(app: App) -> Router {
    scoped(app, |_, _| Ok(()))
}

/// The router for connections, with the HTTP checks that the library leaves out.
fn service(app: App) -> Router {
    scoped(app, middleware::check_request)
}

fn scoped(app: App, check: middleware::Check) -> Router {
    let router = unwrapped(app.clone());
    router.layer(from_fn_with_state((app, check), middleware::request_scope))
}

fn unwrapped(app: App) -> Router {
    let limits = Arc::clone(&app.limits);
    let router = with_handlers!(router_of)
        .merge(docs::routes())
        .merge(ui::routes())
        .fallback(middleware::no_route)
        .method_not_allowed_fallback(middleware::other_method)
        .with_state(app.clone())
        .layer(from_fn_with_state(app, answer_time::limit))
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
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_NONE_MATCH,
            changes::LAST_EVENT_ID,
            middleware::REQUEST_ID,
            HeaderName::from_static("traceparent"),
            HeaderName::from_static("tracestate"),
        ])
        .expose_headers([
            header::ETAG,
            header::LINK,
            header::LOCATION,
            header::RETRY_AFTER,
            quota::RATE_LIMIT,
            quota::RATE_LIMIT_POLICY,
            middleware::REQUEST_ID,
        ])
}
