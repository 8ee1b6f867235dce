//! The pages for people, without a word to any other server.

use std::collections::BTreeSet;

use axum::http::StatusCode;

use crate::support::{Api, TestDatabase};

#[tokio::test]
async fn the_root_leads_to_the_pages() {
    let api = TestDatabase::sqlite().api().await;
    let root = api.get("/").await;
    assert!(root.status.is_redirection());
    assert_eq!(root.header("location"), Some("/ui/"));
    let docs = api.get("/docs").await;
    assert!(docs.status.is_redirection());
    assert_eq!(docs.header("location"), Some("/docs/"));
    let page = api.get("/docs/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
}

/// All texts between `mark` and the next quotation mark.
fn quoted_after<'a>(text: &'a str, mark: &str) -> BTreeSet<&'a str> {
    let quotes = text.split(mark).skip(1);
    quotes
        .filter_map(|rest| rest.split(['"', '\'']).next())
        .collect()
}

async fn fetch(api: &Api, path: &str) -> String {
    let reply = api.get(path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}");
    String::from_utf8_lossy(&reply.body).into_owned()
}

#[tokio::test]
async fn the_docs_need_no_other_server() {
    let api = TestDatabase::sqlite().api().await;
    let page = fetch(&api, "/docs/").await;
    let mut assets = quoted_after(&page, "src=\"");
    assets.extend(quoted_after(&page, "href=\""));
    assert!(assets.len() >= 5, "{assets:?}");
    for asset in &assets {
        assert!(!asset.contains("//"), "{asset}");
        let name = asset.trim_start_matches("./").trim_start_matches("/docs/");
        let text = fetch(&api, &format!("/docs/{name}")).await;
        assert!(!text.is_empty(), "{asset}");
        // A style sheet loads what it names; the paths of scripts are checked below.
        if name.contains(".css") {
            assert!(
                !text.contains("url(http") && !text.contains("@import"),
                "{asset}"
            );
        }
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "{page}"
    );
    let start = fetch(&api, "/docs/start.js").await;
    assert!(
        !start.contains("http://") && !start.contains("https://"),
        "{start}"
    );
    assert!(start.contains("\"/openapi.json\""), "{start}");
    // Left alone, the page sends the document's address to swagger.io to have it checked.
    assert!(start.contains("\"validatorUrl\": \"none\""), "{start}");
}
