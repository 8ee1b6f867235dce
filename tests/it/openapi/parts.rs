//! Lists with `fields`: every row that can be asked for is described.

use serde_json::{Value, json};

use super::examples::Shown;
use super::{assert_valid, committed, operations, validator};

/// The part of the document about the answer of a list.
fn answer(operation: &Value) -> &Value {
    &operation["responses"]["200"]["content"]["application/json"]["schema"]
}

/// Whether it is a list that takes `fields`; of one answer they are its members.
fn takes_fields(operation: &Value) -> bool {
    if operation["operationId"] == "infer_price_sheet" {
        return false;
    }
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters
        .into_iter()
        .any(|parameter| parameter["name"] == "fields")
}

/// The lists that take `fields`, with addresses at which they have rows.
fn lists<'a>(document: &'a Value, shown: &Shown) -> Vec<(String, &'a Value)> {
    let listed = operations(document).into_iter();
    listed
        .filter(|(.., operation)| takes_fields(operation))
        .filter(|(path, ..)| !path.ends_with("/deliveries"))
        .map(|(path, _, operation)| {
            let address = shown.ids.fill(path, operation);
            let names = if path == "/history" {
                "provider=google&model=gemini-2.5-pro"
            } else {
                ""
            };
            (format!("{address}?{names}"), operation)
        })
        .collect()
}

#[tokio::test]
async fn a_row_with_any_one_of_its_fields_is_described() {
    let document = committed();
    let shown = Box::pin(Shown::new()).await;
    let lists = lists(&document, &shown);
    assert_eq!(lists.len(), 15, "{lists:?}");
    for (address, operation) in lists {
        let [whole, partial] = answer(operation)["anyOf"].as_array().unwrap().as_slice() else {
            panic!("{address}: {}", answer(operation));
        };
        let (whole, partial) = (validator(&document, whole), validator(&document, partial));
        let page = shown.api.get(&address).await.json();
        assert_valid(&whole, &page, &address);
        for field in page["data"][0].as_object().unwrap().keys() {
            let some = shown.api.get(&format!("{address}&fields={field}")).await;
            assert_valid(&partial, &some.json(), &format!("{address}: {field}"));
            let rows = some.rows();
            assert!(rows.iter().all(|row| row.as_object().unwrap().len() <= 1));
        }
        let wrong = json!({"data": [{"nothing": 1}], "next_cursor": null, "next_since": 0, "has_more": false});
        assert!(!partial.is_valid(&wrong), "{address}");
    }
}

/// A client that is made of the document reads the whole row unless it named the fields.
#[test]
fn the_whole_row_comes_first_and_needs_more() {
    let document = committed();
    let schemas = &document["components"]["schemas"];
    let row = |page: &Value| {
        let page = page["$ref"].as_str().unwrap().trim_start_matches('#');
        let items = &document.pointer(page).unwrap()["properties"]["data"]["items"];
        items["$ref"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    };
    let listed = operations(&document).into_iter();
    for (path, _, operation) in listed.filter(|(.., operation)| takes_fields(operation)) {
        let pages = answer(operation)["anyOf"].as_array().unwrap();
        let (whole, partial) = (row(&pages[0]), row(&pages[1]));
        assert_eq!(partial, format!("Partial{whole}"), "{path}");
        assert!(schemas[&partial]["required"].is_null(), "{path}");
        let needed = schemas[&whole].to_string().contains("\"required\"");
        assert!(needed, "{path}");
    }
}
