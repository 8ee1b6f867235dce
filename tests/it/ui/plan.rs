//! `/ui/plan`: the forward calculators.

use axum::http::StatusCode;
use serde_json::json;
use unroof_base::units::compact;

use super::page;
use crate::support::{TestDatabase, example};

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_of_the_calculators() {
    let api = TestDatabase::sqlite().api().await;
    let body = json!({"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144}, "load": {"batch": 9000}});
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
        "load": {"input_tokens": 4096, "output_tokens": 1024, "requests_per_second": 20}});
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

#[tokio::test(flavor = "multi_thread")]
async fn layouts_and_training_have_the_figures_of_their_calculators() {
    let api = TestDatabase::sqlite().api().await;
    let body = json!({"model": {"name": "DeepSeek-V3"}, "layout": {"pipeline_stages": 8}});
    let laid_out = api.post("/layout", body.to_string()).await.json();
    let reply = api
        .get("/ui/plan?view=layout&model=DeepSeek-V3&stages=8")
        .await;
    let shown = page(&reply, StatusCode::OK);
    for pointer in [
        "/experts/experts_per_chip",
        "/largest_expert_layer/parameters_per_expert",
        "/pipeline/layers_per_stage",
    ] {
        let figure = compact(laid_out.pointer(pointer).unwrap().as_f64().unwrap());
        assert!(shown.contains(&figure), "{pointer}: {figure}");
    }
    let body =
        json!({"model": {"active_parameters": 2e10}, "machine": {"accelerator": "h100-sxm"}});
    let trained = api.post("/training", body.to_string()).await.json();
    let reply = api
        .get("/ui/plan?view=training&model=own&active_parameters=2e10&accelerator=h100-sxm")
        .await;
    let shown = page(&reply, StatusCode::OK);
    for pointer in [
        "/overtraining/overtraining",
        "/total/training_days",
        "/total/training_usd",
        "/quality/at/dense_equivalent_parameters",
    ] {
        let figure = compact(trained.pointer(pointer).unwrap().as_f64().unwrap());
        assert!(shown.contains(&figure), "{pointer}: {figure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_priced_by_an_offer_or_by_stated_prices() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api
        .get("/ui/plan?view=cost&input=1000&cached=0&output=100&input_price=2&output_price=8")
        .await;
    let shown = page(&reply, StatusCode::OK);
    assert!(
        shown.contains("$0.0028") && shown.contains("at the prices stated here"),
        "{shown}"
    );
    let asked = "/ui/plan?view=cost&provider=xai&offer=grok-4.7&input=1000&cached=0&output=100";
    let unknown = api.get(asked).await;
    let shown = page(&unknown, StatusCode::OK);
    let beside = shown.split("id=\"plan-offer-fault\"").nth(1).unwrap();
    assert!(beside.contains("has no price in force"), "{beside:.300}");
    assert!(shown.contains("id=\"plan-offer\" name=\"offer\""));
    api.post("/infer", example("xai_grok-4.7.json").to_string())
        .await;
    let priced = json!({"offer": {"provider": "xai", "model": "grok-4.7"},
        "usage": {"input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 100}});
    let priced = api.post("/cost", priced.to_string()).await.json();
    let shown = api.get(asked).await;
    let shown = page(&shown, StatusCode::OK);
    assert!(
        shown.contains(&format!("${}", priced["total"].as_str().unwrap())),
        "{priced}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_beside_its_field_and_empty_fields_keep_their_meaning() {
    let api = TestDatabase::sqlite().api().await;
    let reply = api.get("/ui/plan?view=layout&stages=many&hop=7").await;
    let shown = page(&reply, StatusCode::OK);
    for (field, words) in [("stages", "number"), ("hop", "from 0 to 1")] {
        let rest = shown
            .split(&format!("id=\"plan-{field}-fault\""))
            .nth(1)
            .unwrap();
        let beside = rest.split("</p>").next().unwrap();
        assert!(beside.contains(words), "{field}: {beside}");
    }
    assert_eq!(shown.matches("aria-invalid=\"true\"").count(), 2);
    // The folded part with a fault is open, and the default of another field is still shown.
    assert!(shown.contains("<details open>") && shown.contains("placeholder=\"64\""));
    let chart = api.get("/charts/frontier.json?view=layout").await;
    chart.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_implied_price_is_derived_from_cost_and_margin() {
    let api = TestDatabase::sqlite().api().await;
    let body = json!({"price_sheet": {"input_margin": 0.2, "output_margin": 0.6}});
    let simulated = api.post("/simulate", body.to_string()).await.json();
    let sheet = &simulated["price_sheet"]["infer_request"]["price_sheet"];
    let reply = api.get("/ui/plan?input_margin=0.2&output_margin=0.6").await;
    let shown = page(&reply, StatusCode::OK);
    for (line, margin) in [("input", 0.2), ("output", 0.6)] {
        let price: f64 = sheet["rates"][0][line].as_str().unwrap().parse().unwrap();
        let derived = format!(
            "Price of {line} = cost ÷ (1 − margin) = ${} ÷ (1 − {margin}) = ${} per million tokens",
            compact(price * (1.0 - margin)),
            compact(price)
        );
        assert!(shown.contains(&derived), "{derived}");
    }
}
