//! A chart in a page: the drawing, its caption, the table behind it, and the addresses under which it is found alone.

use maud::{Markup, html};

use crate::chart::Chart;

/// The figure of a chart whose own address is `/charts/{kind}.svg?{query}`.
pub(super) fn figure(chart: &Chart, kind: &str, query: &str) -> Markup {
    let address = |form: &str| format!("/charts/{kind}.{form}?{query}");
    html! {
        figure tabindex="0" data-chart {
            figcaption {
                strong { (chart.title) }
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
                pre tabindex="0" { code { "curl \"$UNROOF" (address("json")) "\"" } }
                (chart.table.html())
            }
        }
    }
}
