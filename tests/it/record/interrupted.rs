//! Imports that are cut off and sent again leave what an import without interruption leaves.

use std::time::Duration;

use serde_json::{Value, json};

use super::PERIODS;
use crate::server::{Server, client, patient_client, post};
use crate::support::{TestDatabase, on_each_database};

const OBSERVATIONS: &str = "
    SELECT provider || ' ' || model || ' ' || input_price || ' ' || source || ' ' || first_at || ' '
           || coalesce(CAST(last_at AS text), '')
    FROM observations AS seen
    JOIN (SELECT id, provider, model, input_price FROM price_sheets) AS sheet ON sheet.id = seen.sheet_id
    ORDER BY 1";

/// Sellers: an import records them in several transactions.
const SELLERS: u32 = 700;

/// A catalog of one price at many sellers, which leaves out every fifth of them from the second version on.
fn catalog(version: u32) -> Value {
    let seller = |number: u32| {
        let price = if number.is_multiple_of(3) { version } else { 1 };
        let model = json!({
            "id": "m-1", "name": "m-1", "release_date": "2026-01-01", "last_updated": "2026-01-01",
            "attachment": false, "reasoning": false, "tool_call": true, "open_weights": false,
            "modalities": {"input": ["text"], "output": ["text"]},
            "limit": {"context": 128_000, "output": 8_000}, "cost": {"input": price, "output": 10},
        });
        json!({"id": format!("s-{number:03}"), "name": "Seller", "env": ["KEY"], "npm": "seller", "models": {"m-1": model}})
    };
    let listed = (0..SELLERS).filter(|number| version == 1 || !number.is_multiple_of(5));
    let sellers = listed.map(|number| (format!("s-{number:03}"), seller(number)));
    Value::Object(sellers.collect())
}

fn path(version: u32) -> String {
    format!("/catalogs?only_changed=true&observed_at=2026-05-0{version}T00:00:00Z")
}

fn import(server: &Server, version: u32) {
    let url = format!("{}{}", server.address, path(version));
    // The catalog is locked for a while where a service that imported it was killed.
    let (status, lines) = post(&patient_client(), &url, &catalog(version)).unwrap();
    assert!(
        status == 200 && lines.contains("\"type\":\"done\""),
        "{lines}"
    );
}

/// Imports a catalog and kills the service after a while; whether the import was cut off.
fn is_cut(server: &mut Server, version: u32, after: Duration) -> bool {
    let url = format!("{}{}", server.address, path(version));
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| post(&client(), &url, &catalog(version)));
        std::thread::sleep(after);
        server.kill();
        let answer = sent.join().unwrap();
        !answer.is_some_and(|(_, lines)| lines.contains("\"type\":\"done\""))
    })
}

/// Rows with numbers and times in one spelling: each database has its own.
fn alike(rows: &[String]) -> Vec<String> {
    let word = |word: &str| match word.parse::<f64>() {
        Ok(number) => number.to_string(),
        Err(_) => word
            .trim_end_matches("+00")
            .trim_end_matches('Z')
            .trim_end_matches(".000000")
            .to_owned(),
    };
    let row = |row: &String| -> Vec<String> {
        let words = row.split([' ', 'T']).filter(|word| !word.is_empty());
        words.map(word).collect()
    };
    rows.iter().map(|text| row(text).join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_and_sent_again_leaves_what_a_whole_one_leaves() {
    let clean = TestDatabase::sqlite();
    tokio::task::block_in_place(|| {
        let server = Server::start(&clean.url);
        (1..=3).for_each(|version| import(&server, version));
    });
    on_each_database(async |database: &TestDatabase| {
        let cuts = tokio::task::block_in_place(|| {
            let mut cuts = 0;
            let mut server = Server::start(&database.url);
            for version in 1..=3 {
                for milliseconds in [150, 400, 900] {
                    let after = Duration::from_millis(milliseconds);
                    cuts += usize::from(is_cut(&mut server, version, after));
                    server = Server::start(&database.url);
                }
                import(&server, version);
            }
            cuts
        });
        assert!(cuts > 0, "no import was cut off");
        for sql in [PERIODS, OBSERVATIONS] {
            let (found, expected) = (database.texts(sql).await, clean.texts(sql).await);
            let [mut found, mut expected] = [found, expected].map(|rows| alike(&rows));
            found.sort();
            expected.sort();
            assert!(found.len() > 700, "{found:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{}", database.name);
            }
            assert_eq!(found.len(), expected.len(), "{}", database.name);
        }
    })
    .await;
}
