//! Every field of every body: what else is written in its place, or next to it, is refused at its place.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::bodies::{bodies, cost_bodies, full_sheet, replaced, values};
use super::stored_sheet;
use crate::support::{Api, TestDatabase, faults, sheet, with};

/// Whether a place lies in what is kept without being read.
fn is_kept_unparsed(pointer: &str) -> bool {
    ["/unmapped/", "/request/", "/when/", "/config/"]
        .iter()
        .any(|part| pointer.contains(part))
}

/// Whether an entry of a catalog is there: its format lets its readers expect fields that they do not know.
fn is_entry(body: &Value, pointer: &str) -> bool {
    let object = body.pointer(pointer).unwrap();
    object.get("litellm_provider").is_some()
}

/// The places of the objects of a body that are read field by field.
fn objects(body: &Value) -> Vec<String> {
    let objects = values(body)
        .into_iter()
        .filter(|(_, value)| value.is_object());
    objects
        .map(|(pointer, _)| pointer)
        .filter(|pointer| !is_kept_unparsed(pointer))
        .collect()
}

/// Sends a body that is wrong in one place; the pointers of its faults, each of which must lead to a value of the body.
async fn pointers_of_faults(api: &Api, path: &str, body: &Value) -> Vec<String> {
    let problem = api.post(path, body.to_string()).await.problem(422);
    let faults = problem["errors"].as_array().unwrap().iter();
    let pointers: Vec<String> = faults
        .map(|fault| fault["pointer"].as_str().unwrap().to_owned())
        .collect();
    assert!(!pointers.is_empty(), "{path}: {problem}");
    for pointer in &pointers {
        assert!(
            body.pointer(pointer).is_some(),
            "{path}: `{pointer}` leads nowhere in {body}"
        );
    }
    pointers
}

#[tokio::test]
async fn no_object_of_any_body_may_be_written_as_the_list_of_its_values() {
    let api = TestDatabase::sqlite().api().await;
    for (path, body) in [bodies(), cost_bodies()].concat() {
        for pointer in objects(&body) {
            // An axis may be a list: of its points, not of its ends.
            if pointer.starts_with("/grid/") {
                continue;
            }
            let entries = body.pointer(&pointer).unwrap().as_object().unwrap();
            let list = entries.values().cloned().collect();
            let wrong = replaced(&body, &pointer, Value::Array(list));
            let found = pointers_of_faults(&api, path, &wrong).await;
            assert!(
                found.contains(&pointer),
                "{path}: no `{pointer}` in {found:?}"
            );
        }
    }
}

#[tokio::test]
async fn no_object_of_any_body_may_have_a_field_that_is_not_described() {
    let api = TestDatabase::sqlite().api().await;
    for (path, body) in [bodies(), cost_bodies()].concat() {
        for pointer in objects(&body) {
            if is_entry(&body, &pointer)
                || ["unmapped", "request", "when", "/config"]
                    .iter()
                    .any(|end| pointer.ends_with(end))
            {
                continue;
            }
            let added = format!("{pointer}/zz~1~0z");
            let mut wrong = body.clone();
            wrong.pointer_mut(&pointer).unwrap()["zz/~z"] = json!(1);
            let found = pointers_of_faults(&api, path, &wrong).await;
            assert!(found.contains(&added), "{path}: no `{added}` in {found:?}");
        }
    }
}

#[tokio::test]
async fn every_value_of_another_kind_is_refused_at_its_place_and_all_of_them_at_once() {
    let api = TestDatabase::sqlite().api().await;
    for (path, body) in [bodies(), cost_bodies()].concat() {
        let mut all = body.clone();
        let mut wrong_places = Vec::new();
        let read = values(&body)
            .into_iter()
            .filter(|(pointer, _)| !is_kept_unparsed(pointer));
        for (pointer, value) in read {
            // A text may stand for an object that has a name, and a number for a range.
            let other = match value {
                Value::Array(_) | Value::String(_) => json!(true),
                Value::Number(_) | Value::Bool(_) => json!("x"),
                _ => continue,
            };
            if pointer.is_empty() || is_entry(&body, pointer.rsplit_once('/').unwrap().0) {
                continue;
            }
            let found =
                pointers_of_faults(&api, path, &replaced(&body, &pointer, other.clone())).await;
            assert!(
                found.contains(&pointer),
                "{path}: no `{pointer}` in {found:?}"
            );
            // Without its kind, nothing else of a group of layers can be judged.
            if !value.is_array() && !pointer.ends_with("/kind") {
                all = replaced(&all, &pointer, other);
                wrong_places.push(pointer);
            }
        }
        if wrong_places.is_empty() {
            continue;
        }
        let found = pointers_of_faults(&api, path, &all).await;
        for pointer in wrong_places {
            assert!(
                found.contains(&pointer),
                "{path}: no `{pointer}` in {found:?}"
            );
        }
    }
}

