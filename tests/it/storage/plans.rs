//! Every list, with every combination of its filters, reads large tables by an index: the plans of the statements that
//! the store executes.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, OnceLock};

use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use tracing::field::{Field, Visit};
use tracing::{Event, Instrument, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};
use unroof_store::{
    AsOf, ChangeFilter, ChangeKind, ChangesFrom, DbTime, HistoryKey, ImportOrder, ImportPlace,
    ImportSelection, Latest, LatestKey, ModelSelection, NameKind, NamePrefix, Order, Place,
    PricesOf, Selection, SortKey, Store, StoreError, StoreLimits, Times,
};
use uuid::Uuid;

use super::Question;
use crate::support::{TestDatabase, on_postgres, sheet_of};

/// The span within which statements are recorded.
const SPAN: &str = "list";
/// Log target of sqlx for statements.
const STATEMENTS: &str = "sqlx::query";
/// Log target of sqlx for the notices of PostgreSQL.
const NOTICES: &str = "sqlx::postgres::notice";

/// Log events within the span: targets and texts.
static LOGGED: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// Records what is logged within the span.
struct Recorder;

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut scope = context.event_scope(event).into_iter().flatten();
        if !scope.any(|span| span.name() == SPAN) {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let target = event.metadata().target();
        LOGGED.lock().unwrap().push((target, text.0));
    }
}

/// The text of a statement or a notice.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        if ["db.statement", "message"].contains(&field.name()) {
            self.0.push_str(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").unwrap();
        }
    }
}

fn record_statements() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let is_wanted = filter_fn(|metadata| {
            metadata.name() == SPAN || [STATEMENTS, NOTICES].contains(&metadata.target())
        });
        Registry::default()
            .with(Recorder.with_filter(is_wanted))
            .init();
    });
}

fn time(text: &str) -> DbTime {
    text.parse::<Timestamp>().unwrap().into()
}

/// Every combination of filters by these numbers of names each.
fn selections(names: usize) -> Vec<Selection> {
    let several = |number: u32, bit: u32, name: &str| -> Vec<String> {
        let others = (1..names).map(|other| format!("{name}{other}"));
        let all = std::iter::once(name.to_owned()).chain(others);
        all.filter(|_| number >> bit & 1 == 1).collect()
    };
    let selection = |number| Selection {
        provider: several(number, 0, "provider-7"),
        model: several(number, 1, "model-7"),
        canonical_model: several(number, 2, "author/model-7"),
        region: several(number, 3, "global"),
        currency: several(number, 4, "USD"),
        prefix: None,
    };
    (0..32).map(selection).collect()
}

/// All selections, without and with the beginning of a name.
fn all_selections() -> Vec<Selection> {
    let begun = selections(1).into_iter().map(|selection| Selection {
        prefix: Some(NamePrefix::new("Model-7")),
        ..selection
    });
    let all = [selections(1), selections(2), begun.collect()];
    all.concat()
}

/// Every order, and for each a place in it.
fn orders() -> Vec<(Order, Place)> {
    let place = |by| match by {
        SortKey::Stored => Place::Stored(15_000),
        SortKey::Provider | SortKey::Model => Place::Named("model-5".to_owned(), 15_000),
        SortKey::InputPrice | SortKey::OutputPrice => Place::Priced(1.5, 15_000),
    };
    let keys = [
        SortKey::Stored,
        SortKey::Provider,
        SortKey::Model,
        SortKey::InputPrice,
        SortKey::OutputPrice,
    ];
    let orders = keys
        .into_iter()
        .flat_map(|by| [false, true].map(|is_descending| (Order { by, is_descending }, place(by))));
    orders.collect()
}

/// Every combination of times.
fn times() -> Vec<Times> {
    let at = |number: u32, bit: u32, text: &str| (number >> bit & 1 == 1).then(|| time(text));
    let times = |number| Times {
        from: at(number, 0, "2020-01-03T00:00:00Z"),
        to: at(number, 1, "2020-01-10T00:00:00Z"),
        as_of: at(number, 2, "2020-01-08T00:00:00Z").map(AsOf::Time),
    };
    (0..8).map(times).collect()
}

/// No moment, a stated one, and now.
fn moments() -> [Option<AsOf>; 3] {
    let stated = AsOf::Time(time("2020-01-08T00:00:00Z"));
    // A time after which a price is recorded.
    let now = AsOf::Now(time("2020-01-14T21:19:30Z"));
    [None, Some(stated), Some(now)]
}

