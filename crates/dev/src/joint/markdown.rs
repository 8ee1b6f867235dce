//! The first sections of `docs/VALIDATION.md`: the joint estimate against models with published values, and the ablations.

use super::Experiments;
use crate::generated::{Template, VALIDATION_TEXT};
use unroof_calibration::validation::{
    Board, ModelOutcome, Outcome, ReadingScore, Score, Scored, Validation, scored_models,
};
use unroof_roofline::reference::{RecordBand, RecordSetting, bands};

const SETTINGS: [(RecordSetting, &str); 4] = [
    (RecordSetting::PooledHosts, "## (a)"),
    (RecordSetting::AuthorAlone, "## (b)"),
    (RecordSetting::OtherHostAlone, "## (c)"),
    (RecordSetting::AllPeriods, "## (d)"),
];

/// The quantities of the tables of single models.
const LISTED: [&str; 4] = [
    "active_parameters",
    "total_parameters",
    "kv_bytes_per_token_read",
    "kv_bytes_per_token_stored",
];

/// Quantity that has the errors of the cache that is read, and more.
const SLOPE: &str = "kv_bytes_per_token_read_slope";

/// The page with these scores.
#[must_use]
pub fn markdown(board: &Board) -> String {
    let mut page = Template::new(VALIDATION_TEXT);
    for (setting, title) in SETTINGS {
        let validation = board.setting(setting);
        page.table(title, validation.quantities.iter().map(score));
        page.between(
            "All models (RMSE, gain, 90 % covers): ",
            ".\n",
            &all_models(validation),
        );
    }
    page.table(
        "from today's sheets alone",
        board.all_periods.today.iter().map(score),
    );
    page.table("## By bands of models", band_rows(board));
    page.table("## Later models", later_rows(board));
    let of_decisions = board.by_decisions.iter().flat_map(|of_number| {
        let scores = of_number.quantities.iter();
        scores.map(|(name, score)| score_of_decisions(of_number.decisions, name, score))
    });
    page.table("## Pools of few decisions", of_decisions);
    page.table(
        "## Single readings",
        board.pooled_hosts.readings.iter().map(reading),
    );
    let models = listed(&board.pooled_hosts, RecordSetting::PooledHosts);
    page.table("## Every model", models.map(model));
    let sheets = listed(&board.author_alone, RecordSetting::AuthorAlone);
    page.table("## Every author's sheet", sheets.map(sheet));
    for (from, setting) in [
        ("Pooled hosts, ", RecordSetting::PooledHosts),
        ("The author's sheet alone, ", RecordSetting::AuthorAlone),
    ] {
        let names: Vec<&str> = scored_models(setting).collect();
        let names = format!("{} models: {}", names.len(), names.join(", "));
        page.between(from, ".\n", &names);
    }
    page.filled()
}

