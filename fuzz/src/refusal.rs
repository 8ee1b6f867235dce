//! Invariants that every refusal of a text keeps.

use serde_json::Value;
use unroof_base::input::RequestError;

/// Panics where a refusal gives no reason, or points to a place that the text does not have.
pub fn check(error: &RequestError, text: &[u8]) {
    match error {
        RequestError::Unreadable(fault) => {
            assert!(fault.line > 0 && fault.column > 0, "{fault:?}");
            assert!(!fault.reason.is_empty(), "{fault:?}");
        }
        RequestError::Wrong(faults) => {
            assert!(!faults.is_empty(), "refused without a reason");
            let tree = tree(text);
            for fault in faults {
                assert!(!fault.detail.is_empty(), "{fault:?}");
                assert!(!fault.hint.is_empty(), "{fault:?}");
                assert!(tree.pointer(&fault.pointer).is_some(), "{fault:?}");
            }
        }
    }
}

/// The tree of a text that our reader took for JSON, as another reader sees it.
pub fn tree(text: &[u8]) -> Value {
    serde_json::from_slice(text).expect("what our reader takes for JSON is JSON")
}
