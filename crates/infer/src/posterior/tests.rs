//! The sampler against other samplers of the same density.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use wide::f64x4;

use super::*;
use crate::clue;
use crate::estimate::quantities::JointQuantity;
use crate::estimate::{Format, read_request};
use crate::evidence::assumptions::Assumptions;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::Likelihood;
use crate::evidence::unknowns::{Running, Unknowns};
use crate::posterior::draw::{Draw, Proposed};
use crate::posterior::gaussian::UNKNOWNS;
use crate::posterior::placing::{BLOCK, Placer};
use crate::posterior::prior::exists;
use crate::posterior::sobol::{Point, points};
use unroof_base::units::number::Number;
use unroof_roofline::reference::calibration::Calibration;

/// Every kind of clue, on a machine that is known.
const QUESTION: &str = r#"{
    "price_sheet": {
        "schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD", "unit": "per_1m_tokens",
        "limits": {"context": 262144},
        "service_tiers": {"fast": {"speed_multiplier": {"value": "2.5", "metric": "output_tokens_per_second"}}},
        "rates": [
            {"input": "1.2", "output": "6", "cache_storage_per_hour": "0.5"},
            {"context_tier": {"min_prompt_tokens": 128000}, "input": "2.4", "output": "9"},
            {"service_tier": "fast", "input": "6", "output": "24"}
        ],
        "sources": [{"url": "https://acme.example", "format": "official"}]
    },
    "assumptions": {"accelerator": "h200-sxm", "chips": 64, "weight_bytes_per_parameter": 1, "kv_bytes_per_element": 1}
}"#;

fn question() -> (Vec<Box<dyn Likelihood>>, Prior) {
    let request = read_request(QUESTION.as_bytes(), &Format::Canonical).unwrap();
    let contents = [request.sheets[0].pricing_content()];
    let calibration = Calibration::shipped();
    let terms = clue::observed(&contents, &request.assumptions, calibration);
    assert_eq!(terms.len(), 6, "one term per clue");
    (terms, Prior::new(calibration, &request.assumptions))
}

/// Mean and standard deviation of the unknowns by a random walk.
fn random_walk(prior: &Prior, terms: &[Box<dyn Likelihood>], steps: u32) -> [(f64, f64); UNKNOWNS] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1_953);
    let class = &prior.classes[0];
    let machine = prior.machine(0);
    let log_density = |point: &[f64; UNKNOWNS]| {
        let unknowns = class.unknowns(&class.values(point), machine);
        let is_placed = || {
            let placed = unknowns.placed(prior.rest_of(0, 0.5), prior.is_for_users());
            placed.is_some()
        };
        if !(exists(&unknowns) && is_placed()) {
            return f64::NEG_INFINITY;
        }
        let likelihood: f64 = terms
            .iter()
            .map(|term| term.likelihood(&unknowns))
            .product();
        class.log_density(point) + likelihood.ln()
    };
    let middle = &class.mixture[1].1;
    let mut point = middle.draw(&[0.0; UNKNOWNS], 1.0);
    let mut density = log_density(&point);
    let mut sums = [(0.0, 0.0); UNKNOWNS];
    let settled = steps / 10;
    for step in 0..steps {
        let normals = std::array::from_fn(|_| StandardNormal.sample(&mut random));
        let ahead = middle.draw(&normals, 0.5);
        let origin = middle.draw(&[0.0; UNKNOWNS], 1.0);
        let proposed = std::array::from_fn(|index| point[index] + ahead[index] - origin[index]);
        let proposed_density = log_density(&proposed);
        if random.random::<f64>().ln() < proposed_density - density {
            (point, density) = (proposed, proposed_density);
        }
        if step >= settled {
            for (sum, value) in sums.iter_mut().zip(class.values(&point)) {
                sum.0 += value;
                sum.1 += value * value;
            }
        }
    }
    let kept = f64::from(steps - settled);
    sums.map(|(first, second)| {
        (
            first / kept,
            (second / kept - (first / kept).powi(2)).sqrt(),
        )
    })
}

