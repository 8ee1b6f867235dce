//! `/ui/try`: a sheet of one's own.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use unroof_base::units::compact;
use unroof_edge::Limits;
use url::form_urlencoded;

use super::page;
use crate::support::{Api, Reply, TestDatabase, example, sheet, sheet_of, with};

/// Sends the form with headers of the browser.
async fn send(api: &Api, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Reply {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let mut request = Request::post("/ui/try")
        .header(header::HOST, "localhost:8080")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    api.send(request.body(Body::from(body)).unwrap()).await
}

async fn ask(api: &Api, fields: &[(&str, &str)]) -> Reply {
    send(api, fields, &[]).await
}

/// The row of a quantity.
fn row<'a>(page: &'a str, quantity: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("data-quantity=\"{quantity}\""))
        .unwrap();
    rest.split("</tr>").next().unwrap()
}

/// Asserts that the page has the figures of an answer of the API.
fn assert_figures(page: &str, answer: &Value) {
    for quantity in [
        "active_parameters",
        "total_parameters",
        "cost_output_usd_per_mtok",
    ] {
        let estimate = &answer["quantities"][quantity];
        let number = |pointer: &str| compact(estimate.pointer(pointer).unwrap().as_f64().unwrap());
        let row = row(page, quantity);
        assert!(row.contains(&number("/median")), "{quantity}: {row}");
        let interval = format!(
            "{} to {}",
            number("/interval_90/low"),
            number("/interval_90/high")
        );
        assert!(row.contains(&interval), "{quantity}: {row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_of_the_api_and_nothing_is_stored_until_asked() {
    let api = TestDatabase::sqlite().api().await;
    let sheet = example("anthropic_claude-opus-4-6.json");
    let computed = api
        .post("/infer?store=false", sheet.to_string())
        .await
        .json();
    let text = serde_json::to_string_pretty(&sheet).unwrap();
    let reply = ask(&api, &[("sheet", &text)]).await;
    let shown = page(&reply, StatusCode::OK);
    assert!(shown.contains("anthropic/claude-opus-4-6") && shown.contains("Nothing is stored"));
    assert_figures(shown, &computed);
    assert!(api.get("/estimates").await.rows().is_empty());

    let reply = ask(&api, &[("sheet", &text), ("store", "yes")]).await;
    let rows = api.get("/estimates").await.rows();
    let id = rows[0]["id"].as_str().unwrap();
    assert!(page(&reply, StatusCode::OK).contains(&format!("href=\"/estimates/{id}\"")));
    assert_eq!(
        api.get(&format!("/estimates/{id}")).await.status,
        StatusCode::OK
    );
    let again = ask(&api, &[("sheet", &text), ("store", "yes")]).await;
    assert!(page(&again, StatusCode::OK).contains("Already stored"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_page_of_this_service_stores() {
    let api = TestDatabase::sqlite().api().await;
    let text = sheet().to_string();
    let fields = [("sheet", text.as_str()), ("store", "yes")];
    let foreign: [&[(&str, &str)]; 4] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "https://elsewhere.example")],
        &[("origin", "null")],
    ];
    for headers in foreign {
        let reply = send(&api, &fields, headers).await;
        assert!(
            page(&reply, StatusCode::OK).contains("Nothing is stored"),
            "{headers:?}"
        );
    }
    assert!(api.get("/estimates").await.rows().is_empty());
    for headers in [
        ("sec-fetch-site", "same-origin"),
        ("origin", "http://localhost:8080"),
    ] {
        let reply = send(&api, &fields, &[headers]).await;
        assert!(
            page(&reply, StatusCode::OK).contains("tored as a price"),
            "{headers:?}"
        );
    }
    assert_eq!(api.get("/estimates").await.rows().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn assumptions_are_those_of_the_api() {
    let api = TestDatabase::sqlite().api().await;
    let question = json!({"price_sheet": sheet(), "assumptions": {
        "active_parameters": {"low": 5e10, "high": 2e11}, "utilisation": 0.3, "accelerator": "h100-sxm",
    }});
    let computed = api
        .post("/infer?store=false", question.to_string())
        .await
        .json();
    let sheet = sheet().to_string();
    let stated = [
        ("sheet", sheet.as_str()),
        ("active_parameters", "50B to 200B"),
        ("utilisation", "30%"),
        ("accelerator", "h100-sxm"),
        ("chips", ""),
    ];
    let reply = ask(&api, &stated).await;
    let shown = page(&reply, StatusCode::OK);
    assert_figures(shown, &computed);
    // What was stated is still in the form.
    assert!(shown.contains("value=\"50B to 200B\""));
    let reply = ask(&api, &[&stated[..], &[("store", "yes")]].concat()).await;
    let rows = api.get("/estimates").await.rows();
    assert!(page(&reply, StatusCode::OK).contains(rows[0]["id"].as_str().unwrap()));
    assert!(reply.text().contains("as a question"));
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_next_to_their_lines() {
    let api = TestDatabase::sqlite().api().await;
    let wrong = with(
        with(sheet(), "/rates/0/input", json!("-1")),
        "/unit",
        json!("per_token"),
    );
    let text = serde_json::to_string_pretty(&wrong).unwrap();
    let reply = ask(&api, &[("sheet", &text)]).await;
    let shown = page(&reply, StatusCode::UNPROCESSABLE_ENTITY);
    let line_of = |key: &str| 1 + text.lines().position(|line| line.contains(key)).unwrap();
    for key in ["\"input\"", "\"unit\""] {
        let (_, row) = shown
            .split_once(&format!("data-line=\"{}\"", line_of(key)))
            .unwrap();
        let row = row.split("</tr>").next().unwrap();
        assert!(row.contains("class=\"bad\""), "{key}: {row}");
    }
    // The same lines where assumptions are added.
    let reply = ask(&api, &[("sheet", &text), ("chips", "8")]).await;
    assert!(
        page(&reply, StatusCode::UNPROCESSABLE_ENTITY)
            .contains(&format!("data-line=\"{}\"", line_of("\"unit\"")))
    );
    // A text that is not JSON.
    let reply = ask(&api, &[("sheet", "{\n\"a\": 1,\n}")]).await;
    let shown = page(&reply, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        shown.contains("class=\"wrong\"") && shown.contains("data-line=\"3\""),
        "{shown}"
    );
    // An assumption: its name leads to its field.
    let sheet = sheet().to_string();
    for (name, value) in [
        ("chips", "many"),
        ("utilisation", "7"),
        ("accelerator", "h9000"),
    ] {
        let reply = ask(&api, &[("sheet", &sheet), (name, value)]).await;
        let shown = page(&reply, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(
            shown.contains(&format!("href=\"#stated-{name}\"")),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_catalogs_are_recognised() {
    let api = TestDatabase::sqlite().api().await;
    let entry = json!({
        "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1.5e-5,
        "max_input_tokens": 128_000, "max_output_tokens": 16_384,
    });
    let path = "/infer?format=litellm&model=gpt-5.4&store=false";
    let computed = api.post(path, entry.to_string()).await.json();
    let bare = entry.to_string();
    let with_key = format!("\"gpt-5.4\": {entry},");
    let other = with(entry.clone(), "/input_cost_per_token", json!(1e-6));
    let catalog = json!({"gpt-5.4": entry, "gpt-5.4-mini": other}).to_string();
    let forms: [&[(&str, &str)]; 3] = [
        &[("sheet", &bare), ("model", "gpt-5.4")],
        &[("sheet", &with_key)],
        &[("sheet", &catalog), ("model", "gpt-5.4")],
    ];
    for fields in forms {
        let reply = ask(&api, fields).await;
        let shown = page(&reply, StatusCode::OK);
        assert!(shown.contains("an entry of litellm, gpt-5.4"), "{fields:?}");
        assert_figures(shown, &computed);
    }
    // Without a key, one is asked for; of several entries, one is chosen.
    let reply = ask(&api, &[("sheet", &bare)]).await;
    assert!(page(&reply, StatusCode::UNPROCESSABLE_ENTITY).contains("without its key"));
    let reply = ask(&api, &[("sheet", &catalog)]).await;
    let shown = page(&reply, StatusCode::OK);
    assert!(
        shown.contains("Which entry?") && shown.contains("name=\"model\" value=\"gpt-5.4-mini\"")
    );
    let reply = ask(&api, &[("sheet", &catalog), ("model", "gpt-9")]).await;
    assert!(page(&reply, StatusCode::OK).contains("None has the key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hostile_is_escaped() {
    let api = TestDatabase::sqlite().api().await;
    let hostile = "<script>alert(1)</script>\"'&";
    let text = sheet_of(hostile).to_string();
    let reply = ask(
        &api,
        &[
            ("sheet", &text),
            ("chips", hostile),
            ("speed_multiplier.\"><script>", "2"),
            ("format", hostile),
        ],
    )
    .await;
    assert!(!page(&reply, StatusCode::UNPROCESSABLE_ENTITY).contains("<script>"));
    let reply = ask(&api, &[("sheet", &text)]).await;
    assert!(!page(&reply, StatusCode::OK).contains("<script>alert"));
    let reply = ask(&api, &[("sheet", "</textarea><script>")]).await;
    assert!(!page(&reply, StatusCode::UNPROCESSABLE_ENTITY).contains("</textarea><script>"));
}

#[tokio::test]
async fn the_limits_of_infer_hold_and_have_pages() {
    let limits = Limits {
        body_bytes: 2_000,
        ..Limits::default()
    };
    let api = TestDatabase::sqlite().api_within(limits).await;
    let reply = ask(&api, &[("sheet", &"x".repeat(3_000))]).await;
    assert!(page(&reply, StatusCode::PAYLOAD_TOO_LARGE).contains("2000 bytes"));
    let json = Request::post("/ui/try").header(header::CONTENT_TYPE, "application/json");
    let reply = api.send(json.body(Body::from("{}")).unwrap()).await;
    page(&reply, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_begins_with_examples_and_has_a_control_for_every_assumption() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api.get("/ui/try").await;
    let shown = page(&reply, StatusCode::OK);
    let (_, example) = shown.split_once("href=\"/ui/try?example=").unwrap();
    let example = example.split('"').next().unwrap();
    let reply = api.get(&format!("/ui/try?example={example}")).await;
    assert!(page(&reply, StatusCode::OK).contains("pricesheet/v1"));
    page(
        &api.get("/ui/try?example=none").await,
        StatusCode::NOT_FOUND,
    );
    page(
        &api.get("/ui/try?exampel=none").await,
        StatusCode::BAD_REQUEST,
    );
    let document =
        std::fs::read_to_string(crate::support::repository().join("docs/reference/assumptions.md"))
            .unwrap();
    let rows = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut controls = 0;
    for name in rows {
        let is_there = [
            format!("name=\"{name}\""),
            format!("name=\"accelerator.{name}\""),
        ];
        assert!(
            is_there
                .iter()
                .any(|control| shown.contains(control.as_str())),
            "{name}"
        );
        controls += 1;
    }
    assert!(controls >= 31, "{controls}");
}
