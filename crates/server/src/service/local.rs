//! Answers of the API within this process, for the command line.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, Response};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::{App, router};

/// Answers a `GET` of a path with its query, by the handler that answers it over HTTP.
///
/// # Errors
/// The path is none, or the answer broke off.
pub async fn ask(app: App, path: &str) -> anyhow::Result<Response<Bytes>> {
    let request = Request::get(path).body(Body::empty())?;
    let service = TowerToHyperService::new(router(app));
    let response = match service.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await?;
    Ok(Response::from_parts(parts, body))
}