#[test]
fn a_random_walk_over_the_same_density_finds_the_same() {
    let (terms, mut prior) = question();
    let mixture = prior.classes.iter().position(|class| !class.is_dense);
    let mixture = prior
        .classes
        .swap_remove(mixture.expect("a class of mixtures"));
    prior.classes = vec![mixture];
    let posterior = sample(&prior, &terms, EFFECTIVE_DRAWS);
    let walked = random_walk(&prior, &terms, 400_000);
    let in_order = [
        JointQuantity::ActiveParameters,
        JointQuantity::TotalParameters,
        JointQuantity::KvBytesRead,
        JointQuantity::KvBytesStored,
        JointQuantity::BatchOverOptimal,
    ];
    let own: Vec<Summary> = in_order
        .iter()
        .map(|quantity| {
            summarize(
                posterior.draws.iter().map(|draw| quantity.log_value(&draw)),
                posterior.draws.weights(),
            )
        })
        .collect();
    // The walk forgets where it was in about a hundred steps: 4,000 independent draws, whose mean is known to 1/60 of a
    // standard deviation.
    for ((mean, sd), own) in walked.iter().zip(&own) {
        assert!(
            (mean - own.log_mean).abs() < 0.07 * sd,
            "{mean} and {}",
            own.log_mean
        );
        assert!(
            (sd / own.log_sd).ln().abs() < 0.06,
            "{sd} and {}",
            own.log_sd
        );
    }
}

#[test]
fn draws_from_the_prior_that_are_weighted_alone_find_the_same() {
    let (terms, prior) = question();
    let posterior = sample(&prior, &terms, EFFECTIVE_DRAWS);
    let draws = sample_prior(&prior, sobol::MOST_POINTS);
    let likelihoods = draws.iter().map(|draw| {
        terms
            .iter()
            .map(|term| term.likelihood(&draw))
            .product::<f64>()
    });
    let weights: Vec<f64> = likelihoods
        .zip(draws.weights())
        .map(|(likelihood, weight)| likelihood * weight)
        .collect();
    let effective = weights::effective_sample_size(&weights);
    assert!(effective > 300.0, "{effective}");
    let by_prior = summarize(
        draws
            .iter()
            .map(|draw| JointQuantity::ActiveParameters.log_value(&draw)),
        &weights,
    );
    let own = summarize(
        posterior
            .draws
            .iter()
            .map(|draw| JointQuantity::ActiveParameters.log_value(&draw)),
        posterior.draws.weights(),
    );
    let noise = 4.0 * own.log_sd / effective.sqrt();
    assert!(
        (by_prior.log_mean - own.log_mean).abs() < noise,
        "{} and {}",
        by_prior.log_mean,
        own.log_mean
    );
    let dense = |draws: &Draws<'_>, weights: &[f64]| -> f64 {
        let all: f64 = weights.iter().sum();
        draws
            .iter()
            .zip(weights)
            .filter(|(draw, _)| draw.is_dense)
            .map(|(_, weight)| weight / all)
            .sum()
    };
    let (walked, sampled) = (
        dense(&draws, &weights),
        dense(&posterior.draws, posterior.draws.weights()),
    );
    assert!(
        (walked - sampled).abs() < 4.0 * 0.5 / effective.sqrt(),
        "{walked} and {sampled}"
    );
}

#[test]
fn a_term_that_is_the_same_everywhere_changes_nothing() {
    struct Silence;
    impl Likelihood for Silence {
        fn parts(&self) -> &[ClueKind] {
            &[ClueKind::PriceLevel]
        }
        fn likelihood(&self, _: &Unknowns<'_>) -> f64 {
            1e-9
        }
        fn tail_probability(&self, _: usize, _: &Unknowns<'_>) -> f64 {
            1.0
        }
    }
    let (mut terms, prior) = question();
    let without = sample(&prior, &terms, 2_000);
    terms.push(Box::new(Silence));
    let with = sample(&prior, &terms, 2_000);
    for (left, right) in without.draws.weights().iter().zip(with.draws.weights()) {
        assert!((left - right).abs() < 1e-9, "{left} and {right}");
    }
}

