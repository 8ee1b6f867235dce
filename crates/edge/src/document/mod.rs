//! The OpenAPI document, put right where utoipa cannot express what the service does.

mod finish;
mod parts;

use serde_json::Value;

/// Puts right a document with every route: variants and lines are described, requests are apart from answers, and lists have the
/// schemas of rows with some fields.
pub fn put_right(document: &mut Value) {
    finish::finish(document);
    parts::describe(document);
}