const LIMIT: u32 = 101;

/// Asks for every list in every way that the API has.
async fn list_all(store: &Store) -> Result<(), StoreError> {
    let below = Place::Stored(15_000);
    for selection in &selections(1) {
        for times in &times() {
            for after in [None, Some(&below)] {
                let newest = Order::NEWEST;
                store
                    .estimates(selection, times, newest, after, LIMIT)
                    .await?;
                store
                    .price_sheets(selection, times, newest, after, LIMIT)
                    .await?;
            }
        }
    }
    for selection in &all_selections() {
        list_in_every_order(store, selection).await?;
        list_latest(store, selection).await?;
        if !selection.currency.is_empty() || !selection.canonical_model.is_empty() {
            continue;
        }
        for as_of in [None, Some(time("2020-01-08T00:00:00Z"))] {
            for after in [None, Some(Uuid::from_u128(1 << 127))] {
                store.disagreements(selection, as_of, after, LIMIT).await?;
            }
        }
    }
    list_changes(store).await?;
    list_imports(store).await?;
    list_history(store).await?;
    list_models(store).await?;
    for below in [None, Some(15_000)] {
        store.webhook_deliveries(Uuid::nil(), below, LIMIT).await?;
    }
    let prefix = NamePrefix::new("model-7");
    for kinds in [NameKind::ALL, &[NameKind::Model]] {
        store.search_names(kinds, &prefix, 10).await?;
    }
    Ok(())
}

async fn list_in_every_order(store: &Store, selection: &Selection) -> Result<(), StoreError> {
    for as_of in moments() {
        let times = Times {
            as_of,
            ..Times::default()
        };
        for (order, place) in &orders() {
            // Ascending from the beginning, descending from a place.
            let after = order.is_descending.then_some(place);
            let sheets = store.price_sheets(selection, &times, *order, after, LIMIT);
            sheets.await?;
            if ![SortKey::InputPrice, SortKey::OutputPrice].contains(&order.by) {
                let estimates = store.estimates(selection, &times, *order, after, LIMIT);
                estimates.await?;
            }
        }
    }
    Ok(())
}

/// The feed by every combination of its filters, with one value and with two.
async fn list_changes(store: &Store) -> Result<(), StoreError> {
    let several = |number: u32, bit: u32, name: &str| {
        let names = (0..number >> (2 * bit) & 3).map(|value| format!("{name}-{}", 7 + value));
        names.collect::<Vec<_>>()
    };
    let kinds = [ChangeKind::OfferDelisted, ChangeKind::PriceChanged];
    // Three of the four numbers of two bits: no value, one, two.
    for number in (0..256).filter(|number| number & number >> 1 & 0b0101_0101 == 0) {
        let filter = ChangeFilter {
            provider: several(number, 0, "provider"),
            model: several(number, 1, "model"),
            canonical_model: several(number, 2, "author/model"),
            kind: kinds[..(number >> 6 & 3) as usize].to_vec(),
            in_force: (number & 1 == 1).then_some(true),
            min_factor: (number & 4 == 4).then_some(2.0),
        };
        for from in [ChangesFrom::After(15_000), ChangesFrom::Before(15_000)] {
            store.changes_from(&filter, from, LIMIT).await?;
        }
        let from = time("2020-01-08T00:00:00Z");
        store.change_summary(&filter, from, LIMIT).await?;
    }
    Ok(())
}

async fn list_latest(store: &Store, selection: &Selection) -> Result<(), StoreError> {
    let key = LatestKey {
        provider: "provider-5".to_owned(),
        model: "model-5".to_owned(),
        region: "global".to_owned(),
    };
    // The second time is one after which a price is recorded.
    for as_of in ["2027-01-01T00:00:00Z", "2020-01-14T21:19:30Z"] {
        for is_descending in [false, true] {
            for after in [None, Some(&key)] {
                for by in [SortKey::Provider, SortKey::Model] {
                    let latest = Latest {
                        selection,
                        as_of: AsOf::Now(time(as_of)),
                        order: Order { by, is_descending },
                    };
                    store.latest_estimates(latest, after, LIMIT).await?;
                }
            }
        }
    }
    Ok(())
}

