//! Costs of models whose sizes are public, next to what their sellers charge.

use serde_json::json;

use super::prices::PricedModel;
use unroof_base::units::Decimal;
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_infer::posterior::{Prior, sample_prior, summarize};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};
use unroof_roofline::reference::calibration::Calibration;

/// Draws per model: the median is known to a few percent.
const DRAWS: usize = 2_048;
/// Sellers, as their names begin, and how the names of the models that they made begin.
const AUTHORS: [(&str, &[&str]); 8] = [
    ("alibaba", &["Qwen", "QwQ"]),
    ("deepseek", &["DeepSeek"]),
    (
        "mistral",
        &[
            "Mistral",
            "Mixtral",
            "Ministral",
            "Magistral",
            "Devstral",
            "Codestral",
        ],
    ),
    ("moonshotai", &["Kimi"]),
    ("minimax", &["MiniMax"]),
    ("z", &["GLM"]),
    ("google", &["Gemma"]),
    ("nvidia", &["Nemotron", "Llama-3"]),
];

/// Cost of one model's lines next to its prices, USD per million tokens; input, then output.
#[derive(Debug, Clone)]
pub struct ModelCosts {
    /// Name of the model.
    pub model: String,
    /// Median costs of input and output, USD per million tokens.
    pub costs: [f64; 2],
    /// Least prices over its sellers, where any states one.
    pub cheapest: [Option<f64>; 2],
    /// Least prices of its author, where it sells it.
    pub first_party: [Option<f64>; 2],
}

/// Models whose median cost exceeds a price, of those with such a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeding {
    /// Models whose median cost is above it.
    pub above: usize,
    /// Models with such a price.
    pub of: usize,
}

type PriceOf = fn(&RateCell) -> Option<&Decimal>;
const LINES: [PriceOf; 2] = [|rate| rate.input.as_ref(), |rate| rate.output.as_ref()];

/// The costs of every model with its published sizes stated, at a mean context or, without one, at that of the prior.
#[must_use]
pub fn costs(
    models: &[PricedModel],
    calibration: &Calibration,
    context_tokens: Option<f64>,
) -> Vec<ModelCosts> {
    let of_model = |model: &PricedModel| {
        let assumptions = stated(model, context_tokens)?;
        let prior = Prior::new(calibration, &assumptions);
        let draws = sample_prior(&prior, DRAWS);
        let median = |log_cost: &dyn Fn(&unroof_infer::evidence::unknowns::Unknowns<'_>) -> f64| {
            let logs: Vec<f64> = draws.iter().map(|unknowns| log_cost(&unknowns)).collect();
            summarize(logs.iter().copied(), draws.weights()).median()
        };
        let is_first = |sheet: &&PriceSheet| is_author(&sheet.provider, &model.name);
        Some(ModelCosts {
            model: model.name.clone(),
            costs: [
                median(&|unknowns| unknowns.log_input_cost()),
                median(&|unknowns| unknowns.log_output_cost()),
            ],
            cheapest: LINES.map(|line| least(model.sheets.iter(), line)),
            first_party: LINES.map(|line| least(model.sheets.iter().filter(is_first), line)),
        })
    };
    models.iter().filter_map(of_model).collect()
}

fn is_author(seller: &str, model: &str) -> bool {
    AUTHORS.iter().any(|(author, models)| {
        seller.starts_with(author) && models.iter().any(|name| model.starts_with(name))
    })
}

/// The published sizes as assumptions.
fn stated(model: &PricedModel, context_tokens: Option<f64>) -> Option<Assumptions> {
    let truth = &model.truth;
    let mut stated = json!({
        "active_parameters": truth.log_active.exp(),
        "total_parameters": truth.log_total.max(truth.log_active).exp(),
        "kv_bytes_per_token_read": truth.log_kv_read_8k.exp(),
        "kv_bytes_per_token_stored": truth.log_kv_stored.exp(),
    });
    if let Some(tokens) = context_tokens {
        stated["mean_decode_context_tokens"] = json!(tokens);
    }
    unroof_base::input::read(stated.to_string().as_bytes(), Assumptions::read).ok()
}

fn least<'a>(sheets: impl Iterator<Item = &'a PriceSheet>, line: PriceOf) -> Option<f64> {
    sheets
        .filter_map(|sheet| Some(line(sheet.base_rate()?)?.to_f64()))
        .filter(|price| *price > 0.0)
        .min_by(f64::total_cmp)
}

impl Exceeding {
    /// Models whose cost of a line, 0 for input and 1 for output, exceeds a kind of price.
    #[must_use]
    pub fn count(
        costs: &[ModelCosts],
        line: usize,
        price: impl Fn(&ModelCosts) -> [Option<f64>; 2],
    ) -> Self {
        let priced = costs
            .iter()
            .filter_map(|model| Some((model.costs[line], price(model)[line]?)));
        let (mut above, mut of) = (0, 0);
        for (cost, price) in priced {
            of += 1;
            above += usize::from(cost > price);
        }
        Self { above, of }
    }
}
