//! The density of the bench `posterior` at given points, for the programs in `benches/rivals/`: `density_points tables`
//! prints canonical models at many sizes, `density_points points` draws of the prior with every coordinate and every term of
//! the log likelihood, both as JSON.

#![expect(clippy::print_stdout, reason = "a program for other programs")]

use std::error::Error;

use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, Normal};
use unroof_infer::clue;
use unroof_infer::estimate::{Format, read_request};
use unroof_infer::evidence::canonical::{CanonicalModel, Sizes};
use unroof_infer::evidence::kv_reading::KvReading;
use unroof_infer::evidence::likelihood::{Likelihood, Observed};
use unroof_infer::evidence::unknowns::Unknowns;
use unroof_infer::posterior::{Prior, sample_prior};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::forward::PromptTokens;
use unroof_roofline::reference::AttentionKind;
use unroof_roofline::reference::calibration::Calibration;

const SHEET: &str = include_str!("../../../benches/rich_sheet.json");
const MACHINE: &str = include_str!("../../../benches/fixed_machine.json");
/// Draws of the prior, over all classes.
const POINTS: usize = 32_000;
/// Canonical models of each class.
const MODELS: u32 = 256;
/// Seed of the sampler's Sobol sequence, and its dimensions: normal ones of the unknowns, of the utilisation and of the rent;
/// uniform ones of machines and units; normal ones of the errors of decoding and of prefill, and of the cached share.
const SEED: u32 = 20_260_429;
const NORMALS: u32 = 6;
const UNITS: std::ops::Range<u32> = 8..12;
const DIMENSIONS: u32 = 15;
/// Context of a model whose work is printed, tokens.
const CONTEXT: f64 = 3_000.0;

fn main() -> Result<(), Box<dyn Error>> {
    let asked = std::env::args().nth(1);
    match asked.as_deref() {
        Some("tables") => println!("{}", tables()),
        Some("points") => {
            let (prior, terms) = question(&of_equal_shares())?;
            println!("{}", points(&prior, &terms));
        }
        _ => return Err("it is tables or points".into()),
    }
    Ok(())
}

/// The calibration with as many draws of every class of models.
fn of_equal_shares() -> Calibration {
    let mut calibration = Calibration::shipped().clone();
    for class in &mut calibration.population.classes {
        class.share = 1.0;
    }
    calibration
}

