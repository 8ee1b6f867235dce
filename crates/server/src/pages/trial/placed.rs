//! A fault of what was pasted or stated, with its place.

use unroof_base::input::cursor::{Fault, FaultKind};

/// A fault, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    /// Line of the text, from 1.
    pub(super) line: Option<usize>,
    /// Name of the assumption in the form.
    pub(super) control: Option<String>,
    /// The fault with the pointer of its value in the text.
    pub(super) fault: Fault,
}

impl Placed {
    /// A fault of the whole question.
    pub(super) fn of_all(detail: String, hint: String) -> Self {
        let fault = Fault {
            pointer: String::new(),
            detail,
            hint,
            kind: FaultKind::Wrong,
        };
        Self {
            line: None,
            control: None,
            fault,
        }
    }

    /// A fault of a field of the form.
    pub(super) fn of_control(name: &str, detail: String, hint: &str) -> Self {
        Self {
            control: Some(name.to_owned()),
            ..Self::of_all(detail, hint.to_owned())
        }
    }
}