async fn list_imports(store: &Store) -> Result<(), StoreError> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let (started_at, id) = (time("2020-01-08T00:00:00Z").into(), Uuid::nil());
    for sources in [vec![], vec!["source-7"], vec!["source-7", "source-8"]] {
        for (catalogs, outcomes) in [
            (vec![], vec![]),
            (vec!["format-3"], vec![]),
            (vec![], vec!["failed"]),
            (vec!["format-3", "format-4"], vec!["failed", "running"]),
        ] {
            let selection = ImportSelection {
                source: names(&sources),
                catalog: names(&catalogs),
                outcome: names(&outcomes),
            };
            for (is_by_source, place) in [
                (false, ImportPlace::Started(started_at, id)),
                (
                    true,
                    ImportPlace::Sourced("source-7".to_owned(), started_at, id),
                ),
            ] {
                for is_descending in [false, true] {
                    let order = ImportOrder {
                        is_by_source,
                        is_descending,
                    };
                    for after in [None, Some(&place)] {
                        store.imports(&selection, order, after, LIMIT).await?;
                    }
                }
            }
        }
    }
    Ok(())
}

async fn list_models(store: &Store) -> Result<(), StoreError> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (author, canonical_model) in [
        (vec![], vec![]),
        (vec!["author-7"], vec![]),
        (vec!["author-7", "author-8"], vec![]),
        (vec![], vec!["author-7/model-7"]),
    ] {
        for as_of in [None, Some(time("2020-01-08T00:00:00Z"))] {
            for prefix in [None, Some(NamePrefix::new("model-7"))] {
                for after in [None, Some("author-5/model-5")] {
                    let selection = ModelSelection {
                        author: names(&author),
                        canonical_model: names(&canonical_model),
                        prefix: prefix.clone(),
                        as_of,
                    };
                    store.models(&selection, after, LIMIT).await?;
                }
            }
        }
    }
    let at = AsOf::Now(time("2027-01-01T00:00:00Z"));
    store.offers_of_model("author/model-7", at).await?;
    for models in [
        vec!["author/model-7"],
        vec!["author/model-7", "author/model-8"],
    ] {
        store.sellers_of_models(&names(&models), at).await?;
    }
    store.sheets_of_model("author/model-7").await?;
    Ok(())
}

async fn list_history(store: &Store) -> Result<(), StoreError> {
    let key = HistoryKey {
        region: "global".to_owned(),
        starts_at: time("2020-01-03T00:00:00Z"),
        sequence: 1,
        part: 0,
    };
    for region in [None, Some("global")] {
        for as_of in moments() {
            for from in [None, Some(&key)] {
                let prices = PricesOf {
                    provider: "provider-7",
                    model: "model-7",
                    region,
                    as_of,
                };
                store.history(prices, from, LIMIT).await?;
            }
        }
    }
    // After every write: prices that come into force or end next.
    let then = "2020-01-01T00:00:00Z".parse().unwrap();
    store.announce_due_prices(then).await?;
    store.next_due().await?;
    Ok(())
}

/// Texts logged with a target during an operation.
async fn logged<T>(operation: impl Future<Output = T>, target: &str) -> BTreeSet<String> {
    LOGGED.lock().unwrap().clear();
    operation.instrument(tracing::info_span!(SPAN)).await;
    let logged = std::mem::take(&mut *LOGGED.lock().unwrap());
    let of_target = logged.into_iter().filter(|(of, _)| *of == target);
    of_target.map(|(_, text)| text).collect()
}

/// One test: both databases record what they log in one place.
#[tokio::test(flavor = "multi_thread")]
async fn every_list_uses_an_index_whatever_its_filters_are() {
    record_statements();
    explain_on_sqlite().await;
    on_postgres(explain_on_postgres).await;
}

/// Without statistics, which are not gathered, SQLite plans for tables of a million rows.
async fn explain_on_sqlite() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let statements = logged(async { list_all(&store).await.unwrap() }, STATEMENTS).await;
    assert!(statements.len() > 500, "{}", statements.len());
    let mut connection = SqliteConnection::connect(&database.url).await.unwrap();
    for statement in statements {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let steps: Vec<String> = plan.into_iter().map(|(.., step)| step).collect();
        let is_slow = steps.iter().any(|step| reads_whole_table(step));
        assert!(
            !is_slow && uses_a_name(&statement, &steps),
            "{statement}\n{steps:#?}"
        );
    }
}

