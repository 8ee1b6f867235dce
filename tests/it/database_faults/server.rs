//! Faults of the PostgreSQL server itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use sqlx::{Connection, PgConnection};
use unroof_edge::Access;
use unroof_store::StoreLimits;
use unroof_store::access::Scope;

use super::cluster::Cluster;
use super::{app, assert_recovers, assert_stale, assert_unavailable, refused_after, replica, soon};
use crate::access::key;
use crate::server::{Server, client, get};
use crate::support::{Api, sheet_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_costs_no_more_than_an_unreachable_one() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let (api, store) = replica(&cluster.url(), StoreLimits::default()).await;
    store.migrate().await.unwrap();
    api.store(&sheet_of("known")).await;
    let known = api.get("/estimates").await;
    cluster.signal("-STOP");
    assert_unavailable(&api).await;
    let taken = refused_after(&api).await;
    assert!(taken <= Duration::from_secs(3), "{taken:?}");
    assert_stale(&api, "/estimates", &known).await;
    cluster.signal("-CONT");
    assert_recovers(&api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_frozen_callers_with_keys_get_what_was_read_before() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let (app, store) = app(&cluster.url(), StoreLimits::default()).await;
    store.migrate().await.unwrap();
    let bearer = format!("Bearer {}", key(&store, "reader", Scope::Read).await);
    let access = Access {
        requires_keys: true,
        ..Access::default()
    };
    let api = Api::new(app.allowing(access));
    let ask = |path: &'static str| {
        let (api, bearer) = (api.clone(), bearer.clone());
        tokio::spawn(async move {
            let headers = [("authorization", bearer.as_str())];
            soon(api.ask(Method::GET, path, &headers)).await
        })
    };
    assert_eq!(ask("/estimates").await.unwrap().status, StatusCode::OK);
    cluster.signal("-STOP");
    // The keys in memory are half a second old then.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let asked: Vec<_> = (0..16)
        .map(|number| ask(["/estimates", "/healthz"][number % 2]))
        .collect();
    for reply in asked {
        let reply = reply.await.unwrap();
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    }
    cluster.signal("-CONT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_restarted_under_load_gives_no_500_and_what_follows_succeeds() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let (api, store) = replica(&cluster.url(), StoreLimits::default()).await;
    store.migrate().await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let refused = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let (api, is_over) = (api.clone(), Arc::clone(&is_over));
            let refused = Arc::clone(&refused);
            tokio::spawn(async move {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let written = api.infer(&sheet_of(&format!("m-{client}-{number}"))).await;
                    let read = api
                        .get(&format!("/price-sheets?limit={}", number % 500 + 1))
                        .await;
                    for reply in [written, read] {
                        let status = reply.status.as_u16();
                        assert!(
                            matches!(status, 200 | 201 | 503),
                            "{status}: {}",
                            reply.text()
                        );
                        refused.fetch_add(usize::from(status == 503), Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for mode in ["fast", "immediate"] {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cluster.down(mode);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        cluster.up();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let so_far = refused.load(Ordering::Relaxed);
        assert!(so_far > 0, "nothing was asked while the server was down");
        assert_recovers(&api).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let later = refused.load(Ordering::Relaxed) - so_far;
        assert_eq!(later, 0, "refused two seconds after the server was back");
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_said_in_the_log_and_the_service_waits_for_it_to_be_right() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let mut connection = PgConnection::connect(&cluster.url()).await.unwrap();
    sqlx::raw_sql(
        "CREATE ROLE ludmilla LOGIN PASSWORD 'right';
         GRANT CREATE ON SCHEMA public TO ludmilla;
         CREATE SCHEMA reporting AUTHORIZATION ludmilla",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    cluster.require_password_of("ludmilla");
    let url = cluster.url().replace("postgres@", "ludmilla:wrong-secret@");
    tokio::task::block_in_place(|| {
        let server = Server::start_with(&["--database-url", &url, "--listen", "127.0.0.1:0"]);
        let log = server.wait_for_log("the database is not ready");
        assert!(
            log.contains("password authentication failed for user"),
            "{log}"
        );
        let address = server.address.clone();
        let (status, body) = get(&client(), &format!("{address}/estimates"));
        assert_eq!(status, 503);
        assert!(
            !body.contains("ludmilla") && !body.contains("password"),
            "{body}"
        );
        assert_eq!(get(&client(), &format!("{address}/healthz")).0, 200);
        crate::support::wait_for(async {
            sqlx::query("ALTER ROLE ludmilla PASSWORD 'wrong-secret'")
                .execute(&mut connection)
                .await
                .unwrap();
        });
        let log = server.wait_for_log("the database is ready");
        assert!(!log.contains("wrong-secret"), "{log}");
        assert_eq!(
            get(&client(), &format!("{address}/estimates")).0,
            StatusCode::OK.as_u16()
        );
    });
}
