//! Ablations: other settings, fewer clues, and settings chosen by nested cross-validation.

use unroof_core::calibration::prices::{PricedModel, Settings, count, models_by_decision};
use unroof_core::calibration::validation::{By, Shown, Validation, validate};

/// Degrees of freedom at which a Student-t is a normal distribution.
const NORMAL: f64 = 1e6;

/// A scored variant of the estimate.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Name of the variant.
    pub name: &'static str,
    /// Its scores.
    pub validation: Validation,
}

/// All variants.
#[derive(Debug, Clone)]
pub struct Experiments {
    /// Other settings and fewer clues.
    pub tried: Vec<Experiment>,
    /// Settings chosen per family by an inner leave-one-family-out over the others.
    pub chosen: Validation,
    /// Number of times each candidate was chosen.
    pub choices: Vec<(&'static str, usize)>,
    /// Mean log score of `k_bw` over context-tier decisions, each weighted once: with the clue, and without it.
    pub tier_log_scores: [f64; 2],
    /// Decisions behind that.
    pub tier_decisions: usize,
}

/// A variant of the estimate.
struct Way {
    name: &'static str,
    settings: Settings,
    shown: Shown,
}

fn ways() -> Vec<Way> {
    let settings = Settings::default();
    let shown = Shown::ALL;
    vec![
        Way {
            name: "as shipped",
            settings,
            shown,
        },
        Way {
            name: "copies counted as separate rows",
            settings: Settings {
                copies_count_once: false,
                ..settings
            },
            shown,
        },
        Way {
            name: "normal deviations of models",
            settings: Settings {
                deviation_degrees_of_freedom: NORMAL,
                ..settings
            },
            shown,
        },
        Way {
            name: "normal sizes of models",
            settings: Settings {
                size_degrees_of_freedom: NORMAL,
                ..settings
            },
            shown,
        },
        Way {
            name: "no exponent for dense models",
            settings: Settings {
                dense_slope_sd: 1e-6,
                ..settings
            },
            shown,
        },
        Way {
            name: "without the maximum context",
            settings,
            shown: Shown {
                context: false,
                ..shown
            },
        },
        Way {
            name: "without context tiers",
            settings,
            shown: Shown {
                tiers: false,
                ..shown
            },
        },
        Way {
            name: "input price alone",
            settings,
            shown: Shown {
                output: false,
                context: false,
                tiers: false,
                ..shown
            },
        },
        Way {
            name: "output price alone",
            settings,
            shown: Shown {
                input: false,
                context: false,
                tiers: false,
                ..shown
            },
        },
    ]
}

/// Candidate settings.
const CANDIDATES: usize = 5;

/// Scores every variant; `progress` is called before each.
#[must_use]
pub fn experiments(models: &[&PricedModel], mut progress: impl FnMut(&str)) -> Experiments {
    let mut tried = Vec::new();
    for way in ways() {
        progress(way.name);
        let validation = validate(models, By::LeavingOut(&|_| way.settings), way.shown);
        tried.push(Experiment {
            name: way.name,
            validation,
        });
    }
    progress("settings chosen by an inner leave-one-family-out");
    let choices = std::cell::RefCell::new(vec![0; CANDIDATES]);
    let chosen = validate(
        models,
        By::LeavingOut(&|others| {
            let best = best_way(others);
            choices.borrow_mut()[best] += 1;
            ways()[best].settings
        }),
        Shown::ALL,
    );
    let of_tiers = |name: &str| {
        tried
            .iter()
            .find(|experiment| experiment.name == name)
            .map(|found| &found.validation)
    };
    let decisions = models_by_decision(models);
    let score = |name: &str| {
        of_tiers(name).map_or(f64::NAN, |validation| {
            tier_log_score(validation, &decisions)
        })
    };
    Experiments {
        tier_log_scores: [score("as shipped"), score("without context tiers")],
        tier_decisions: decisions.len(),
        choices: ways()
            .iter()
            .map(|way| way.name)
            .zip(choices.into_inner())
            .collect(),
        chosen,
        tried,
    }
}

/// The candidate with the best log score of active and total parameters on families left out of these models.
fn best_way(models: &[&PricedModel]) -> usize {
    let score = |way: &Way| {
        let validation = validate(models, By::LeavingOut(&|_| way.settings), way.shown);
        ["active_parameters", "total_parameters"]
            .map(|name| validation.quantities[name].log_score)
            .iter()
            .sum::<f64>()
    };
    let scores: Vec<f64> = ways()[..CANDIDATES].iter().map(score).collect();
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
            outcome.quantities["kv_bytes_per_token_read"].log_score
        })
    };
    let of_decision =
        |models: &Vec<String>| models.iter().map(of_model).sum::<f64>() / count(models.len());
    decisions.iter().map(of_decision).sum::<f64>() / count(decisions.len())
}
