//! Two replicas of one PostgreSQL, of which some are killed, while catalogs are imported by both and sheets are posted: the
//! feed alone gives the prices in force, and what is listed is what the newest snapshot found.

use std::collections::BTreeMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{next_page, offer_of, replayed};
use crate::server::{Server, client, get, post};
use crate::support::{TestDatabase, on_postgres, sheet_of, with};

/// The prices in force from now on: none of them is dated.
const LATER: &str = "/price-sheets?as_of=2100-01-01T00:00:00Z&limit=2000";
const SELLERS: u32 = 40;
/// Imports between two faults.
const IMPORTS: u32 = 4;

fn input_price(version: u32) -> u32 {
    10 + version
}

/// A catalog of one price, which most of the sellers list: no version differs so much from another that its import is held.
fn catalog(version: u32) -> Value {
    let seller = |number: u32| {
        let model = json!({
            "id": "m-1", "name": "m-1", "release_date": "2026-01-01", "last_updated": "2026-01-01",
            "attachment": false, "reasoning": false, "tool_call": true, "open_weights": false,
            "modalities": {"input": ["text"], "output": ["text"]},
            "limit": {"context": 128_000, "output": 8_000}, "cost": {"input": input_price(version), "output": 50},
        });
        json!({"id": format!("s-{number:02}"), "name": "Seller", "env": ["KEY"], "npm": "seller", "models": {"m-1": model}})
    };
    let listed = (0..SELLERS).filter(|number| !(number + version).is_multiple_of(8));
    let sellers = listed.map(|number| (format!("s-{number:02}"), seller(number)));
    Value::Object(sellers.collect())
}

fn all_rows(address: &str, path: &str) -> Vec<Value> {
    let client = client();
    let mut rows = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let (status, body) = get(&client, &format!("{address}{path}"));
        assert_eq!(status, 200, "{body}");
        let page: Value = serde_json::from_str(&body).unwrap();
        rows.extend(page["data"].as_array().unwrap().iter().cloned());
        next = next_page(&path, &page);
    }
    rows
}

/// Two replicas that may be started again, and counts of their imports.
#[derive(Default)]
struct Work {
    addresses: [RwLock<String>; 2],
    imports: AtomicU32,
    cut: AtomicU32,
    is_over: AtomicBool,
}

impl Work {
    fn continues(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    fn url(&self, replica: usize, path: &str) -> String {
        format!("{}{path}", self.addresses[replica].read().unwrap())
    }

    /// Imports one version of the catalog after another through a replica.
    fn import(&self, replica: usize) {
        let client = client();
        let mut number = 0;
        while self.continues() {
            // Both replicas import at the same time, each another version.
            let version = 1 + u32::try_from(replica).unwrap() + 2 * (number % 3);
            match post(&client, &self.url(replica, "/catalogs"), &catalog(version)) {
                Some((200, lines)) if lines.contains("\"type\":\"done\"") => {
                    number += 1;
                    self.imports.fetch_add(1, Ordering::Relaxed);
                }
                _ => {
                    self.cut.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    /// Posts sheets of sellers that the catalog lists, and of others.
    fn post(&self) {
        let client = client();
        let mut number = 0_u32;
        while self.continues() {
            let seller = format!("s-{:02}", number % (SELLERS + 4));
            let sheet = with(sheet_of("m-1"), "/provider", json!(seller));
            let sheet = with(
                sheet,
                "/rates/0/input",
                json!((1 + number / 7 % 3).to_string()),
            );
            let replica = usize::try_from(number % 2).unwrap();
            if let Some((200 | 201, _)) = post(&client, &self.url(replica, "/infer"), &sheet) {
                number += 1;
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    fn wait_for_imports(&self) {
        let until = self.imports.load(Ordering::Relaxed) + IMPORTS;
        let began = Instant::now();
        while self.imports.load(Ordering::Relaxed) < until {
            assert!(began.elapsed() < Duration::from_mins(2), "no import ends");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_of_two_replicas_gives_the_prices_in_force_though_each_is_killed_while_both_import()
 {
    on_postgres(async |database: &TestDatabase| {
        tokio::task::block_in_place(|| prove(database));
        // What is listed is one version of the catalog, as the newest snapshot found it.
        let open = "SELECT sheet.input_price || ' ' || sheet.provider FROM observations AS seen
             JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
             WHERE seen.source = 'models.dev' AND seen.last_at IS NULL ORDER BY 1";
        let open = database.texts(open).await;
        let is_version = |version: &u32| {
            let sellers = catalog(*version);
            let sellers = sellers.as_object().unwrap().keys();
            let listed: Vec<String> = sellers
                .map(|seller| format!("{} {seller}", input_price(*version)))
                .collect();
            listed == open
        };
        assert!((1..=6).any(|version| is_version(&version)), "{open:#?}");
    })
    .await;
}

fn prove(database: &TestDatabase) {
    let mut servers = [0, 1].map(|_| Server::start(&database.url));
    let work = Work::default();
    let publish = |replica: usize, server: &Server| {
        server
            .address
            .clone_into(&mut work.addresses[replica].write().unwrap());
    };
    for (replica, server) in servers.iter().enumerate() {
        publish(replica, server);
    }
    std::thread::scope(|scope| {
        for replica in [0, 1] {
            let work = &work;
            scope.spawn(move || work.import(replica));
        }
        scope.spawn(|| work.post());
        for replica in [0, 1] {
            work.wait_for_imports();
            servers[replica].kill();
            servers[replica] = Server::start(&database.url);
            publish(replica, &servers[replica]);
        }
        work.wait_for_imports();
        work.is_over.store(true, Ordering::Relaxed);
    });
    assert!(work.cut.into_inner() > 0, "no fault met an import");
    for server in &servers {
        let feed = replayed(&all_rows(&server.address, "/changes?limit=2000"));
        let rows = all_rows(&server.address, LATER);
        let in_force: BTreeMap<String, String> = rows
            .iter()
            .map(|row| (offer_of(row), row["id"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(in_force.len(), rows.len(), "one price per offer");
        assert!(in_force.len() >= 36, "{in_force:?}");
        assert_eq!(feed, in_force);
    }
}
