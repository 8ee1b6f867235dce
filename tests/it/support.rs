//! Helpers shared by the tests: sheets, throwaway databases, the API without a socket, parsed problems.
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;
use tower::ServiceExt;
use unroof_edge::Limits;
use unroof_server::{App, router};
use unroof_store::clock::Clock;
use unroof_store::{Store, StoreLimits};
use url::Url;
use uuid::Uuid;

/// Limits of a debug build that shares its processors with other tests.
pub(crate) fn patient_limits() -> Limits {
    Limits {
        answer_time: Duration::from_mins(2),
        ..Limits::default()
    }
}

/// Time of the fixed clock.
pub(crate) const NOW: &str = "2026-11-21T12:00:00.123456Z";

pub(crate) fn clock() -> Clock {
    let now: Timestamp = NOW.parse().unwrap();
    Clock::new(move || now)
}

// Sheets

/// The folder of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder that end in `.json`, by name.
pub(crate) fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    files
}

pub(crate) fn read_json(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// File name and content of every example.
pub(crate) fn examples() -> Vec<(String, Value)> {
    let files = json_files(&repository().join("examples"));
    let named = files.iter().map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, read_json(file))
    });
    named.collect()
}

pub(crate) fn example(name: &str) -> Value {
    read_json(&repository().join("examples").join(name))
}

/// A sheet with nothing that it could do without.
pub(crate) fn sheet() -> Value {
    json!({
        "schema": "pricesheet/v1",
        "provider": "acme",
        "model": "m-1",
        "currency": "USD",
        "unit": "per_1m_tokens",
        "rates": [{"input": "1.25", "output": "10.00"}],
        "sources": [{"url": "https://acme.example/prices", "format": "official"}],
    })
}

/// A sheet of another model, else as [`sheet`].
pub(crate) fn sheet_of(model: &str) -> Value {
    with(sheet(), "/model", json!(model))
}

/// The document with another value at a JSON pointer; a key that is missing is added, and so is the item after the last.
pub(crate) fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent) {
        Some(Value::Object(entries)) => {
            entries.insert(key.to_owned(), value);
        }
        Some(Value::Array(items)) => {
            let index: usize = key.parse().unwrap();
            if index == items.len() {
                items.push(value);
            } else {
                items[index] = value;
            }
        }
        _ => panic!("nothing at {parent}"),
    }
    document
}

/// The document without a key of an object.
pub(crate) fn without(mut document: Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let entries = document.pointer_mut(parent).unwrap().as_object_mut();
    entries.unwrap().remove(key).unwrap();
    document
}

// Databases

/// Limits of the database for tests of something else, on machines that are busy with something else.
const PATIENT: StoreLimits = StoreLimits {
    connections: 16,
    connection_wait: Duration::from_secs(20),
    statement: Duration::from_secs(20),
    slow_statement: Duration::ZERO,
};

/// A database of its own.
pub(crate) struct TestDatabase {
    /// Name of the database, `SQLite` or `PostgreSQL`.
    pub(crate) name: &'static str,
    /// Address of the database.
    pub(crate) url: String,
    server: Option<String>,
    folder: Option<Arc<TempDir>>,
}

