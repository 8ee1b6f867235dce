//! The market page with 20,000 offers of 2,500 models: how long the service takes for it the first time after a change and
//! the next times, and what the page and its files weigh as they are sent.
//!
//! `cargo bench --bench market`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it cannot"
)]

#[expect(dead_code, reason = "other benches use more of it")]
mod service;

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use unroof_infer::estimate::{ENGINE_VERSION, Format, infer, read_request};
use unroof_roofline::reference::calibration::Calibration;
use unroof_store::{
    Document, DueModel, EstimateRecord, ModelOutcome, ModelRecord, NewModelEstimate, ObservedBy,
    Recording, Store, StoreLimits,
};
use uuid::Uuid;

use service::Process;

const MODELS: usize = 2_500;
const HOSTS: usize = 8;
const AUTHORS: usize = 60;
/// Rows of one transaction.
const AT_ONCE: usize = 500;
const STARTS: usize = 7;
const RUNS: usize = 21;
/// Longest time of the page.
const LONGEST: Duration = Duration::from_millis(200);
/// Most bytes of the page and its files, compressed.
const HEAVIEST: usize = 150_000;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("market.db");
    let began = Instant::now();
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(fill(&file));
    println!(
        "{} offers of {MODELS} models stored in {:.0} s",
        MODELS * HOSTS,
        began.elapsed().as_secs_f64()
    );
    let start = || Process::service(&format!("sqlite:{}", file.display()));
    let mut started: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let (_service, address) = start();
            fetch(&format!("{address}/ui/")).0
        })
        .collect();
    let (_service, address) = start();
    let get = |path: &str| fetch(&format!("{address}{path}"));
    let mut changed: Vec<Duration> = (0..RUNS)
        .map(|number| {
            change(&address, number);
            get("/ui/").0
        })
        .collect();
    let mut other: Vec<Duration> = (0..RUNS)
        .map(|number| get(&format!("/ui/?page={}", number + 2)).0)
        .collect();
    let (_, page) = get("/ui/");
    let files: usize = files(&address).iter().map(|path| get(path).1).sum();
    println!(
        "first page after the start {:.1?} (slowest {:.1?}), median of {STARTS}; after a change {:.1?} (slowest {:.1?}), another page of it {:.1?}, medians of {RUNS}",
        median(&mut started),
        started[STARTS - 1],
        median(&mut changed),
        changed[RUNS - 1],
        median(&mut other),
    );
    println!("{page} bytes compressed, and {files} of style sheet, script and icon");
    assert!(median(&mut changed) < LONGEST, "longer than {LONGEST:?}");
    assert!(page + files < HEAVIEST, "heavier than {HEAVIEST} bytes");
}

/// Time of a request, and the bytes of the answer as they are sent.
fn fetch(url: &str) -> (Duration, usize) {
    let began = Instant::now();
    let mut answer = ureq::get(url)
        .header("accept-encoding", "gzip")
        .call()
        .unwrap();
    let body = answer.body_mut().read_to_vec().unwrap();
    (began.elapsed(), body.len())
}

