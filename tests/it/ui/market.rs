//! The market: search, filter and order by the server, and the figures of the API.

use axum::http::StatusCode;
use serde_json::json;

use super::page;
use crate::models::{estimate_models, hosted, observe};
use crate::support::{Api, TestDatabase, on_each_database, with};

/// Three models: one of two hosts that was repriced, a dear one, and an open one.
async fn with_models(database: &TestDatabase) -> Api {
    let api = database.api().await;
    let named = |provider: &str, name: &str, input: &str, output: &str| {
        let sheet = with(
            hosted(provider, input, output),
            "/canonical_model",
            json!(name),
        );
        let (_, model) = name.split_once('/').unwrap();
        with(sheet, "/model", json!(model))
    };
    for (sheet, seen_at) in [
        (
            named("acme", "acme/m-1", "2.00", "8.00"),
            "2026-05-01T00:00:00Z",
        ),
        (
            named("beta", "acme/m-1", "1.50", "6.00"),
            "2026-05-01T00:00:00Z",
        ),
        (
            named("zenith", "zenith/<b>", "20.00", "80.00"),
            "2026-06-01T00:00:00Z",
        ),
        (
            named("openai", "openai/gpt-oss-120b", "0.10", "0.50"),
            "2026-06-01T00:00:00Z",
        ),
    ] {
        observe(&api, &sheet, seen_at).await;
    }
    estimate_models(database).await;
    let repriced = named("acme", "acme/m-1", "1.00", "4.00");
    observe(&api, &repriced, "2026-10-22T00:00:00Z").await;
    estimate_models(database).await;
    api
}