impl TestDatabase {
    /// An empty database in a file.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            name: "SQLite",
            url: format!("sqlite:{}", folder.path().join("unroof.db").display()),
            server: None,
            folder: Some(Arc::new(folder)),
        }
    }

    /// The one database of a PostgreSQL server of one's own.
    pub(crate) fn at(url: String) -> Self {
        Self {
            name: "PostgreSQL",
            server: Some(url.clone()),
            url,
            folder: None,
        }
    }

    /// An empty database on the server, in a locale whose order of texts is not that of their bytes.
    async fn postgres(server: &str) -> Self {
        let name = format!("unroof_{}", Uuid::new_v4().simple());
        let mut connection = PgConnection::connect(server).await.unwrap();
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'");
        // PostgreSQL 15 and newer know this provider.
        let in_english = format!("{create} LOCALE_PROVIDER icu ICU_LOCALE 'en-US'");
        let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        let sql = if version >= 150_000 {
            in_english
        } else {
            create
        };
        sqlx::query(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await
            .unwrap();
        let mut url = Url::parse(server).unwrap();
        url.set_path(&name);
        Self {
            name: "PostgreSQL",
            url: url.into(),
            server: Some(server.to_owned()),
            folder: None,
        }
    }

    /// The store with its tables; every call is another replica.
    pub(crate) async fn store(&self) -> Store {
        self.store_within(PATIENT).await
    }

    /// The store with its tables and limits of its own.
    pub(crate) async fn store_within(&self, limits: StoreLimits) -> Store {
        let url = self.url.parse().unwrap();
        let store = Store::open(&url, limits).await.unwrap();
        store.migrate().await.unwrap();
        store
    }

    /// The API on this database; every call is another replica.
    pub(crate) async fn api(&self) -> Api {
        Box::pin(self.api_within(patient_limits())).await
    }

    /// The API on this database with limits of its own.
    pub(crate) async fn api_within(&self, limits: Limits) -> Api {
        let mut api = Api::new(App::new(self.store().await, clock(), limits));
        api.folder.clone_from(&self.folder);
        api
    }

    /// One number that a query gives.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        if self.server.is_none() {
            let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
            let query = sqlx::query_scalar(sql).fetch_one(&mut connection);
            query.await.unwrap()
        } else {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            let query = sqlx::query_scalar(sql).fetch_one(&mut connection);
            query.await.unwrap()
        }
    }

    /// Runs statements on the tables.
    pub(crate) async fn execute(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        self.store().await.close().await;
        if self.server.is_none() {
            let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
            let statements = sqlx::raw_sql(sql).execute(&mut connection);
            statements.await.unwrap();
        } else {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            let statements = sqlx::raw_sql(sql).execute(&mut connection);
            statements.await.unwrap();
        }
    }

    /// The texts that a query gives.
    pub(crate) async fn texts(&self, sql: impl Into<String>) -> Vec<String> {
        let sql = AssertSqlSafe(sql.into());
        if self.server.is_none() {
            let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
            let query = sqlx::query_scalar(sql).fetch_all(&mut connection);
            query.await.unwrap()
        } else {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            let query = sqlx::query_scalar(sql).fetch_all(&mut connection);
            query.await.unwrap()
        }
    }

    /// Removes the database; one of a failed test goes with the throwaway server.
    async fn remove(self) {
        let Some(server) = &self.server else { return };
        let url = Url::parse(&self.url).unwrap();
        let name = url.path().trim_start_matches('/');
        let mut connection = PgConnection::connect(server).await.unwrap();
        let sql = format!("DROP DATABASE {name} WITH (FORCE)");
        sqlx::query(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await
            .unwrap();
    }
}

/// Runs a test on an empty SQLite database, and on an empty PostgreSQL database where there is a server for it.
pub(crate) async fn on_each_database(test: impl AsyncFn(&TestDatabase)) {
    let mut databases = vec![TestDatabase::sqlite()];
    match std::env::var("UNROOF_TEST_POSTGRES_URL") {
        Ok(server) => databases.push(TestDatabase::postgres(&server).await),
        Err(_) => skip_postgres(),
    }
    for database in databases {
        note(database.name);
        test(&database).await;
        database.remove().await;
    }
}

/// Runs a test that blocks its thread on each database.
pub(crate) fn on_each_database_blocking(test: impl Fn(&TestDatabase)) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(on_each_database(async |database| {
        tokio::task::block_in_place(|| test(database));
    }));
}

