//! `/estimates/{id}/density`: prior and posterior of stored estimates, drawn again from their sheets.

use axum::http::StatusCode;
use serde_json::{Value, json};
use unroof_infer::estimate::Estimator;
use unroof_roofline::reference::calibration::Calibration;
use uuid::Uuid;

use unroof_edge::Limits;
use unroof_server::App;

use crate::models::{estimate_models, hosted, observe};
use crate::support::{Api, clock, on_each_database};

const MARCH: &str = "2026-03-01T00:00:00Z";

async fn density(api: &Api, id: &Value) -> Value {
    let path = format!("/estimates/{}/density", id.as_str().unwrap());
    let reply = api.get(&path).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

fn numbers(list: &Value) -> Vec<f64> {
    let numbers = list.as_array().unwrap().iter();
    numbers.map(|number| number.as_f64().unwrap()).collect()
}

/// Integral of a density over the logarithm of its grid.
fn integral(values: &[f64], density: &[f64]) -> f64 {
    let steps = values.windows(2).zip(density.windows(2));
    let piece = |(value, density): (&[f64], &[f64])| {
        (value[1] / value[0]).ln() * (density[0] + density[1]) / 2.0
    };
    steps.map(piece).sum()
}

/// The densities are those of an estimate.
fn check(density: &Value, estimate: &Value) {
    assert_eq!(density["id"], estimate["id"]);
    let quantities = density["quantities"].as_array().unwrap();
    assert_eq!(quantities.len(), 11);
    for quantity in quantities {
        let name = quantity["quantity"].as_str().unwrap();
        assert_eq!(quantity["median"], estimate["quantities"][name]["median"]);
        let values = numbers(&quantity["values"]);
        assert_eq!(values.len(), 64);
        for part in ["prior", "posterior"] {
            let found = integral(&values, &numbers(&quantity[part]));
            assert!((found - 1.0).abs() < 0.01, "{name}, {part}: {found}");
        }
    }
    assert_eq!(density["draws"]["values"].as_array().unwrap().len(), 500);
    assert_eq!(density["draws"]["quantities"][0], "active_parameters");
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_answers_and_estimates_of_models_have_their_densities() {
    on_each_database(async |database| {
        let api = database.api().await;
        let answer = observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        check(&density(&api, &answer["id"]).await, &answer);
        observe(&api, &hosted("beta", "0.3", "1.2"), MARCH).await;
        estimate_models(database).await;
        let model = api.get("/models/acme/m-1").await.json();
        check(&density(&api, &model["id"]).await, &model);
        let stated = json!({
            "price_sheets": [hosted("beta", "0.3", "1.2"), hosted("acme", "0.15", "0.6")],
            "assumptions": {"accelerator": "h100-sxm", "active_parameters": {"low": 5e9, "high": 2e10}},
        });
        let answer = api.infer(&stated).await.json();
        check(&density(&api, &answer["id"]).await, &answer);
        // Another replica draws the same.
        let other = density(&database.api().await, &answer["id"]).await;
        assert_eq!(other, density(&api, &answer["id"]).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_by_another_calibration_leads_to_the_newest() {
    on_each_database(async |database| {
        let api = database.api().await;
        let answer = observe(&api, &hosted("acme", "0.15", "0.6"), MARCH).await;
        let mut calibration = Calibration::shipped().clone();
        calibration.authors.clear();
        let app = App::new(database.store().await, clock(), Limits::default());
        let other = Api::new(app.estimating_with(Estimator::new(calibration)));
        let path = format!("/estimates/{}/density", answer["id"].as_str().unwrap());
        let problem = other.get(&path).await.problem(409);
        assert!(problem["detail"].as_str().unwrap().contains("calibration"));
        let hint = problem["hint"].as_str().unwrap();
        assert!(hint.starts_with("GET /models/acme/m-1 "), "{hint}");
        let nothing = format!("/estimates/{}/density", Uuid::nil());
        api.get(&nothing).await.problem(404);
    })
    .await;
}
