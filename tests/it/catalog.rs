//! A whole real catalog read, and a part of it through HTTP, where there is one.

use std::collections::BTreeMap;
use std::path::Path;

use unroof_base::input::RequestError;
use unroof_base::input::json;
use unroof_base::input::json::Json;
use unroof_infer::estimate::{Format, read_request, textbook};

use crate::support::{TestDatabase, on_each_database, say};

/// Requests under way at a time.
const CLIENTS: usize = 8;
/// Every so many entries are sent: without optimisation a joint estimate takes a good part of a second.
const SENT: usize = 16;

/// The text of a JSON tree, its numbers as they were written.
fn text(json: &Json) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(written) => written.to_string(),
        Json::Text(text) => quoted(text),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", quoted(key), text(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

fn is_of_text(entry: &Json) -> bool {
    let Json::Object(fields) = entry else {
        return false;
    };
    matches!(fields.get("mode"), Some(Json::Text(mode)) if ["chat", "completion", "responses"].contains(&&**mode))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_text_entry_of_a_real_catalog_is_read_and_gives_a_stored_estimate_or_one_reason() {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        say("skipped: UNROOF_TEST_CATALOGS names no folder with litellm.json");
        return;
    };
    let catalog = std::fs::read(Path::new(&folder).join("litellm.json")).unwrap();
    let Json::Object(catalog) = json::parse(&catalog).unwrap() else {
        panic!("the catalog is not an object");
    };
    let questions: Vec<(String, String)> = catalog
        .iter()
        .filter(|(_, entry)| is_of_text(entry))
        .map(|(name, entry)| (name.to_owned(), text(entry)))
        .collect();
    assert!(questions.len() >= 3_000, "{}", questions.len());
    let catalog: &unroof_price_sheet::catalog::Catalog = "litellm".parse().unwrap();
    let is_read = |(name, entry): &&(String, String)| {
        let format = Format::Entry {
            catalog,
            model: name.clone(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        match read_request(entry.as_bytes(), &format) {
            Ok(request) => textbook(&request).readings.len() > 20,
            Err(RequestError::Wrong(faults)) => {
                assert_eq!(faults.len(), 1, "{name}: {faults:?}");
                false
            }
            Err(unreadable) => panic!("{name}: {unreadable:?}"),
        }
    };
    let read = questions.iter().filter(is_read).count();
    assert!(read >= 3_300, "{read} of {}", questions.len());
    let questions: Vec<(String, String)> = questions.into_iter().step_by(SENT).collect();
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let api = api.clone();
                let of_client: Vec<_> = questions
                    .iter()
                    .skip(client)
                    .step_by(CLIENTS)
                    .cloned()
                    .collect();
                tokio::spawn(async move {
                    let mut outcomes = Vec::new();
                    for (name, entry) in of_client {
                        let query: String =
                            url::form_urlencoded::Serializer::new("format=litellm".to_owned())
                                .append_pair("model", &name)
                                .finish();
                        let reply = api.post(&format!("/infer?{query}"), entry).await;
                        outcomes.push(match reply.status.as_u16() {
                            status @ (200 | 201) => {
                                assert!(reply.header("location").is_some(), "{name}");
                                status.to_string()
                            }
                            422 => {
                                let problem = reply.problem(422);
                                assert_eq!(
                                    problem["errors"].as_array().unwrap().len(),
                                    1,
                                    "{name}: {problem}"
                                );
                                let reason = problem["detail"].as_str().unwrap();
                                format!("422 {}", reason.split(';').next().unwrap())
                            }
                            status => panic!("{name}: {status} {}", reply.text()),
                        });
                    }
                    outcomes
                })
            })
            .collect();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for client in clients {
            for outcome in client.await.unwrap() {
                *counts.entry(outcome).or_default() += 1;
            }
        }
        say(&format!(
            "{} text entries on {}: {counts:#?}",
            questions.len(),
            database.name
        ));
        let count = |status: &str| counts.get(status).copied().unwrap_or_default();
        let (new, known) = (count("201"), count("200"));
        assert!(new + known >= 3_300 / SENT, "{counts:#?}");
        let stored = database.number("SELECT count(*) FROM estimates").await;
        assert_eq!(usize::try_from(stored), Ok(new));
    })
    .await;
}
