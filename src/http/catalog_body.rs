//! The body of `POST /catalogs`: read only by the one who may import, and never held twice.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use futures_util::StreamExt;

use super::App;
use super::catalogs::ImportPlaces;
use super::extract::check_media_type;
use super::problem::{Problem, TIMEOUT, TOO_LARGE, UNREADABLE};

/// The bytes of a whole catalog, not yet read, and the place of the one who sent it.
pub(super) struct CatalogBody {
    pub(super) text: Vec<u8>,
    pub(super) places: ImportPlaces,
}

impl FromRequest<App> for CatalogBody {
    type Rejection = Problem;

    /// Where there is no place, the body is left unread.
    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        check_media_type(request.headers())?;
        let most_bytes = app.limits.catalog_bytes;
        let stated = request.headers().get(header::CONTENT_LENGTH);
        let stated = stated.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if stated.is_some_and(|bytes| bytes > most_bytes) {
            return Err(too_large(most_bytes));
        }
        let places = app.import_places()?;
        let body_time = app.limits.body_time;
        let read = read(request.into_body(), stated.unwrap_or(0), most_bytes);
        let read = tokio::time::timeout(body_time, read).await;
        let text = read.map_err(|_| {
            Problem::new(TIMEOUT, "the body did not arrive in time")
                .hint(format!("send all of it within {body_time:?}"))
        })??;
        Ok(Self { text, places })
    }
}

/// Copies each piece to its place at once: a body in small pieces takes no more room than a body in large ones.
async fn read(body: Body, stated: usize, most_bytes: usize) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::with_capacity(stated);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Problem::new(UNREADABLE, "the body ended early"))?;
        if text.len() + piece.len() > most_bytes {
            return Err(too_large(most_bytes));
        }
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

fn too_large(most_bytes: usize) -> Problem {
    Problem::new(
        TOO_LARGE,
        format!("the body is larger than {most_bytes} bytes"),
    )
    .hint("send a part of the catalog at a time, such as one provider")
}
