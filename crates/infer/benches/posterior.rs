//! Time of an answer: the whole posterior on one core, by component.
//!
//! `cargo bench -p unroof-infer --bench posterior` measures these calls, each on three questions:
//!
//! | call | what is measured |
//! |---|---|
//! | `read` | text of the request to sheet and assumptions |
//! | `prior` | `Prior::new`: the calibrated prior with what is stated, before any draw |
//! | `prior_draws` | `sample_prior`: the draws of the prior shown with the answer |
//! | `sample` | `posterior::sample` alone: proposals fitted, all draws made and weighted, the tail of the weights |
//! | `estimate` | `joint::estimate`: prior and terms made, prior and posterior drawn, all quantities, what moved them, misfit, storage tiers, nearest models; the readings are given |
//! | `infer` | `estimate::infer`: readings, the joint estimate, conflicts, ids |
//! | `serialise` | the answer to its text |
//! | `text_to_text` | `read`, `infer` and `serialise` in one: what a request costs without HTTP and storage |
//! | `density` | as many draws as `sample` makes effective, from the prior, each placed and weighed once, one after the other: what `sample` would take if every draw were effective and proposals cost nothing |
//!
//! | question | what is asked |
//! |---|---|
//! | `rich` | `benches/rich_sheet.json`, nothing stated: two context tiers, three service tiers, two cache lifetimes, a longest context |
//! | `rich_fixed_machine` | the same with `benches/fixed_machine.json` stated: the density that `benches/rivals/` sample too |
//! | `plain` | `benches/plain_sheet.json`: an input and an output price, nothing stated |
//!
//! All are calls after the first: points, reference data and calibration are made once per process. What that takes is
//! printed before the times, with the effective sample size of every question and the medians to compare with `benches/rivals/`.

#![expect(clippy::print_stdout, reason = "a benchmark says what it found")]

use std::sync::LazyLock;
use std::time::Instant;

use divan::Bencher;
use unroof_infer::clue;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::{Answer, CancelToken, Format, Request, infer, read_request};
use unroof_infer::evidence::likelihood::Observed;
use unroof_infer::evidence::reading::Reading;
use unroof_infer::evidence::unknowns::Unknowns;
use unroof_infer::joint;
use unroof_infer::posterior::{
    EFFECTIVE_DRAWS, PRIOR_DRAWS, Prior, sample, sample_prior, summarize,
};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

const RICH: &str = include_str!("../../../benches/rich_sheet.json");
const PLAIN: &str = include_str!("../../../benches/plain_sheet.json");
const FIXED_MACHINE: &str = include_str!("../../../benches/fixed_machine.json");

const QUESTIONS: [&str; 3] = ["rich", "rich_fixed_machine", "plain"];
const COMPARED: [JointQuantity; 5] = [
    JointQuantity::ActiveParameters,
    JointQuantity::TotalParameters,
    JointQuantity::KvBytesRead,
    JointQuantity::KvBytesStored,
    JointQuantity::BatchOverOptimal,
];

/// A request with the inputs of the measured calls.
struct Question {
    text: String,
    request: Request,
    contents: Vec<PriceSheet>,
    readings: Vec<Reading>,
    terms: Observed,
    prior: Prior,
    answer: Answer,
}

static RICH_QUESTION: LazyLock<Question> = LazyLock::new(|| Question::new(RICH.to_owned()));
static FIXED_QUESTION: LazyLock<Question> = LazyLock::new(|| {
    Question::new(format!(
        r#"{{"price_sheet": {RICH}, "assumptions": {FIXED_MACHINE}}}"#
    ))
});
static PLAIN_QUESTION: LazyLock<Question> = LazyLock::new(|| Question::new(PLAIN.to_owned()));

impl Question {
    fn new(text: String) -> Self {
        let calibration = Calibration::shipped();
        let request = read(&text);
        let contents: Vec<PriceSheet> = request
            .sheets
            .iter()
            .map(PriceSheet::pricing_content)
            .collect();
        let assumptions = &request.assumptions;
        Self {
            readings: contents
                .iter()
                .flat_map(|sheet| clue::readings(sheet, assumptions))
                .collect(),
            terms: clue::observed(&contents, assumptions, calibration),
            prior: Prior::new(calibration, assumptions),
            answer: infer(&request),
            contents,
            request,
            text,
        }
    }

