//! Whole bodies, as a client sees them. `INSTA_UPDATE=always cargo test` regenerates them (`just bless`).

use serde_json::json;

use crate::support::{TestDatabase, example};

#[tokio::test]
async fn the_answer_to_gemini_2_5_pro() {
    let api = TestDatabase::sqlite().api().await;
    let question = json!({
        "price_sheet": example("google_gemini-2.5-pro.json"),
        "assumptions": {"accelerator": {"compute_to_bandwidth": 300}, "active_parameters": 1e11, "weight_bytes_per_parameter": 1},
    });
    let answer = api.infer(&question).await.json();
    insta::assert_json_snapshot!("gemini_2_5_pro", answer);
    let rows = api.get("/estimates").await.rows();
    insta::assert_json_snapshot!("gemini_2_5_pro_row", rows[0]);
}

#[tokio::test]
async fn a_problem_with_two_faults() {
    let api = TestDatabase::sqlite().api().await;
    let wrong = json!({
        "schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD", "unit": "per_1m_tokens",
        "rates": [{"input": 1.25, "outptu": "10"}],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    });
    let request = axum::http::Request::post("/infer")
        .header("content-type", "application/json")
        .header("x-request-id", "snapshot-1")
        .body(wrong.to_string().into());
    let problem = api.send(request.unwrap()).await.problem(422);
    insta::assert_json_snapshot!("problem_422", problem);
}
