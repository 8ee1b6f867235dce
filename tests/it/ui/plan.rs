//! `/ui/plan`: the forward calculators.

use axum::http::StatusCode;
use serde_json::json;
use unroof_core::units::compact;

use super::page;
use crate::support::TestDatabase;

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_of_the_calculators() {
    let api = TestDatabase::sqlite().api().await;
    let body = json!({"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144}, "operating_point": {"batch": 9000}});
    let simulated = api.post("/simulate", body.to_string()).await.json();
    let reply = api
        .get("/ui/plan?model=DeepSeek-V3&accelerator=h800&chips=144&batch=9000")
        .await;
    let shown = page(&reply, StatusCode::OK);
    for pointer in [
        "/decode/tokens_per_second_per_user",
        "/decode/cost_usd_per_mtok",
        "/prefill/cost_usd_per_mtok",
    ] {
        let figure = compact(simulated.pointer(pointer).unwrap().as_f64().unwrap());
        assert!(shown.contains(&figure), "{pointer}: {figure}");
    }
    let body = json!({"model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm"},
        "traffic": {"input_tokens": 4096, "output_tokens": 1024, "requests_per_second": 20}});
    let planned = api.post("/plan", body.to_string()).await.json();
    let reply = api
        .get("/ui/plan?view=fleet&model=Llama-3.1-70B&accelerator=h100-sxm&requests=20")
        .await;
    let shown = page(&reply, StatusCode::OK);
    for pointer in [
        "/plans/0/chips",
        "/plans/0/cost/usd_per_day",
        "/plans/0/cost/output_usd_per_mtok",
    ] {
        let figure = compact(planned.pointer(pointer).unwrap().as_f64().unwrap());
        assert!(shown.contains(&figure), "{pointer}: {figure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chart_has_an_address_of_its_own() {
    let api = TestDatabase::sqlite().api().await;
    let query = "model=DeepSeek-V3&accelerator=h800&chips=144";
    let reply = api.get(&format!("/ui/plan?{query}")).await;
    let address = "/charts/frontier.json?model=DeepSeek-V3&amp;accelerator=h800&amp;chips=144";
    assert!(page(&reply, StatusCode::OK).contains(address));
    let chart = api
        .get(&format!("/charts/frontier.json?{query}"))
        .await
        .json();
    let rows = chart["rows"].as_array().unwrap();
    assert!(rows.len() > 10, "{chart}");
    assert!(rows.iter().any(|row| row["on_front"] == "yes"));
    let svg = api.get(&format!("/charts/frontier.svg?{query}")).await;
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    api.get("/charts/frontier.svg?modle=x").await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_as_in_the_form_and_escaped() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api
        .get("/ui/plan?batch=%3Cscript%3E&model=%22%3E%3Cscript%3E")
        .await;
    let shown = page(&reply, StatusCode::OK);
    assert!(
        shown.contains("This question cannot be answered")
            && shown.contains("batch over all chips")
    );
    assert!(!shown.contains("<script>"));
    page(
        &api.get("/ui/plan?view=nothing").await,
        StatusCode::BAD_REQUEST,
    );
    let reply = api
        .get("/ui/plan?view=fleet&model=Llama-3.1-8B&first_token=0.000001")
        .await;
    assert!(page(&reply, StatusCode::OK).contains("No layout keeps these limits"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_implied_sheet_is_read_back_by_the_page_that_tries() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api.get("/ui/plan").await;
    let shown = page(&reply, StatusCode::OK);
    assert!(shown.contains("action=\"/ui/try\"") && shown.contains("name=\"sheet\" value=\"{"));
}
