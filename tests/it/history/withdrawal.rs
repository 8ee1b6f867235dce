//! Prices that are withdrawn, with the reason.

use serde_json::{Value, json};

use super::{from, history, priced, seen, written};
use crate::support::{Api, TestDatabase, on_each_database};

async fn withdraw(api: &Api, id: &str) -> crate::support::Reply {
    let body = json!({"reason": "the rise was called off"});
    api.post(&format!("/price-sheets/{id}/withdraw"), body.to_string())
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rise_that_is_called_off_never_comes_and_its_reason_is_kept() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        seen(&api, &priced("2"), "2026-06-01T00:00:00Z").await;
        let rise = from(priced("3"), "2027-01-01T00:00:00Z");
        let announced = seen(&api, &rise, "2026-07-01T00:00:00Z").await;
        let reply = withdraw(&api, &announced).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["reason"], "the rise was called off");
        let rows = history(&api).await;
        assert_eq!(
            written(&rows),
            ["2.0 2026-06-01..", "3.0 2027-01-01..2027-01-01"]
        );
        assert_eq!(rows[1]["withdrawn_because"], "the rise was called off");
        assert_eq!(rows[1]["withdrawn_at"], reply.json()["withdrawn_at"]);
        let then = api
            .get("/price-sheets?as_of=2027-06-01T00:00:00Z")
            .await
            .rows();
        assert_eq!(then[0]["input_per_mtok"], 2.0);
        // Again, it changes nothing; and a catalog that still lists it does not bring it back.
        let again = withdraw(&api, &announced).await;
        assert_eq!(again.json(), reply.json());
        seen(&api, &rise, "2026-08-01T00:00:00Z").await;
        assert_eq!(written(&history(&api).await).len(), 2);
        let kinds = api.get("/changes").await.rows();
        let kinds: Vec<&str> = kinds
            .iter()
            .map(|row| row["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["offer.added", "price.scheduled", "sheet.withdrawn"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_in_force_that_is_withdrawn_gives_way_to_the_one_before_and_one_that_is_over_cannot_be()
 {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let first = seen(&api, &priced("1"), "2026-03-01T00:00:00Z").await;
        let second = seen(&api, &priced("2"), "2026-06-01T00:00:00Z").await;
        withdraw(&api, &first).await.problem(409);
        assert_eq!(withdraw(&api, &second).await.status, 200);
        assert_eq!(
            written(&history(&api).await)[1],
            "2.0 2026-06-01..2026-11-21"
        );
        // What held before holds again.
        assert!(written(&history(&api).await)[2].starts_with("1.0 2026-11-21.."));
        assert_eq!(api.get("/estimates/latest").await.rows().len(), 1);
        assert_eq!(
            api.get("/price-sheets?as_of=2026-07-01T00:00:00Z")
                .await
                .rows()
                .len(),
            1
        );
        withdraw(&api, "4b1de30e-3e1f-8f62-a27c-9a1f7d0c5a11")
            .await
            .problem(404);
        withdraw(&api, "not-an-id").await.problem(404);
        let path = format!("/price-sheets/{second}/withdraw");
        for wrong in [
            json!({}),
            json!({"reason": 3}),
            json!({"reason": ""}),
            json!({"reason": "a", "why": "b"}),
            json!([]),
        ] {
            api.post(&path, wrong.to_string()).await.problem(422);
        }
        let _: Value = api.post(&path, "{").await.problem(400);
    })
    .await;
}
