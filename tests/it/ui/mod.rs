//! The pages under `/ui/` and the charts that have an address of their own.

mod changes;
mod compare;
mod market;
mod model;
#[cfg(unix)]
mod pasted;
mod plan;
mod trial;
mod truth;

use axum::http::StatusCode;

use crate::support::Reply;

/// The content security policy of every page.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/// The text of a page of this status, which needs neither a script nor a style of its own.
pub(crate) fn page(reply: &Reply, status: StatusCode) -> &str {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_eq!(
        reply.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(reply.header("content-security-policy"), Some(POLICY));
    let text = reply.text();
    for refused in ["<style", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!text.contains(refused), "{refused}");
    }
    assert_eq!(text.matches("<h1").count(), 1);
    assert_eq!(text.matches("<script").count(), 1);
    text
}
