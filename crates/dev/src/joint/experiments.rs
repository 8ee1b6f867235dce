//! Ablations: other settings, fewer clues, and settings chosen by nested cross-validation.

use std::sync::atomic::{AtomicUsize, Ordering};

use unroof_calibration::prices::{PricedModel, Settings, count, models_by_decision};
use unroof_calibration::validation::{By, Shown, Validation, validate};
use unroof_roofline::reference::RecordSetting;

/// Degrees of freedom at which a Student-t is a normal distribution.
const NORMAL: f64 = 1e6;

/// Validations of all variants of the estimate.
#[derive(Debug, Clone)]
pub struct Experiments {
    /// Variants with other settings or fewer clues: the name of each, and its scores.
    pub tried: Vec<(&'static str, Validation)>,
    /// Settings chosen per family by an inner leave-one-family-out over the others.
    pub chosen: Validation,
    /// Number of times each candidate was chosen.
    pub choices: Vec<(&'static str, usize)>,
    /// Mean log score of `k_bw` over context-tier decisions, each weighted once: with the clue, and without it.
    pub tier_log_scores: [f64; 2],
    /// Number of decisions behind the log scores.
    pub tier_decisions: usize,
}

/// A variant of the estimate: its name, and what it changes.
type Way = (&'static str, fn(&mut Settings, &mut Shown<'static>));

/// The first ones are the candidates for settings.
const WAYS: [Way; 9] = [
    ("as shipped", |_, _| {}),
    ("copies counted as separate rows", |settings, _| {
        settings.copy_weight = None;
    }),
    ("normal deviations of models", |settings, _| {
        settings.deviation_degrees_of_freedom = NORMAL;
    }),
    ("normal sizes of models", |settings, _| {
        settings.size_degrees_of_freedom = NORMAL;
    }),
    ("no exponent for dense models", |settings, _| {
        settings.dense_slope_sd = 1e-6;
    }),
    ("without the maximum context", |_, shown| {
        shown.context = false;
    }),
    ("without context tiers", |_, shown| shown.tiers = false),
    ("input price alone", |_, shown| {
        *shown = Shown {
            input: true,
            ..NOTHING
        }
    }),
    ("output price alone", |_, shown| {
        *shown = Shown {
            output: true,
            ..NOTHING
        }
    }),
];

const NOTHING: Shown<'static> = Shown {
    input: false,
    output: false,
    context: false,
    tiers: false,
    scores: &[],
};

fn changed((_, change): Way) -> (Settings, Shown<'static>) {
    let (mut settings, mut shown) = (Settings::default(), Shown::ALL);
    change(&mut settings, &mut shown);
    (settings, shown)
}

fn scored(models: &[&PricedModel], way: Way) -> Validation {
    let (settings, shown) = changed(way);
    let by = By::LeavingOut(&|_| settings);
    validate(models, RecordSetting::PooledHosts, by, shown)
}

/// Number of candidate settings.
const CANDIDATES: usize = 5;

/// Scores every variant; `progress` is called before each.
#[must_use]
pub fn experiments(models: &[&PricedModel], mut progress: impl FnMut(&str)) -> Experiments {
    let mut tried = Vec::new();
    for way in WAYS {
        progress(way.0);
        tried.push((way.0, scored(models, way)));
    }
    progress("settings chosen by an inner leave-one-family-out");
    let choices: [AtomicUsize; CANDIDATES] = std::array::from_fn(|_| AtomicUsize::new(0));
    let chosen = validate(
        models,
        RecordSetting::PooledHosts,
        By::LeavingOut(&|others| {
            let best = best_way(others);
            choices[best].fetch_add(1, Ordering::Relaxed);
            changed(WAYS[best]).0
        }),
        Shown::ALL,
    );
    let decisions = models_by_decision(models);
    let score = |name: &str| {
        let found = tried.iter().find(|(tried, _)| *tried == name);
        found.map_or(f64::NAN, |(_, validation)| {
            tier_log_score(validation, &decisions)
        })
    };
    Experiments {
        tier_log_scores: [score("as shipped"), score("without context tiers")],
        tier_decisions: decisions.len(),
        choices: WAYS
            .map(|(name, _)| name)
            .into_iter()
            .zip(choices.map(AtomicUsize::into_inner))
            .collect(),
        chosen,
        tried,
    }
}

/// The candidate with the best log score of active and total parameters on families left out of these models.
fn best_way(models: &[&PricedModel]) -> usize {
    let score = |way: Way| {
        let validation = scored(models, way);
        ["active_parameters", "total_parameters"]
            .map(|name| validation.quantities[name].log_score)
            .iter()
            .sum::<f64>()
    };
    let scores: Vec<f64> = WAYS.into_iter().take(CANDIDATES).map(score).collect();
    (0..CANDIDATES)
        .max_by(|left, right| scores[*left].total_cmp(&scores[*right]))
        .unwrap_or(0)
}

/// Mean over decisions of the mean log score over the models that share one.
fn tier_log_score(validation: &Validation, decisions: &[Vec<String>]) -> f64 {
    let of_model = |name: &String| {
        let found = validation
            .by_model
            .iter()
            .find(|outcome| outcome.model == *name);
        found.map_or(f64::NAN, |outcome| {
            outcome.quantities["kv_bytes_per_token_read_slope"].log_score
        })
    };
    let of_decision =
        |models: &Vec<String>| models.iter().map(of_model).sum::<f64>() / count(models.len());
    decisions.iter().map(of_decision).sum::<f64>() / count(decisions.len())
}
