//! Faults are recorded where they are, and unknown fields with the nearest name.

use super::*;
use crate::input::json;

#[test]
fn all_faults_are_recorded_with_their_pointers() {
    let tree = json::parse(br#"{"price": 1.5, "na/me": "", "count": 1.5, "bloom": true}"#).unwrap();
    let faults = Faults::default();
    let fields = Cursor::root(&tree, &faults).fields().unwrap();
    let price = fields.get("price").and_then(|field| field.decimal());
    let name = fields.get("na/me").and_then(|field| field.name());
    let count = fields
        .get("count")
        .and_then(|field| field.whole_number(1..=9));
    let bloom = fields.get("bloom").and_then(|field| field.text());
    fields.refuse_unknown();
    assert_eq!((price, name, count, bloom), (None, None, None, None));
    let pointers: Vec<_> = faults
        .result(Some(()))
        .unwrap_err()
        .into_iter()
        .map(|fault| fault.pointer)
        .collect();
    assert_eq!(pointers, ["/price", "/na~1me", "/count", "/bloom"]);
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_name() {
    let tree = json::parse(br#"{"outptu": 1}"#).unwrap();
    let faults = Faults::default();
    let fields = Cursor::root(&tree, &faults).fields().unwrap();
    assert!(fields.get("output").is_none() && fields.get("input").is_none());
    fields.refuse_unknown();
    let found = faults.result(Some(())).unwrap_err();
    assert_eq!(found[0].detail, "`outptu` is not a known field");
    assert_eq!(
        found[0].hint,
        "did you mean `output`? known here: input, output"
    );
}
