//! Prices whose digits may be a slip.

use std::fs;

use serde_json::json;

use crate::server::{Server, client, post, run};
use crate::support::{TestDatabase, on_each_database_blocking, sheet, with};

#[test]
fn a_price_with_a_needless_zero_before_it_is_refused() {
    on_each_database_blocking(|database: &TestDatabase| {
        let server = Server::start(&database.url);
        let client = client();
        for price in ["00.1", "01", "00", "007.50", "00000000000.1"] {
            let sheet = with(sheet(), "/rates/0/input", json!(price));
            let (status, body) =
                post(&client, &format!("{}/infer", server.address), &sheet).unwrap();
            assert_eq!(status, 422, "{price}: {body}");
            let fault = &serde_json::from_str::<serde_json::Value>(&body).unwrap()["errors"][0];
            assert_eq!(fault["pointer"], "/rates/0/input");
            let detail = format!("`{price}` begins with a superfluous 0");
            assert_eq!(fault["detail"], detail);
        }
        for price in ["0.1", "0", "0.05", "10.01"] {
            let sheet = with(sheet(), "/rates/0/input", json!(price));
            let sent = post(&client, &format!("{}/infer", server.address), &sheet);
            assert_eq!(sent.unwrap().0, 201, "{price}");
        }
    });
}

#[test]
fn the_schema_of_a_sheet_says_so() {
    let schema = run(&["schema"]).out;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (price, is_valid) in [
        ("00.1", false),
        ("01", false),
        ("0.1", true),
        ("0", true),
        ("10", true),
    ] {
        let sheet = with(sheet(), "/rates/0/input", json!(price));
        assert_eq!(validator.is_valid(&sheet), is_valid, "{price}");
    }
}

#[test]
fn a_file_with_such_a_price_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sheet.json");
    let sheet = with(sheet(), "/rates/0/input", json!("00.1"));
    fs::write(&file, sheet.to_string()).unwrap();
    let ended = run(&["infer", file.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1), "{}", ended.out);
    assert!(ended.err.contains("/rates/0/input"), "{}", ended.err);
}
