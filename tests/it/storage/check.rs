//! `unroof check`: a sound database passes, and every kind of damage is found.

use std::fmt::Write as _;

use serde_json::json;
use sha2::{Digest, Sha256};
use unroof_import::ModelEstimator;
use unroof_infer::estimate::Estimator;

use crate::server::{Ended, Server, client, get, run};
use crate::support::{TestDatabase, on_each_database, sheet, with};

/// Two prices of one offer, a question, several hosts of a model, and their estimates.
pub(super) async fn fill(database: &TestDatabase) {
    let api = database.api().await;
    let sheet = with(sheet(), "/canonical_model", json!("acme/m-1"));
    let cheaper = with(sheet.clone(), "/rates/0/input", json!("1.00"));
    let other_host = with(
        with(sheet.clone(), "/provider", json!("beta")),
        "/rates/0/output",
        json!("9.00"),
    );
    for body in [&sheet, &cheaper, &other_host] {
        api.store(body).await;
    }
    let question = json!({"price_sheet": sheet, "assumptions": {"accelerator": "h100-sxm"}});
    api.store(&question).await;
    api.store(&json!({"price_sheets": [cheaper, other_host]}))
        .await;
    let models = ModelEstimator {
        store: database.store().await,
        estimator: Estimator::default(),
        threads: 1,
    };
    assert_eq!(models.estimate_due().await.unwrap(), 1);
}

fn check(database: &TestDatabase, more: &[&str]) -> Ended {
    let arguments = ["check", "--database-url", &database.url];
    run(&[&arguments, more].concat())
}

/// Runs a check that must find one fault with this text.
fn assert_found(database: &TestDatabase, text: &str) {
    assert_found_often(database, text, 1);
}

