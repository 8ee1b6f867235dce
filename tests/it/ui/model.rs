//! The page of a model, the page of an offer, and the charts on them.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::page;
use crate::models::{estimate_models, hosted, observe};
use crate::support::{Api, TestDatabase, example, on_each_database, with, without};

/// A model of three hosts with a price change, a context tier and a price of cached input.
async fn with_model(database: &TestDatabase) -> Api {
    let api = database.api().await;
    let own = with(
        hosted("acme", "1.25", "10.00"),
        "/limits",
        json!({"max_input": 400_000}),
    );
    let own = with(own, "/rates/0/cache_read", json!("0.125"));
    let tier =
        json!({"context_tier": {"min_prompt_tokens": 200_000}, "input": "2.50", "output": "15.00"});
    let own = with(own, "/rates/1", tier);
    observe(&api, &own, "2026-05-01T00:00:00Z").await;
    observe(
        &api,
        &hosted("beta", "1.00", "8.00"),
        "2026-05-02T00:00:00Z",
    )
    .await;
    observe(
        &api,
        &hosted("beta", "0.80", "6.00"),
        "2026-08-02T00:00:00Z",
    )
    .await;
    observe(
        &api,
        &hosted("gamma", "1.40", "11.00"),
        "2026-05-03T00:00:00Z",
    )
    .await;
    estimate_models(database).await;
    api
}

async fn shown(api: &Api, path: &str) -> String {
    page(&api.get(path).await, StatusCode::OK).to_owned()
}

/// The addresses of charts on a page, with `&` as it is.
fn charts(page: &str) -> Vec<String> {
    let links = page
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let charts = links.filter(|link| link.starts_with("/charts/"));
    charts.map(|link| link.replace("&amp;", "&")).collect()
}

/// Numbers and texts of a chart's table as JSON has them.
fn cells_of_json(rows: &Value) -> Vec<Vec<String>> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        number => number.as_f64().unwrap().to_string(),
    };
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| {
        row.as_object()
            .unwrap()
            .values()
            .map(text)
            .collect::<Vec<_>>()
    })
    .map(|mut cells| {
        cells.sort();
        cells
    })
    .collect()
}

fn cells_of_csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let cells = |record: csv::StringRecord| {
        let mut cells: Vec<String> = record.iter().map(str::to_owned).collect();
        cells.sort();
        cells
    };
    reader
        .records()
        .map(|record| cells(record.unwrap()))
        .collect()
}

#[tokio::test]
async fn the_page_shows_what_the_api_answers() {
    on_each_database(async |database| {
        let api = with_model(database).await;
        let text = shown(&api, "/ui/models/acme/m-1").await;
        assert!(text.contains("2 prices of 1 offer have changed since the first observation"));
        let estimate = api.get("/models/acme/m-1").await.json();
        for (name, own) in estimate["quantities"].as_object().unwrap() {
            let median = unroof_base::units::compact(own["median"].as_f64().unwrap());
            assert!(text.contains(&median), "{name}: {median}");
        }
        for offer in estimate["offers"].as_array().unwrap() {
            assert!(
                text.contains(offer["provider"].as_str().unwrap()),
                "{offer}"
            );
        }
        for part in [
            "quantities",
            "densities",
            "moves",
            "cost",
            "roofline",
            "caches",
            "time",
            "neighbours",
            "offers",
            "conflicts",
            "readings",
            "events",
        ] {
            assert!(text.contains(&format!("<section id=\"{part}\">")), "{part}");
        }
        assert!(text.contains("such cases the truth lay inside"));
    })
    .await;
}

#[tokio::test]
async fn every_chart_of_a_page_has_three_forms_with_equal_figures() {
    let database = TestDatabase::sqlite();
    let api = with_model(&database).await;
    let text = shown(&api, "/ui/models/acme/m-1").await;
    let addresses = charts(&text);
    let kinds: std::collections::BTreeSet<&str> = addresses
        .iter()
        .map(|address| address.split('.').next().unwrap())
        .collect();
    let expected = [
        "cache-tiers",
        "cost",
        "density",
        "estimates",
        "moves",
        "neighbours",
        "prices",
        "roofline",
    ];
    assert_eq!(
        kinds,
        expected
            .map(|kind| format!("/charts/{kind}"))
            .iter()
            .map(String::as_str)
            .collect()
    );
    for address in addresses
        .iter()
        .filter(|address| address.contains(".json?"))
    {
        let json = api.get(address).await;
        assert_eq!(json.status, StatusCode::OK, "{address}: {}", json.text());
        assert!(json.header("etag").is_some());
        let document = json.json();
        let csv = api.get(&address.replace(".json?", ".csv?")).await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(
            cells_of_json(&document["rows"]),
            cells_of_csv(csv.text()),
            "{address}"
        );
        let svg = api.get(&address.replace(".json?", ".svg?")).await;
        assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
        check_svg(svg.text(), &document);
    }
}

