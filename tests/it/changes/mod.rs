//! Changes as a list, as a stream and by webhook.

pub(crate) mod client;
mod filter;
mod list;
mod lock;
mod replicas;
mod stream;
pub(crate) mod webhooks;

use jiff::Timestamp;
use unroof_infer::estimate::{Format, infer, read_request};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::{EstimateRecord, ObservedBy, Recording, Store};

use crate::support::{NOW, sheet_of};

/// Recordings of models that are not there yet, a change each.
pub(crate) struct Prepared(Recording);

impl Prepared {
    /// The answer is computed once: who records hundreds of sheets does not wait for each.
    pub(crate) fn new() -> Self {
        let text = sheet_of("prepared").to_string();
        let request = read_request(text.as_bytes(), &Format::Canonical).unwrap();
        let answer = infer(&request);
        let document = serde_json::to_string(&answer).unwrap();
        let observed_at: Timestamp = NOW.parse().unwrap();
        let mut recording = Recording::new(request.sheets[0].clone(), observed_at, answer.id);
        recording.observed_by = Some(ObservedBy::post(true));
        recording.estimate = Some(EstimateRecord::new(&answer, document));
        Self(recording)
    }

    pub(crate) fn of(&self, model: &str) -> Recording {
        let mut sheet = self.0.sheet.clone();
        model.clone_into(&mut sheet.model);
        self.with(sheet)
    }

    pub(crate) fn with(&self, sheet: PriceSheet) -> Recording {
        let prepared = self.0.clone();
        Recording {
            canonical_model: prepared.canonical_model,
            observed_by: prepared.observed_by,
            estimate: prepared.estimate,
            ..Recording::new(sheet, prepared.observed_at, prepared.estimate_id)
        }
    }

    /// Records models in one transaction, again and again until it is done.
    pub(crate) async fn record(&self, store: &Store, models: &[String]) {
        let recordings: Vec<Recording> = models.iter().map(|model| self.of(model)).collect();
        for _ in 0..1_000 {
            match store.record(&recordings).await {
                Ok(_) => return,
                Err(error) if error.is_temporary() => {}
                Err(error) => panic!("{}", error.with_causes()),
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("never recorded");
    }
}

/// Names of numbered models.
pub(crate) fn models(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("m-{number:04}")).collect()
}
