//! The page `/docs`: Swagger UI, which shows the API document. The page's own files are under `docs/`.

use std::sync::LazyLock;

use super::openapi::decompressed;
use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

/// A file of the page.
struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: LazyLock<Bytes>,
}

/// A file of Swagger UI, compressed by `build.rs` and decompressed on first use.
macro_rules! swagger_ui {
    ($name:literal, $media_type:literal) => {
        Asset {
            name: $name,
            media_type: $media_type,
            content: LazyLock::new(|| {
                decompressed(include_bytes!(concat!(
                    env!("OUT_DIR"),
                    "/swagger-ui/",
                    $name
                )))
                .into()
            }),
        }
    };
}

/// A file of this repository, as it is.
macro_rules! own {
    ($name:literal, $media_type:literal) => {
        Asset {
            name: $name,
            media_type: $media_type,
            content: LazyLock::new(|| Bytes::from_static(include_bytes!($name))),
        }
    };
}

/// The page, its own files, and those of Swagger UI.
static ASSETS: [Asset; 6] = [
    own!("index.html", "text/html; charset=utf-8"),
    own!("page.css", "text/css; charset=utf-8"),
    own!("icon.svg", "image/svg+xml"),
    own!("start.js", "text/javascript; charset=utf-8"),
    swagger_ui!("swagger-ui-bundle.js", "text/javascript"),
    swagger_ui!("swagger-ui.css", "text/css"),
];

/// The routes of the page.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/docs", get(async || Redirect::to("/docs/")))
        .route("/docs/", get(async || serve("/docs/index.html")))
        .route("/docs/{*rest}", get(async |uri: Uri| serve(uri.path())))
}

fn serve(path: &str) -> Response {
    let name = path.trim_start_matches("/docs/");
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [(header::CONTENT_TYPE, asset.media_type)];
    (headers, asset.content.clone()).into_response()
}