#[tokio::test]
async fn the_price_of_cached_input_is_drawn_where_a_host_states_it() {
    let database = TestDatabase::sqlite();
    let api = with_model(&database).await;
    let chart = api
        .get("/charts/prices.json?model=acme/m-1&side=cache_read")
        .await
        .json();
    let rows = chart["rows"].as_array().unwrap();
    let prices = rows.iter().map(|row| &row["usd_per_mtok"]);
    assert_eq!(prices.collect::<Vec<_>>(), [&json!(0.125)], "{chart}");
    let page = shown(&api, "/ui/models/acme/m-1").await;
    assert!(page.contains("One price of cached input tokens is in force: $0.125"));
}

/// A drawing is well-formed XML with a title, a description and colours of its own.
fn check_svg(text: &str, document: &Value) {
    let tree = roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let root = tree.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(
        root.tag_name().namespace(),
        Some("http://www.w3.org/2000/svg")
    );
    let child = |name: &str| {
        let found = root
            .children()
            .find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", name)));
        found.and_then(|child| child.text()).map(str::to_owned)
    };
    assert_eq!(child("title").as_deref(), document["title"].as_str());
    assert_eq!(child("desc").as_deref(), document["description"].as_str());
    for node in tree.descendants().filter(roxmltree::Node::is_element) {
        assert!(node.attribute("style").is_none());
        if ["rect", "circle", "path", "line"].contains(&node.tag_name().name()) {
            let is_coloured =
                node.attribute("fill").is_some() || node.attribute("stroke").is_some();
            assert!(is_coloured, "{node:?}");
        }
    }
}

#[tokio::test]
async fn a_chart_that_is_unknown_says_what_there_is() {
    let database = TestDatabase::sqlite();
    let api = with_model(&database).await;
    for (path, status, hint) in [
        (
            "/charts/densty.svg?model=acme/m-1",
            404,
            "did you mean `density`?",
        ),
        (
            "/charts/density.png?model=acme/m-1",
            404,
            "`.svg`, `.csv`, `.json`",
        ),
        (
            "/charts/density?model=acme/m-1",
            404,
            "`.svg`, `.csv`, `.json`",
        ),
        ("/charts/density.svg?model=acme/none", 404, "GET /models"),
        ("/charts/density.svg", 400, "?model=author/name"),
        (
            "/charts/density.svg?modl=acme/m-1",
            400,
            "did you mean `model`?",
        ),
        (
            "/charts/density.svg?model=acme/m-1&quantity=active_parameter",
            400,
            "did you mean `active_parameters`?",
        ),
        (
            "/charts/density.svg?model=acme/m-1&as_of=yesterday",
            400,
            "2026-05-01T00:00:00Z",
        ),
        (
            "/charts/cost.svg?model=acme/m-1&side=cached",
            400,
            "output, input",
        ),
        (
            "/charts/moves.svg?provider=acme&offer=none",
            404,
            "GET /search",
        ),
    ] {
        let problem = api.get(path).await.problem(status);
        let found = problem["hint"].as_str().unwrap_or_default();
        assert!(found.contains(hint), "{path}: {problem}");
    }
}

