//! The shipped calibration and its track record are what the data give, and good enough.

use std::sync::LazyLock;

use unroof_calibration::prices::{PricedModel, Settings, built_in, calibrate, read};
use unroof_calibration::validation::{Board, By, Shown, board};
use unroof_dev::joint::markdown;
use unroof_roofline::reference::calibration::Calibration;
use unroof_roofline::reference::{RecordSetting, held_out_csv};

use crate::server::{maintain, output_of, run};
use crate::support::repository;

/// Every setting by calibrations that have not seen its models; computed once for all tests.
static LEAVING_OUT: LazyLock<Board> = LazyLock::new(|| {
    let models = built_in();
    let models: Vec<&PricedModel> = models.iter().collect();
    board(
        &models,
        By::LeavingOut(&|_| Settings::default()),
        Shown::ALL,
    )
});

fn shipped(file: &str) -> String {
    std::fs::read_to_string(repository().join(file)).unwrap()
}

#[test]
fn the_calibration_is_what_the_data_give() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deeper").join("calibration.json");
    let wrote = maintain(&["calibrate", "--output", file.to_str().unwrap()]).unwrap();
    assert!(wrote.contains(&Calibration::shipped().id()), "{wrote}");
    assert!(
        std::fs::read_to_string(file).unwrap() == shipped("crates/roofline/data/calibration.json"),
        "crates/roofline/data/calibration.json is out of date; run: just data"
    );
    let models = built_in();
    let priced = models
        .iter()
        .filter(|model| !model.sheets.is_empty())
        .count();
    assert_eq!((models.len(), priced), (183, 181));
    let again = calibrate(&models.iter().collect::<Vec<_>>(), &Settings::default());
    assert_eq!(again, *Calibration::shipped());
}

#[test]
fn prices_over_costs_are_predicted_for_families_and_sellers_that_were_left_out() {
    let law = &Calibration::shipped().cost_law;
    for record in [&law.hosts, &law.authors] {
        assert!(record.prices > 100, "{record:?}");
        for line in [0, 1] {
            let held = record.coverage_90[line];
            assert!(
                record.rmse_log[line] < 0.95 && (0.85..=0.95).contains(&held),
                "{record:?}"
            );
        }
    }
    // How often a host sells below cost is known beforehand.
    for line in [0, 1] {
        let apart = law.hosts.below_cost[line] - law.hosts.below_cost_probability[line];
        assert!(apart.abs() < 0.05, "{:?}", law.hosts);
    }
}

#[test]
fn estimates_of_families_that_were_left_out_are_good_and_their_intervals_mean_what_they_say() {
    let pooled = &LEAVING_OUT.pooled_hosts.quantities;
    let score = |name: &str| &pooled[name];
    let active = score("active_parameters");
    assert!(
        active.rmse_log <= 0.64 && active.log_score_gain >= 0.53,
        "{active:?}"
    );
    let total = score("total_parameters");
    assert!(
        total.rmse_log <= 1.05 && total.log_score_gain >= 0.35,
        "{total:?}"
    );
    let stored = score("kv_bytes_per_token_stored");
    assert!(stored.log_score_gain >= 0.15, "{stored:?}");
    let read = score("kv_bytes_per_token_read");
    assert!(read.log_score_gain >= 0.05, "{read:?}");
    for (name, score) in pooled {
        assert_eq!(score.models, 77, "{name}");
        assert!(
            (0.84..=0.97).contains(&score.coverage_90),
            "{name}: {}",
            score.coverage_90
        );
        assert!(
            (0.38..=0.70).contains(&score.coverage_50),
            "{name}: {}",
            score.coverage_50
        );
        assert!(
            score.rmse_log < score.prior_rmse_log && score.crps < score.prior_crps,
            "{name}"
        );
        assert!(
            score
                .ridge_rmse_log
                .is_none_or(|ridge| score.rmse_log < ridge),
            "{name}"
        );
        assert!(
            score.bootstrap.rmse_log[0] < score.rmse_log
                && score.rmse_log < score.bootstrap.rmse_log[1],
            "{name}"
        );
    }
}

#[test]
fn every_setting_is_scored_on_its_list_of_models() {
    let models = |setting| -> usize {
        let scores = &LEAVING_OUT.setting(setting).quantities;
        assert_eq!(scores.len(), 6, "{setting:?}");
        scores["total_parameters"].models
    };
    assert_eq!(models(RecordSetting::AuthorAlone), 49);
    assert_eq!(models(RecordSetting::OtherHostAlone), 77);
    let today = &LEAVING_OUT.all_periods.today["total_parameters"];
    assert_eq!(models(RecordSetting::AllPeriods), today.models);
    let decisions: Vec<usize> = LEAVING_OUT
        .by_decisions
        .iter()
        .map(|of_number| of_number.decisions)
        .collect();
    assert_eq!(decisions, [1, 2, 3, 4]);
    // All clues together are at least as good as a ridge regression on the same two prices.
    for (name, score) in &LEAVING_OUT.author_alone.quantities {
        assert!(
            score
                .ridge_rmse_log
                .is_none_or(|ridge| score.rmse_log < ridge),
            "{name}"
        );
    }
    let total = &LEAVING_OUT.author_alone.quantities["total_parameters"];
    assert!((0.84..=0.97).contains(&total.coverage_90), "{total:?}");
    // One sheet gains less than all of them.
    for quantity in ["active_parameters", "total_parameters"] {
        let gain = |setting| LEAVING_OUT.setting(setting).quantities[quantity].log_score_gain;
        assert!(gain(RecordSetting::OtherHostAlone) < gain(RecordSetting::PooledHosts));
        assert!(gain(RecordSetting::AuthorAlone) < gain(RecordSetting::PooledHosts));
    }
}

