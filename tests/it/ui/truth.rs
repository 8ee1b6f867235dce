//! `/ui/truth`: how often estimates are right.

use axum::http::StatusCode;

use super::page;
use crate::support::TestDatabase;

#[tokio::test]
async fn the_record_is_that_of_the_api() {
    let api = TestDatabase::sqlite().api().await;
    let table = api.get("/track-record").await.json();
    let reply = api.get("/ui/truth").await;
    let shown = page(&reply, StatusCode::OK);
    let worse = |reading: &&serde_json::Value| reading["verdict"] == "worse_than_the_prior";
    let readings = table["readings"].as_array().unwrap();
    let heading = format!(
        "{} of {} are worse than the prior",
        readings.iter().filter(worse).count(),
        readings.len()
    );
    assert!(shown.contains(&heading), "{heading}");
    for tracked in table["quantities"].as_array().unwrap() {
        let record = &tracked["record"];
        if !record["decisions"].is_null() {
            continue;
        }
        let (quantity, setting) = (
            tracked["quantity"].as_str().unwrap(),
            record["setting"].as_str().unwrap(),
        );
        let query = format!("quantity={quantity}&setting={setting}");
        assert!(shown.contains(&query.replace('&', "&amp;")), "{query}");
        let reply = api.get(&format!("/ui/truth?{query}")).await;
        let error = format!("{:.1}", record["median_fold_error"].as_f64().unwrap());
        let finding = page(&reply, StatusCode::OK)
            .split("data-finding")
            .nth(1)
            .unwrap();
        assert!(
            finding.split("</p>").next().unwrap().contains(&error),
            "{query}"
        );
        let counted = tracked["models"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|model| model["counted"] == true);
        let chart = api.get(&format!("/charts/truth.json?{query}")).await.json();
        assert_eq!(
            chart["rows"].as_array().unwrap().len(),
            counted.count(),
            "{query}"
        );
        let curve = api.get(&format!("/charts/calibration.csv?{query}")).await;
        assert!(
            curve.text().starts_with("nominal,covered\n0.1,"),
            "{}",
            curve.text()
        );
    }
}

#[tokio::test]
async fn what_has_no_record_is_a_page_that_says_so() {
    let api = TestDatabase::sqlite().api().await;
    for query in [
        "quantity=cost_output_usd_per_mtok",
        "quantity=no",
        "setting=%3Cscript%3E",
    ] {
        let reply = api.get(&format!("/ui/truth?{query}")).await;
        assert!(!page(&reply, StatusCode::BAD_REQUEST).contains("<script>"));
    }
}
