//! The store, on both databases.

mod backup;
mod check;
mod damage;
mod expiry;
mod lists;
mod migrate;
mod newer;
mod plans;
mod save;

use serde_json::Value;
use unroof_infer::estimate::{Answer, Format, Request, infer, read_request};
use unroof_store::{
    AsOf, EstimateRow, Latest, NewEstimate, ObservedBy, Order, Saved, Selection, SortKey, Store,
    Times,
};
use uuid::Uuid;

use crate::support::NOW;

/// A question with its answer.
struct Question {
    request: Request,
    answer: Answer,
    document: String,
}

impl Question {
    fn new(body: &Value) -> Self {
        let request = read_request(body.to_string().as_bytes(), &Format::Canonical).unwrap();
        let answer = infer(&request);
        let document = serde_json::to_string(&answer).unwrap();
        Self {
            request,
            answer,
            document,
        }
    }

    fn sheet_id(&self) -> Uuid {
        self.request.sheets[0].id().0
    }

    fn estimate_at(&self, observed_at: &str) -> NewEstimate<'_> {
        NewEstimate {
            answer: &self.answer,
            document: &self.document,
            sheets: &self.request.sheets,
            observed_at: observed_at.parse().unwrap(),
            recorded_at: observed_at.parse().unwrap(),
            observed_by: self
                .answer
                .assumptions
                .is_empty()
                .then(|| ObservedBy::post(true)),
            waits_for_others: false,
        }
    }

    async fn save_at(&self, store: &Store, observed_at: &str) -> Saved {
        store.save(self.estimate_at(observed_at)).await.unwrap()
    }

    async fn save(&self, store: &Store) -> Saved {
        self.save_at(store, NOW).await
    }
}

/// The latest estimates at a time when all that is stored here is in force.
fn latest_of(selection: &Selection) -> Latest<'_> {
    let time: jiff::Timestamp = "2027-06-01T00:00:00Z".parse().unwrap();
    Latest {
        selection,
        as_of: AsOf::Time(time.into()),
        order: Order {
            by: SortKey::Provider,
            is_descending: false,
        },
    }
}

async fn all_estimates(store: &Store) -> Vec<EstimateRow> {
    store
        .estimates(
            &Selection::default(),
            &Times::default(),
            Order::NEWEST,
            None,
            10_000,
        )
        .await
        .unwrap()
}
