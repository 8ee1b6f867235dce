//! A withdrawal that is undone.

use serde_json::{Value, json};

use crate::server::{Server, client, get, post};
use crate::support::{TestDatabase, on_each_database_blocking, sheet, with};

/// Sheets that are withdrawn at once.
const FORTY: usize = 40;

/// A program that serves a database.
pub(super) struct Service {
    pub(super) server: Server,
    pub(super) client: ureq::Agent,
}

impl Service {
    pub(super) fn start(database: &TestDatabase) -> Self {
        Self::of(Server::start(&database.url))
    }

    pub(super) fn of(server: Server) -> Self {
        let client = client();
        Self { server, client }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.address)
    }

    fn post(&self, path: &str, body: &Value) -> (u16, String) {
        post(&self.client, &self.url(path), body).unwrap()
    }

    pub(super) fn rows(&self, path: &str) -> Vec<Value> {
        let (status, text) = get(&self.client, &self.url(path));
        assert_eq!(status, 200, "{text}");
        let page: Value = serde_json::from_str(&text).unwrap();
        page["data"].as_array().unwrap().clone()
    }

    /// Stores a sheet; its id.
    pub(super) fn sees(&self, sheet: &Value, query: &str) -> String {
        let (status, text) = self.post(&format!("/infer{query}"), sheet);
        assert!([200, 201].contains(&status), "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        let id = answer["price_sheets"][0]["id"].as_str();
        id.unwrap().to_owned()
    }

    fn withdraw(&self, id: &str) {
        let body = json!({"reason": "a mistake"});
        let (status, text) = self.post(&format!("/price-sheets/{id}/withdraw"), &body);
        assert_eq!(status, 200, "{text}");
    }

    /// Undoes it; the status and the body.
    fn undo(&self, id: &str) -> (u16, String) {
        let url = self.url(&format!("/price-sheets/{id}/withdrawal"));
        let mut response = self.client.delete(&url).call().unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), text)
    }

    fn in_force(&self) -> usize {
        self.rows("/estimates/latest?limit=2000").len()
    }

    /// Outcomes of an import.
    pub(super) fn import(&self, catalog: &Value) -> Vec<String> {
        let (status, text) = self.post("/catalogs", catalog);
        assert_eq!(status, 200, "{text}");
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        assert_eq!(lines.last().unwrap()["type"], "done", "{text}");
        let entries = lines.iter().filter(|line| line["type"] == "entry");
        let outcome = |line: &Value| line["outcome"].as_str().unwrap().to_owned();
        entries.map(outcome).collect()
    }

    fn kinds(&self) -> Vec<String> {
        let rows = self.rows("/changes?limit=2000");
        let kind = |row: &Value| row["kind"].as_str().unwrap().to_owned();
        rows.iter().map(kind).collect()
    }

    fn history(&self) -> Vec<Value> {
        self.rows("/offers/acme/m-1/history")
    }
}

pub(super) fn priced(input: &str) -> Value {
    with(sheet(), "/rates/0/input", json!(input))
}

#[test]
fn forty_prices_that_were_withdrawn_are_back_with_the_next_import_of_the_same_catalog() {
    on_each_database_blocking(|database| {
        let service = Service::start(database);
        let entry = |number: usize| {
            let entry = json!({
                "litellm_provider": "acme", "mode": "chat",
                "input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6,
            });
            (format!("acme/m-{number:02}"), entry)
        };
        let catalog = Value::Object((0..FORTY).map(entry).collect());
        service.import(&catalog);
        assert_eq!(service.in_force(), FORTY);
        for sheet in service.rows("/price-sheets?limit=2000") {
            service.withdraw(sheet["id"].as_str().unwrap());
        }
        assert_eq!(service.in_force(), 0);
        assert_eq!(service.import(&catalog), vec!["reinstated"; FORTY]);
        assert_eq!(service.in_force(), FORTY);
        let kinds = service.kinds();
        assert_eq!(kinds[2 * FORTY..], vec!["sheet.reinstated"; FORTY]);
        let run = &service.rows("/imports")[0];
        assert_eq!(
            (&run["reinstated"], &run["unchanged"]),
            (&json!(40), &json!(0))
        );
        // Once is enough.
        assert_eq!(service.import(&catalog), vec!["unchanged"; FORTY]);
        assert_eq!(service.kinds().len(), 3 * FORTY);
    });
}