#[test]
fn every_draw_that_counts_fits_its_unit_and_is_fast_enough() {
    let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
    let draws = sample_prior(&prior, PRIOR_DRAWS);
    let mut counted = 0;
    let mut sizes = std::collections::BTreeSet::new();
    for (unknowns, weight) in draws.iter().zip(draws.weights()) {
        if *weight > 0.0 {
            counted += 1;
            assert!(unknowns.served().fits());
            assert!(unknowns.served().tokens_per_second() >= 5.0 * (1.0 - 1e-9));
            sizes.insert(unknowns.running.chips.to_string());
            let computed_again = Unknowns {
                running: Running {
                    log_step_seconds: None,
                    log_prefill_cost: None,
                    ..unknowns.running
                },
                ..unknowns
            };
            for cost in [Unknowns::log_input_cost, Unknowns::log_output_cost] {
                let apart = cost(&unknowns) - cost(&computed_again);
                assert!(apart.abs() < 1e-9, "{apart}: {unknowns:?}");
            }
        }
        for cost in [unknowns.log_input_cost(), unknowns.log_output_cost()] {
            assert!(cost.is_finite(), "{unknowns:?}");
        }
    }
    assert!(
        counted > PRIOR_DRAWS / 3 && counted < PRIOR_DRAWS,
        "{counted}"
    );
    assert!(sizes.len() > 5, "{sizes:?}");
}

/// Open-weight models are among them, whose attention is computed for each lane alone.
#[test]
fn draws_that_are_placed_together_have_the_bits_of_each_alone() {
    let known = r#"{"active_parameters": 37e9, "total_parameters": 671e9, "kv_bytes_per_element": 1,
        "kv_bytes_per_token_read": 35136, "kv_bytes_per_token_stored": 35136}"#;
    for assumptions in [Assumptions::default(), stated(known)] {
        let prior = Prior::new(Calibration::shipped(), &assumptions);
        let draws = sample_prior(&prior, PRIOR_DRAWS);
        let draws: Vec<Unknowns<'_>> = draws.iter().collect();
        let mut placed = 0;
        for class in draws.chunk_by(|left, right| {
            left.is_dense == right.is_dense && left.attention == right.attention
        }) {
            for group in class.chunks_exact(f64x4::LANES) {
                let uniforms = [0.1, 0.4, 0.7, 0.99];
                let together = Unknowns::placed_each(group, f64x4::new(uniforms), true, true);
                for ((draw, uniform), together) in group.iter().zip(uniforms).zip(together) {
                    let draw = std::slice::from_ref(draw);
                    let [alone] = Unknowns::placed_each(draw, uniform, true, true);
                    assert_eq!(together, alone);
                    placed += usize::from(together.is_some());
                }
            }
        }
        assert!(placed > PRIOR_DRAWS / 4, "{placed}");
    }
}

#[test]
fn a_draw_of_a_block_is_on_the_first_of_its_machines_that_holds_it() {
    let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
    let (mut on_another, mut on_none) = (0, 0);
    for (index, class) in prior.classes.iter().enumerate() {
        let of_point = |point: &'static Point| Proposed {
            values: class.values(&class.mixture[0].1.draw(&point.normal, 1.0)),
            point,
            log_prior_over_proposal: 0.0,
        };
        let proposed: Vec<Proposed<'_>> = points().iter().take(BLOCK).map(of_point).collect();
        let mut placer = Placer::new(&prior, index, false);
        for (draw, proposed) in placer.place(&proposed).iter().zip(&proposed) {
            let unplaced = Draw::unplaced(&prior, index, proposed).unknowns(&prior, class);
            let on_machine = |uniform: &f64| {
                let machine = prior.machine_at(*uniform);
                let unknowns = Unknowns {
                    machine: prior.machine(machine),
                    ..unplaced
                };
                let rest = prior.rest_of(machine, *uniform);
                let running = unknowns.placed(rest, prior.is_for_users())?;
                Some((machine, running))
            };
            let machines = &proposed.point.machines;
            let expected = exists(&unplaced)
                .then(|| machines.iter().find_map(on_machine))
                .flatten();
            let of_block = (usize::from(draw.machine), draw.running);
            assert_eq!(draw.is_possible.then_some(of_block), expected);
            on_none += usize::from(expected.is_none());
            let first = prior.machine_at(machines[0]);
            on_another += usize::from(expected.is_some_and(|(machine, _)| machine != first));
        }
    }
    assert!(on_another > 20 && on_none > 20, "{on_another}, {on_none}");
}

