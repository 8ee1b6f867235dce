//! `unroof-dev costs`: how many costs of models with public sizes exceed their prices, and how far costs by sizes alone are
//! from those by architectures.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use statrs::statistics::Statistics;
use unroof_base::units::{Decimal, count_f64, readable};
use unroof_calibration::prices::{PricedModel, built_in};
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_infer::evidence::canonical_error::{LogErrors, Spreads, errors_of_open_models};
use unroof_infer::evidence::served_speed::{ServedSpeed, published_speeds};
use unroof_infer::hosts::engine_cost::costs_at_speed;
use unroof_infer::posterior::{Prior, sample_prior, summarize};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};
use unroof_roofline::reference::calibration::{Calibration, CostRecord};
use unroof_roofline::reference::{
    AttentionKind, decode_context_rows, decode_contexts, open_models, serving_speeds,
};

use crate::generated::{Template, write};

/// The page whose figures are written.
const PAGE: &str = "docs/model/costs.md";
const PAGE_TEXT: &str = include_str!("../../../docs/model/costs.md");
/// Contexts beside the learned one, tokens.
const CONTEXTS: [f64; 2] = [8_192.0, 2_000.0];
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

/// Arguments of `unroof-dev costs`.
#[derive(Debug, Args)]
pub(crate) struct CostsArguments {
    /// Folder of the project's sources
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    project: PathBuf,
}

/// Writes the sections of costs and prices, and of costs by sizes alone.
pub(crate) fn run(arguments: &CostsArguments, out: &mut impl Write) -> Result<()> {
    let mut page = Template::new(PAGE_TEXT);
    fill_prices(&mut page);
    fill_law(&mut page);
    fill_speeds(&mut page);
    fill_sizes(&mut page);
    write(&arguments.project.join(PAGE), &page.filled())?;
    writeln!(out, "wrote {PAGE}")?;
    Ok(())
}

/// Models whose costs exceed their prices, by mean context.
fn fill_prices(page: &mut Template<'_>) {
    let models = built_in();
    let learned = decode_contexts();
    let sold = decode_context_rows().iter().filter(|row| row.is_sold);
    let figures = format!(
        "{} tokens and a spread of {:.2} in the logarithm over the providers of {}",
        readable(learned.log_mean.exp().round()),
        learned.log_sd,
        sold.count(),
    );
    page.between("The learned context has a median of ", " rows of", &figures);
    let row = |name: &str, context| {
        let costs: Vec<ModelCosts> = models
            .iter()
            .filter_map(|model| ModelCosts::new(model, context))
            .collect();
        [
            name.to_owned(),
            exceeding(&costs, |model| (model.costs[1], model.cheapest[1])),
            exceeding(&costs, |model| (model.costs[1], model.first_party[1])),
            exceeding(&costs, |model| (model.costs[0], model.cheapest[0])),
            exceeding(&costs, |model| (model.costs[0], model.first_party[0])),
        ]
    };
    let stated =
        CONTEXTS.map(|context| row(&format!("{} tokens", readable(context)), Some(context)));
    let rows = std::iter::once(row("as learned", None)).chain(stated);
    page.table("decode_contexts.csv", rows);
}

/// Record of the law of prices over costs.
fn fill_law(page: &mut Template<'_>) {
    let law = &Calibration::shipped().cost_law;
    let row = |name: &str, record: &CostRecord| {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let line = |line: usize| {
            [
                format!("{:.2}", record.rmse_log[line]),
                percent(record.coverage_90[line]),
                percent(record.below_cost[line]),
                percent(record.below_cost_probability[line]),
            ]
        };
        let head = [
            name.to_owned(),
            record.prices.to_string(),
            record.models.to_string(),
        ];
        [head.join(" | "), line(0).join(" | "), line(1).join(" | ")]
    };
    let rows = [
        row("hosts", &law.hosts),
        row("authors of their own models", &law.authors),
    ];
    page.table("# Prices over costs", rows);
}

/// Prices of output against costs, by the speed at which these take a model to be served.
fn fill_speeds(page: &mut Template<'_>) {
    let mut by_speed: [Vec<PricedCost>; 3] = Default::default();
    for row in serving_speeds() {
        let Some(open) = open_models().iter().find(|open| open.name == row.model) else {
            continue;
        };
        let speeds = [
            None,
            ServedSpeed::of_hosts([row.output_tokens_per_second]),
            ServedSpeed::of_hosts(published_speeds(&row.model)),
        ];
        for (rows, speed) in by_speed.iter_mut().zip(speeds) {
            rows.extend(costs_at_speed(open, speed).map(|costs| {
                PricedCost {
                    family: &open.family,
                    weight: count_f64(published_speeds(&row.model).count())
                        .sqrt()
                        .recip(),
                    log_cost: costs.output.median.ln(),
                    log_price: row.output_usd_per_mtok.ln(),
                }
            }));
        }
    }
    let names = [
        "the prior",
        "the speed at this host",
        "the speeds at all hosts",
    ];
    let rows = names.into_iter().zip(&by_speed);
    let rows = rows.map(|(name, rows)| [name.to_owned(), format!("{:.2}", left_out_error(rows))]);
    page.table("| costs by", rows);
}

