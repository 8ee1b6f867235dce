//! probe
use std::time::Instant;
use unroof_core::clue;
use unroof_core::estimate::posterior::{EFFECTIVE_DRAWS, PRIOR_DRAWS, Prior, sample, sample_prior};
use unroof_core::estimate::{Format, infer, read_request};
use unroof_core::reference::calibration::Calibration;
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let what = std::env::args().nth(2).unwrap();
    let n: usize = std::env::args().nth(3).unwrap().parse().unwrap();
    let text = match which.as_str() {
        "rich" => include_str!("../../../benches/rich_sheet.json").to_owned(),
        "plain" => include_str!("../../../benches/plain_sheet.json").to_owned(),
        "fixed" => format!(
            r#"{{"price_sheet": {}, "assumptions": {}}}"#,
            include_str!("../../../benches/rich_sheet.json"),
            include_str!("../../../benches/fixed_machine.json")
        ),
        other => std::fs::read_to_string(other).unwrap(),
    };
    let request = read_request(text.as_bytes(), &Format::Canonical).unwrap();
    let contents: Vec<_> = request.sheets.iter().map(|s| s.pricing_content()).collect();
    let cal = Calibration::shipped();
    let terms = clue::observed(&contents, &request.assumptions, cal);
    let prior = Prior::of_sheets(cal, &request.assumptions, &contents);
    let p = sample(&prior, &terms, EFFECTIVE_DRAWS);
    println!(
        "terms {} draws {} ess {} k {}",
        terms.len(),
        p.draws.len(),
        p.effective_sample_size,
        p.pareto_k
    );
    let mut times = Vec::new();
    for _ in 0..n {
        let t = Instant::now();
        match what.as_str() {
            "sample" => {
                std::hint::black_box(sample(&prior, &terms, EFFECTIVE_DRAWS));
            }
            "prior" => {
                std::hint::black_box(Prior::of_sheets(cal, &request.assumptions, &contents));
            }
            "prior_draws" => {
                std::hint::black_box(sample_prior(&prior, PRIOR_DRAWS));
            }
            "infer" => {
                std::hint::black_box(infer(&request));
            }
            "answer" => {
                println!("{}", serde_json::to_string(&infer(&request)).unwrap());
            }
            _ => {}
        }
        times.push(t.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    if n > 0 {
        eprintln!(
            "{which} {what}: median {:.3} min {:.3} ms",
            times[n / 2],
            times[0]
        );
    }
}
