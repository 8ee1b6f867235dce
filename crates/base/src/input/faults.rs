//! Faults of a request, each with its place, its reason and its correction.

use std::cell::RefCell;

use serde::Serialize;
use utoipa::ToSchema;

/// Most faults reported for one request.
const MOST_FAULTS: usize = 1_000;

/// An error of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fault {
    /// JSON pointer (RFC 6901) to the offending value; "" is the whole document.
    #[schema(example = "/rates/0/input")]
    pub pointer: String,
    /// Description of the fault, as a sentence.
    pub detail: String,
    /// Correction that removes the fault.
    pub hint: String,
    /// Kind of the fault.
    #[serde(skip)]
    #[schema(ignore)]
    pub kind: FaultKind,
}

/// Kind of a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FaultKind {
    /// The value is wrong.
    #[default]
    Wrong,
    /// The entry of a catalog states no price of text, which is not a mistake of the catalog.
    WithoutPrice,
}

/// Collects faults while a tree is walked.
#[derive(Debug, Default)]
pub struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    /// Records one fault.
    pub fn record(&self, pointer: &str, detail: impl Into<String>, hint: impl Into<String>) {
        self.record_of_kind(FaultKind::Wrong, pointer, detail.into(), hint.into());
    }

    pub(super) fn record_of_kind(
        &self,
        kind: FaultKind,
        pointer: &str,
        detail: String,
        hint: String,
    ) {
        let mut faults = self.0.borrow_mut();
        let fault = match faults.len() {
            0..MOST_FAULTS => Fault {
                pointer: pointer.to_owned(),
                detail,
                hint,
                kind,
            },
            MOST_FAULTS => Fault {
                pointer: String::new(),
                detail: format!("there are more faults than these {MOST_FAULTS}"),
                hint: "correct these first".to_owned(),
                kind: FaultKind::Wrong,
            },
            _ => return,
        };
        faults.push(fault);
    }

    /// Number of recorded faults.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Whether the limit of recorded faults is reached.
    pub(super) fn is_full(&self) -> bool {
        self.0.borrow().len() > MOST_FAULTS
    }

    /// The value, if no fault was recorded since the last call: that of a document, or of one part of it.
    ///
    /// # Errors
    /// All faults recorded since the last call, if any.
    pub fn result<T>(&self, value: Option<T>) -> Result<T, Vec<Fault>> {
        let faults = self.0.take();
        match value {
            Some(value) if faults.is_empty() => Ok(value),
            _ => Err(faults),
        }
    }
}