#[test]
fn the_track_record_and_the_page_are_what_validation_gives() {
    let records = serde_json::to_string_pretty(&LEAVING_OUT.track_records()).unwrap() + "\n";
    let again = "run: just data";
    assert!(
        records == shipped("crates/roofline/data/track_record.json"),
        "crates/roofline/data/track_record.json is out of date; {again}"
    );
    let estimates = held_out_csv(&LEAVING_OUT.held_out());
    assert!(
        estimates == shipped("crates/roofline/data/held_out.csv"),
        "crates/roofline/data/held_out.csv is out of date; {again}"
    );
    let page = shipped("docs/VALIDATION.md");
    assert!(
        page.contains(markdown(&LEAVING_OUT).trim_end()),
        "docs/VALIDATION.md is out of date; {again}"
    );
}

/// The shape of the reference files; other columns are left alone.
const MODELS: &str = "\
model,family,total_params,active_params,layers,max_context,kv_stored_1B,kv_read_per_step_1B
Small,one,8000000000,8000000000,32,8192,65536,65536
Large,two,671000000000,37000000000,61,163840,35136,35136
";
const PRICES: &str = "\
model,family,provider,input_usd_per_mtok,output_usd_per_mtok,cache_read_usd_per_mtok,price_date
Small,one,deepinfra,0.05,0.08,,2026-09-30
Small,one,a new host,0.06,0.06,,2026-09-30
Large,two,deepseek (first party),0.27,1.10,0.07,2026-09-30
Large,two,another new host,0.9,0.9,,2026-09-30
Large,two,a third,,1.3,,2026-09-30
";
const TIERS: &str = "\
model,provider,threshold,base_in,base_out,base_cache,in_,out,cache,src
Large,deepseek*,64000,0.27,1.10,,0.54,2.20,,here
";

#[test]
fn files_of_the_same_columns_are_scored_by_the_shipped_calibration() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (models, prices, tiers) = (
        file("m.csv", MODELS),
        file("p.csv", PRICES),
        file("t.csv", TIERS),
    );
    let output = output_of(&[
        "validate", "--models", &models, "--prices", &prices, "--tiers", &tiers, "--json",
    ]);
    let found: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(found["calibration_id"], Calibration::shipped().id());
    for name in [
        "active_parameters",
        "total_parameters",
        "kv_bytes_per_token_read",
        "kv_bytes_per_token_read_slope",
        "kv_bytes_per_token_stored",
        "memory_time_over_compute_time",
    ] {
        let score = &found["quantities"][name];
        assert_eq!(score["models"], 2, "{name}");
        for field in [
            "rmse_log",
            "median_fold_error",
            "prior_rmse_log",
            "log_score_gain",
            "crps",
            "prior_crps",
            "coverage_50",
            "coverage_90",
            "mean_width_90",
        ] {
            assert!(score[field].is_number(), "{name} {field}: {score}");
        }
        for field in ["textbook_rmse_log", "ridge_rmse_log"] {
            assert!(score.get(field).is_some(), "{name} {field}");
        }
    }
    // Of the two, one has a sheet of its author.
    let alone = &found["author_alone"]["quantities"]["total_parameters"]["models"];
    assert_eq!(alone, 1);
    let by_model = found["by_model"].as_array().unwrap();
    assert_eq!(by_model.len(), 2);
    assert_eq!(by_model[1]["model"], "Large");
    assert_eq!(
        by_model[1]["quantities"]["total_parameters"]["truth"]
            .as_f64()
            .map(f64::round),
        Some(671e9)
    );
    // The same figures as a calibration from a file.
    let own = folder.path().join("own.json");
    let own = own.to_str().unwrap();
    maintain(&["calibrate", "--output", own]).unwrap();
    let given = output_of(&[
        "validate",
        "--models",
        &models,
        "--prices",
        &prices,
        "--tiers",
        &tiers,
        "--calibration",
        own,
        "--json",
    ]);
    assert!(given == output);
}

#[test]
fn files_that_cannot_be_used_are_refused_with_the_place() {
    let rows = [
        (
            MODELS.replace("37000000000", "none"),
            PRICES.to_owned(),
            "models",
        ),
        (
            MODELS.replace("8192", "0"),
            PRICES.to_owned(),
            "not a positive number",
        ),
        (MODELS.to_owned(), PRICES.replace("0.27", "cheap"), "cheap"),
        (
            MODELS.to_owned(),
            PRICES.replace("Large,two,a third", "Lost,two,a third"),
            "Lost",
        ),
        (
            MODELS.replace("kv_stored_1B", "kv"),
            PRICES.to_owned(),
            "kv_stored_1b",
        ),
    ];
    for (models, prices, says) in rows {
        let error = read(&models, &prices, None).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let lost = run(&[
        "validate",
        "--models",
        "/nowhere.csv",
        "--prices",
        "/nowhere.csv",
    ]);
    assert_eq!(lost.code, Some(2));
    assert!(lost.err.contains("cannot read"), "{}", lost.err);
    assert_eq!(run(&["validate", "--models", "/nowhere.csv"]).code, Some(2));
    assert!(maintain(&["calibrate", "--output", "/proc/none/calibration.json"]).is_err());
}