#[test]
fn weights_of_the_prior_are_spread_as_it_is() {
    let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
    let draws = sample_prior(&prior, PRIOR_DRAWS);
    let dense: f64 = draws
        .iter()
        .zip(draws.weights())
        .filter(|(draw, _)| draw.is_dense)
        .map(|(_, weight)| weight)
        .sum();
    // Few models fit no machine; of those more are mixtures, which are larger.
    let of_population: f64 = Calibration::shipped()
        .population
        .classes
        .iter()
        .filter(|class| class.is_dense)
        .map(|class| class.share)
        .sum();
    assert!(
        (0.95 * of_population..1.05 * of_population).contains(&dense),
        "{dense} against {of_population}"
    );
}

fn stated(text: &str) -> Assumptions {
    unroof_base::input::read(text.as_bytes(), Assumptions::read).unwrap()
}

#[test]
fn no_draw_reads_more_than_it_stores_at_a_context_or_of_a_further_token() {
    let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
    let draws = sample_prior(&prior, PRIOR_DRAWS);
    let mut possible = 0;
    for (unknowns, weight) in draws.iter().zip(draws.weights()) {
        if *weight <= 0.0 {
            continue;
        }
        possible += 1;
        let reading = unknowns.kv_reading();
        for context in [1.0, 512.0, 2_048.0, 8_192.0, 131_072.0, 1e7] {
            let (read, stored) = (reading.bytes_at(context), reading.stored_at(context));
            assert!(read <= stored * (1.0 + 1e-12), "{unknowns:?} at {context}");
        }
        let [slope, stored] = [
            JointQuantity::KvBytesReadSlope,
            JointQuantity::KvBytesStored,
        ]
        .map(|quantity| quantity.log_value(&unknowns));
        assert!(slope <= stored + 1e-12, "{unknowns:?}");
    }
    assert!(possible > PRIOR_DRAWS / 2, "{possible}");
}

#[test]
fn a_stated_slope_is_that_of_every_draw_whatever_the_kind_of_attention() {
    let prior = Prior::new(
        Calibration::shipped(),
        &stated(r#"{"kv_bytes_per_token_read_slope": 3e4, "kv_bytes_per_element": 2}"#),
    );
    let draws = sample_prior(&prior, PRIOR_DRAWS);
    let mut kinds = Vec::new();
    for (unknowns, weight) in draws.iter().zip(draws.weights()) {
        if *weight > 0.0 {
            let slope = JointQuantity::KvBytesReadSlope.log_value(&unknowns);
            assert!((slope.exp() / 1.5e4 - 1.0).abs() < 1e-9, "{unknowns:?}");
            kinds.push(unknowns.attention);
        }
    }
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() > 3, "{kinds:?}");
    // Read per further token more than is stored per token: no model does.
    let none =
        stated(r#"{"kv_bytes_per_token_read_slope": 3e4, "kv_bytes_per_token_stored": 2e4}"#);
    let none = Prior::new(Calibration::shipped(), &none);
    let draws = sample_prior(&none, PRIOR_DRAWS);
    assert!(
        draws
            .iter()
            .all(|unknowns| unknowns.running.log_step_seconds.is_none())
    );
}
