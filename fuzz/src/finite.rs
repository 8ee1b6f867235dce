//! Numbers that an answer may hold.

use ciborium::Value;
use serde::Serialize;

/// Panics where an answer holds a number that is not finite. JSON would write it as null, so this looks before.
pub fn check<T: Serialize>(answer: &T) {
    let tree = Value::serialized(answer).expect("every answer has a tree");
    assert_finite(&tree);
}

fn assert_finite(tree: &Value) {
    match tree {
        Value::Float(number) => assert!(number.is_finite(), "{number} in an answer"),
        Value::Array(items) => items.iter().for_each(assert_finite),
        Value::Map(entries) => {
            for (name, value) in entries {
                if let Value::Float(number) = value {
                    assert!(number.is_finite(), "{number} as {name:?}");
                }
                assert_finite(value);
            }
        }
        _ => {}
    }
}
