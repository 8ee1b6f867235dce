//! Several hosts' sheets of one model.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{answer, ask, quantity, sheet, width};
use crate::support::{TestDatabase, on_each_database};

fn pool(sheets: &[Value]) -> Value {
    json!({"price_sheets": sheets})
}

#[test]
fn hosts_together_give_more_information_than_any_of_them_alone() {
    let hosts = [
        sheet("host-a", "0.30", "1.20"),
        sheet("host-b", "0.27", "0.90"),
        sheet("host-c", "0.40", "1.10"),
        sheet("host-d", "0.35", "1.30"),
    ];
    let together = answer(&pool(&hosts));
    for host in &hosts {
        let alone = ask(host, &json!({}));
        for name in ["active_parameters", "total_parameters"] {
            assert!(
                width(quantity(&together, name)) < width(quantity(&alone, name)),
                "{name}"
            );
        }
    }
}

#[test]
fn copies_of_one_decision_count_once() {
    let original = sheet("host-a", "0.30", "1.20");
    let alone = ask(&original, &json!({}));
    let twice = answer(&pool(&[original.clone(), original.clone()]));
    assert_eq!(
        serde_json::to_string(&twice).unwrap(),
        serde_json::to_string(&alone).unwrap()
    );
    // The same under another name, with ten percent for a region, and by a modifier that it states.
    let mut regional = sheet("host-c", "0.33", "1.32");
    regional["region"] = json!("eu");
    let mut modified = sheet("host-d", "0.36", "1.44");
    modified["modifiers"] = json!([{"name": "fine print", "multiplier": "1.2"}]);
    for copy in [sheet("host-b", "0.30", "1.20"), regional, modified] {
        let pooled = answer(&pool(&[original.clone(), copy.clone()]));
        for name in ["active_parameters", "total_parameters"] {
            let (one, both) = (quantity(&alone, name), quantity(&pooled, name));
            // A price that others copy weighs a little more, but does not count as a second decision.
            assert!(
                (one.median / both.median).ln().abs() < 0.1,
                "{copy}: {} and {}",
                one.median,
                both.median
            );
        }
    }
    // Within half the last digit published, here a cent, is the same decision.
    let rounded = answer(&pool(&[
        sheet("host-a", "0.296", "1.204"),
        sheet("host-b", "0.30", "1.20"),
    ]));
    let first = ask(&sheet("host-a", "0.296", "1.204"), &json!({}));
    let other = ask(&sheet("host-b", "0.30", "1.20"), &json!({}));
    let median = |answer| quantity(answer, "total_parameters").median;
    let nearest = [&first, &other].map(|alone| (median(alone) / median(&rounded) - 1.0).abs());
    assert!(
        nearest.iter().any(|distance| *distance < 0.1),
        "{nearest:?}"
    );
    // Beyond it is a decision of its own.
    let apart = answer(&pool(&[
        sheet("host-a", "0.29", "1.21"),
        sheet("host-b", "0.30", "1.20"),
    ]));
    assert!(
        width(quantity(&apart, "total_parameters")) < width(quantity(&other, "total_parameters"))
    );
}

#[test]
fn a_misprint_of_one_host_does_not_spoil_a_pool() {
    let mut misprinted = sheet("host-c", "0.40", "1.10");
    misprinted["rates"][0]["cache_read"] = json!("4");
    let alone = ask(&misprinted, &json!({}));
    assert!(alone.joint.misfit.flagged);
    let pooled = answer(&pool(&[
        sheet("host-a", "0.30", "1.20"),
        sheet("host-b", "0.27", "0.90"),
        misprinted,
    ]));
    assert!(!pooled.joint.misfit.flagged, "{:?}", pooled.joint.misfit);
    assert_eq!(pooled.joint.misfit.contradictions.len(), 1);
}

