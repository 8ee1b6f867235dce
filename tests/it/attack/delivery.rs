//! A delivery that was received is not sent again because the database takes no note of it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::changes::webhooks::{Hand, Receiver, Sender};
use crate::changes::{Prepared, models};
use crate::server::{client, get, post, wait_until};
use crate::support::{TestDatabase, on_each_database};

/// A disk that is full when a delivery is to be noted: SQLite ends the transaction by itself, as it does then.
const REFUSE: [(&str, &str); 2] = [
    (
        "SQLite",
        "CREATE TRIGGER refuse BEFORE UPDATE ON webhook_deliveries WHEN new.state = 'delivered'
         BEGIN SELECT raise(ROLLBACK, 'refused'); END",
    ),
    (
        "PostgreSQL",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE 'refused' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON webhook_deliveries FOR EACH ROW WHEN (new.state = 'delivered')
         EXECUTE FUNCTION refuse()",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_was_received_and_could_not_be_noted_is_not_sent_again_and_noted_later() {
    on_each_database(async |database: &TestDatabase| {
        let (hand, receiver) = (Hand::new(), Receiver::default());
        let sender = Sender::new(database, &hand, true).await;
        let id = sender.add_at(receiver.listen().await).await;
        let refuse = REFUSE.iter().find(|(name, _)| *name == database.name);
        database.execute(refuse.unwrap().1).await;
        let prepared = Prepared::new();
        prepared.record(&sender.store, &models(0..1)).await;
        receiver.wait_for(1).await;
        // The lease of the delivery runs out again and again.
        for _ in 0..3 {
            hand.advance(Duration::from_secs(31));
            receiver.assert_silent().await;
        }
        assert_eq!(receiver.count(), 1, "{}", database.name);
        let allow = match database.name {
            "SQLite" => "DROP TRIGGER refuse",
            _ => "DROP TRIGGER refuse ON webhook_deliveries",
        };
        database.execute(allow).await;
        hand.advance(Duration::from_secs(31));
        let noted = sender
            .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
            .await;
        assert_eq!(
            (&noted["attempts"], &noted["status"]),
            (&json!(1), &json!(200))
        );
        prepared.record(&sender.store, &models(1..2)).await;
        receiver.wait_for(2).await;
        sender
            .wait_for_last(&id, "delivered", |last| last["next_since"] == 2)
            .await;
        assert_eq!(receiver.count(), 2, "{}", database.name);
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_lets_no_delivery_begin_and_one_that_was_received_is_noted_when_there_is_room()
{
    let receiver = Receiver::slow(Duration::from_secs(4));
    let address = receiver.listen().await;
    let folder = tempfile::tempdir().unwrap();
    tokio::task::block_in_place(|| {
        deliver_to(&receiver, &format!("http://{address}/hook"), folder.path());
    });
}

#[cfg(target_os = "linux")]
fn deliver_to(receiver: &Receiver, url: &str, folder: &Path) {
    let served = super::disk::Served::start(folder, &["--webhook-allow-private"]);
    let client = client();
    let webhooks = format!("{}/webhooks", served.server.address);
    let (status, added) = post(&client, &webhooks, &json!({"url": url})).unwrap();
    assert_eq!(status, 201, "{added}");
    let added: Value = serde_json::from_str(&added).unwrap();
    let deliveries = format!("{webhooks}/{}/deliveries", added["id"].as_str().unwrap());
    let last = || {
        let listed: Value = serde_json::from_str(&get(&client, &deliveries).1).unwrap();
        listed["data"][0].clone()
    };
    assert_eq!(served.infer("first").0, 201);
    // It is on its way, and takes some seconds.
    wait_until("it was begun", || last()["state"] == "pending");
    served.leave_room(0);
    wait_until("it was received", || receiver.count() == 1);
    served.server.wait_for_log("could not be recorded");
    served.free_disk();
    wait_until("it is noted", || last()["state"] == "delivered");
    assert_eq!(served.infer("second").0, 201);
    wait_until("the next is delivered", || receiver.count() == 2);
    assert_eq!(last()["attempts"], 1);
}
