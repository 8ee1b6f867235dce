//! The style sheet, the script and the icon of the pages, under names that change with their content.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::service::extract::Path;

/// A file that pages load.
pub(super) struct Asset {
    /// Name with the digest of the content.
    name: String,
    media_type: &'static str,
    content: Bytes,
}

impl Asset {
    fn new(stem: &str, ending: &str, media_type: &'static str, content: &'static str) -> Self {
        let digest = Sha256::digest(content);
        let mut name = format!("{stem}-");
        for byte in &digest[..6] {
            // Writing to a text does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self {
            name: format!("{name}.{ending}"),
            media_type,
            content: Bytes::from_static(content.as_bytes()),
        }
    }

    /// Address of the asset.
    pub(super) fn address(&self) -> String {
        format!("/ui/assets/{}", self.name)
    }
}

/// One style sheet: what all pages share, then a part per page.
const STYLE: &str = concat!(
    include_str!("base.css"),
    include_str!("chart.css"),
    include_str!("market.css"),
    include_str!("ask.css"),
    include_str!("model.css"),
);

/// One module, of parts that do not know one another. The first keeps the page as it was served.
const SCRIPT: &str = concat!(
    include_str!("live.js"),
    include_str!("cursor.js"),
    include_str!("suggest.js"),
    include_str!("slider.js"),
    include_str!("ask.js"),
);

/// Style sheet of the pages.
pub(super) static STYLE_SHEET: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("unroof", "css", "text/css; charset=utf-8", STYLE));
/// Script of the pages.
pub(super) static MODULE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("unroof", "js", "text/javascript; charset=utf-8", SCRIPT));
/// Icon of the pages.
pub(super) static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "icon",
        "svg",
        "image/svg+xml",
        include_str!("../../api/operations/docs/icon.svg"),
    )
});

/// Serves a file. Its name changes with its content, so that it is kept for a year.
pub(super) async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let assets = [&*STYLE_SHEET, &*MODULE, &*ICON];
    let Some(asset) = assets.into_iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = format!("\"{}\"", asset.name);
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let cached = [
        (
            header::CACHE_CONTROL,
            "public, max-age=31536000, immutable".to_owned(),
        ),
        (header::ETAG, tag),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, cached).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, asset.media_type)];
    (cached, content_type, asset.content.clone()).into_response()
}
