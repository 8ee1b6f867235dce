//! Lingering close: the rest of a body that no handler reads, such as that of a refused request, is read for a while. A
//! connection that closes while its client sends is reset, perhaps before the client has read the answer.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;

use crate::limit::refusals::PAUSE;

/// Most bytes of the rest of a body that are read.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Lets the rest of a request's body be read where its handler leaves it. The answer does not wait for that.
pub fn linger(request: &mut Request) {
    // Who expects `100 Continue` sends nothing before the body is read.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return;
    }
    let body = mem::take(request.body_mut());
    *request.body_mut() = Body::new(Lingering(body));
}

/// A body of which no more is read than [`MOST_BYTES`] that arrive within [`PAUSE`] once it is dropped.
struct Lingering(Body);

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.0).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.0 = Body::empty();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let rest = mem::take(&mut self.0);
        if rest.is_end_stream() {
            return;
        }
        let mut rest = Limited::new(rest, MOST_BYTES);
        if let Ok(runtime) = Handle::try_current() {
            let read = async move { while let Some(Ok(_)) = rest.frame().await {} };
            runtime.spawn(tokio::time::timeout(PAUSE, read));
        }
    }
}
