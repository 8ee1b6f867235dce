//! Every column that a route serves is damaged: the check finds it, and what is derivable is served as before after a repair.

use std::collections::BTreeSet;

use unroof_import::integrity::{Checker, Fault, Part, Watch};
use unroof_infer::estimate::Estimator;
use unroof_store::link_text;

use super::check::fill;
use crate::server::run;
use crate::support::{TestDatabase, clock, on_each_database};

/// A damage of a column, or of whole rows, as a statement.
struct Damage {
    /// `table.column`; only a table where a row is removed or added.
    of: &'static str,
    sql: &'static str,
    /// Undoes it, where a repair cannot.
    undo: Option<&'static str>,
}

const fn derivable(of: &'static str, sql: &'static str) -> Damage {
    let undo = None;
    Damage { of, sql, undo }
}

const fn undone(of: &'static str, sql: &'static str, undo: &'static str) -> Damage {
    let undo = Some(undo);
    Damage { of, sql, undo }
}

/// Damages of rows whose columns follow from documents and facts.
#[rustfmt::skip]
const DERIVABLE: &[Damage] = &[
    derivable("price_sheets.offer_id", "UPDATE price_sheets SET offer_id = id WHERE provider = 'beta'"),
    derivable("price_sheets.provider", "UPDATE price_sheets SET provider = 'gamma' WHERE provider = 'beta'"),
    derivable("price_sheets.model", "UPDATE price_sheets SET model = 'm-2' WHERE provider = 'beta'"),
    derivable("price_sheets.model_key", "UPDATE price_sheets SET model_key = 'm2' WHERE provider = 'beta'"),
    derivable("price_sheets.canonical_model", "UPDATE price_sheets SET canonical_model = NULL WHERE provider = 'beta'"),
    derivable("price_sheets.region", "UPDATE price_sheets SET region = 'eu' WHERE provider = 'beta'"),
    derivable("price_sheets.currency", "UPDATE price_sheets SET currency = 'EUR' WHERE provider = 'beta'"),
    derivable("price_sheets.valid_from", "UPDATE price_sheets SET valid_from = '2020-01-01T00:00:00.000000Z' WHERE provider = 'beta'"),
    derivable("price_sheets.valid_to", "UPDATE price_sheets SET valid_to = '2020-01-01T00:00:00.000000Z' WHERE provider = 'beta'"),
    derivable("price_sheets.retires_at", "UPDATE price_sheets SET retires_at = '2020-01-01T00:00:00.000000Z'"),
    derivable("price_sheets.status", "UPDATE price_sheets SET status = 'deprecated'"),
    derivable("price_sheets.input_price", "UPDATE price_sheets SET input_price = 2 * input_price WHERE provider = 'beta'"),
    derivable("price_sheets.output_price", "UPDATE price_sheets SET output_price = NULL WHERE provider = 'beta'"),
    derivable("price_sheets.cache_read_price", "UPDATE price_sheets SET cache_read_price = 0.5"),
    derivable("price_sheets.price_id", "UPDATE price_sheets SET price_id = id"),
    derivable("price_sheets.cells", "UPDATE price_sheets SET cells = ''"),
    derivable("price_sheets.states_limits", "UPDATE price_sheets SET states_limits = NOT states_limits"),
    derivable("price_sheets.observed", "UPDATE price_sheets SET observed = FALSE"),
    derivable("estimates.readings_defined", "UPDATE estimates SET readings_defined = 1"),
    derivable("estimates.conflicts", "UPDATE estimates SET conflicts = conflicts + 1"),
    derivable("estimates.row_values", "UPDATE estimates SET row_values = '{}'"),
    derivable("estimate_sheets", "DELETE FROM estimate_sheets"),
    derivable("estimate_sheets.sheet_id", "
        UPDATE estimate_sheets SET sheet_id = (SELECT id FROM price_sheets WHERE provider = 'beta')
        WHERE estimate_id = (SELECT id FROM estimates ORDER BY sequence LIMIT 1)"),
    derivable("estimate_sheets.estimate_id", "
        INSERT INTO estimate_sheets (estimate_id, sheet_id)
        SELECT estimate.id, sheet.id FROM (SELECT id FROM estimates ORDER BY sequence LIMIT 1) AS estimate,
        (SELECT id FROM price_sheets WHERE provider = 'beta') AS sheet"),
    derivable("estimate_listings", "
        DELETE FROM estimate_listings WHERE sequence IN (SELECT sequence FROM price_sheets WHERE provider = 'beta')"),
    derivable("estimate_listings", "DELETE FROM estimate_listings WHERE provider = 'model'"),
    derivable("estimate_listings", "DELETE FROM estimate_listings WHERE observed = FALSE"),
    // The estimates of two offers, exchanged.
    derivable("estimate_listings.estimate_id", "
        UPDATE estimate_listings SET estimate_id = (
            SELECT own.id FROM estimates AS own JOIN price_sheets AS sheet ON sheet.sequence = own.sequence
            WHERE (sheet.provider = 'beta') <> (estimate_listings.provider = 'beta') ORDER BY own.sequence LIMIT 1)
        WHERE sequence IN (SELECT sequence FROM price_sheets)"),
    derivable("estimate_listings.sheet_id", "
        UPDATE estimate_listings SET sheet_id = (SELECT id FROM price_sheets WHERE provider = 'beta')
        WHERE sequence = (SELECT min(sequence) FROM estimates)"),
    derivable("estimate_listings.offer_id", "UPDATE estimate_listings SET offer_id = NULL"),
    derivable("estimate_listings.provider", "UPDATE estimate_listings SET provider = 'gamma' WHERE provider IN ('beta', 'model')"),
    derivable("estimate_listings.model", "UPDATE estimate_listings SET model = 'm-2' WHERE provider IN ('beta', 'model')"),
    derivable("estimate_listings.canonical_model", "UPDATE estimate_listings SET canonical_model = 'acme/m-2' WHERE provider IN ('beta', 'model')"),
    derivable("estimate_listings.region", "UPDATE estimate_listings SET region = 'eu' WHERE provider = 'beta'"),
    derivable("estimate_listings.currency", "UPDATE estimate_listings SET currency = 'EUR' WHERE provider = 'beta'"),
    derivable("estimate_listings.valid_from", "UPDATE estimate_listings SET valid_from = '2020-01-01T00:00:00.000000Z' WHERE provider = 'beta'"),
    derivable("estimate_listings.valid_to", "UPDATE estimate_listings SET valid_to = '2020-01-01T00:00:00.000000Z' WHERE provider = 'beta'"),
    derivable("estimate_listings.stated_assumptions", "UPDATE estimate_listings SET stated_assumptions = NOT stated_assumptions WHERE provider = 'acme'"),
    derivable("price_periods", "DELETE FROM price_periods WHERE provider = 'beta'"),
    derivable("price_periods", "
        INSERT INTO price_periods SELECT 999 + sequence, part, offer_id, provider, model, region, sheet_id, price_id, catalog,
            starts_at, start_basis, not_before, ends_at, ending, observed_at, last_seen_at, has_begun, has_ended, is_flagged,
            withdrawn_at, withdrawn_because
        FROM price_periods WHERE provider = 'beta';
        UPDATE store_version SET version = version + 1999"),
    derivable("price_periods.offer_id", "UPDATE price_periods SET offer_id = sheet_id WHERE provider = 'beta'"),
    derivable("price_periods.provider", "UPDATE price_periods SET provider = 'gamma' WHERE provider = 'beta'"),
    derivable("price_periods.model", "UPDATE price_periods SET model = 'm-2' WHERE provider = 'beta'"),
    derivable("price_periods.region", "UPDATE price_periods SET region = 'eu' WHERE provider = 'beta'"),
    derivable("price_periods.sheet_id", "
        UPDATE price_periods SET sheet_id = (SELECT id FROM price_sheets WHERE provider = 'beta') WHERE provider = 'acme'"),
    derivable("price_periods.price_id", "UPDATE price_periods SET price_id = sheet_id"),
    derivable("price_periods.catalog", "UPDATE price_periods SET catalog = 'elsewhere'"),
    derivable("price_periods.starts_at", "UPDATE price_periods SET starts_at = '2020-01-01T00:00:00.000000Z' WHERE provider = 'beta'"),
    derivable("price_periods.start_basis", "UPDATE price_periods SET start_basis = 'stated'"),
    derivable("price_periods.not_before", "UPDATE price_periods SET not_before = '2020-01-01T00:00:00.000000Z'"),
    derivable("price_periods.ends_at", "UPDATE price_periods SET ends_at = NULL, has_ended = FALSE WHERE ending = 'replaced'"),
    derivable("price_periods.ending", "UPDATE price_periods SET ending = 'expired' WHERE ending = 'replaced'"),
    derivable("price_periods.observed_at", "UPDATE price_periods SET observed_at = '2020-01-01T00:00:00.000000Z'"),
    derivable("price_periods.last_seen_at", "UPDATE price_periods SET last_seen_at = '2036-01-01T00:00:00.000000Z'"),
    derivable("price_periods.has_ended", "UPDATE price_periods SET has_ended = TRUE WHERE provider = 'beta'"),
    derivable("price_periods.is_flagged", "UPDATE price_periods SET is_flagged = TRUE"),
    derivable("price_periods.withdrawn_at", "UPDATE price_periods SET withdrawn_at = starts_at, withdrawn_because = '' WHERE provider = 'beta'"),
    derivable("price_periods.withdrawn_because", "UPDATE price_periods SET withdrawn_at = observed_at, withdrawn_because = 'x'"),
    derivable("model_estimates.estimate_id", "UPDATE model_estimates SET estimate_id = (SELECT id FROM estimates ORDER BY sequence LIMIT 1)"),
    derivable("model_estimates.canonical_model", "UPDATE model_estimates SET canonical_model = 'acme/m-2'"),
    derivable("model_estimates.author", "UPDATE model_estimates SET author = 'beta'"),
    derivable("model_estimates.calibration_id", "UPDATE model_estimates SET calibration_id = 'none'"),
    derivable("model_estimates.sheets", "UPDATE model_estimates SET sheets = sheets + 1"),
    derivable("model_estimates.decisions", "UPDATE model_estimates SET decisions = decisions + 1"),
    derivable("disagreements.offer_id", "UPDATE disagreements SET offer_id = id"),
    derivable("disagreements.provider", "UPDATE disagreements SET provider = 'gamma'"),
    derivable("disagreements.model", "UPDATE disagreements SET model = 'm-2'"),
    derivable("disagreements.region", "UPDATE disagreements SET region = 'eu'"),
    derivable("names", "DELETE FROM names WHERE kind = 'model'"),
    derivable("names.kind", "UPDATE names SET kind = 'model' WHERE name = 'beta'"),
    derivable("names.name_key", "UPDATE names SET name_key = 'x' WHERE name = 'beta'"),
    derivable("names.name", "UPDATE names SET name = 'x' WHERE name = 'beta'"),
    derivable("offer_names", "DELETE FROM offer_names"),
    derivable("offer_names.name_key", "UPDATE offer_names SET name_key = 'x' WHERE provider = 'beta'"),
    derivable("offer_names.provider", "UPDATE offer_names SET provider = 'gamma' WHERE provider = 'beta'"),
    derivable("offer_names.model", "UPDATE offer_names SET model = 'm-2' WHERE provider = 'beta'"),
    derivable("stored_times", "DELETE FROM stored_times"),
    derivable("stored_times.list", "UPDATE stored_times SET list = 'x' WHERE list = 'estimates'"),
    derivable("stored_times.block", "UPDATE stored_times SET block = block + 7"),
    derivable("stored_times.earliest", "UPDATE stored_times SET earliest = '2036-01-01T00:00:00.000000Z'"),
    derivable("stored_times.latest", "UPDATE stored_times SET latest = '2020-01-01T00:00:00.000000Z'"),
    derivable("store_version.version", "UPDATE store_version SET version = 1"),
];

/// Damages that are found and cannot be undone from the database.
#[rustfmt::skip]
const FOUND: &[Damage] = &[
    undone("price_sheets.document", "UPDATE price_sheets SET document = document || ' ' WHERE provider = 'beta'",
        "UPDATE price_sheets SET document = rtrim(document) WHERE provider = 'beta'"),
    undone("price_sheets.checksum", "
        UPDATE price_sheets SET checksum = (SELECT checksum FROM estimates LIMIT 1) WHERE provider = 'beta'", ""),
    undone("estimates.document", "UPDATE estimates SET document = document || ' '", "UPDATE estimates SET document = rtrim(document)"),
    undone("estimates.checksum", "
        UPDATE estimates SET checksum = (SELECT checksum FROM price_sheets LIMIT 1)
        WHERE sequence = (SELECT min(sequence) FROM estimates)", ""),
    undone("estimates.engine_version", "UPDATE estimates SET engine_version = 'x' || engine_version",
        "UPDATE estimates SET engine_version = substr(engine_version, 2)"),
    undone("estimate_listings.duplicate_of", "
        UPDATE estimate_listings SET duplicate_of = (SELECT id FROM price_sheets WHERE provider = 'beta')
        WHERE sequence = (SELECT min(sequence) FROM estimates)",
        "UPDATE estimate_listings SET duplicate_of = NULL"),
    undone("store_version.changes_link", "UPDATE store_version SET changes_link = audit_link", ""),
    undone("store_version.changes_begin", "UPDATE store_version SET changes_begin = audit_link", ""),
    undone("store_version.audit_link", "UPDATE store_version SET audit_link = changes_link", ""),
    undone("store_version.audit_begin", "UPDATE store_version SET audit_begin = changes_link", ""),
    undone("changes", "DELETE FROM changes WHERE sequence = (SELECT max(sequence) FROM changes)", ""),
    undone("changes", "DELETE FROM changes WHERE sequence = (SELECT min(sequence) FROM changes)", ""),
    undone("audit", "DELETE FROM audit WHERE sequence = (SELECT max(sequence) FROM audit)", ""),
    undone("audit", "DELETE FROM audit WHERE sequence = (SELECT min(sequence) FROM audit)", ""),
];

/// Columns of facts, which follow from nothing else in the database, and columns that no route serves.
#[rustfmt::skip]
const NOT_COVERED: &[(&str, &str)] = &[
    ("observations.", "facts: what sources stated and when; periods that contradict them are faults"),
    ("snapshots.", "facts: when catalogs were read"),
    ("unparsed_entries.", "facts: what could not be read"),
    ("withdrawals.", "facts: what people withdrew"),
    ("imports.", "facts: what an import found"),
    ("api_keys.", "facts: who may do what"),
    ("webhooks.", "facts: the receivers"),
    ("webhook_deliveries.", "facts: what receivers answered"),
    ("readiness.", "served by no route"),
    ("locks.", "served by no route"),
    ("models_due.", "served by no route"),
    ("_sqlx_migrations.", "compared with the program when a database is opened"),
    ("store_version.id", "the only row"),
    ("store_version.migration", "compared with the program when a database is opened"),
    ("store_version.program", "served by no route"),
    ("store_version.audit_sequence", "served by no route; a number twice is refused"),
    ("price_sheets.id", "its content has the id: a fault of the document"),
    ("price_sheets.sequence", "a fact: the order of storing"),
    ("price_sheets.observed_at", "a fact: when it was first seen"),
    ("price_sheets.is_misfit", "a fact: the check of the engine that recorded it"),
    ("estimates.id", "referred to by its listings"),
    ("estimates.sequence", "served by no route; the place of a listing"),
    ("estimate_listings.sequence", "a fact: the order of storing"),
    ("estimate_listings.observed_at", "a fact: when it was asked or seen"),
    ("estimate_listings.observed", "a fact: whether it was asked or seen"),
    ("estimate_listings.recorded_at", "a fact: when a question was stored"),
    ("estimate_listings.import_id", "a fact: the import that stored it"),
    ("held_imports.", "facts: what was sent and is held"),
    ("recorded_imports.", "facts: what an import found"),
    ("recorded_offers.", "facts: what was there before an import"),
    ("price_periods.sequence", "served by no route; the order of storing"),
    ("price_periods.part", "served by no route"),
    ("price_periods.has_begun", "served by no route: whether its start was announced"),
    ("model_estimates.sequence", "a fact: the order of storing"),
    ("model_estimates.observed_at", "a fact: when the newest sheet of that time was seen"),
    ("disagreements.", "facts of a comparison at its time, apart from the names"),
];

/// Routes whose answers must be those of before.
const ROUTES: &[&str] = &[
    "/estimates",
    "/estimates/latest",
    "/price-sheets",
    "/price-sheets?provider=beta",
    "/models",
    "/models/acme/m-1",
    "/models/acme/m-1/series",
    "/history?provider=acme&model=m-1",
    "/offers/acme/m-1/history",
    "/disagreements",
    "/search?q=m-1",
    "/search?q=be",
    "/vendors/acme",
    "/margins",
    "/changes",
];

#[derive(Default)]
struct Found(Vec<String>);

impl Watch for Found {
    fn begin(&mut self, _part: Part) {}

    fn advance(&mut self, _rows: usize) {}

    fn fault(&mut self, fault: &Fault) {
        self.0.push(fault.to_string());
    }
}

async fn checker(database: &TestDatabase) -> Checker {
    Checker {
        store: database.store().await,
        estimator: Estimator::default(),
        clock: clock(),
        threads: 1,
        is_in_background: false,
        sample: None,
        expected_link: Vec::new(),
    }
}

async fn faults(database: &TestDatabase) -> Vec<String> {
    let mut found = Found::default();
    checker(database).await.check(&mut found).await.unwrap();
    found.0
}

async fn answers(database: &TestDatabase) -> Vec<String> {
    let api = database.api().await;
    let mut answers = Vec::new();
    for route in ROUTES {
        answers.push(format!("{route} {}", api.get(route).await.text()));
    }
    answers
}

/// A database as [`fill`] makes it, with a disagreement.
async fn filled(database: &TestDatabase) {
    fill(database).await;
    let disagreement = "
        INSERT INTO disagreements (id, offer_id, provider, model, region, catalog, sheet_id, other_catalog, other_sheet_id,
                                   is_flagged, differences, observed_at, ended_at)
        SELECT id, offer_id, provider, model, region, 'one', id, 'other', id, FALSE, 'output 9 or 10', observed_at, observed_at
        FROM price_sheets WHERE provider = 'beta'";
    database.execute(disagreement).await;
    assert_eq!(faults(database).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_derivable_damage_is_found_and_repaired_to_the_same_answers() {
    on_each_database(async |database: &TestDatabase| {
        filled(database).await;
        let before = answers(database).await;
        let mut broken = Vec::new();
        for damage in DERIVABLE {
            database.execute(damage.sql).await;
            let found = faults(database).await;
            if found.is_empty() {
                broken.push(format!("{}: {} is not found", damage.of, damage.sql));
            }
            let checker = checker(database).await;
            checker.repair(&mut Found::default()).await.unwrap();
            let kept_for_ever = "SELECT count(*) FROM estimate_listings WHERE observed = FALSE AND recorded_at IS NULL";
            assert_eq!(database.number(kept_for_ever).await, 0, "{}", damage.sql);
            let left = faults(database).await;
            if !left.is_empty() {
                broken.push(format!("{}: {left:?} is left of {found:?}", damage.of));
            }
            for (before, after) in before.iter().zip(answers(database).await) {
                if *before != after {
                    broken.push(format!("{}: {found:?}\n  {before}\n  {after}", damage.of));
                }
            }
            if !broken.is_empty() {
                break;
            }
        }
        assert!(
            broken.is_empty(),
            "{}: {}",
            database.name,
            broken.join("\n")
        );
    })
    .await;
}

/// Keeps a table, and puts it back.
fn kept(table: &str) -> (String, String) {
    (
        format!("CREATE TABLE kept AS SELECT * FROM {table}"),
        format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept; DROP TABLE kept"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_damage_is_found_and_a_repair_says_that_it_is_left() {
    on_each_database(async |database: &TestDatabase| {
        filled(database).await;
        for damage in FOUND {
            let undo = damage.undo.unwrap_or_default();
            let table = damage.of.split('.').next().unwrap();
            let (keep, mut put_back) = kept(table);
            if undo.is_empty() && ["price_sheets", "estimates"].contains(&table) {
                put_back = format!("UPDATE {table} SET checksum = kept.checksum FROM kept WHERE kept.id = {table}.id; DROP TABLE kept");
            }
            if undo.is_empty() {
                database.execute(&keep).await;
            }
            database.execute(damage.sql).await;
            assert_ne!(faults(database).await, [""; 0], "{}: {}", damage.of, damage.sql);
            let checker = checker(database).await;
            checker.repair(&mut Found::default()).await.unwrap();
            assert_ne!(faults(database).await, [""; 0], "{}: {}", damage.of, damage.sql);
            database.execute(if undo.is_empty() { &put_back } else { undo }).await;
            checker.repair(&mut Found::default()).await.unwrap();
            assert_eq!(faults(database).await, [""; 0], "{}: {}", damage.of, damage.sql);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_column_has_a_damage_or_a_reason_why_it_has_none() {
    let database = TestDatabase::sqlite();
    database.api().await;
    let columns = database
        .texts(
            "SELECT tables.name || '.' || columns.name
             FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
             WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'",
        )
        .await;
    let damaged: BTreeSet<&str> = DERIVABLE
        .iter()
        .chain(FOUND)
        .map(|damage| damage.of)
        .collect();
    // The links cover every column of the logs: see the next test.
    let is_linked = |column: &str| column.starts_with("changes.") || column.starts_with("audit.");
    let has_reason = |column: &str| {
        NOT_COVERED
            .iter()
            .any(|(start, _)| column.starts_with(start))
    };
    let forgotten: Vec<&String> = columns
        .iter()
        .filter(|column| {
            !damaged.contains(column.as_str()) && !is_linked(column) && !has_reason(column)
        })
        .collect();
    assert!(forgotten.is_empty(), "without a damage: {forgotten:?}");
}

/// A change of each column of the logs, whatever its type.
fn changed(column: &str, kind: &str) -> Option<&'static str> {
    Some(match kind.to_lowercase().as_str() {
        "text" if column == "kind" => "'price.expired'",
        "text" if column == "at" => "'2020-01-01T00:00:00.000000Z'",
        "text" => "'x'",
        "integer" if column == "sequence" => "sequence + 1000",
        "integer" if column == "in_force" => "1 - in_force",
        "integer" => "7",
        "real" => "0.125",
        "blob" => "x'00112233445566778899aabbccddeeff'",
        _ => return None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chains_cover_every_column_of_the_changes_and_of_the_audit_log() {
    let database = TestDatabase::sqlite();
    fill(&database).await;
    for table in ["changes", "audit"] {
        let columns = format!("SELECT name || ' ' || type FROM pragma_table_info('{table}')");
        for column in database.texts(columns).await {
            let (column, kind) = column.split_once(' ').unwrap();
            // A clock that was ahead is put back in these.
            if table == "changes" && ["observed_at", "valid_from"].contains(&column) {
                continue;
            }
            let value = changed(column, kind).unwrap();
            let (keep, put_back) = kept(table);
            database.execute(&keep).await;
            let place = format!("sequence = (SELECT min(sequence) FROM {table})");
            database
                .execute(&format!(
                    "UPDATE {table} SET {column} = {value} WHERE {place}"
                ))
                .await;
            assert_ne!(faults(&database).await, [""; 0], "{table}.{column}");
            database.execute(&put_back).await;
        }
    }
    assert_eq!(faults(&database).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_noted_head_proves_that_the_logs_were_not_replaced() {
    on_each_database(async |database: &TestDatabase| {
        fill(database).await;
        let check = |more: &[&str]| {
            let arguments = ["check", "--sample", "0", "--database-url", &database.url];
            run(&[&arguments, more].concat())
        };
        let printed = check(&["--head"]);
        let heads: Vec<String> = printed
            .out
            .lines()
            .filter_map(|line| {
                Some(
                    line.strip_prefix("head of the ")?
                        .rsplit_once(": ")?
                        .1
                        .to_owned(),
                )
            })
            .collect();
        assert_eq!(heads.len(), 2, "{}{}", printed.out, printed.err);
        let served = database.api().await.get("/audit").await.json();
        assert!(served.to_string().contains(&heads[1]), "{served}");
        let another = serde_json::json!({"price_sheet": crate::support::sheet_of("m-9")});
        database.api().await.store(&another["price_sheet"]).await;
        for head in &heads {
            let ended = check(&["--expect-head", head]);
            assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
        }
        let foreign = check(&["--expect-head", &link_text(&[7; 32])]);
        assert_eq!(foreign.code, Some(1), "{}{}", foreign.out, foreign.err);
        assert!(foreign.err.contains("is in no chain"), "{}", foreign.err);
        assert_eq!(check(&["--expect-head", "12"]).code, Some(2));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_repairs_notes_it_in_the_audit_log_and_raises_the_version() {
    on_each_database(async |database: &TestDatabase| {
        fill(database).await;
        let version = database.number("SELECT version FROM store_version").await;
        database.execute("UPDATE price_sheets SET input_price = 2 * input_price WHERE provider = 'beta'").await;
        let repaired = run(&["check", "--repair", "--database-url", &database.url]);
        assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
        assert!(repaired.out.contains("1 fault found, 0 could not be repaired"), "{}", repaired.out);
        assert!(database.number("SELECT version FROM store_version").await > version);
        let noted = "SELECT count(*) FROM audit WHERE action = 'store.repaired' AND subject = '1 fault found, 0 left'";
        assert_eq!(database.number(noted).await, 1);
        assert_eq!(faults(database).await, [""; 0]);
    })
    .await;
}
