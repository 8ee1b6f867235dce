//! The files of `dashboards/` against what the service says.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::metrics::Replica;
use crate::support::{TestDatabase, json_files, read_json, repository, sheet};

/// The dashboards of Grafana.
pub(crate) fn dashboards() -> Vec<(String, Value)> {
    let files = json_files(&repository().join("dashboards/grafana"));
    assert!(!files.is_empty(), "there is no dashboard");
    let named = files.iter().map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, read_json(file))
    });
    named.collect()
}

/// Words of a text that are names of metrics.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_name(letter));
    let metrics = words.filter(|word| word.starts_with("unroof_") || word.starts_with("process_"));
    metrics.map(str::to_owned).collect()
}

#[tokio::test]
async fn dashboards_and_rules_ask_for_metrics_that_there_are() {
    let database = TestDatabase::sqlite();
    let replica = Replica::new(&database).await;
    replica.api.store(&sheet()).await;
    replica.import().await;
    let exported = replica.names().await;
    let folder = repository().join("dashboards");
    let mut files: Vec<PathBuf> = json_files(&folder.join("grafana"));
    files.push(folder.join("prometheus/rules.yml"));
    files.push(folder.join("prometheus/rules-test.yml"));
    let mut asked = BTreeSet::new();
    for file in &files {
        let metrics = metrics_in(&std::fs::read_to_string(file).unwrap());
        for metric in &metrics {
            assert!(exported.contains(metric), "{}: {metric}", file.display());
        }
        asked.extend(metrics);
    }
    // Nothing is exported that no dashboard shows, but for parts of the histogram.
    let unseen: Vec<_> = exported.difference(&asked).collect();
    assert_eq!(
        unseen,
        [
            "unroof_http_request_duration_seconds_count",
            "unroof_http_request_duration_seconds_sum",
        ]
    );
}

#[test]
fn dashboards_have_distinct_ids_and_no_local_data_source() {
    let mut ids = BTreeSet::new();
    for (name, dashboard) in dashboards() {
        assert!(ids.insert(dashboard["uid"].to_string()), "{name}");
        let mut panels = BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            assert!(
                panels.insert(panel["id"].as_u64().unwrap()),
                "{name}: {panel}"
            );
            if panel["type"] != "row" {
                assert_eq!(panel["datasource"]["uid"], "${source}", "{name}: {panel}");
            }
        }
    }
}