/// Runs a check that must find several faults with this text.
fn assert_found_often(database: &TestDatabase, text: &str, count: usize) {
    let ended = check(database, &[]);
    assert_eq!(ended.code, Some(1), "{text}: {}{}", ended.out, ended.err);
    let faults: Vec<&str> = ended
        .out
        .lines()
        .filter(|line| line.contains(text))
        .collect();
    assert_eq!(faults.len(), count, "{text}: {}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_database_passes_and_every_damage_is_found() {
    on_each_database(async |database: &TestDatabase| {
        fill(database).await;
        let sound = check(database, &[]);
        assert_eq!(sound.code, Some(0), "{}{}", sound.out, sound.err);
        let summary = "3 price sheets, 6 estimates (6 computed again, 0 of another engine or calibration), 2 offers";
        assert!(sound.out.starts_with(summary), "{}", sound.out);
        assert!(sound.out.ends_with("0 faults\n"), "{}", sound.out);
        let sampled = check(database, &["--sample", "2"]);
        assert!(sampled.out.contains("(2 computed again"), "{}", sampled.out);

        let swap = |table: &str, from: &str, to: &str| {
            format!("UPDATE {table} SET document = replace(document, '{from}', '{to}') WHERE document LIKE '%{from}%'")
        };
        let (one, other) = ("\"9.00\"", "\"9.01\"");
        database.execute(&swap("price_sheets", one, other)).await;
        assert_found(database, "its document does not match its checksum");
        // Those of the sheet, of two hosts, and of the model.
        assert_found_often(database, "is missing or damaged", 3);
        database.execute(&swap("price_sheets", other, one)).await;

        let moved = "UPDATE price_sheets SET region = 'elsewhere' WHERE provider = 'beta'";
        database.execute(moved).await;
        assert_found(database, "other than in its document: region");
        database.execute("UPDATE price_sheets SET region = 'global' WHERE provider = 'beta'").await;

        let counted = "UPDATE estimates SET conflicts = conflicts + 1 WHERE document LIKE '%h100-sxm\"}%'";
        database.execute(counted).await;
        assert_found(database, "other than stored: its number of conflicts");
        database.execute(&counted.replace('+', "-")).await;

        assert_changed_document_is_found(database).await;
        assert_damage_of_another_engine_is_found(database).await;
        assert_other_content_is_found(database).await;

        database.execute("UPDATE price_periods SET has_ended = FALSE, ends_at = NULL, ending = NULL WHERE ending = 'replaced'").await;
        assert_found(database, "has another end");
        database.execute("DELETE FROM price_periods WHERE provider = 'beta'").await;
        assert_found(database, "is missing");
    })
    .await;
}

/// The first estimate, and the sheet of the other host.
const FIRST: &str = "sequence = (SELECT min(sequence) FROM estimates)";
const OTHER_HOST: &str = "provider = 'beta'";

async fn text_of(database: &TestDatabase, table: &str, column: &str, place: &str) -> String {
    let texts = database
        .texts(format!("SELECT {column} FROM {table} WHERE {place}"))
        .await;
    let [text] = <[String; 1]>::try_from(texts).unwrap();
    text
}

/// Replaces a document, with its checksum or without.
async fn replace(database: &TestDatabase, table: &str, place: &str, document: &str, seals: bool) {
    let mut set = format!("document = '{}'", document.replace('\'', "''"));
    if seals {
        let mut hex = String::new();
        for byte in &Sha256::digest(document.as_bytes())[..16] {
            write!(hex, "{byte:02x}").unwrap();
        }
        match database.name {
            "SQLite" => write!(set, ", checksum = x'{hex}'").unwrap(),
            _ => write!(set, ", checksum = '\\x{hex}'::bytea").unwrap(),
        }
    }
    database
        .execute(&format!("UPDATE {table} SET {set} WHERE {place}"))
        .await;
}

/// An estimate whose document was changed, together with its checksum and without it.
async fn assert_changed_document_is_found(database: &TestDatabase) {
    let stored = text_of(database, "estimates", "document", FIRST).await;
    let changed = stored.replacen("\"median\":", "\"median\":1", 1);
    assert_ne!(changed, stored);
    replace(database, "estimates", FIRST, &changed, true).await;
    assert_found(database, "other than stored: its document");
    replace(database, "estimates", FIRST, &stored, true).await;
    replace(database, "estimates", FIRST, &changed, false).await;
    assert_found(database, "its document does not match its checksum");
    replace(database, "estimates", FIRST, &stored, true).await;
}

/// An estimate of another engine is not computed again, and must match its checksum.
async fn assert_damage_of_another_engine_is_found(database: &TestDatabase) {
    let stored = text_of(database, "estimates", "document", FIRST).await;
    let version = text_of(database, "estimates", "engine_version", FIRST).await;
    let of_engine = |version: &str| format!("\"engine_version\":\"{version}\"");
    let older = stored.replace(&of_engine(&version), &of_engine("0.0.1"));
    let set_version = async |version: &str| {
        let set = format!("UPDATE estimates SET engine_version = '{version}' WHERE {FIRST}");
        database.execute(&set).await;
    };
    set_version("0.0.1").await;
    replace(database, "estimates", FIRST, &older, true).await;
    let sound = check(database, &[]);
    assert_eq!(sound.code, Some(0), "{}{}", sound.out, sound.err);
    let counts = "(5 computed again, 1 of another engine or calibration)";
    assert!(sound.out.contains(counts), "{}", sound.out);
    replace(database, "estimates", FIRST, &stored, false).await;
    assert_found(database, "its document does not match its checksum");
    replace(database, "estimates", FIRST, &stored, true).await;
    set_version(&version).await;
}

/// A sheet whose content was changed together with its checksum has another id.
async fn assert_other_content_is_found(database: &TestDatabase) {
    let stored = text_of(database, "price_sheets", "document", OTHER_HOST).await;
    let changed = stored.replace("\"9.00\"", "\"9.01\"");
    assert_ne!(changed, stored);
    replace(database, "price_sheets", OTHER_HOST, &changed, true).await;
    assert_found(database, "its content has the id");
    replace(database, "price_sheets", OTHER_HOST, &stored, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_checks_its_database_at_an_interval() {
    on_each_database(async |database: &TestDatabase| {
        fill(database).await;
        database
            .execute("UPDATE estimates SET conflicts = 7 WHERE sequence = (SELECT min(sequence) FROM estimates)")
            .await;
        tokio::task::block_in_place(|| {
            let server = Server::start_with(&[
                "--database-url",
                &database.url,
                "--listen",
                "127.0.0.1:0",
                "--metrics-listen",
                "127.0.0.1:0",
                "--check-every",
                "24h",
            ]);
            let log = server.wait_for_log("checked the database");
            assert!(log.contains("the database has a fault"), "{log}");
            assert!(log.contains("its number of conflicts"), "{log}");
            let (_, page) = get(&client(), &format!("{}/metrics", server.metrics_address()));
            assert!(page.contains("\nunroof_check_faults 1\n"), "{page}");
            let last = page.lines().find_map(|line| {
                line.strip_prefix("unroof_check_last_timestamp_seconds ")
            });
            assert!(last.unwrap().parse::<f64>().unwrap() > 1e9, "{page}");
        });
    })
    .await;
}
