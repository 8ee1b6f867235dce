//! The draws of several models under common hypotheses: weights of the hypotheses, sizes and ratios.

use std::cmp::Ordering;

use super::answer::{MarkupEstimate, SizeEstimate, SizeRatio, VendorEstimate};
use super::drawn::{Drawn, Sizes};
use super::hypothesis::{Accelerators, MARKUPS, spread};
use crate::estimate::samples::Spread;
use crate::posterior::summarize;
use unroof_base::units::{count_f64, significant};

/// Most models of a vendor that are drawn together.
pub const MOST_MODELS: usize = 16;

/// Joint draws of the sizes of all models.
const JOINT_DRAWS: usize = 4_096;

/// A hypothesis about the vendor: the places of its accelerator and of its markup.
type Hypothesis = (usize, usize);

/// The hypotheses with their weights, which add up to 1.
fn hypotheses(drawn: &[Drawn], accelerators: &Accelerators) -> Vec<(Hypothesis, f64)> {
    let mut logs = Vec::new();
    for (accelerator, share) in accelerators.shares.iter().enumerate() {
        for markup in 0..MARKUPS {
            let evidence = drawn
                .iter()
                .map(|model| model.groups[accelerator].log_evidence[markup]);
            logs.push(((accelerator, markup), share.ln() + evidence.sum::<f64>()));
        }
    }
    let greatest = logs
        .iter()
        .map(|(_, log)| *log)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<(Hypothesis, f64)> = logs
        .into_iter()
        .map(|(hypothesis, log)| (hypothesis, (log - greatest).exp()))
        .collect();
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut weights {
        *weight /= total;
    }
    weights
}

/// The estimate; `own` is the log of the factor by which authors price above the law on average.
pub(super) fn together(
    drawn: &[Drawn],
    own: [f64; 2],
    markups: &[[f64; 2]],
    accelerators: &Accelerators,
) -> VendorEstimate {
    let weighed = hypotheses(drawn, accelerators);
    let squares: f64 = weighed.iter().map(|(_, weight)| weight * weight).sum();
    let weights: Vec<f64> = weighed.iter().map(|(_, weight)| *weight).collect();
    let line = |line: usize| {
        let logs = weighed
            .iter()
            .map(|((_, markup), _)| own[line] + markups[*markup][line]);
        span(&logs.collect::<Vec<f64>>(), &weights)
    };
    let joint = joint_draws(drawn, &weighed);
    let even = vec![1.0; JOINT_DRAWS];
    let size = |model: usize, which: usize| -> Vec<f64> {
        joint.iter().map(|sizes| sizes[model][which]).collect()
    };
    let models = drawn.iter().enumerate().map(|(place, model)| SizeEstimate {
        canonical_model: model.name.clone(),
        active_parameters: span(&size(place, 0), &even),
        total_parameters: span(&size(place, 1), &even),
    });
    let models: Vec<SizeEstimate> = models.collect();
    let mut ratios = Vec::new();
    for (first, one) in drawn.iter().enumerate() {
        for (second, other) in drawn.iter().enumerate().skip(first + 1) {
            let is_larger =
                models[first].active_parameters.median >= models[second].active_parameters.median;
            let (over, under) = if is_larger {
                (first, second)
            } else {
                (second, first)
            };
            let (larger, smaller) = if is_larger {
                (one, other)
            } else {
                (other, one)
            };
            let ratio = |which: usize| -> Vec<f64> {
                let logs = size(over, which).into_iter().zip(size(under, which));
                logs.map(|(over, under)| over - under).collect()
            };
            let (active, total) = (ratio(0), ratio(1));
            ratios.push(SizeRatio {
                larger: larger.name.clone(),
                smaller: smaller.name.clone(),
                active_parameters: span(&active, &even),
                total_parameters: span(&total, &even),
                more_active_parameters: share_above_zero(&active),
                more_total_parameters: share_above_zero(&total),
                active_parameters_alone: alone(larger, smaller, &even),
            });
        }
    }
    VendorEstimate {
        markup: MarkupEstimate {
            input: line(0),
            output: line(1),
        },
        models,
        ratios,
        effective_hypotheses: significant(1.0 / squares),
    }
}

/// Share of logarithms above 0; one of 0 counts half.
fn share_above_zero(logs: &[f64]) -> f64 {
    let of_one = |log: &f64| match log.total_cmp(&0.0) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    };
    let above: f64 = logs.iter().map(of_one).sum();
    significant(above / count_f64(logs.len()))
}

/// Primes whose square roots spread the draws of the models, each in a way of its own.
const PRIMES: [u32; MOST_MODELS] = [5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];

/// Draws of the sizes of all models: the hypotheses in proportion to their weights, and given each the models by themselves.
fn joint_draws(drawn: &[Drawn], weighed: &[(Hypothesis, f64)]) -> Vec<Vec<Sizes>> {
    let mut joint = Vec::with_capacity(JOINT_DRAWS);
    let mut hypotheses = weighed.iter();
    let mut current = (0, 0);
    let mut below = 0.0;
    for number in 0..JOINT_DRAWS {
        let wanted = (count_f64(number) + 0.5) / count_f64(JOINT_DRAWS);
        while below < wanted
            && let Some((hypothesis, weight)) = hypotheses.next()
        {
            current = *hypothesis;
            below += weight;
        }
        let (accelerator, markup) = current;
        let sizes = drawn.iter().zip(PRIMES).map(|(model, prime)| {
            model.groups[accelerator].choices[markup].at(spread(number, prime))
        });
        joint.push(sizes.collect());
    }
    joint
}

/// The ratio of active parameters from the estimates of two models by themselves.
fn alone(larger: &Drawn, smaller: &Drawn, even: &[f64]) -> Spread {
    let logs = (0..JOINT_DRAWS).map(|number| {
        larger.alone.at(spread(number, PRIMES[0]))[0]
            - smaller.alone.at(spread(number, PRIMES[1]))[0]
    });
    span(&logs.collect::<Vec<f64>>(), even)
}

fn span(logs: &[f64], weights: &[f64]) -> Spread {
    let summary = summarize(logs.iter().copied(), weights);
    Spread {
        median: summary.median(),
        interval_90: summary.interval_90(),
    }
}
