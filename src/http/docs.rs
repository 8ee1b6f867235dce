//! The page `/docs`: Swagger UI, which shows the API document.

use std::io::{self, Read};
use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use flate2::read::GzDecoder;

use super::problem::{INTERNAL, Problem};

/// A file of the page.
struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: LazyLock<io::Result<Bytes>>,
}

/// A file of Swagger UI, compressed by `build.rs` and decompressed on first use.
macro_rules! swagger_ui {
    ($name:literal, $media_type:literal) => {
        Asset {
            name: $name,
            media_type: $media_type,
            content: LazyLock::new(|| {
                decompress(include_bytes!(concat!(
                    env!("OUT_DIR"),
                    "/swagger-ui/",
                    $name
                )))
            }),
        }
    };
}

static ASSETS: [Asset; 8] = [
    swagger_ui!("favicon-16x16.png", "image/png"),
    swagger_ui!("favicon-32x32.png", "image/png"),
    swagger_ui!("index.css", "text/css"),
    swagger_ui!("index.html", "text/html"),
    swagger_ui!("swagger-ui-bundle.js", "text/javascript"),
    swagger_ui!("swagger-ui-standalone-preset.js", "text/javascript"),
    swagger_ui!("swagger-ui.css", "text/css"),
    Asset {
        name: "swagger-initializer.js",
        media_type: "text/javascript",
        content: LazyLock::new(|| Ok(Bytes::from_static(START.as_bytes()))),
    },
];

/// Script that starts the page, without the validator, which would send the document to another server.
const START: &str = r##"window.onload = function () {
  window.ui = SwaggerUIBundle({
    "dom_id": "#swagger-ui",
    "url": "/openapi.json",
    "deepLinking": true,
    "validatorUrl": "none",
    "layout": "StandaloneLayout",
    "presets": [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    "plugins": [SwaggerUIBundle.plugins.DownloadUrl],
  });
};
"##;

/// The routes of the page.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
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
    match &*asset.content {
        Ok(content) => {
            ([(header::CONTENT_TYPE, asset.media_type)], content.clone()).into_response()
        }
        Err(error) => Problem::new(INTERNAL, error.to_string()).into_response(),
    }
}

fn decompress(compressed: &[u8]) -> io::Result<Bytes> {
    let mut content = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut content)?;
    Ok(content.into())
}
