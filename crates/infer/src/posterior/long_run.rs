//! The sampler against a long run that fits nothing: pseudo-random draws of the prior, weighted by the likelihood alone.

use std::fs;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::draw::Proposed;
use super::placing::Placer;
use super::sobol::Point;
use super::weights::effective_sample_size;
use super::{EFFECTIVE_DRAWS, Prior, sample, summarize};
use crate::clue;
use crate::estimate::quantities::JointQuantity;
use crate::estimate::{Format, Request, read_request};
use crate::evidence::likelihood::Likelihood;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

/// Draws of each class of models.
const PER_CLASS: usize = 12_000;
const COMPARED: [JointQuantity; 6] = [
    JointQuantity::ActiveParameters,
    JointQuantity::TotalParameters,
    JointQuantity::KvBytesRead,
    JointQuantity::KvBytesStored,
    JointQuantity::BatchOverOptimal,
    JointQuantity::CostOutput,
];

/// The example sheets, and those of the benchmarks.
fn requests() -> Vec<(String, Request)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<_> = fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let [rich, plain, fixed] = ["rich_sheet", "plain_sheet", "fixed_machine"]
        .map(|name| root.join(format!("benches/{name}.json")));
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let stated = format!(
        r#"{{"price_sheet": {}, "assumptions": {}}}"#,
        text(&rich),
        text(&fixed)
    );
    files.extend([rich, plain]);
    let texts = files
        .iter()
        .map(|path| (path.display().to_string(), text(path)))
        .chain([("stated".to_owned(), stated)]);
    texts
        .map(|(name, text)| {
            let request = read_request(text.as_bytes(), &Format::Canonical).unwrap();
            (name, request)
        })
        .collect()
}

fn random_point(random: &mut Xoshiro256PlusPlus) -> Point {
    let mut normal = || StandardNormal.sample(&mut *random);
    Point {
        normal: std::array::from_fn(|_| normal()),
        utilisation: normal(),
        rental: normal(),
        decode_error: normal(),
        prefill_error: normal(),
        cached: normal(),
        machines: std::array::from_fn(|_| random.random()),
    }
}

/// Logarithms of the compared quantities, with their weights.
fn long_run(
    prior: &Prior,
    terms: &[Box<dyn Likelihood>],
) -> (Vec<[f64; COMPARED.len()]>, Vec<f64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20_261_125);
    let (mut logs, mut weights) = (Vec::new(), Vec::new());
    for (index, class) in prior.classes.iter().enumerate() {
        let mut placer = Placer::new(prior, index, true);
        for number in 0..PER_CLASS {
            let point = random_point(&mut random);
            let (log_share, gaussian) = &class.mixture[number % class.mixture.len()];
            let proposed = Proposed {
                values: class.values(&gaussian.draw(&point.normal, 1.0)),
                point: &point,
                log_prior_over_proposal: 0.0,
            };
            let draw = placer.place(&[proposed])[0];
            if !draw.is_possible {
                continue;
            }
            let unknowns = draw.unknowns(prior, class);
            let likelihood: f64 = terms
                .iter()
                .map(|term| term.likelihood(&unknowns))
                .product();
            weights.push((class.log_share + log_share).exp() * likelihood);
            logs.push(COMPARED.map(|quantity| quantity.log_value(&unknowns)));
        }
    }
    (logs, weights)
}

#[test]
fn medians_of_twenty_sheets_are_those_of_a_long_run_of_another_method() {
    let calibration = Calibration::shipped();
    let requests = requests();
    assert!(requests.len() >= 20, "{}", requests.len());
    let mut apart = Vec::new();
    for (name, request) in requests {
        let contents: Vec<_> = (request.sheets.iter())
            .map(PriceSheet::pricing_content)
            .collect();
        let terms = clue::observed(&contents, &request.assumptions, calibration);
        let prior = Prior::of_sheets(calibration, &request.assumptions, &contents);
        let posterior = sample(&prior, &terms, EFFECTIVE_DRAWS);
        let (logs, weights) = long_run(&prior, &terms);
        let effective = effective_sample_size(&weights);
        assert!(effective > 100.0, "{name}: {effective}");
        // A median is off by so much probability.
        let error = 0.5 * (1.0 / effective + 1.0 / posterior.effective_sample_size).sqrt();
        let all: f64 = weights.iter().sum();
        for (place, quantity) in COMPARED.into_iter().enumerate() {
            let own = posterior.draws.iter().map(|draw| quantity.log_value(&draw));
            let median = summarize(own, posterior.draws.weights()).median().ln();
            let below: f64 = logs
                .iter()
                .zip(&weights)
                .filter(|(logs, _)| logs[place] < median)
                .map(|(_, weight)| weight)
                .sum();
            let errors = (below / all - 0.5) / error;
            if errors.abs() > 3.0 {
                apart.push(format!("{name}: {} by {errors:.1}", quantity.name()));
            }
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}