/// The files that the page loads.
fn files(address: &str) -> Vec<String> {
    let mut answer = ureq::get(format!("{address}/ui/")).call().unwrap();
    let page = answer.body_mut().read_to_string().unwrap();
    let quoted = page
        .split('"')
        .filter(|part| part.starts_with("/ui/assets/"));
    quoted.map(str::to_owned).collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Stores another price, after which every page is written again.
fn change(address: &str, number: usize) {
    let sheet = sheet(0, 0, 100 + number);
    let answer = ureq::post(format!("{address}/infer"))
        .header("content-type", "application/json")
        .send(sheet.to_string());
    assert!(answer.unwrap().status().is_success());
}

fn model_name(model: usize) -> String {
    format!(
        "author-{}/model-{model}-{}b",
        model % AUTHORS,
        1 + model * 7 % 400
    )
}

/// The sheet of a host; `change` is the number of the price.
fn sheet(model: usize, host: usize, change: usize) -> Value {
    let spread = 1 + (model * 31 + host * 17 + change * 5) % 400;
    let (input, output) = (
        format!("{}.{:02}", spread / 100, spread % 100),
        format!("{}.{:02}", spread / 25, spread % 100),
    );
    let name = model_name(model);
    json!({
        "schema": "pricesheet/v1", "provider": format!("host-{host}"), "model": name, "canonical_model": name,
        "currency": "USD", "unit": "per_1m_tokens", "rates": [{"input": input, "output": output}],
        "sources": [{"url": "https://host.example/prices", "format": "official"}],
    })
}

/// Fills a database through the store: a quarter of the prices changed a month ago, and every model has an estimate.
async fn fill(file: &Path) {
    let url = format!("sqlite:{}", file.display()).parse().unwrap();
    let store = Store::open(&url, StoreLimits::default()).await.unwrap();
    store.migrate().await.unwrap();
    let text = sheet(0, 0, 0).to_string();
    let request = read_request(text.as_bytes(), &Format::Canonical).unwrap();
    let answer = infer(&request);
    let estimate = EstimateRecord::new(&answer, serde_json::to_string(&answer).unwrap());
    #[expect(clippy::disallowed_methods, reason = "the service has this clock")]
    let now = Timestamp::now();
    for (days, change, every) in [(60, 0, 1), (30, 1, 4)] {
        let seen = now - SignedDuration::from_hours(24 * days);
        let offers: Vec<(usize, usize)> = (0..MODELS)
            .flat_map(|model| (0..HOSTS).map(move |host| (model, host)))
            .collect();
        let offers: Vec<_> = offers.into_iter().step_by(every).collect();
        for some in offers.chunks(AT_ONCE) {
            let record = |(model, host): &(usize, usize)| {
                recording(&sheet(*model, *host, change), seen, &estimate)
            };
            store
                .record(&some.iter().map(record).collect::<Vec<_>>())
                .await
                .unwrap();
        }
    }
    let numbers: Map<String, Value> = serde_json::from_str(&estimate.numbers).unwrap();
    let mut count: u32 = 0;
    loop {
        let due = store
            .due_models(u32::try_from(AT_ONCE).unwrap())
            .await
            .unwrap();
        if due.is_empty() {
            break;
        }
        let records: Vec<ModelRecord> = due
            .into_iter()
            .map(|due| {
                count += 1;
                estimated(due, &numbers, count, now)
            })
            .collect();
        store.record_models(&records).await.unwrap();
    }
    store.close().await;
}

fn recording(sheet: &Value, seen: Timestamp, estimate: &EstimateRecord) -> Recording {
    let request = read_request(sheet.to_string().as_bytes(), &Format::Canonical).unwrap();
    let mut recording = Recording::new(request.sheets[0].clone(), seen, estimate.id);
    recording.observed_by = Some(ObservedBy::post(true));
    recording.estimate = Some(estimate.clone());
    recording
}

/// An estimate of a model: numbers of its own, and a document that the page does not read.
fn estimated(
    due: DueModel,
    numbers: &Map<String, Value>,
    count: u32,
    now: Timestamp,
) -> ModelRecord {
    let factor = 0.2 + f64::from(count * 37 % 1_000) / 100.0;
    let scaled = |value: &Value| {
        value
            .as_f64()
            .map_or_else(|| value.clone(), |number| json!(number * factor))
    };
    let row: Map<String, Value> = numbers
        .iter()
        .map(|(name, value)| (name.clone(), scaled(value)))
        .collect();
    let author = due.canonical_model.split('/').next().unwrap().to_owned();
    ModelRecord {
        due,
        outcome: ModelOutcome::Estimated(Box::new(NewModelEstimate {
            record: EstimateRecord {
                id: Uuid::new_v4(),
                engine_version: ENGINE_VERSION,
                readings_defined: 0,
                conflicts: 0,
                is_misfit: false,
                numbers: Value::Object(row).to_string(),
                document: Document::new("{}".to_owned()),
            },
            author,
            // Of another one, the service would estimate all models again while it is measured.
            calibration_id: Calibration::shipped().id(),
            sheets: i64::try_from(HOSTS).unwrap(),
            used: Vec::new(),
            decisions: i64::try_from(HOSTS).unwrap(),
            observed_at: now.into(),
            news: None,
        })),
    }
}
