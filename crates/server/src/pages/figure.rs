//! A chart in a page: the drawing, its caption, the table behind it, and the addresses under which it is found alone.

use maud::{Markup, html};

use unroof_base::shell::curl;
use unroof_report::chart::Chart;

/// The figure of a chart whose own address is `/charts/{kind}.svg?{query}`.
pub(super) fn figure(chart: &Chart, kind: &str, query: &str) -> Markup {
    captioned(chart, kind, query, &html! { strong { (chart.title) } })
}

/// Figure of a chart below a heading that has its title.
pub(super) fn under_heading(chart: &Chart, kind: &str, query: &str) -> Markup {
    captioned(chart, kind, query, &html! {})
}

fn captioned(chart: &Chart, kind: &str, query: &str, title: &Markup) -> Markup {
    let address = |form: &str| format!("/charts/{kind}.{form}?{query}");
    html! {
        figure tabindex="0" data-chart {
            figcaption {
                (title)
                span { (chart.description) }
            }
            div.drawing { (chart.svg()) }
            details {
                summary { "Data and addresses" }
                p.forms {
                    a href=(address("svg")) { "SVG" } " · " a href=(address("csv")) { "CSV" } " · "
                    a href=(address("json")) { "JSON" }
                }
                p { "The request:" }
                pre tabindex="0" { code { (curl(&address("json"), None)) } }
                (chart.table.html())
            }
        }
    }
}
