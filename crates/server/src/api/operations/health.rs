//! Liveness and readiness of the service.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answers::Answers;
use crate::service::Service;
use crate::service::extract::NoQuery;
use unroof_edge::{Problem, QueryRefusals};
use unroof_store::INSTANCE_HEADER;

/// State of a service that works.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Works {
    /// The service works; anything else is a problem.
    Ok,
}

/// State of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`; anything else is a problem.
    status: Works,
}

fn ok() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (
        headers,
        serde_json::to_string(&Health { status: Works::Ok }).unwrap_or_default(),
    )
}

/// Check liveness
///
/// Answers while the process does, whatever the state of the database.
#[utoipa::path(get, path = "/healthz", tag = "health", responses(
    (status = 200, description = "OK", body = Health,
        headers(("unroof-instance" = uuid::Uuid, description = "Random id of the process that answers"))),
    QueryRefusals,
))]
pub(crate) async fn check_liveness(
    State(service): State<Arc<Service>>,
    _: NoQuery,
) -> impl IntoResponse {
    ([(INSTANCE_HEADER, service.instance.to_string())], ok())
}

/// Check readiness
///
/// Answers 200 while the database answers, accepts writes and has all tables, and 503 from the stop signal on.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "OK", body = Health),
    QueryRefusals,
    (status = 503, description = "Not ready", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn check_readiness(
    State(answers): State<Arc<Answers>>,
    _: NoQuery,
) -> Result<impl IntoResponse, Problem> {
    answers.is_ready().await?;
    Ok(ok())
}