fn score((name, score): (&&'static str, &Score)) -> [String; 15] {
    let range = |[low, high]: [f64; 2]| format!("({low:.2} to {high:.2})");
    let optional =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    let intervals = &score.bootstrap;
    [
        (*name).to_owned(),
        score.models.to_string(),
        format!("**{:.2}** {}", score.rmse_log, range(intervals.rmse_log)),
        format!("{:.2}", score.prior_rmse_log),
        optional(score.textbook_rmse_log),
        optional(score.ridge_rmse_log),
        format!("{:.2}×", score.median_fold_error),
        format!("{:.1}×", score.fold_error_90),
        format!(
            "**{:+.2}** {}",
            score.log_score_gain,
            range(intervals.log_score_gain)
        ),
        between(intervals.log_score_gain_80),
        format!("{:.2}", score.log_score),
        format!("{:.2} ({:.2})", score.crps, score.prior_crps),
        covered(score.coverage_50, intervals.coverage_50),
        covered(score.coverage_90, intervals.coverage_90),
        format!("{:.1}", score.mean_width_90),
    ]
}

/// Errors of active and total parameters by size, year and family.
fn band_rows(board: &Board) -> Vec<[String; 10]> {
    let estimates = board.held_out();
    let settings = [
        (RecordSetting::PooledHosts, "(a)"),
        (RecordSetting::AuthorAlone, "(b)"),
    ];
    let cells = |band: &RecordBand| {
        [
            format!("{:.2}", band.median_ratio),
            format!("{:.2}×", band.median_fold_error),
            format!("{:.1}×", band.fold_error_90),
            percent(band.coverage_90),
        ]
    };
    let of_setting = |(setting, mark): (RecordSetting, &str)| {
        let of = |quantity| bands(&estimates, quantity, setting);
        let both = of("active_parameters")
            .into_iter()
            .zip(of("total_parameters"));
        let row = |(active, total): (RecordBand, RecordBand)| {
            let [ratio, median, most, held] = cells(&active);
            let [total_ratio, total_median, total_most, total_held] = cells(&total);
            [
                format!("{mark} {}", active.band),
                active.models.to_string(),
                ratio,
                median,
                most,
                held,
                total_ratio,
                total_median,
                total_most,
                total_held,
            ]
        };
        both.map(row).collect::<Vec<_>>()
    };
    settings.into_iter().flat_map(of_setting).collect()
}

/// Scores on models that were released after those of the calibration.
fn later_rows(board: &Board) -> Vec<[String; 8]> {
    let of_setting = |(setting, scored): &(RecordSetting, Scored)| {
        let label = setting.label();
        let row = |(name, score): (&&str, &Score)| {
            [
                label.to_owned(),
                (*name).to_owned(),
                score.models.to_string(),
                format!("{:.2}", score.rmse_log),
                format!("{:.2}×", score.median_fold_error),
                format!("{:.1}×", score.fold_error_90),
                format!("{:+.2}", score.log_score_gain),
                percent(score.coverage_90),
            ]
        };
        let is_listed = |(name, _): &(&&str, &Score)| **name != SLOPE;
        scored.iter().filter(is_listed).map(row).collect::<Vec<_>>()
    };
    board.rolling.iter().flat_map(of_setting).collect()
}

/// The scores on all models, in a line.
fn all_models(validation: &Validation) -> String {
    let cell = |(name, score): (&&'static str, &Score)| {
        format!(
            "{name} {:.2}, {:+.2}, {} on {}",
            score.rmse_log,
            score.log_score_gain,
            percent(score.coverage_90),
            score.models
        )
    };
    let cells: Vec<String> = validation.all_models.iter().map(cell).collect();
    cells.join("; ")
}

fn score_of_decisions(decisions: usize, name: &str, score: &Score) -> [String; 9] {
    [
        decisions.to_string(),
        name.to_owned(),
        score.models.to_string(),
        format!("{:.2}", score.rmse_log),
        format!("{:.2}×", score.median_fold_error),
        format!("{:.1}×", score.fold_error_90),
        format!("{:+.2}", score.log_score_gain),
        between(score.bootstrap.log_score_gain_80),
        covered(score.coverage_90, score.bootstrap.coverage_90),
    ]
}

/// The outcomes of the models that are compared in a setting.
fn listed(validation: &Validation, setting: RecordSetting) -> impl Iterator<Item = &ModelOutcome> {
    let names: Vec<&str> = scored_models(setting).collect();
    let outcomes = validation.by_model.iter();
    outcomes.filter(move |outcome| names.contains(&outcome.model.as_str()))
}

fn reading(score: &ReadingScore) -> [String; 8] {
    [
        score.id.to_owned(),
        score.quantity.to_owned(),
        score.models.to_string(),
        format!("{:.1}×", score.median_fold_error),
        format!("{:.1}×", score.fold_error_90),
        format!("{:.2}", score.rmse_log),
        format!("{:.2}", score.prior_rmse_log),
        if score.beats_prior { "yes" } else { "no" }.to_owned(),
    ]
}

fn model(model: &ModelOutcome) -> [String; 7] {
    let [active, total, read, stored] = LISTED.map(|name| over_truth(&model.quantities[name]));
    let (name, family) = (model.model.clone(), model.family.clone());
    let hosts = model.hosts.to_string();
    [name, family, hosts, active, total, read, stored]
}

fn sheet(model: &ModelOutcome) -> [String; 6] {
    let [active, total, read, stored] = LISTED.map(|name| {
        let outcome = &model.quantities[name];
        format!("{}, {:+.2}", over_truth(outcome), outcome.log_score_gain)
    });
    let host = model.host.as_deref().unwrap_or("several").to_owned();
    [model.model.clone(), host, active, total, read, stored]
}

/// The estimate and the ends of its interval over the truth.
fn over_truth(outcome: &Outcome) -> String {
    let over = |value: f64| value / outcome.truth;
    format!(
        "{:.2} ({:.2} to {:.2})",
        over(outcome.median),
        over(outcome.low_90),
        over(outcome.high_90)
    )
}

fn between([low, high]: [f64; 2]) -> String {
    format!("{low:.2} to {high:.2}")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A share of truths inside an interval, and its range.
fn covered(share: f64, [low, high]: [f64; 2]) -> String {
    format!(
        "{} ({:.0} to {:.0})",
        percent(share),
        100.0 * low,
        100.0 * high
    )
}

/// A page with these ablations.
#[must_use]
pub fn experiments_markdown(page: &str, experiments: &Experiments) -> String {
    let mut page = Template::new(page);
    let chosen = ("settings chosen without the family", &experiments.chosen);
    let tried = experiments.tried.iter();
    let tried = tried.map(|(name, validation)| (*name, validation));
    page.table("# Ablations", tried.chain([chosen]).map(ablation));
    let choices = experiments.choices.iter().filter(|(_, times)| *times > 0);
    let choices: Vec<String> = choices
        .map(|(name, times)| format!("*{name}* {times} times"))
        .collect();
    page.between(
        "by the log score of N_a and N_t: ",
        ". It is",
        &choices.join(", "),
    );
    let [with, without] = experiments.tier_log_scores;
    let scores = format!(
        "{} decisions, each weighted once, is {with:.3} with the clue and {without:.3}",
        experiments.tier_decisions
    );
    page.between("the mean log score of k_bw over ", " without it.", &scores);
    page.filled()
}

fn ablation((name, validation): (&str, &Validation)) -> [String; 10] {
    let [active, total, read, stored] = LISTED.map(|name| &validation.quantities[name]);
    [
        name.to_owned(),
        format!("{:.3}", active.rmse_log),
        format!("{:+.2}", active.log_score_gain),
        format!("{:.3}", total.rmse_log),
        format!("{:+.2}", total.log_score_gain),
        format!("{:+.2}", stored.log_score_gain),
        format!("{:+.2}", read.log_score_gain),
        format!("{:.3}", active.log_score),
        format!("{:.3}", total.log_score),
        format!(
            "{}, {}",
            percent(active.coverage_50),
            percent(active.coverage_90)
        ),
    ]
}