/// Cost of a model's output beside the price of one host, in logarithms.
struct PricedCost {
    family: &'static str,
    /// A model with n hosts counts √n times.
    weight: f64,
    log_cost: f64,
    log_price: f64,
}

/// Root mean square of log(price ÷ predicted price), each predicted by the line through the costs of other families.
fn left_out_error(rows: &[PricedCost]) -> f64 {
    let error = |row: &PricedCost| {
        let others = || rows.iter().filter(|other| other.family != row.family);
        let mean = |of: &dyn Fn(&PricedCost) -> f64| {
            let total: f64 = others().map(|other| other.weight).sum();
            others().map(|other| other.weight * of(other)).sum::<f64>() / total
        };
        let (cost, price) = (
            mean(&|other| other.log_cost),
            mean(&|other| other.log_price),
        );
        let product = mean(&|other| (other.log_cost - cost) * (other.log_price - price));
        let slope = product / mean(&|other| (other.log_cost - cost).powi(2));
        row.log_price - price - slope * (row.log_cost - cost)
    };
    rows.iter().map(error).quadratic_mean()
}

/// Number of models whose cost is above a price, of those with such a price.
fn exceeding(costs: &[ModelCosts], pair: fn(&ModelCosts) -> (f64, Option<f64>)) -> String {
    let priced = costs.iter().map(pair);
    let priced = priced.filter_map(|(cost, price)| Some(cost > price?));
    let is_above: Vec<bool> = priced.collect();
    let above = is_above.iter().filter(|is_above| **is_above).count();
    format!("{above} of {}", is_above.len())
}

/// Errors of costs by sizes alone, by kind of attention.
fn fill_sizes(page: &mut Template<'_>) {
    let models = errors_of_open_models();
    let row = |name: &str, kind: Option<AttentionKind>| {
        let own = models.iter().filter(|(model, _)| {
            kind.is_none_or(|kind| kind == AttentionKind::of(&model.architecture.attention))
        });
        let own: Vec<_> = own.collect();
        let errors: Vec<LogErrors> = own.iter().flat_map(|(_, errors)| errors.clone()).collect();
        let [input, output] = [0, 1].map(|line| {
            let Spreads { bias, median, most } =
                Spreads::of(errors.iter().map(|error| error[line]));
            let percent = |log: f64| 100.0 * log.exp_m1();
            format!(
                "{:.2} | {:.1} % | {:.0} %",
                bias.exp(),
                percent(median),
                percent(most)
            )
        });
        [name.to_owned(), own.len().to_string(), input, output]
    };
    let kinds = AttentionKind::ALL.map(|kind| row(kind.name(), Some(kind)));
    let rows = std::iter::once(row("all", None)).chain(kinds);
    page.table("# Costs by sizes alone", rows);
}

/// Cost of one model's lines next to its prices, USD per million tokens; input, then output.
struct ModelCosts {
    /// Median costs of input and output, USD per million tokens.
    costs: [f64; 2],
    /// Least prices over its sellers, where any states one.
    cheapest: [Option<f64>; 2],
    /// Least prices of its author, where it sells it.
    first_party: [Option<f64>; 2],
}

type PriceOf = fn(&RateCell) -> Option<&Decimal>;
const LINES: [PriceOf; 2] = [|rate| rate.input.as_ref(), |rate| rate.output.as_ref()];

impl ModelCosts {
    /// The costs with the model's published sizes stated, at a mean context or, without one, at that of the prior.
    fn new(model: &PricedModel, context_tokens: Option<f64>) -> Option<Self> {
        let assumptions = stated(model, context_tokens)?;
        let prior = Prior::new(Calibration::shipped(), &assumptions);
        let draws = sample_prior(&prior, DRAWS);
        let median = |logs: Vec<f64>| summarize(logs.iter().copied(), draws.weights()).median();
        let is_first = |sheet: &&PriceSheet| is_author(&sheet.provider, &model.name);
        Some(Self {
            costs: [
                median(draws.iter().map(|one| one.log_input_cost()).collect()),
                median(draws.iter().map(|one| one.log_output_cost()).collect()),
            ],
            cheapest: LINES.map(|line| least(model.sheets.iter(), line)),
            first_party: LINES.map(|line| least(model.sheets.iter().filter(is_first), line)),
        })
    }
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
