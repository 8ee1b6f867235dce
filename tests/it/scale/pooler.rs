//! PgBouncer in transaction mode between the service and its database.

use axum::http::StatusCode;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, Executor, PgConnection, Row};
use unroof_store::Databases;

use super::{LISTENING, Pooler, replica, until};
use crate::changes::client::Stream;
use crate::changes::{Prepared, models};
use crate::server::{Server, output_of};
use crate::support::{TestDatabase, on_postgres, sheet_of};

/// Fewer than there are clients, so that a connection of the server passes from one to the other.
const CONNECTIONS: u32 = 2;
const WRITERS: usize = 6;
const SHEETS: usize = 8;

fn through(pooler: &Pooler, database: &TestDatabase) -> Databases {
    Databases {
        direct: Some(database.url.parse().unwrap()),
        ..Databases::at(pooler.url(&database.url).parse().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_a_few_connections_of_a_pooler_in_transaction_mode() {
    on_postgres(async |database| {
        let pooler = Pooler::to(&database.url, CONNECTIONS);
        let databases = through(&pooler, database);
        let (one, _store) = replica(&databases).await;
        let (other, _other_store) = replica(&databases).await;
        let writers = (0..WRITERS).map(|writer| {
            let api = if writer % 2 == 0 { &one } else { &other }.clone();
            tokio::spawn(async move {
                for number in 0..SHEETS {
                    let sheet = sheet_of(&format!("m-{writer}-{number}"));
                    let stored = api.infer(&sheet).await;
                    assert_eq!(stored.status, StatusCode::CREATED, "{}", stored.text());
                    for path in ["/estimates?limit=7", "/changes", "/price-sheets", "/imports"] {
                        let read = api.get(path).await;
                        assert_eq!(read.status, StatusCode::OK, "{path}: {}", read.text());
                    }
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        for api in [&one, &other] {
            let rows = api.get("/price-sheets?limit=2000").await.rows();
            assert_eq!(rows.len(), WRITERS * SHEETS);
        }
        // Every statement had no name, and no setting was left behind.
        let options: PgConnectOptions = pooler.url(&database.url).parse().unwrap();
        let options = options.extra_float_digits(None);
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        for _ in 0..CONNECTIONS * 4 {
            let left = "SELECT count(*)::text || current_setting('statement_timeout') FROM pg_prepared_statements";
            let row = connection.fetch_one(sqlx::raw_sql(left)).await.unwrap();
            assert_eq!(row.get::<String, _>(0), "00");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_behind_a_pooler_has_its_timeout() {
    on_postgres(async |database| {
        let pooler = Pooler::to(&database.url, CONNECTIONS);
        let (api, _store) = replica(&through(&pooler, database)).await;
        api.store(&sheet_of("known")).await;
        let mut other = PgConnection::connect(&database.url).await.unwrap();
        let lock = "BEGIN; LOCK TABLE estimates IN ACCESS EXCLUSIVE MODE";
        other.execute(sqlx::raw_sql(lock)).await.unwrap();
        let waiting = api.get("/estimates?limit=3").await;
        waiting.problem(503);
        other.execute(sqlx::raw_sql("ROLLBACK")).await.unwrap();
        until("lists are read again", async || {
            api.get("/estimates?limit=4").await.status == StatusCode::OK
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_behind_a_pooler_listens_and_migrates_on_its_direct_connection() {
    on_postgres(async |database| {
        let pooler = Pooler::to(&database.url, CONNECTIONS);
        let by_pooler = pooler.url(&database.url);
        let urls = [
            "--database-url",
            &by_pooler,
            "--direct-database-url",
            &database.url,
        ];
        let arguments = [&urls[..], &["--listen", "127.0.0.1:0"]].concat();
        let server = Server::start_with(&arguments);
        let mut stream = Stream::open(&server.address, "/changes/stream", "").await;
        until("it listens", async || database.number(LISTENING).await == 1).await;
        let (_api, store) = replica(&through(&pooler, database)).await;
        Prepared::new().record(&store, &models(0..1)).await;
        assert_eq!(stream.next_change().await.unwrap().row()["model"], "m-0000");
        // A command uses the direct address alone.
        drop(pooler);
        let keys = [&["keys", "list"][..], &urls[..]].concat();
        tokio::task::block_in_place(|| output_of(&keys));
    })
    .await;
}
