//! Replicas that do not LISTEN.

use crate::changes::client::Stream;
use crate::changes::{Prepared, models};
use crate::server::{Server, client, get, run};
use crate::support::{TestDatabase, on_postgres};

use super::LISTENING;

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_does_not_listen_streams_and_lists_what_another_wrote() {
    on_postgres(async |database| {
        let url = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        let server = Server::start_with(&[&url[..], &["--no-listen"]].concat());
        let mut stream = Stream::open(&server.address, "/changes/stream", "").await;
        let store = database.store().await;
        Prepared::new().record(&store, &models(0..3)).await;
        for model in models(0..3) {
            assert_eq!(stream.next_change().await.unwrap().row()["model"], model);
        }
        // What a stream has sent is in the lists of its replica.
        let lists = format!("{}/changes", server.address);
        let (status, body) = tokio::task::block_in_place(|| get(&client(), &lists));
        assert_eq!((status, body.matches("\"sequence\"").count()), (200, 3));
        assert_eq!(database.number(LISTENING).await, 0);
        assert!(!server.log().contains("LISTEN"), "{}", server.log());
    })
    .await;
}

#[test]
fn a_file_has_one_address() {
    let database = TestDatabase::sqlite();
    for flag in ["--direct-database-url", "--read-database-url"] {
        let urls = [
            "serve",
            "--database-url",
            &database.url,
            flag,
            "postgres://db/unroof",
        ];
        let refused = run(&urls);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        let reason = format!("{flag} needs PostgreSQL");
        assert!(refused.err.contains(&reason), "{}", refused.err);
    }
}