#[test]
fn a_resellers_surcharge_narrows_nothing_and_a_decision_of_its_own_does() {
    let original = sheet("host-a", "0.30", "1.50");
    let reseller = sheet("host-b", "0.315", "1.575");
    let decision_of_its_own = sheet("host-b", "0.315", "1.535");
    let alone = ask(&original, &json!({}));
    let resold = answer(&pool(&[original.clone(), reseller]));
    let decided = answer(&pool(&[original, decision_of_its_own]));
    let widths =
        [&alone, &resold, &decided].map(|answer| width(quantity(answer, "active_parameters")));
    assert!(
        widths[1] > 0.97 * widths[0] && widths[1] > widths[2],
        "{widths:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pooled_sheets_are_stored_and_listed_as_such() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let sheets = [
            sheet("host-a", "0.30", "1.20"),
            sheet("host-b", "0.27", "0.90"),
        ];
        let first = api.infer(&pool(&sheets)).await;
        assert_eq!(first.status, StatusCode::CREATED, "{}", first.text());
        let body = first.json();
        assert_eq!(body["price_sheets"].as_array().unwrap().len(), 2);
        let hosts: Vec<&str> = body["price_sheets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sheet| sheet["provider"].as_str().unwrap())
            .collect();
        for host in hosts {
            let is_of_host = |reading: &&Value| {
                let inputs = reading["inputs"].as_array().unwrap();
                inputs
                    .iter()
                    .any(|input| input["name"] == "provider" && input["value"] == host)
            };
            assert!(
                body["readings"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|reading| is_of_host(&reading)),
                "{host}"
            );
        }
        // In any order, and with a copy of one of them, the question is the same.
        let again = api
            .infer(&pool(&[
                sheets[1].clone(),
                sheets[0].clone(),
                sheets[0].clone(),
            ]))
            .await;
        assert_eq!(again.status, StatusCode::OK);
        assert_eq!(again.text(), first.text());
        let rows = api.get("/estimates").await.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["provider"], "pooled");
        assert_eq!(rows[0]["model"], "acme/m-1");
        assert_eq!(
            rows[0]["active_parameters_median"],
            body["quantities"]["active_parameters"]["median"]
        );
        assert_eq!(api.get("/price-sheets").await.rows().len(), 2);
        let path = format!("/estimates/{}", body["id"].as_str().unwrap());
        assert_eq!(api.get(&path).await.text(), first.stored_body());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sheets_of_several_models_are_not_pooled() {
    let api = TestDatabase::sqlite().api().await;
    let mut other = sheet("host-b", "1", "2");
    other["canonical_model"] = json!("acme/m-2");
    let mut nameless = sheet("host-b", "1", "2");
    nameless.as_object_mut().unwrap().remove("canonical_model");
    let one = sheet("host-a", "1", "2");
    let wrong = [
        pool(&[one.clone(), other]),
        pool(&[one.clone(), nameless.clone()]),
        pool(&[nameless]),
        pool(&[]),
        json!({"price_sheets": vec![one.clone(); 65]}),
        json!({"price_sheets": one.clone()}),
        json!({"price_sheets": [one.clone()], "price_sheet": one.clone()}),
        json!({"price_sheets": [one], "pool": true}),
    ];
    for body in wrong {
        let reply = api.infer(&body).await;
        let problem = reply.problem(422);
        let faults = problem["errors"].as_array().unwrap();
        assert!(
            !faults.is_empty() && faults.iter().all(|fault| fault["hint"].is_string()),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn one_rate_is_not_taken_for_that_of_two_currencies() {
    let api = TestDatabase::sqlite().api().await;
    let in_currency = |host: &str, currency: &str| {
        let mut sheet = sheet(host, "1.25", "10");
        sheet["currency"] = json!(currency);
        sheet
    };
    let mut question = pool(&[
        in_currency("a", "CNY"),
        in_currency("b", "EUR"),
        in_currency("c", "USD"),
    ]);
    assert_eq!(api.infer(&question).await.status, StatusCode::CREATED);
    question["assumptions"] = json!({"usd_per_currency_unit": 0.14});
    let problem = api.infer(&question).await.problem(422);
    assert_eq!(
        problem["detail"],
        "/assumptions: one `usd_per_currency_unit` for CNY and EUR"
    );
}
