//! `/track-record`: how often the estimates are right.

use crate::support::TestDatabase;

#[tokio::test]
async fn the_record_has_every_setting_its_models_and_its_curve() {
    let api = TestDatabase::sqlite().api().await;
    let whole = api.get("/track-record").await;
    let table = whole.json();
    let quantities = table["quantities"].as_array().unwrap();
    for setting in [
        "pooled_hosts",
        "author_alone",
        "other_host_alone",
        "all_periods",
    ] {
        let own = quantities
            .iter()
            .filter(|tracked| tracked["record"]["setting"] == setting)
            .filter(|tracked| tracked["record"]["decisions"].is_null());
        let own: Vec<_> = own.collect();
        assert_eq!(own.len(), 6, "{setting}");
        for tracked in own {
            assert_eq!(tracked["calibration"].as_array().unwrap().len(), 18);
            for model in tracked["models"].as_array().unwrap() {
                let number = |name: &str| model.pointer(name).unwrap().as_f64().unwrap();
                let (low, high) = (number("/interval_90/low"), number("/interval_90/high"));
                let median = number("/median");
                assert!(low < median && median < high, "{model}");
                // The interval and the truth are rounded.
                let is_near = |end: f64| (number("/truth") / end).ln().abs() < 0.01;
                let is_inside = (low..=high).contains(&number("/truth"));
                let is_same = model["is_inside"].as_bool() == Some(is_inside);
                assert!(is_same || is_near(low) || is_near(high), "{model}");
            }
        }
    }
    assert!(table["without_truth"].to_string().contains("cost_input"));
    let part = api
        .get("/track-record?quantity=active_parameters&setting=author_alone")
        .await;
    assert!(part.body.len() < whole.body.len() / 8);
    assert_eq!(part.json()["quantities"].as_array().unwrap().len(), 1);
    let problem = api.get("/track-record?quantity=active").await.problem(400);
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.contains("active_parameters"), "{hint}");
    api.get("/track-record?setting=nowhere").await.problem(400);
}
