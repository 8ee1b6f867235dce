//! The HTTP API: the only place that knows status codes. One file per resource.

mod answers;
pub mod api;
mod app;
mod charts;
mod clients;
mod compute;
pub mod examples;
mod list;
mod market;
pub(crate) mod pages;
mod query;
mod question;
mod service;

use crate::api::answers::{
    badge, compare, density, estimates, infer, margins, models, reference, series, track_record,
};
use crate::api::calculators::{calculator, cost};
use crate::api::operations::{audit, health, keys, openapi, problem_kinds, webhooks};
use crate::api::prices::{
    atom, catalogs, change_summary, changes, disagreements, history, imports, price_sheets, search,
    withdrawals,
};
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

use crate::service::access::guarded;

use unroof_store::access::Scope;

pub use crate::api::operations::keys::{KEY_LIFETIME, MOST_KEYS};
pub use crate::api::operations::openapi::document;
pub use crate::service::local::ask;
pub use crate::service::metrics_page::metrics_router;
pub use crate::service::server::{StopSignals, serve, serve_metrics};
pub use app::App;
pub use unroof_edge::{ClientLimits, LARGEST_ANSWER, Limits, ListenAddress, Server, host_name};

/// Calls a macro with the handlers of all routes, each after the name of the scope that it needs, or `anyone`.
macro_rules! with_handlers {
    ($with:ident) => {
        $with! {
            ask infer::infer_price_sheet,
            read estimates::list_estimates,
            read estimates::list_latest_estimates,
            read estimates::show_estimate,
            admin estimates::delete_estimate,
            read density::show_density,
            read price_sheets::list_price_sheets,
            read price_sheets::show_price_sheet,
            observe withdrawals::withdraw_price_sheet,
            observe withdrawals::reinstate_price_sheet,
            read models::list_models,
            read models::show_model,
            read margins::list_margins,
            read margins::show_margins,
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
            observe imports::accept_import,
            observe imports::discard_import,
            observe imports::undo_import,
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
            ask calculator::plan_serving,
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
    routes.chain(crate::pages::needed_scopes()).collect()
}

/// Fills the placeholders of `route` with the segments of `path`; `None` if the lengths differ.
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

/// The paths of the routes with as many segments as this one, filled with its segments.
fn routes_like(path: &str) -> Vec<String> {
    let routes = declared_routes().into_iter();
    routes
        .filter_map(|(route, ..)| filled(&route, path))
        .collect()
}

/// The methods that a path takes.
fn methods_of_path(path: &str) -> Vec<&'static str> {
    let routes = declared_routes().into_iter();
    let same = routes.filter(|(route, ..)| filled(route, path).as_deref() == Some(path));
    same.flat_map(|(_, methods, _)| methods)
        .map(|method| method_name(&method))
        .collect()
}

/// Name of a method that a route declares.
pub(crate) fn method_name(method: &HttpMethod) -> &'static str {
    match method {
        HttpMethod::Post => "POST",
        HttpMethod::Delete => "DELETE",
        _ => "GET",
    }
}

/// The API document of handlers.
macro_rules! document_of {
    ($($needed:ident $module:ident :: $handler:ident),+ $(,)?) => {
        OpenApiRouter::<App>::with_openapi(crate::api::operations::openapi::description())
            $(.routes(routes!($module::$handler)))+
            .into_openapi()
    };
}

/// The API document but its examples of answers, made from the handlers. The program itself has it as the file
/// `openapi/openapi.json`.
#[must_use]
pub fn openapi() -> serde_json::Value {
    crate::api::operations::openapi::complete(with_handlers!(document_of))
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
    scoped(app, crate::service::middleware::check_request)
}

fn scoped(app: App, check: crate::service::middleware::Check) -> Router {
    let router = unwrapped(app.clone());
    router.layer(from_fn_with_state(
        (app, check),
        crate::service::middleware::request_scope,
    ))
}

fn unwrapped(app: App) -> Router {
    let limits = Arc::clone(&app.limits);
    let router = with_handlers!(router_of)
        .merge(crate::api::operations::docs::routes())
        .merge(crate::pages::routes())
        .fallback(crate::service::middleware::no_route)
        .method_not_allowed_fallback(crate::service::middleware::other_method)
        .with_state(app.clone())
        .layer(from_fn_with_state(app, crate::service::answer_time::limit))
        .layer(CatchPanicLayer::custom(
            crate::service::middleware::panicked,
        ));
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
            crate::api::prices::changes::LAST_EVENT_ID,
            crate::service::middleware::REQUEST_ID,
            HeaderName::from_static("traceparent"),
            HeaderName::from_static("tracestate"),
        ])
        .expose_headers([
            header::ETAG,
            header::LINK,
            header::LOCATION,
            header::RETRY_AFTER,
            unroof_edge::POINTS,
            unroof_edge::RATE_LIMIT,
            unroof_edge::RATE_LIMIT_POLICY,
            crate::service::middleware::REQUEST_ID,
        ])
}