#[tokio::test]
async fn every_decimal_of_a_sheet_is_refused_in_every_other_form() {
    let api = TestDatabase::sqlite().api().await;
    let body = full_sheet();
    let decimals: Vec<String> = values(&body)
        .into_iter()
        .filter(|(_, value)| {
            value
                .as_str()
                .is_some_and(|text| text.parse::<f64>().is_ok())
        })
        .map(|(pointer, _)| pointer)
        .filter(|pointer| !pointer.starts_with("/sources"))
        .collect();
    assert_eq!(decimals.len(), 19, "{decimals:?}");
    let forms = [
        json!(1.25),
        json!(true),
        json!(null),
        json!("1e-6"),
        json!("NaN"),
        json!("-1"),
        json!(""),
        json!("1234567890123"),
        json!("0.1234567890123456789"),
    ];
    for pointer in decimals {
        for form in &forms {
            let wrong = replaced(&body, &pointer, form.clone());
            let problem = api.infer(&wrong).await.problem(422);
            let listed = faults(&problem);
            assert!(
                listed.starts_with(&format!("{pointer}: ")),
                "{form}: {listed}"
            );
            assert_eq!(listed.lines().count(), 1, "{form}: {listed}");
        }
    }
}

#[tokio::test]
async fn prices_of_a_catalog_entry_are_numbers_that_are_not_negative() {
    let api = TestDatabase::sqlite().api().await;
    let path = "/infer?format=litellm&model=m&store=false";
    let entry = |price: &str| {
        format!(
            r#"{{"litellm_provider": "acme", "input_cost_per_token": {price}, "output_cost_per_token": 1e-5}}"#
        )
    };
    for price in ["1.25e-6", "0", "0.00000125", "1E-6"] {
        let reply = api.post(path, entry(price)).await;
        assert_eq!(reply.status, StatusCode::OK, "{price}: {}", reply.text());
    }
    for price in [
        "-1e-6", "true", "[1e-6]", "{}", "\"many\"", "\"NaN\"", "1e99", "1e-99",
    ] {
        let problem = api.post(path, entry(price)).await.problem(422);
        let listed = faults(&problem);
        assert!(
            listed.starts_with("/input_cost_per_token: "),
            "{price}: {listed}"
        );
    }
    for price in ["NaN", "Infinity", "1e400", "01", ""] {
        api.post(path, entry(price)).await.problem(400);
    }
}

#[tokio::test]
async fn whole_numbers_are_those_from_1_to_2147483647_in_any_spelling() {
    let api = TestDatabase::sqlite().api().await;
    let limits = ["context", "max_input", "max_output", "cache_min_tokens"];
    for name in limits {
        let pointer = format!("/limits/{name}");
        let body = |number: &str| {
            let marked = replaced(&full_sheet(), &pointer, json!("the number"));
            marked.to_string().replace("\"the number\"", number)
        };
        for number in [
            "0",
            "2147483648",
            "9007199254740993",
            "1.5",
            "-1",
            "1e-3",
            "0.0",
        ] {
            let problem = api.post("/infer", body(number)).await.problem(422);
            let listed = faults(&problem);
            assert!(
                listed.starts_with(&format!("{pointer}: `{number}` is not a whole number")),
                "{listed}"
            );
        }
        api.post("/infer", body("1e400")).await.problem(400);
    }
    // One question however its number is spelled.
    let mut ids = Vec::new();
    for number in ["1000", "1e3", "1000.0", "10E2"] {
        let text = with(sheet(), "/limits", json!({"context": 7_777})).to_string();
        let reply = api.post("/infer", text.replace("7777", number)).await;
        let stored = stored_sheet(&api, &reply).await;
        assert_eq!(stored["limits"]["context"], 1_000, "{number}");
        ids.push(reply.id());
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let largest = with(sheet(), "/limits", json!({"context": 2_147_483_647}));
    assert_eq!(api.infer(&largest).await.status, StatusCode::CREATED);
}
