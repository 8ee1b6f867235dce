//! The `store` member of an answer: whether it is stored, and the reason for it.

use serde::Serialize;
use utoipa::ToSchema;

/// Whether an answer is stored
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Storing {
    /// Whether the answer is stored. One that is not has no `id`, nor have its sheets.
    pub(crate) stored: bool,
    /// Reason that it is stored, or is not, with the way to store it.
    #[schema(
        example = "the caller has no key, and stores only what it asks to: send `store=true`"
    )]
    because: &'static str,
}

impl Storing {
    /// The rule for a request, which may ask for it, and may come from a caller without a key to a service that needs keys.
    pub(crate) fn of(asked: Option<bool>, is_of_stranger: bool) -> Self {
        let (stored, because) = match asked {
            Some(true) => (true, "the request has `store=true`"),
            Some(false) => (false, "the request has `store=false`"),
            None if is_of_stranger => (
                false,
                "the caller has no key, and stores only what it asks to: send `store=true`",
            ),
            None => (true, "the request does not have `store=false`"),
        };
        Self { stored, because }
    }
}