/// Prior of a calibration, and terms of `rich_fixed_machine`.
fn question(calibration: &Calibration) -> Result<(Prior, Observed), Box<dyn Error>> {
    let text = format!(r#"{{"price_sheet": {SHEET}, "assumptions": {MACHINE}}}"#);
    let request = read_request(text.as_bytes(), &Format::Canonical)
        .map_err(|refused| format!("{refused:?}"))?;
    let contents: Vec<PriceSheet> = request
        .sheets
        .iter()
        .map(PriceSheet::pricing_content)
        .collect();
    let shipped = Calibration::shipped();
    let terms = clue::observed(&contents, &request.assumptions, shipped);
    let prior = Prior::of_sheets(calibration, &request.assumptions, &contents);
    Ok((prior, terms))
}

/// A coordinate of a point of the sampler's sequence, in (0, 1).
fn uniform(index: u32, dimension: u32) -> f64 {
    let drawn = f64::from(sobol_burley::sample(index, dimension, SEED));
    (drawn + 0.5 / f64::from(1_u32 << 24)).min(1.0 - f64::EPSILON)
}

/// Canonical models of every class at sizes that cover those of draws.
fn tables() -> Value {
    let classes = [false, true]
        .into_iter()
        .flat_map(|is_dense| AttentionKind::ALL.map(|attention| (is_dense, attention)));
    let models = classes.flat_map(|(is_dense, attention)| {
        (0..MODELS).map(move |index| canonical(&sizes(index, is_dense, attention)))
    });
    Value::Array(models.collect())
}

fn sizes(index: u32, is_dense: bool, attention: AttentionKind) -> Sizes {
    let within = |dimension, low: f64, high: f64| low + (high - low) * uniform(index, dimension);
    let log_active = within(0, 20.0, 28.0);
    let log_kv_read = within(2, 7.0, 13.0);
    Sizes {
        log_active,
        log_total: log_active + within(1, 0.01, if is_dense { 0.1 } else { 4.0 }),
        log_kv_read,
        log_kv_stored: log_kv_read,
        is_dense,
        attention,
    }
}

/// Sizes of a model, and its work per element of its cache.
fn canonical(sizes: &Sizes) -> Value {
    let model = CanonicalModel::of(sizes);
    let (elements, macs) = model.attention.decode(CONTEXT, 1.0);
    let reading = KvReading::new(sizes.attention, sizes.log_kv_read, sizes.log_kv_stored);
    let prompt = PromptTokens::fresh(CONTEXT);
    let (_, prompt_macs) = model.attention.prefill(prompt, 1.0);
    let shape = &model.shape;
    json!({
        "is_dense": sizes.is_dense,
        "attention": sizes.attention as u8,
        "log_active": sizes.log_active,
        "log_total": sizes.log_total,
        "log_kv_read": sizes.log_kv_read,
        "layers": shape.layers,
        "hidden_dimension": shape.hidden_dimension,
        "input_embedding_parameters": shape.input_embedding_parameters,
        "active_expert_parameters": shape.active_expert_parameters,
        "active_experts": shape.active_experts,
        "expert_layers": shape.expert_layers,
        "decode_macs": macs / elements,
        "prefill_macs": prompt_macs / reading.read_up_to(CONTEXT),
        "state_bytes": model.attention.state_bytes(),
    })
}

/// Draws of the prior: coordinates, unit, times, and the log likelihood of every term where the draw is possible.
fn points(prior: &Prior, terms: &[Box<dyn Likelihood>]) -> Value {
    let draws = sample_prior(prior, POINTS);
    let normal = Normal::standard();
    let each = draws.iter().zip(draws.weights()).zip(0_u32..);
    let rows = each.map(|((unknowns, weight), index)| {
        let coordinates: Vec<f64> = (0..DIMENSIONS)
            .map(|dimension| match uniform(index, dimension) {
                share if UNITS.contains(&dimension) => share,
                share => normal.inverse_cdf(share),
            })
            .collect();
        json!([
            of_draw(&unknowns, *weight),
            coordinates,
            logs(&unknowns, terms, *weight)
        ])
    });
    json!({
        "columns": COLUMNS,
        "normals": NORMALS,
        "rows": rows.collect::<Vec<_>>(),
    })
}

const COLUMNS: [&str; 14] = [
    "is_dense",
    "attention",
    "log_active",
    "log_total",
    "log_kv_read",
    "log_kv_stored",
    "log_batch",
    "log_context",
    "log_utilisation",
    "cached_share",
    "log_prefill_error",
    "weight",
    "log_chips",
    "log_step_seconds",
];

fn of_draw(unknowns: &Unknowns<'_>, weight: f64) -> [f64; COLUMNS.len()] {
    let running = &unknowns.running;
    [
        f64::from(u8::from(unknowns.is_dense)),
        f64::from(unknowns.attention as u8),
        unknowns.log_active_parameters,
        unknowns.log_total_parameters,
        unknowns.log_kv_bytes_read,
        unknowns.log_kv_bytes_stored,
        unknowns.log_batch_over_optimal,
        unknowns.log_mean_decode_context,
        unknowns.log_utilisation,
        running.cached_share,
        running.log_prefill_error,
        weight,
        running.log_chips,
        running.log_step_seconds.unwrap_or(0.0),
    ]
}

/// log of a prompt token's seconds of one chip, then of every term's likelihood; nothing of an impossible draw.
fn logs(unknowns: &Unknowns<'_>, terms: &[Box<dyn Likelihood>], weight: f64) -> Vec<f64> {
    if weight <= 0.0 {
        return Vec::new();
    }
    let each = terms.iter().map(|term| term.likelihood(unknowns).ln());
    std::iter::once(unknowns.log_prompt_chip_seconds())
        .chain(each)
        .collect()
}
