//! Pages of lists: how long, where the next one begins, and cursors that are not one's own.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, TestDatabase, on_each_database, sheet_of};

const LISTS: [&str; 3] = ["/estimates", "/estimates/latest", "/price-sheets"];

/// More pages than any list here has: a list without an end fails instead of continuing.
const MOST_PAGES: usize = 100;

/// The address in `Link: <…>; rel="next"`.
fn next_page(link: Option<&str>) -> Option<String> {
    let address = link?.strip_prefix('<')?.strip_suffix(">; rel=\"next\"");
    Some(address.expect("a link to the next page").to_owned())
}

async fn with_offers(api: &Api, count: usize) {
    for number in 0..count {
        api.store(&sheet_of(&format!("m-{number:03}"))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_lead_through_all_pages() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        with_offers(&api, 23).await;
        for list in LISTS {
            let whole = api.get(list).await;
            assert_eq!(
                (whole.rows().len(), whole.header("link")),
                (23, None),
                "{list}"
            );
            assert!(whole.json()["next_cursor"].is_null());
            let mut rows = Vec::new();
            let mut lengths = Vec::new();
            let mut page = Some(format!("{list}?provider=acme&limit=5"));
            for _ in 0..MOST_PAGES {
                let Some(path) = page.take() else { break };
                let reply = api.get(&path).await;
                let body = reply.json();
                lengths.push(reply.rows().len());
                rows.extend(reply.rows());
                page = next_page(reply.header("link"));
                let linked = page
                    .as_ref()
                    .map(|path| path.split("cursor=").nth(1).unwrap());
                assert_eq!(body["next_cursor"].as_str(), linked, "{list}");
            }
            assert_eq!(lengths, [5, 5, 5, 5, 3], "{list}");
            assert_eq!(Value::Array(rows), whole.json()["data"], "{list}");
        }
        let csv = [("accept", "text/csv")];
        let page = api.ask(Method::GET, "/estimates?limit=20", &csv).await;
        let rest = next_page(page.header("link")).unwrap();
        let rest = api.ask(Method::GET, &rest, &csv).await;
        // A header line each.
        assert_eq!(
            (page.text().lines().count(), rest.text().lines().count()),
            (21, 4)
        );
        assert_eq!(rest.header("link"), None);
        // The last page may be full.
        assert_eq!(api.get("/estimates?limit=23").await.header("link"), None);
    })
    .await;
}

#[tokio::test]
async fn a_page_has_a_hundred_rows_by_default_and_2000_at_most() {
    let api = TestDatabase::sqlite().api().await;
    with_offers(&api, 101).await;
    for list in LISTS {
        assert_eq!(api.get(list).await.rows().len(), 100, "{list}");
        assert_eq!(api.get(&format!("{list}?limit=1")).await.rows().len(), 1);
        assert_eq!(
            api.get(&format!("{list}?limit=2000")).await.rows().len(),
            101
        );
        for limit in [
            "0",
            "-1",
            "1e9",
            "1000000000",
            "2001",
            "abc",
            "",
            "5.0",
            "99999999999999999999",
            "5&limit=6",
        ] {
            let problem = api.get(&format!("{list}?limit={limit}")).await.problem(400);
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains("limit") || detail.contains("is not a number from 1 to 2000"),
                "{limit}: {detail}"
            );
        }
    }
}

#[tokio::test]
async fn a_cursor_that_the_list_did_not_give_is_400() {
    let api = TestDatabase::sqlite().api().await;
    with_offers(&api, 3).await;
    let mut cursors = Vec::new();
    for list in LISTS {
        let page = api.get(&format!("{list}?limit=1")).await.json();
        cursors.push(page["next_cursor"].as_str().unwrap().to_owned());
    }
    let is_refused = async |list: &str, cursor: &str| {
        let problem = api
            .get(&format!("{list}?cursor={cursor}"))
            .await
            .problem(400);
        assert_eq!(
            problem["detail"], "invalid query string: `cursor` is not from this list",
            "{list}: {cursor}"
        );
    };
    for (place, (list, own)) in LISTS.iter().zip(&cursors).enumerate() {
        assert_eq!(
            api.get(&format!("{list}?cursor={own}")).await.status,
            StatusCode::OK
        );
        is_refused(list, &cursors[(place + 1) % 3]).await;
        is_refused(list, &cursors[(place + 2) % 3]).await;
        // Every character changed, one at a time.
        for place in 0..own.len() {
            let mut tampered: Vec<u8> = own.clone().into_bytes();
            tampered[place] = if tampered[place] == b'A' { b'B' } else { b'A' };
            is_refused(list, std::str::from_utf8(&tampered).unwrap()).await;
        }
        for cursor in [
            "",
            "x",
            "%00",
            "MTIz",
            &own[1..],
            &own[..own.len() - 1],
            &format!("{own}{own}"),
            &format!("{own}="),
        ] {
            is_refused(list, cursor).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_grows_between_its_pages_repeats_no_row_and_skips_none() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for list in LISTS {
            let provider = list.replace('/', "-");
            let offer = |model: String| {
                crate::support::with(sheet_of(&model), "/provider", json!(provider))
            };
            let mut there_from_the_start = BTreeSet::new();
            for number in 0..20 {
                there_from_the_start.insert(api.store(&offer(format!("m-{number:02}"))).await);
            }
            let mut seen: Vec<String> = Vec::new();
            let mut page = Some(format!("{list}?provider={provider}&limit=3"));
            let mut number = 0;
            for _ in 0..MOST_PAGES {
                let Some(path) = page.take() else { break };
                let reply = api.get(&path).await;
                seen.extend(
                    reply
                        .rows()
                        .iter()
                        .map(|row| row["model"].as_str().unwrap().to_owned()),
                );
                page = next_page(reply.header("link"));
                // One before all others in the order of names, one among them, one after them.
                for model in ["a", "m-10", "z"] {
                    api.store(&offer(format!("{model}-{number}"))).await;
                    number += 1;
                }
            }
            let distinct: BTreeSet<&String> = seen.iter().collect();
            assert_eq!(
                distinct.len(),
                seen.len(),
                "{list}: a row twice in {seen:?}"
            );
            for number in 0..20 {
                assert!(
                    distinct.contains(&format!("m-{number:02}")),
                    "{list}: {number} skipped in {seen:?}"
                );
            }
        }
    })
    .await;
}
