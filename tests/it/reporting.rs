//! The schema `reporting`: its views, who may read them, and the dashboard that does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::row_columns;
use uuid::Uuid;

use crate::dashboards::dashboards;
use crate::server::{Ended, run};
use crate::support::{TestDatabase, examples, on_postgres, sheet, sheet_of, with};

/// A role that may read the views.
struct Reader {
    /// Name of the reader, as an identifier.
    name: String,
    connection: PgConnection,
}

impl Reader {
    /// A new role, let in by the command.
    async fn new(database: &TestDatabase, name: &str) -> Self {
        // Roles are those of the server, not of the database.
        let role = format!("{name} {}", Uuid::new_v4().simple());
        let name = format!("\"{}\"", role.replace('"', "\"\""));
        let make = format!("CREATE ROLE {name} LOGIN PASSWORD 'reader'");
        database.execute(&make).await;
        let ended = migrate(database, &role);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(
            ended.out.contains("has read access to the views"),
            "{}",
            ended.out
        );
        let options: PgConnectOptions = database.url.parse().unwrap();
        let options = options.username(&role).password("reader");
        let connection = options.connect().await.unwrap();
        Self { name, connection }
    }

    async fn remove(self, database: &TestDatabase) {
        self.connection.close().await.unwrap();
        let remove = format!("DROP OWNED BY {0}; DROP ROLE {0}", self.name);
        database.execute(&remove).await;
    }

    /// Number of rows of a query, or the error code.
    async fn rows(&mut self, sql: &str) -> Result<usize, String> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let rows = query.fetch_all(&mut self.connection).await;
        rows.map(|rows| rows.len()).map_err(|error| {
            let code = error.as_database_error().and_then(DatabaseError::code);
            code.map_or_else(|| error.to_string(), Into::into)
        })
    }
}

/// A role and an address with it, which may make tables and no schema.
async fn owner_of_tables(database: &TestDatabase) -> (String, String) {
    let role = format!("owner_{}", Uuid::new_v4().simple());
    let statements = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'owner'; CREATE SCHEMA {role} AUTHORIZATION {role}"
    );
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let made = sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection);
    made.await.unwrap();
    let mut url = url::Url::parse(&database.url).unwrap();
    url.set_username(&role).unwrap();
    url.set_password(Some("owner")).unwrap();
    (role, url.into())
}

fn migrate(database: &TestDatabase, role: &str) -> Ended {
    let role = format!("--reporting-role={role}");
    run(&["migrate", &role, "--database-url", &database.url])
}

const VIEWS: &str =
    "SELECT table_name::text FROM information_schema.views WHERE table_schema = 'reporting'";

const TABLES: &str = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";

/// Code of PostgreSQL for insufficient privilege.
const REFUSED: &str = "42501";