    fn named(name: &str) -> &'static Self {
        match name {
            "rich" => &RICH_QUESTION,
            "rich_fixed_machine" => &FIXED_QUESTION,
            _ => &PLAIN_QUESTION,
        }
    }

    fn estimate(&self) -> joint::Joint {
        joint::estimate(
            &self.contents,
            &self.readings,
            &self.request.assumptions,
            Calibration::shipped(),
            &CancelToken::default(),
        )
        .expect("the token is never cancelled")
    }
}

fn read(text: &str) -> Request {
    read_request(text.as_bytes(), &Format::Canonical).unwrap_or_else(|error| panic!("{error:?}"))
}

fn serialise(answer: &Answer) -> String {
    serde_json::to_string(answer).unwrap_or_else(|error| panic!("{error}"))
}

fn main() {
    let start = Instant::now();
    let first = infer(&read(RICH));
    println!(
        "first answer of a process: {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    drop(first);
    for name in QUESTIONS {
        describe(name);
    }
    divan::main();
}

/// Quality and location of a posterior.
fn describe(name: &str) {
    let question = Question::named(name);
    let posterior = sample(&question.prior, &question.terms, EFFECTIVE_DRAWS);
    println!(
        "{name}: {} draws, effective sample size {:.0}, Pareto k {:.2}",
        posterior.draws.len(),
        posterior.effective_sample_size,
        posterior.pareto_k
    );
    for quantity in COMPARED {
        let logs = posterior
            .draws
            .iter()
            .map(|unknowns| quantity.log_value(&unknowns));
        let summary = summarize(logs, posterior.draws.weights());
        let interval = summary.interval_90();
        println!(
            "  {:<30} {:>11.4e}  90 % {:.3e} to {:.3e}",
            quantity.name(),
            summary.median(),
            interval.low,
            interval.high
        );
    }
    let draws = posterior.draws.iter().zip(posterior.draws.weights());
    let dense: f64 = draws
        .filter(|(unknowns, _)| unknowns.is_dense)
        .map(|(_, weight)| weight)
        .sum();
    println!("  {:<30} {dense:>11.4}", "probability of a dense model");
}

#[divan::bench(name = "1 read", args = QUESTIONS)]
fn reading(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| read(divan::black_box(&question.text)));
}

#[divan::bench(name = "2 prior", args = QUESTIONS)]
fn prior(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| {
        Prior::new(
            Calibration::shipped(),
            divan::black_box(&question.request.assumptions),
        )
    });
}

#[divan::bench(name = "3 prior_draws", args = QUESTIONS)]
fn prior_draws(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| sample_prior(divan::black_box(&question.prior), PRIOR_DRAWS));
}

#[divan::bench(name = "4 sample", args = QUESTIONS)]
fn sampling(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| {
        sample(
            divan::black_box(&question.prior),
            &question.terms,
            EFFECTIVE_DRAWS,
        )
    });
}

#[divan::bench(name = "5 estimate", args = QUESTIONS)]
fn estimating(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| divan::black_box(question).estimate());
}

#[divan::bench(name = "6 infer", args = QUESTIONS)]
fn inferring(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| infer(divan::black_box(&question.request)));
}

#[divan::bench(name = "7 serialise", args = QUESTIONS)]
fn serialising(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| serialise(divan::black_box(&question.answer)));
}

#[divan::bench(name = "8 text_to_text", args = QUESTIONS)]
fn whole(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    bencher.bench_local(|| serialise(&infer(&read(divan::black_box(&question.text)))));
}

#[divan::bench(name = "9 density", args = QUESTIONS)]
fn density(bencher: Bencher<'_, '_>, name: &str) {
    let question = Question::named(name);
    let likelihood = |unknowns: Unknowns<'_>| -> f64 {
        let terms = question.terms.iter();
        terms.map(|term| term.likelihood(&unknowns)).product()
    };
    bencher.bench_local(|| {
        let draws = sample_prior(divan::black_box(&question.prior), EFFECTIVE_DRAWS);
        let weighed = draws.iter().zip(draws.weights());
        let possible = weighed.filter(|(_, weight)| **weight > 0.0);
        possible
            .map(|(unknowns, weight)| weight * likelihood(unknowns))
            .sum::<f64>()
    });
}
