//! The prices of the models over their hosts, with costs and margins.

use maud::{Markup, html};

use crate::api::answers::compare::ComparedModel;
use crate::api::answers::compare::terms::{LineTerms, PriceRange};
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::judgement::headline::margin_in_words;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{scrolling, table_of};
use unroof_report::words::{or_dash, spread};

/// A row: its name and its value of a model.
type Row = (&'static str, fn(&ComparedModel) -> String);

const ROWS: [Row; 12] = [
    ("hosts with a price", |model| model.terms.hosts.to_string()),
    ("longest context, tokens", |model| {
        or_dash(model.terms.context_tokens, |tokens| compact(tokens.into()))
    }),
    ("input, lowest price", |model| {
        lowest(model.terms.input.price)
    }),
    ("input, median price", |model| {
        median(model.terms.input.price)
    }),
    ("input, cost", |model| cost(&model.terms.input)),
    ("input, margin at the median", |model| {
        margin(&model.terms.input)
    }),
    ("output, lowest price", |model| {
        lowest(model.terms.output.price)
    }),
    ("output, median price", |model| {
        median(model.terms.output.price)
    }),
    ("output, cost", |model| cost(&model.terms.output)),
    ("output, margin at the median", |model| {
        margin(&model.terms.output)
    }),
    ("cached input, lowest price", |model| {
        lowest(model.terms.cache_read)
    }),
    ("open weights", |model| {
        model.open_model.unwrap_or("no").to_owned()
    }),
];

fn lowest(price: Option<PriceRange>) -> String {
    or_dash(price, |price| readable(price.lowest))
}

fn median(price: Option<PriceRange>) -> String {
    or_dash(price, |price| readable(price.median))
}

fn cost(line: &LineTerms) -> String {
    spread(
        line.cost_usd_per_mtok.median,
        line.cost_usd_per_mtok.interval_90,
    )
}

fn margin(line: &LineTerms) -> String {
    or_dash(line.margin_at_median, |margin| {
        margin_in_words(margin.median, margin.interval_90)
    })
}

/// The table, a column per model.
pub(super) fn table(models: &[ComparedModel]) -> Markup {
    let names = models.iter().map(|model| Number(&model.canonical_model));
    let heads: Vec<_> = std::iter::once(Text("USD per million tokens"))
        .chain(names)
        .collect();
    let rows = html! {
        @for (name, value) in ROWS {
            tr {
                th scope="row" { (name) }
                @for model in models { td.number { (value(model)) } }
            }
        }
    };
    html! {
        h2 { "Prices and costs" }
        (scrolling("Prices and costs", &table_of(Some("terms"), &heads, &rows)))
        p.note { "Costs and margins are of the published architecture; of a model without open weights, of the estimate from prices." }
    }
}