/// Whether a step of a plan reads a table without an index.
fn reads_whole_table(step: &str) -> bool {
    const ROWS: [&str; 14] = [
        "SCAN due",
        "SEARCH due",
        "SCAN priced",
        "SCAN pooled",
        "SCAN latest",
        "SCAN of_kind",
        "SCAN in_force",
        "SCAN steps",
        "SCAN moves",
        "SCAN ranked",
        "SCAN by_offer",
        "SCAN (",
        "VIRTUAL TABLE",
        "CONSTANT ROW",
    ];
    let is_index = step.contains(" USING ") && !step.contains("AUTOMATIC");
    let is_table = !ROWS.iter().any(|rows| step.contains(rows));
    let is_reading = step.starts_with("SCAN") || step.starts_with("SEARCH");
    step.contains("AUTOMATIC") || is_reading && !is_index && is_table
}

/// Whether the rows of a name that is asked for are found by it, instead of among all rows.
fn uses_a_name(statement: &str, steps: &[String]) -> bool {
    const NAMES: [&str; 8] = [
        "canonical_model",
        "provider",
        "model",
        "region",
        "currency",
        "source",
        "catalog",
        "outcome",
    ];
    let is_asked_for = |name: &&str| statement.contains(&format!(" {name} = $"));
    let is_used = |name: &str| {
        let mut steps = steps.iter().filter(|step| !step.contains("_of_pools"));
        steps.any(|step| step.contains(&format!("{name}=?")))
    };
    let asked_for: Vec<&str> = NAMES.into_iter().filter(is_asked_for).collect();
    asked_for.is_empty() || asked_for.into_iter().any(is_used)
}

/// Rows of each table; the statistics say fifty times as many.
const FILL: &str = "
    SET session_replication_role = replica;
    DELETE FROM price_sheets;
    DELETE FROM offer_names;
    INSERT INTO price_sheets (id, sequence, offer_id, provider, model, model_key, canonical_model, region, currency,
                              observed_at, document, checksum, price_id, cells, states_limits, is_misfit, observed)
    SELECT md5('sheet ' || n)::uuid, n, md5('offer ' || n / 5)::uuid, 'provider-' || n / 5 % 50, 'model-' || n / 5 % 1000,
           '', 'author/model-' || n / 5 % 1000, 'global', 'USD', '2020-01-01Z'::timestamptz + n * interval '1 minute', '{}',
           '', md5('sheet ' || n)::uuid, '', false, false, true
    FROM generate_series(1, 20000) AS n;
    INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, row_values, document, checksum)
    SELECT id, sequence, '', 0, 0, '{}', '{}', '' FROM price_sheets;
    INSERT INTO model_estimates (sequence, estimate_id, canonical_model, author, calibration_id, sheets, decisions,
                                 observed_at)
    SELECT sequence, id, 'author-' || sequence % 50 || '/model-' || sequence % 5000, 'author-' || sequence % 50, '', 1, 1,
           observed_at
    FROM price_sheets;
    INSERT INTO estimate_listings (sequence, estimate_id, sheet_id, provider, model, canonical_model, region, currency,
                                   observed_at, stated_assumptions, observed)
    SELECT sequence, id, CASE WHEN sequence % 50 > 0 THEN id END, CASE WHEN sequence % 50 > 0 THEN provider ELSE 'pooled' END,
           model, canonical_model, region, currency, observed_at, sequence % 70 = 0, true
    FROM price_sheets;
    INSERT INTO stored_times (list, block, earliest, latest)
    SELECT 'list ' || sequence % 3, sequence, observed_at, observed_at FROM price_sheets;
    INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog, starts_at, ends_at,
                               observed_at, has_begun, has_ended, price_id, start_basis, last_seen_at, is_flagged)
    SELECT sequence, 0, offer_id, provider, model, region, id, '', observed_at,
           CASE WHEN sequence % 5 < 4 THEN observed_at + interval '1 minute' END, observed_at, true, sequence % 5 < 4,
           price_id, 'observed', observed_at, false
    FROM price_sheets;
    INSERT INTO observations (offer_id, source, sheet_id, catalog, first_at, last_at, source_rank)
    SELECT offer_id, 'source-' || sequence % 100, id, '', observed_at,
           CASE WHEN sequence % 5 < 4 THEN observed_at + interval '1 minute' END, 1
    FROM price_sheets;
    INSERT INTO snapshots (source, scope, at)
    SELECT 'source-' || sequence % 100, CASE WHEN sequence % 7 = 0 THEN provider ELSE '' END, observed_at FROM price_sheets;
    INSERT INTO withdrawals (offer_id, sheet_id, at, because)
    SELECT offer_id, id, observed_at, '' FROM price_sheets;
    INSERT INTO disagreements
    SELECT id, offer_id, provider, model, region, '', id, '', id, false, '', 1, observed_at,
           CASE WHEN sequence % 100 > 0 THEN observed_at + interval '1 day' END
    FROM price_sheets;
    INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, summary, in_force)
    SELECT sequence, 'offer.added', observed_at, provider, model, canonical_model, region, id, '', false FROM price_sheets;
    INSERT INTO imports (id, source, catalog, started_at, outcome)
    SELECT id, 'source-' || sequence % 100, 'format-' || sequence % 7, observed_at,
           CASE WHEN sequence % 100 = 0 THEN 'failed' ELSE 'done' END
    FROM price_sheets;
    INSERT INTO offer_names (name_key, provider, model)
    SELECT DISTINCT key, provider, model
    FROM price_sheets CROSS JOIN LATERAL (VALUES (provider), (model), (canonical_model)) AS keys (key);
    INSERT INTO names SELECT DISTINCT 'model', name_key, model FROM offer_names;
    INSERT INTO webhook_deliveries
    SELECT id, md5('webhook ' || sequence % 100)::uuid, sequence, sequence, 1, 'delivered', 1, observed_at, observed_at
    FROM price_sheets";

