//! Time of a plan: a search over the layouts of a mixture of experts on racks.
//!
//! `cargo bench -p unroof-roofline --bench plan` measures the whole call, from the text of a request to the text of the answer: ranking, front,
//! sensitivity and offloaded caches. `grid` repeats the search for five cache hit rates. The numbers of layouts and of
//! units that are compared are printed before the times.

#![expect(clippy::print_stdout, reason = "a benchmark says what it found")]

use divan::Bencher;
use unroof_roofline::plan::plan;

const QUESTIONS: [(&str, &str); 4] = [
    (
        "dense",
        r#"{"model": "Llama-3.1-70B", "machine": {"accelerator": "h100-sxm", "chips": 8},
            "limits": {"time_to_first_token_seconds": 1, "time_per_output_token_seconds": 0.025}}"#,
    ),
    (
        "mixture",
        r#"{"model": "DeepSeek-V3", "machine": {"accelerator": "gb200-nvl72"},
            "load": {"input_tokens": 4096, "input_spread": 1, "requests_per_second": 500, "cache_hit_rate": 0.5},
            "limits": {"time_to_first_token_seconds": 3, "time_per_output_token_seconds": 0.03}}"#,
    ),
    (
        "chips",
        r#"{"model": "DeepSeek-V3", "machine": {"accelerator": "h200-sxm", "chips": 256},
            "limits": {"time_to_first_token_seconds": 3, "time_per_output_token_seconds": 0.05}}"#,
    ),
    (
        "grid",
        r#"{"model": "DeepSeek-V3", "machine": {"accelerator": "gb200-nvl72"},
            "load": {"requests_per_second": 500},
            "limits": {"time_to_first_token_seconds": 3, "time_per_output_token_seconds": 0.03},
            "grid": {"cache_hit_rate": [0, 0.2, 0.4, 0.6, 0.8]}}"#,
    ),
];

fn main() {
    for (name, text) in QUESTIONS {
        let answer = plan(text.as_bytes()).expect("the question is right");
        let searched = answer.searched;
        println!(
            "{name}: {} layouts, {} units",
            searched.layouts, searched.units
        );
    }
    divan::main();
}

#[divan::bench(args = ["dense", "mixture", "chips", "grid"])]
fn text_to_text(bencher: Bencher, name: &str) {
    let question = QUESTIONS.iter().find(|(of, _)| *of == name);
    let (_, text) = question.expect("the name is in the list");
    bencher.bench(|| serde_json::to_string(&plan(text.as_bytes()).expect("right")));
}
