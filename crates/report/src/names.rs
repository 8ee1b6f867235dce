//! Addresses of what names mean.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// Characters that a segment of a path cannot hold as they are.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A segment of a path.
#[must_use]
pub fn segment(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT).to_string()
}

/// The page of a model, by its canonical name.
#[must_use]
pub fn model_address(canonical_model: &str) -> String {
    let (author, model) = canonical_model
        .split_once('/')
        .unwrap_or((canonical_model, ""));
    format!("/ui/models/{}/{}", segment(author), segment(model))
}

/// The page of an offer, by its names.
#[must_use]
pub fn offer_address(provider: &str, model: &str) -> String {
    format!("/ui/offers/{}/{}", segment(provider), segment(model))
}
