//! The prices of the models over their hosts, with costs and margins.

use maud::{Markup, html};

use crate::api::answers::compare::ComparedModel;
use crate::api::answers::compare::terms::{LineTerms, PriceRange};
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::judgement::headline::margin_in_words;
use unroof_infer::estimate::margins::ImpliedMargin;

/// A row: its name and its value of a model.
type Row = (&'static str, fn(&ComparedModel) -> String);

const ROWS: [Row; 12] = [
    ("hosts with a price", |model| model.terms.hosts.to_string()),
    ("longest context, tokens", |model| {
        model
            .terms
            .context_tokens
            .map_or_else(unknown, |tokens| compact(tokens.into()))
    }),
    ("input, lowest price", |model| {
        lowest(model.terms.input.price)
    }),
    ("input, median price", |model| {
        median(model.terms.input.price)
    }),
    ("input, cost", |model| cost(&model.terms.input)),
    ("input, margin at the median", |model| {
        margin(model.terms.input.margin_at_median)
    }),
    ("output, lowest price", |model| {
        lowest(model.terms.output.price)
    }),
    ("output, median price", |model| {
        median(model.terms.output.price)
    }),
    ("output, cost", |model| cost(&model.terms.output)),
    ("output, margin at the median", |model| {
        margin(model.terms.output.margin_at_median)
    }),
    ("cached input, lowest price", |model| {
        lowest(model.terms.cache_read)
    }),
    ("open weights", |model| {
        model.open_model.unwrap_or("no").to_owned()
    }),
];

fn unknown() -> String {
    "–".to_owned()
}

fn lowest(price: Option<PriceRange>) -> String {
    price.map_or_else(unknown, |price| readable(price.lowest))
}

fn median(price: Option<PriceRange>) -> String {
    price.map_or_else(unknown, |price| readable(price.median))
}

fn cost(line: &LineTerms) -> String {
    let cost = &line.cost_usd_per_mtok;
    format!(
        "{} ({} to {})",
        compact(cost.median),
        compact(cost.interval_90.low),
        compact(cost.interval_90.high)
    )
}

fn margin(margin: Option<ImpliedMargin>) -> String {
    margin.map_or_else(unknown, |margin| {
        margin_in_words(margin.median, margin.interval_90)
    })
}

/// The table, a column per model.
pub(super) fn table(models: &[ComparedModel]) -> Markup {
    html! {
        h2 { "Prices and costs" }
        div.scroll tabindex="0" role="region" aria-label="Prices and costs" {
            table.terms {
                thead { tr {
                    th scope="col" { "USD per million tokens" }
                    @for model in models { th.number scope="col" { (model.canonical_model) } }
                } }
                tbody {
                    @for (name, value) in ROWS {
                        tr {
                            th scope="row" { (name) }
                            @for model in models { td.number { (value(model)) } }
                        }
                    }
                }
            }
        }
    }
}