#[tokio::test]
async fn a_model_that_is_unknown_is_a_page_with_404() {
    let database = TestDatabase::sqlite();
    let api = with_model(&database).await;
    for path in [
        "/ui/models/acme/none",
        "/ui/offers/acme/none",
        "/ui/models/%3Cscript%3Ealert(1)%3C%2Fscript%3E/%22%27%26",
    ] {
        let reply = api.get(path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(
            reply.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert!(!reply.text().contains("<script>alert"), "{}", reply.text());
        assert!(reply.text().contains("All models"));
    }
    let reply = api.get("/ui/models/acme/m.1").await;
    assert_eq!(reply.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(reply.header("location"), Some("/ui/models/acme/m-1"));
}

#[tokio::test]
async fn an_offer_without_a_canonical_name_has_a_page_and_its_names_are_escaped() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let name = "a/b.1<b>&\"'c";
    let sheet = without(hosted("acme", "1.25", "10.00"), "/canonical_model");
    let sheet = with(sheet, "/model", json!(name));
    observe(&api, &sheet, "2026-05-01T00:00:00Z").await;
    let path = "/ui/offers/acme/a%2Fb.1%3Cb%3E%26%22%27c";
    let text = shown(&api, path).await;
    assert!(text.contains("a/b.1&lt;b&gt;&amp;"), "{text}");
    assert!(!text.contains("<b>"), "{text}");
    for address in charts(&text)
        .iter()
        .filter(|address| address.contains(".svg?"))
    {
        let svg = api.get(address).await;
        assert_eq!(svg.status, StatusCode::OK, "{address}: {}", svg.text());
        assert!(
            roxmltree::Document::parse(svg.text()).is_ok(),
            "{}",
            svg.text()
        );
    }
}

#[tokio::test]
async fn a_sheet_in_another_currency_without_a_cache_says_what_to_do() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let sheet = with(hosted("acme", "1.25", "10.00"), "/currency", json!("EUR"));
    observe(&api, &sheet, "2026-05-01T00:00:00Z").await;
    estimate_models(&database).await;
    let text = shown(&api, "/ui/models/acme/m-1").await;
    assert!(text.contains("The prices are in EUR"), "{text}");
    assert!(text.contains("No cache is offered") && text.contains("/ui/try"));
    assert!(text.contains("State the exchange rate"));
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_not_sent_again() {
    let database = TestDatabase::sqlite();
    let api = with_model(&database).await;
    for path in [
        "/ui/models/acme/m-1",
        "/charts/density.svg?model=acme%2Fm-1",
    ] {
        let first = api.get(path).await;
        let tag = first.header("etag").unwrap().to_owned();
        let again = api
            .ask(axum::http::Method::GET, path, &[("if-none-match", &tag)])
            .await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{path}");
    }
}

#[tokio::test]
async fn a_cache_links_its_document_and_readings_of_another_tier_are_a_conflict() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let sheet = without(example("anthropic_claude-opus-4-6.json"), "/valid_to");
    observe(&api, &sheet, "2026-05-01T00:00:00Z").await;
    estimate_models(&database).await;
    let text = shown(&api, "/ui/models/anthropic/claude-opus-4-6").await;
    let part = |id: &str| {
        let rest = text
            .split(&format!("<section id=\"{id}\">"))
            .nth(1)
            .unwrap();
        rest.split("</section>").next().unwrap().to_owned()
    };
    let link = "<a href=\"https://platform.claude.com/docs/en/build-with-claude/prompt-caching\"";
    assert!(part("caches").contains(link), "{}", part("caches"));
    let conflicts = part("conflicts");
    for words in [
        "Storage tier of “cache write, 5 minutes” at anthropic",
        "Verdict: ",
    ] {
        assert!(conflicts.contains(words), "{conflicts}");
    }
    assert!(part("quantities").contains("record of estimates from the author’s own sheet alone"));
}

#[tokio::test]
async fn a_page_that_follows_changes_asks_for_those_of_its_model() {
    let database = TestDatabase::sqlite();
    let api = with_model(&database).await;
    let text = shown(&api, "/ui/models/acme/m-1").await;
    assert!(text.contains("data-about=\"canonical_model=acme%2Fm-1\""));
    assert_eq!(
        api.get("/changes?canonical_model=acme%2Fm-1").await.status,
        StatusCode::OK
    );
    let past = shown(&api, "/ui/models/acme/m-1?as_of=2026-12-01T00:00:00Z").await;
    assert!(
        !past.contains("data-live"),
        "a state of the past does not change"
    );
    let missing = api.get("/ui/models/acme/m-9").await;
    let missing = page(&missing, StatusCode::NOT_FOUND);
    assert!(!missing.contains("GET /") && missing.contains("<a href=\"/ui/\">the market</a>"));
}