/// The models of a page, in order.
async fn listed(api: &Api, address: &str) -> Vec<String> {
    let reply = api.get(address).await;
    let text = page(&reply, StatusCode::OK);
    let table = text.split("<tbody>").nth(1).unwrap_or_default();
    let table = table.split("</tbody>").next().unwrap();
    let links = table.split("href=\"/ui/models/").skip(1);
    links
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_server_searches_filters_and_sorts() {
    const OSS: &str = "openai/gpt-oss-120b";
    const M: &str = "acme/m-1";
    const Z: &str = "zenith/%3Cb%3E";
    on_each_database(async |database| {
        let api = with_models(database).await;
        for (address, expected) in [
            ("/ui/", &[M, OSS, Z][..]),
            ("/ui/?order=desc", &[Z, OSS, M]),
            ("/ui/?sort=lowest", &[OSS, M, Z]),
            ("/ui/?sort=median&order=desc", &[Z, M, OSS]),
            ("/ui/?sort=hosts", &[M, OSS, Z]),
            ("/ui/?q=GPT", &[OSS]),
            ("/ui/?author=acme&q=", &[M]),
            ("/ui/?hosts=2", &[M]),
            ("/ui/?price=2", &[M, OSS]),
            ("/ui/?open=on", &[OSS]),
            ("/ui/?page=2", &[]),
            ("/ui/?as_of=2026-05-15", &[M]),
        ] {
            assert_eq!(listed(&api, address).await, expected, "{address}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_rows_have_the_figures_of_the_api() {
    on_each_database(async |database| {
        let api = with_models(database).await;
        let reply = api.get("/ui/?q=m-1").await;
        let text = page(&reply, StatusCode::OK);
        let own = api
            .get("/models?canonical_model=acme/m-1")
            .await
            .rows()
            .remove(0);
        let median = own["active_parameters_median"].as_f64().unwrap();
        assert!(
            text.contains(&unroof_base::units::compact(median)),
            "{median}"
        );
        // The cheapest host, the one in the middle, and the fall of the lowest price within 90 days.
        for figure in ["1 · 4", "-33 % in 90 days"] {
            assert!(text.contains(figure), "{figure}");
        }
        let past = api.get("/ui/?q=m-1&as_of=2026-05-15").await;
        assert!(page(&past, StatusCode::OK).contains("1.5 · 6"));
        let chart = api.get("/charts/market.json?q=m-1").await.json();
        assert_eq!(chart["rows"][0]["model"], "acme/m-1");
        assert_eq!(chart["rows"][0]["median"], own["active_parameters_median"]);
        let low = chart["rows"][0]["low_50"].as_f64().unwrap();
        let of = |name: &str| own[name].as_f64().unwrap();
        assert!(
            of("active_parameters_low_90") < low && low < median,
            "{low}"
        );
        // What is public of a model comes first: in its row, on its page and on its badge.
        let row = api.get("/ui/?open=on").await;
        assert!(page(&row, StatusCode::OK).contains("public; by prices"));
        let own = api.get("/ui/models/openai/gpt-oss-120b").await;
        assert!(page(&own, StatusCode::OK).contains("as published. Prices alone say"));
        let badge = api.get("/models/openai/gpt-oss-120b/badge.svg").await;
        assert!(badge.text().contains("(public)"), "{}", badge.text());
        let open = api.get("/charts/market.json?open=on").await.json();
        assert!(
            open["rows"][0]["published"].as_f64().unwrap() > 1e9,
            "{open}"
        );
    })
    .await;
}

#[tokio::test]
async fn names_are_escaped_and_wrong_questions_are_pages() {
    let database = TestDatabase::sqlite();
    let api = with_models(&database).await;
    let reply = api.get("/ui/").await;
    assert!(page(&reply, StatusCode::OK).contains("&lt;b&gt;"));
    for (address, hint) in [
        ("/ui/?hosts=many", "a number"),
        ("/ui/?as_of=May", "a day such as 2026-05-01"),
        ("/ui/?sort=size", "one of name, hosts"),
        ("/ui/?sorts=name", "did you mean `sort`"),
    ] {
        let reply = api.get(address).await;
        let text = page(&reply, StatusCode::BAD_REQUEST);
        assert!(text.contains(hint), "{address}: {text}");
    }
    let reply = api.get("/ui/nothing%20here").await;
    assert!(page(&reply, StatusCode::NOT_FOUND).contains("there is no page"));
}

#[tokio::test]
async fn an_empty_store_says_what_to_do_next() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api.get("/ui/").await;
    let text = page(&reply, StatusCode::OK);
    assert!(
        text.contains("unroof import") && text.contains("/ui/try"),
        "{text}"
    );
}

#[tokio::test]
async fn a_page_is_kept_by_its_tag_and_its_files_for_a_year() {
    let database = TestDatabase::sqlite();
    let api = with_models(&database).await;
    let first = api.get("/ui/").await;
    let tag = first.header("etag").unwrap().to_owned();
    let again = api
        .ask(axum::http::Method::GET, "/ui/", &[("if-none-match", &tag)])
        .await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    let text = first.text().to_owned();
    let files = text
        .split("/ui/assets/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    let files: Vec<&str> = files.collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let reply = api.get(&format!("/ui/assets/{file}")).await;
        assert_eq!(reply.status, StatusCode::OK, "{file}");
        let kept = reply.header("cache-control").unwrap();
        assert!(
            kept.contains("immutable") && kept.contains("31536000"),
            "{kept}"
        );
    }
}

#[tokio::test]
async fn lists_have_the_published_sizes_of_their_models() {
    on_each_database(async |database| {
        let api = with_models(database).await;
        let model = unroof_roofline::reference::open_model("GPT-OSS-120B").unwrap();
        for list in ["models", "estimates"] {
            let named = format!("/{list}?canonical_model=openai/gpt-oss-120b");
            let rows = api.get(&named).await.json();
            let row = &rows["data"][0];
            assert_eq!(
                row["published_total_parameters"].as_f64(),
                Some(model.architecture.total_parameters)
            );
            assert_eq!(
                row["published_active_parameters"].as_f64(),
                Some(model.architecture.active_parameters)
            );
            let closed = api
                .get(&format!("/{list}?canonical_model=acme/m-1"))
                .await
                .json();
            assert!(closed["data"][0]["published_total_parameters"].is_null());
        }
    })
    .await;
}