#[test]
fn the_same_sheet_sent_after_its_withdrawal_is_in_force_from_then_on() {
    on_each_database_blocking(|database| {
        let service = Service::start(database);
        let id = service.sees(&priced("2"), "?observed_at=2026-06-01T00:00:00Z");
        service.withdraw(&id);
        // Seen before the withdrawal: no news.
        service.sees(&priced("2"), "?observed_at=2026-07-01T00:00:00Z");
        assert_eq!(service.in_force(), 0);
        service.sees(&priced("2"), "");
        assert_eq!(service.in_force(), 1);
        let rows = service.history();
        assert_eq!(rows.len(), 2, "{rows:?}");
        assert_eq!(rows[0]["withdrawn_because"], "a mistake");
        assert_eq!(rows[1]["withdrawn_at"], Value::Null);
        assert!(rows[1]["valid_from"].as_str() > rows[0]["valid_to"].as_str());
        // Sent again, it changes nothing; and it can be withdrawn and seen again.
        service.sees(&priced("2"), "");
        assert_eq!(service.history(), rows);
        service.withdraw(&id);
        assert_eq!(service.in_force(), 0);
        service.sees(&priced("2"), &format!("?observed_at={}", now()));
        assert_eq!(service.in_force(), 1);
        let kinds = [
            "offer.added",
            "sheet.withdrawn",
            "sheet.reinstated",
            "sheet.withdrawn",
            "sheet.reinstated",
        ];
        assert_eq!(service.kinds(), kinds);
    });
}

/// The time, which is that of the service.
#[expect(clippy::disallowed_methods, reason = "the service has this clock")]
pub(super) fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[test]
fn a_withdrawal_that_is_undone_leaves_the_history_as_it_was() {
    on_each_database_blocking(|database| {
        let service = Service::start(database);
        let current = service.sees(&priced("2"), "?observed_at=2026-06-01T00:00:00Z");
        let rise = with(priced("3"), "/valid_from", json!("2999-01-01T00:00:00Z"));
        let announced = service.sees(&rise, "?observed_at=2026-07-01T00:00:00Z");
        let before = service.history();
        for undone in [[&current, &announced], [&announced, &current]] {
            service.withdraw(&announced);
            service.withdraw(&current);
            assert_eq!(service.in_force(), 0);
            for id in undone {
                assert_eq!(service.undo(id), (204, String::new()));
            }
            assert_eq!(service.history(), before);
            assert_eq!(service.in_force(), 1);
        }
        // Again, it changes nothing, and neither does it where there was no withdrawal.
        let kinds = service.kinds();
        assert_eq!(service.undo(&current).0, 204);
        assert_eq!(service.kinds(), kinds);
        assert_eq!(kinds.last().unwrap(), "sheet.reinstated");
        // A price that is to come is still to be announced.
        let to_come = "SELECT count(*) FROM price_periods WHERE has_begun = FALSE";
        let count = crate::support::wait_for(database.number(to_come));
        assert_eq!(count, 1);
        for unknown in ["4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11", "not-an-id"] {
            let (status, text) = service.undo(unknown);
            assert_eq!(status, 404, "{text}");
            assert!(
                text.contains("price sheet") || unknown == "not-an-id",
                "{text}"
            );
        }
    });
}

#[test]
fn a_withdrawal_that_is_undone_leaves_a_price_in_force_since_alone() {
    on_each_database_blocking(|database| {
        let service = Service::start(database);
        let first = service.sees(&priced("2"), "?observed_at=2026-06-01T00:00:00Z");
        service.withdraw(&first);
        let second = service.sees(&priced("3"), "");
        assert_eq!(service.undo(&first).0, 204);
        let rows = service.history();
        let prices: Vec<&Value> = rows.iter().map(|row| &row["input_per_mtok"]).collect();
        assert_eq!(prices, [2.0, 3.0]);
        assert_eq!(rows[0]["valid_to"], rows[1]["valid_from"]);
        assert_eq!(rows[0]["withdrawn_at"], Value::Null);
        // Without the other price, the first one holds still.
        service.withdraw(&second);
        assert_eq!(service.in_force(), 1);
        assert_eq!(service.history().last().unwrap()["input_per_mtok"], 2.0);
    });
}
