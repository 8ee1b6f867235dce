//! Pages: forged or truncated cursors, and lists whose rows change while they are read.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::{Api, TestDatabase, on_each_database, sheet_of, with};

/// A cursor with the seal of a list, which is public, around any text.
fn sealed(list: &str, key: &str) -> String {
    let seal = Sha256::digest([list.as_bytes(), &[0], key.as_bytes()].concat());
    URL_SAFE_NO_PAD.encode([key.as_bytes(), &seal[..6]].concat())
}

async fn next_cursor(api: &Api, path: &str) -> Option<String> {
    let page = api.get(path).await.json();
    page["next_cursor"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_was_made_elsewhere_is_400_or_a_place_and_never_a_fault_of_the_service() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for model in ["m-1", "m-2", "m-3"] {
            api.store(&sheet_of(model)).await;
        }
        let own = next_cursor(&api, "/estimates?limit=1").await.unwrap();
        assert_eq!(
            own,
            sealed("estimates", "3"),
            "the seal is another one, and nothing is tested below"
        );
        let status = async |list: &str, key: &str| {
            let path = format!("/{list}?cursor={}", sealed(list, key));
            api.get(&path).await.status
        };
        for list in ["estimates", "price-sheets"] {
            for key in [
                "",
                "null",
                "\"3\"",
                "1.5",
                "1e400",
                "[3]",
                "9223372036854775808",
                "NaN",
            ] {
                assert_eq!(
                    status(list, key).await,
                    StatusCode::BAD_REQUEST,
                    "{list}: {key}"
                );
            }
            for key in ["0", "-1", "9223372036854775807", "-9223372036854775808"] {
                assert_eq!(status(list, key).await, StatusCode::OK, "{list}: {key}");
            }
        }
        let latest = "estimates/latest";
        for key in [
            "3",
            "[]",
            "[\"a\",\"b\"]",
            "[\"a\",\"b\",3]",
            "[\"a\",\"b\",\"c\",\"d\"]",
            "[\"a\",\"b\",\"\\u0000\"]",
        ] {
            assert_eq!(
                status(latest, key).await,
                StatusCode::BAD_REQUEST,
                "{}: {key}",
                database.name
            );
        }
        for key in [
            "[\"\",\"\",\"\"]",
            "[\"' OR 1=1 --\",\"%\",\"\\\\\"]",
            "[\"\\ud83d\\ude00\",\"b\",\"c\"]",
        ] {
            assert_eq!(
                status(latest, key).await,
                StatusCode::OK,
                "{}: {key}",
                database.name
            );
        }
    })
    .await;
}

#[tokio::test]
async fn every_part_of_a_cursor_but_the_whole_is_400() {
    let api = TestDatabase::sqlite().api().await;
    for model in ["m-1", "m-2"] {
        api.store(&sheet_of(model)).await;
    }
    for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
        let own = next_cursor(&api, &format!("{list}?limit=1")).await.unwrap();
        for length in 0..own.len() {
            api.get(&format!("{list}?cursor={}", &own[..length]))
                .await
                .problem(400);
            api.get(&format!("{list}?cursor={}", &own[own.len() - length..]))
                .await
                .problem(400);
        }
        api.get(&format!("{list}?cursor={own}&cursor={own}"))
            .await
            .problem(400);
        assert_eq!(
            api.get(&format!("{list}?cursor={own}")).await.rows().len(),
            1
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_that_change_while_they_are_paged_are_each_seen_once() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let models: Vec<String> = (0..12).map(|number| format!("m-{number:02}")).collect();
        for model in &models {
            api.store(&sheet_of(model)).await;
        }
        let mut seen = Vec::new();
        let mut page = Some("/estimates/latest?limit=3".to_owned());
        for round in 0..12 {
            let Some(path) = page.take() else { break };
            for row in api.get(&path).await.rows() {
                seen.push(row["model"].as_str().unwrap().to_owned());
            }
            let cursor = next_cursor(&api, &path).await;
            page = cursor.map(|cursor| format!("/estimates/latest?limit=3&cursor={cursor}"));
            // The first, the last, and one in the middle cost something else.
            for model in [&models[0], &models[6], &models[11]] {
                let price = format!("{}.5", round + 2);
                api.store(&with(sheet_of(model), "/rates/0/input", json!(price)))
                    .await;
            }
        }
        assert_eq!(seen, models, "{}", database.name);
        let distinct: BTreeSet<&String> = seen.iter().collect();
        assert_eq!(distinct.len(), models.len());
    })
    .await;
}
