//! Stored documents that are damaged.

use serde_json::Value;

use super::far_database::wait_until_ready;
use crate::server::{Server, client, get, post};
use crate::support::{TestDatabase, on_each_database_blocking, sheet_of, wait_for};

/// Ids of a stored estimate and of its sheet.
fn store(server: &Server) -> (String, String) {
    let answer = post(
        &client(),
        &format!("{}/infer", server.address),
        &sheet_of("m"),
    );
    let (status, answer) = answer.unwrap();
    assert_eq!(status, 201, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let sheets = get(&client(), &format!("{}/price-sheets", server.address)).1;
    let sheets: Value = serde_json::from_str(&sheets).unwrap();
    let id = |id: &Value| id.as_str().unwrap().to_owned();
    (id(&answer["id"]), id(&sheets["data"][0]["id"]))
}

/// The path is refused, and the problem names the id.
fn assert_damaged(server: &Server, path: &str, id: &str) {
    let (status, text) = get(&client(), &format!("{}{path}", server.address));
    assert_eq!(status, 500, "{path}: {text}");
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem["type"], "/problems/internal");
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(detail, format!("the stored document of {id} is damaged"));
    assert!(
        problem["hint"].as_str().unwrap().contains("backup"),
        "{text}"
    );
}

fn assert_all_damaged(server: &Server, estimate: &str, sheet: &str) {
    assert_damaged(server, &format!("/estimates/{estimate}"), estimate);
    assert_damaged(server, &format!("/price-sheets/{sheet}"), sheet);
    assert_damaged(server, "/offers/acme/m/history", sheet);
}

#[test]
fn a_damaged_document_is_an_error_that_names_it() {
    // Cut, and with another digit.
    for damage in [
        "substr(document, 1, length(document) - 40)",
        "replace(document, '1', '2')",
    ] {
        on_each_database_blocking(|database: &TestDatabase| {
            let server = Server::start(&database.url);
            wait_until_ready(&server);
            let (estimate, sheet) = store(&server);
            let damage = |table: &str| {
                let statement = format!("UPDATE {table} SET document = {damage}");
                wait_for(database.execute(&statement));
            };
            damage("estimates");
            damage("price_sheets");
            assert_all_damaged(&server, &estimate, &sheet);
            // Nor is it taken for what it was when the sheet is sent again.
            let url = format!("{}/infer", server.address);
            let (status, text) = post(&client(), &url, &sheet_of("m")).unwrap();
            assert_eq!(status, 500, "{text}");
            assert!(text.contains(&sheet), "{text}");
        });
    }
}