/// Runs a test on an empty PostgreSQL database, where there is a server for it.
pub(crate) async fn on_postgres(test: impl AsyncFn(&TestDatabase)) {
    match std::env::var("UNROOF_TEST_POSTGRES_URL") {
        Ok(server) => {
            let database = TestDatabase::postgres(&server).await;
            test(&database).await;
            database.remove().await;
        }
        Err(_) => skip_postgres(),
    }
}

/// Waits for a future in a test that blocks its thread.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    match tokio::runtime::Handle::try_current() {
        Ok(handle) => handle.block_on(future),
        Err(_) => tokio::runtime::Runtime::new().unwrap().block_on(future),
    }
}

pub(crate) fn skip_postgres() {
    static ONCE: Once = Once::new();
    assert!(
        std::env::var_os("UNROOF_REQUIRE_POSTGRES").is_none_or(|value| value != "1"),
        "UNROOF_REQUIRE_POSTGRES=1, and UNROOF_TEST_POSTGRES_URL names no server: run ./scripts/with-postgres cargo test"
    );
    ONCE.call_once(|| say("skipped on PostgreSQL: UNROOF_TEST_POSTGRES_URL names no server"));
}

/// Says on which database a test failed.
#[expect(clippy::print_stderr, reason = "only printed for a test that fails")]
fn note(database: &str) {
    eprintln!("on {database}");
}

/// A line for the person who runs the tests, also where they pass: `eprintln!` is printed only for those that fail.
pub(crate) fn say(line: &str) {
    let line = format!("{line}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

// The API without a socket

/// API of one replica.
#[derive(Clone)]
pub(crate) struct Api {
    router: Router,
    /// Folder of its database, kept alive.
    folder: Option<Arc<TempDir>>,
}

impl Api {
    pub(crate) fn new(app: App) -> Self {
        Self {
            router: router(app),
            folder: None,
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// The head of an answer; its body is still to be read.
    pub(crate) async fn begin(&self, request: Request<Body>) -> axum::response::Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Any method, with headers and without a body.
    pub(crate) async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path, &[]).await
    }

    /// Any bytes as JSON.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Reply {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.into());
        self.send(request.unwrap()).await
    }

    /// A sheet, or a question.
    pub(crate) async fn infer(&self, body: &Value) -> Reply {
        self.post("/infer", body.to_string()).await
    }

    /// Stores a sheet that is not there yet; its id.
    pub(crate) async fn store(&self, body: &Value) -> String {
        let reply = self.infer(body).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        reply.id()
    }
}

/// An answer of `/infer` as it is stored: without the effect of the request, which comes last.
pub(crate) fn stored_answer(answer: &str) -> String {
    let (stored, _) = answer.rsplit_once(",\"observe\":").unwrap();
    format!("{stored}}}")
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    /// The answer of `/infer` as it is stored: without the effect of the request, which comes last.
    pub(crate) fn stored_body(&self) -> String {
        stored_answer(self.text())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The id of an answer.
    pub(crate) fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }

    /// The rows of a list.
    pub(crate) fn rows(&self) -> Vec<Value> {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        self.json()["data"].as_array().unwrap().clone()
    }

    /// The problem that this is, checked for what every problem has.
    pub(crate) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(
            problem["request_id"].as_str(),
            self.header("x-request-id"),
            "{problem}"
        );
        for field in ["type", "title", "detail", "request_id"] {
            let text = problem[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "no {field}: {problem}");
        }
        let kind = problem["type"].as_str().unwrap();
        assert!(kind.starts_with("/problems/"), "{problem}");
        problem
    }
}

/// Pointer, detail and hint of every fault of a problem, a line each.
pub(crate) fn faults(problem: &Value) -> String {
    let mut lines = String::new();
    for fault in problem["errors"].as_array().into_iter().flatten() {
        let part = |name: &str| fault[name].as_str().unwrap().to_owned();
        writeln!(
            lines,
            "{}: {} ({})",
            part("pointer"),
            part("detail"),
            part("hint")
        )
        .unwrap();
    }
    lines
}