#[tokio::test(flavor = "multi_thread")]
async fn a_role_may_read_every_view_and_nothing_else() {
    on_postgres(async |database: &TestDatabase| {
        database.api().await.store(&sheet()).await;
        let name = "a \"b\"'; DROP SCHEMA c; --";
        let mut reader = Reader::new(database, name).await;
        let refused = || Err(REFUSED.to_owned());
        let views = database.texts(VIEWS).await;
        assert_eq!(views.len(), 10, "{views:?}");
        for view in views {
            let read = reader
                .rows(&format!("SELECT * FROM reporting.{view}"))
                .await;
            assert!(read.is_ok(), "{view}: {read:?}");
        }
        // Views as plain as these could be written through.
        for view in ["price_sheets", "changes", "imports"] {
            let delete = reader.rows(&format!("DELETE FROM reporting.{view}")).await;
            assert_eq!(delete, refused(), "{view}");
        }
        let tables = database.texts(TABLES).await;
        assert!(tables.len() > 8, "{tables:?}");
        for table in tables {
            let read = reader.rows(&format!("SELECT * FROM {table}")).await;
            assert_eq!(read, refused(), "{table}");
        }
        let make = reader.rows("CREATE VIEW reporting.mine AS SELECT 1").await;
        assert_eq!(make, refused());
        reader.remove(database).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_no_role_is_refused() {
    on_postgres(async |database: &TestDatabase| {
        for name in ["no such role", "public", "current_user", "a\"b", ""] {
            let ended = migrate(database, name);
            assert_eq!(ended.code, Some(1), "{name}: {}", ended.out);
            let said = format!("caused by: there is no role `{name}`");
            assert!(ended.err.contains(&said), "{}", ended.err);
        }
    })
    .await;
    let ended = migrate(&TestDatabase::sqlite(), "reader");
    assert_eq!(ended.code, Some(1), "{}", ended.out);
    assert!(ended.err.contains("has no roles"), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_create_is_shown_how_to_create_the_schema() {
    on_postgres(async |database: &TestDatabase| {
        // Tables go into the schema that has the name of the role.
        let (role, url) = owner_of_tables(database).await;
        let ended = run(&["migrate", "--database-url", &url]);
        assert_eq!(ended.code, Some(1), "{}", ended.out);
        let advice = format!("CREATE SCHEMA reporting AUTHORIZATION {role}");
        assert!(ended.err.contains(&advice), "{}", ended.err);
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        let made = sqlx::raw_sql(AssertSqlSafe(advice)).execute(&mut connection);
        made.await.unwrap();
        let ended = run(&["migrate", "--database-url", &url]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert_eq!(database.texts(VIEWS).await.len(), 10);
        let statements = format!("DROP OWNED BY {role}; DROP ROLE {role}");
        let removed = sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection);
        removed.await.unwrap();
    })
    .await;
}

/// Type by column of a view.
async fn columns(database: &TestDatabase, view: &str) -> BTreeMap<String, String> {
    const COLUMNS: &str = "
        SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns
        WHERE table_schema = 'reporting'";
    let all = database.texts(COLUMNS).await;
    let of_view = all.iter().filter_map(|line| {
        let rest = line.strip_prefix(view)?.strip_prefix(' ')?;
        rest.split_once(' ')
    });
    of_view
        .map(|(column, kind)| (column.to_owned(), kind.to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_views_have_the_columns_of_the_lists() {
    let more = ["stated_assumptions", "price_sheet_id", "sequence"];
    on_postgres(async |database: &TestDatabase| {
        let api = database.api().await;
        api.store(&sheet()).await;
        for (path, view, more) in [
            ("/estimates", "estimates", &more[..]),
            ("/estimates/latest", "latest_estimates", &more),
            ("/price-sheets", "price_sheets", &[]),
        ] {
            let row = &api.get(path).await.rows()[0];
            let listed = row.as_object().unwrap().keys().map(String::as_str);
            // Published sizes follow from the name, and no table holds them.
            let listed = listed.filter(|column| !column.starts_with("published_"));
            let expected: BTreeSet<&str> = listed.chain(more.iter().copied()).collect();
            let columns = columns(database, view).await;
            let found: BTreeSet<&str> = columns.keys().map(String::as_str).collect();
            assert_eq!(found, expected, "{view}");
            for column in row_columns().filter(|column| found.contains(column)) {
                let is_flag = column.ends_with("_identified");
                let kind = if is_flag {
                    "boolean"
                } else {
                    "double precision"
                };
                assert_eq!(columns[column], kind, "{view}.{column}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_views_have_the_values_of_the_lists() {
    const ESTIMATES: &str =
        "SELECT to_jsonb(row)::text FROM reporting.estimates AS row ORDER BY sequence DESC";
    const LATEST: &str = "SELECT to_jsonb(row)::text FROM reporting.latest_estimates AS row
                          ORDER BY provider, model, region";
    let names = ["id", "provider", "model", "region", "readings_defined"];
    on_postgres(async |database: &TestDatabase| {
        let api = database.api().await;
        for (_, sheet) in examples() {
            api.store(&sheet).await;
        }
        for (path, sql) in [("/estimates", ESTIMATES), ("/estimates/latest", LATEST)] {
            let listed = api.get(path).await.rows();
            let rows = database.texts(sql).await;
            assert!(!rows.is_empty(), "{sql}");
            assert_eq!(rows.len(), listed.len(), "{sql}");
            for (row, listed) in rows.iter().zip(&listed) {
                let row: Value = serde_json::from_str(row).unwrap();
                for column in row_columns().chain(names) {
                    // PostgreSQL writes the same number in other digits, such as 60000 for 60000.0.
                    let same_number = listed[column].is_number()
                        && row[column].as_f64() == listed[column].as_f64();
                    let is_same = same_number || row[column] == listed[column];
                    assert!(is_same, "{column}: {} and {}", row[column], listed[column]);
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_and_column_says_what_it_is() {
    const SILENT: &str = "
        SELECT view.relname || '.' || attname FROM pg_class AS view
        JOIN pg_attribute ON attrelid = view.oid AND attnum > 0
        WHERE relnamespace = 'reporting'::regnamespace
          AND (col_description(view.oid, attnum) IS NULL OR obj_description(view.oid, 'pg_class') IS NULL)";
    on_postgres(async |database: &TestDatabase| {
        database.store().await.close().await;
        assert_eq!(database.texts(VIEWS).await.len(), 10);
        assert_eq!(database.texts(SILENT).await, [""; 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_views_are_replaced_and_keep_their_grants() {
    const SELECTS: &str = "
        SELECT count(*)::text FROM information_schema.role_table_grants
        WHERE table_schema = 'reporting' AND privilege_type = 'SELECT' AND grantee LIKE 'reader %'";
    // The views of a version that listed neither total parameters nor imports.
    const OLDER: &str = "
        ALTER VIEW reporting.estimates RENAME COLUMN total_parameters_median TO parameters;
        DROP VIEW reporting.imports;
        COMMENT ON SCHEMA reporting IS 'Views of unroof, of an older version'";
    on_postgres(async |database: &TestDatabase| {
        database.store().await.close().await;
        let mut reader = Reader::new(database, "reader").await;
        assert_eq!(database.texts(SELECTS).await, ["10"]);
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        sqlx::raw_sql(OLDER).execute(&mut connection).await.unwrap();
        let newer = "SELECT total_parameters_median FROM reporting.estimates";
        assert!(reader.rows(newer).await.is_err());

        database.store().await.close().await;
        assert_eq!(database.texts(VIEWS).await.len(), 10);
        assert_eq!(reader.rows(newer).await, Ok(0));
        // A view that the older version did not have has no grant yet.
        assert_eq!(database.texts(SELECTS).await, ["9"]);

        // Views that are up to date are left as they are, with those of others that select from them.
        let mine = "CREATE VIEW mine AS SELECT id FROM reporting.imports";
        sqlx::raw_sql(mine).execute(&mut connection).await.unwrap();
        database.store().await.close().await;
        assert_eq!(database.texts("SELECT 'read' FROM mine").await, [""; 0]);
        reader.remove(database).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_have_every_cell_of_every_sheet_in_exact_decimals() {
    const RATES: &str =
        "SELECT to_jsonb(row)::text FROM reporting.rates AS row ORDER BY price_sheet_id, cell";
    const COLUMNS: [(&str, &str); 7] = [
        ("input", "input_rate"),
        ("output", "output_rate"),
        ("reasoning", "reasoning_rate"),
        ("cache_read", "cache_read_rate"),
        ("cache_read_explicit", "cache_read_explicit_rate"),
        ("cache_storage_per_hour", "cache_storage_rate"),
        ("schedule", "schedule"),
    ];
    // A view has numbers where a sheet has texts.
    let text = |value: &Value| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let number = text.parse::<f64>().map(|number| number.to_string());
        number.unwrap_or(text)
    };
    on_postgres(async |database: &TestDatabase| {
        let api = database.api().await;
        for (_, sheet) in examples() {
            api.store(&sheet).await;
        }
        let rows = database.texts(RATES).await;
        let mut rows = rows
            .iter()
            .map(|row| serde_json::from_str::<Value>(row).unwrap());
        let mut sheets = api.get("/price-sheets").await.rows();
        sheets.sort_by_key(|sheet| sheet["id"].as_str().unwrap().to_owned());
        for listed in sheets {
            let path = format!("/price-sheets/{}", listed["id"].as_str().unwrap());
            let sheet = api.get(&path).await.json();
            for (place, cell) in sheet["rates"].as_array().unwrap().iter().enumerate() {
                let row = rows.next().unwrap();
                assert_eq!(row["price_sheet_id"], listed["id"]);
                assert_eq!(row["cell"], place + 1);
                assert_eq!(row["provider"], sheet["provider"]);
                assert_eq!(row["service_tier"], cell["service_tier"]);
                assert_eq!(
                    row["min_prompt_tokens"],
                    cell["context_tier"]["min_prompt_tokens"]
                );
                for (key, column) in COLUMNS {
                    assert_eq!(text(&row[column]), text(&cell[key]), "{path} {place} {key}");
                }
                let hour = cell["cache_write"].as_array().into_iter().flatten();
                let mut hour = hour.filter(|write| write["ttl_seconds"] == 3600);
                let hour = hour
                    .next()
                    .map_or(Value::Null, |write| write["price"].clone());
                assert_eq!(
                    text(&row["cache_write_1h_rate"]),
                    text(&hour),
                    "{path} {place}"
                );
            }
        }
        assert_eq!(rows.next(), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sheet_of_a_question_is_in_no_view_of_prices() {
    const SHEETS: &str = "SELECT model FROM reporting.price_sheets ORDER BY model";
    const RATES: &str = "SELECT model FROM reporting.rates ORDER BY model";
    const MODELS: &str = "SELECT model_key FROM reporting.models ORDER BY model_key";
    on_postgres(async |database: &TestDatabase| {
        let api = database.api().await;
        api.store(&sheet_of("m-1")).await;
        let question =
            json!({"price_sheet": sheet_of("m-2"), "assumptions": {"active_parameters": 1e9}});
        api.store(&question).await;
        for view in [SHEETS, RATES, MODELS] {
            assert_eq!(database.texts(view).await, ["m-1"], "{view}");
        }
        assert_eq!(api.get("/price-sheets").await.rows().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn truth_has_the_published_figures_and_models_are_joined_with_it() {
    const TRUTH: &str = "SELECT to_jsonb(row)::text FROM reporting.truth AS row";
    const MODELS: &str =
        "SELECT to_jsonb(row)::text FROM reporting.models AS row ORDER BY model_key";
    on_postgres(async |database: &TestDatabase| {
        let api = database.api().await;
        for (provider, model, input) in [
            ("a", "org/DeepSeek-V3", "1"),
            ("b", "deepseek-v3", "3"),
            ("c", "secret", "2"),
        ] {
            let sheet = with(sheet_of(model), "/provider", provider.into());
            api.store(&with(sheet, "/rates/0/input", input.into()))
                .await;
        }
        let listed = api.get("/reference/open-models").await.rows();
        let read = |row: &String| serde_json::from_str::<Value>(row).unwrap();
        let truth: Vec<Value> = database.texts(TRUTH).await.iter().map(read).collect();
        assert_eq!(truth.len(), listed.len());
        for (known, listed) in truth.iter().zip(&listed) {
            assert_eq!(known["model"], listed["name"]);
            let is_assumed = listed["confidence"] == "estimate";
            for column in [
                "total_parameters",
                "active_parameters",
                "kv_bytes_per_token_read",
                "kv_bytes_per_token_read_slope",
                "max_context",
            ] {
                let is_null = is_assumed && column.starts_with("kv");
                let architecture = listed["architecture"][column].as_f64();
                let expected = listed[column].as_f64().or(architecture);
                let expected = expected.filter(|_| !is_null);
                assert_eq!(known[column].as_f64(), expected, "{known}: {column}");
            }
        }
        let models: Vec<Value> = database.texts(MODELS).await.iter().map(read).collect();
        assert_eq!(models.len(), 2, "{models:?}");
        let (open, closed) = (&models[0], &models[1]);
        assert_eq!(
            (&open["offers"], &open["providers"]),
            (&2.into(), &2.into())
        );
        assert_eq!(open["least_input_per_mtok"].as_f64(), Some(1.0));
        assert_eq!(open["greatest_input_per_mtok"].as_f64(), Some(3.0));
        assert_eq!(open["total_parameters"].as_f64(), Some(671e9));
        assert_eq!(closed["total_parameters"], Value::Null);
    })
    .await;
}

mod generated {
    use crate::support::repository;

    /// `UNROOF_BLESS=1` rewrites the file (`just bless`).
    #[test]
    fn the_views_follow_from_the_columns_of_lists() {
        let file = repository().join("migrations/reporting.sql");
        let views = unroof_dev::reporting::views();
        if std::fs::read_to_string(&file).is_ok_and(|written| written == views) {
            return;
        }
        assert!(
            std::env::var_os("UNROOF_BLESS").is_some(),
            "migrations/reporting.sql is out of date; run: just bless"
        );
        std::fs::write(file, views).unwrap();
    }
}

/// A query of the dashboard as Grafana sends it.
fn sent(sql: &str, quantity: &str) -> String {
    let (from, to) = ("'2020-01-01T00:00:00Z'", "'2040-01-01T00:00:00Z'");
    let mut sql = sql
        .replace("$__timeFrom()", from)
        .replace("$__timeTo()", to)
        .replace("${provider:sqlstring}", "'acme'")
        .replace("${model:sqlstring}", "'m-1'")
        .replace("${region:sqlstring}", "'global'")
        .replace("${quantity:raw}", quantity);
    while let Some((before, rest)) = sql.split_once("$__timeFilter(") {
        let (column, after) = rest.split_once(')').unwrap();
        sql = format!("{before}{column} BETWEEN {from} AND {to}{after}");
    }
    assert!(!sql.contains('$'), "{sql}");
    sql
}

/// The queries of its panels and of its variables.
fn queries(dashboard: &Value) -> Vec<&str> {
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let variables = dashboard["templating"]["list"].as_array();
    let variables = variables.into_iter().flatten();
    targets
        .filter_map(|target| target["rawSql"].as_str())
        .chain(variables.filter_map(|variable| variable["query"].as_str()))
        .filter(|query| query.contains("SELECT"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_of_the_dashboard_runs() {
    // Of these there are none in this test.
    let empty = ["reporting.disagreements", "reporting.imports"];
    let all = dashboards();
    let mut all = all.iter().map(|(_, dashboard)| dashboard);
    let dashboard = all.find(|dashboard| dashboard["uid"] == "unroof-prices");
    let dashboard = dashboard.unwrap();
    let mut variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let quantity = variables.find(|variable| variable["name"] == "quantity");
    let quantities = quantity.unwrap()["options"].as_array().unwrap();
    assert_eq!(quantities.len(), JointQuantity::COUNT);
    assert!(queries(dashboard).len() > 12);
    on_postgres(async |database: &TestDatabase| {
        database.api().await.store(&sheet()).await;
        let mut reader = Reader::new(database, "dashboard").await;
        for quantity in quantities {
            for query in queries(dashboard) {
                let sql = sent(query, quantity["value"].as_str().unwrap());
                let rows = reader.rows(&sql).await;
                let may_be_empty = empty.iter().any(|view| sql.contains(view));
                let is_right = matches!(rows, Ok(count) if count > 0 || may_be_empty);
                assert!(is_right, "{sql}: {rows:?}");
            }
        }
        reader.remove(database).await;
    })
    .await;
}