/// Statement that gathers statistics and lets an index alone answer.
const GATHER_STATISTICS: &str = "VACUUM ANALYZE";
const MAGNIFY: &str = "
    UPDATE pg_class SET reltuples = reltuples * 50
    WHERE relnamespace = 'public'::regnamespace AND reltuples BETWEEN 20000 AND 20100";

/// PostgreSQL sends the plan of every statement that it executes.
const SEND_PLANS: &str = "?options=-c%20session_preload_libraries=auto_explain%20-c%20auto_explain.log_min_duration=0\
                          %20-c%20auto_explain.log_level=notice";

async fn explain_on_postgres(database: &TestDatabase) {
    let url = format!("{}{SEND_PLANS}", database.url).parse().unwrap();
    let limits = StoreLimits {
        connections: 1,
        ..StoreLimits::without_timeouts()
    };
    let store = Store::open(&url, limits).await.unwrap();
    store.migrate().await.unwrap();
    // Beyond the numbers of the rows that are filled in.
    let beyond = "UPDATE store_version SET version = 100000";
    database.execute(beyond).await;
    Question::new(&sheet_of("first")).save(&store).await;
    database.execute(GATHER_STATISTICS).await;
    // Its plans are made while the tables are known to be small, and kept.
    Question::new(&sheet_of("second")).save(&store).await;
    database.execute(FILL).await;
    let third = Question::new(&sheet_of("third"));
    let plans = logged(third.save(&store), NOTICES).await;
    let is_write = |plan: &&String| plan.contains("INSERT INTO price_sheets");
    let [plan] = plans.iter().filter(is_write).collect::<Vec<_>>()[..] else {
        panic!("{plans:#?}");
    };
    assert!(!plan.contains("Seq Scan on"), "{plan}");
    // A hash is made of a whole table, also where an index lists its rows.
    assert!(!plan.contains("Hash Cond"), "{plan}");
    for sql in [GATHER_STATISTICS, MAGNIFY] {
        database.execute(sql).await;
    }
    // A statement that was prepared gets a plan for any values after five executions, if the connection lets it.
    for _ in 0..7 {
        for selection in selections(1) {
            store
                .price_sheets(&selection, &Times::default(), Order::NEWEST, None, LIMIT)
                .await
                .unwrap();
        }
    }
    let plans = logged(async { list_all(&store).await.unwrap() }, NOTICES).await;
    assert!(plans.len() > 500, "{}", plans.len());
    for plan in plans {
        assert!(!plan.contains("Seq Scan on"), "{plan}");
    }
}
