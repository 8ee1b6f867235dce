//! Ready estimates into a database, batch by batch, as an import records them: how many a second are durable.
//!
//! `scripts/bench recording-sqlite recording-postgres` runs it next to plain inserts of the same rows. Arguments: the database,
//! the number of estimates, and how many are recorded at once.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;
use tikv_jemallocator::Jemalloc;
use unroof_infer::estimate::{Format, infer, read_request};
use unroof_store::{EstimateRecord, ObservedBy, Recording, Store, StoreLimits};
use uuid::Uuid;

/// Allocator of the program.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const SHEET: &str = include_str!("rich_sheet.json");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, count, batch] = arguments.as_slice() else {
        println!("skipped: scripts/bench runs this next to plain inserts");
        return;
    };
    let recordings = recordings(count.parse().unwrap());
    let batch = batch.parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let url = database.parse().unwrap();
        let store = Store::open(&url, StoreLimits::without_timeouts());
        let store = store.await.unwrap();
        store.migrate().await.unwrap();
        let began = Instant::now();
        for some in recordings.chunks(batch) {
            store.record(some).await.unwrap();
        }
        let rate =
            f64::from(u32::try_from(recordings.len()).unwrap()) / began.elapsed().as_secs_f64();
        println!("{rate:.1} estimates a second");
        store.close().await;
    });
}

/// Recordings of different models, each with an estimate of its own.
fn recordings(count: usize) -> Vec<Recording> {
    let mut sheet: Value = serde_json::from_str(SHEET).unwrap();
    let answer = infer(&read_request(SHEET.as_bytes(), &Format::Canonical).unwrap());
    let estimate = EstimateRecord::new(&answer, serde_json::to_string(&answer).unwrap());
    #[expect(clippy::disallowed_methods, reason = "the service has this clock")]
    let now = Timestamp::now();
    let recording = |number: usize| {
        sheet["model"] = format!("model-{number}").into();
        let request = read_request(sheet.to_string().as_bytes(), &Format::Canonical).unwrap();
        let mut estimate = estimate.clone();
        estimate.id = Uuid::new_v4();
        let mut recording = Recording::new(request.sheets[0].clone(), now, estimate.id);
        recording.observed_by = Some(ObservedBy::post(true));
        recording.estimate = Some(estimate);
        recording
    };
    (0..count).map(recording).collect()
}
