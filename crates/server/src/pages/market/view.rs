//! The market as a page.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::market::{Market, MarketModel, MarketQuestion, Price, ROWS, Sort};
use crate::pages::changes::{brief, folded};
use crate::pages::layout::{Page, Tab};
use unroof_base::units::{compact, readable};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_report::chart::axis;
use unroof_report::chart::kinds::sparkline::Steps;
use unroof_report::chart::mark::inline;
use unroof_report::chart::scale::Scale;
use unroof_report::names::model_address;
use unroof_report::words::count;
use unroof_store::{ChangeKind, ChangeRow};

/// The content of the page.
pub(super) struct View<'a> {
    pub(super) question: &'a MarketQuestion,
    pub(super) market: &'a Market,
    /// All models that are asked for.
    pub(super) selected: &'a [&'a MarketModel],
    /// Rows of this page.
    pub(super) rows: Vec<Row<'a>>,
    pub(super) changes: &'a [ChangeRow],
    /// Kinds of changes after which the page is read again.
    pub(super) live: &'a [ChangeKind],
}

/// A row of the market.
pub(super) struct Row<'a> {
    pub(super) model: &'a MarketModel,
    pub(super) steps: Steps,
}

/// Width of a strip, with space for the dot at either end.
const STRIP: f64 = 230.0;
const STRIP_HEIGHT: f64 = 20.0;
const AXIS_HEIGHT: f64 = 22.0;
const EDGE: f64 = 6.0;

impl View<'_> {
    pub(super) fn page(&self) -> Page {
        let kinds: Vec<&str> = self.live.iter().map(|kind| kind.name()).collect();
        let content = html! {
            (self.headline())
            (self.controls())
            div.market {
                section aria-label="Models" { (self.table()) (self.pages()) (self.forms()) }
                aside id="recent" data-live=(kinds.join(" ")) aria-labelledby="recent-changes" {
                    h2 id="recent-changes" { "What changed" }
                    @if self.changes.is_empty() {
                        p.empty { "No price has changed and no offer has ended yet. Changes appear here as soon as a catalog or a sheet states them." }
                    } @else {
                        ol.changes { @for change in folded(self.changes) { li { (brief(change, "%d %b %H:%M")) } } }
                        p { a href="/ui/changes" { "All changes" } }
                    }
                }
            }
        };
        Page {
            title: "Market".to_owned(),
            tab: Some(Tab::Market),
            content,
        }
    }

    /// The finding, with the method beneath.
    fn headline(&self) -> Markup {
        let quantity = self.question.quantity;
        let is_identified = |model: &&&MarketModel| {
            model.estimate(quantity).and_then(|of| of.identified) == Some(true)
        };
        let identified = self.selected.iter().filter(is_identified).count();
        let models = match count(self.selected.len()).as_str() {
            "1" => "1 model".to_owned(),
            number => format!("{number} models"),
        };
        let label = quantity.definition().label;
        html! {
            h1 { (models) "; " (label) " identified for " (count(identified)) }
            p.note {
                "One row per model, from the prices of all its hosts, in US dollars per million tokens: input · output. The strip is the estimate: its dot is the median, its \
                 dark part the 50 % interval, its light part that of 90 %, grey the prior, an upright mark the public value. Where a value is public, it is the number, \
                 and the estimate follows it. A strip is faint where the quantity is not identified. " a href="/ui/truth" { "How often such estimates are right" } "."
            }
        }
    }

    fn controls(&self) -> Markup {
        let question = self.question;
        let authors: BTreeSet<&str> = self
            .market
            .models
            .iter()
            .map(|model| model.author.as_str())
            .collect();
        let hosts = Some(question.hosts).filter(|hosts| *hosts > 0);
        html! {
            form.controls action="/ui/" method="get" data-instant {
                label { "Model" input name="q" type="search" value=(question.q) placeholder="any" autocomplete="off" data-suggest; }
                label { "Author"
                    select name="author" {
                        option value="" { "all" }
                        @for author in authors { option value=(author) selected[author == question.author] { (author) } }
                    }
                }
                label { "Quantity"
                    select name="quantity" {
                        @for quantity in JointQuantity::ALL {
                            option value=(quantity.name()) selected[quantity == question.quantity] { (quantity.definition().label) }
                        }
                    }
                }
                label { "Hosts, at least" input.short name="hosts" type="number" min="0" value=[hosts]; }
                label { "$/Mtok, at most" input.short name="price" type="number" min="0" step="any" value=[question.price]; }
                label { "Sorted by"
                    select name="sort" {
                        @for (sort, name) in Sort::ALL { option value=(name) selected[sort == question.sort] { (name) } }
                    }
                }
                label { "As of" input name="as_of" type="date" value=[question.as_of]; }
                label.check { input name="identified" type="checkbox" checked[question.identified]; "identified" }
                label.check { input name="open" type="checkbox" checked[question.open]; "published value" }
                label.check { input name="copies" type="checkbox" checked[question.copies]; "copied prices once" }
                button { "Show" }
                a href="/ui/" { "Reset" }
            }
        }
    }

    fn table(&self) -> Markup {
        if self.rows.is_empty() {
            return self.empty();
        }
        let scale = Scale::log(
            self.market.domain(self.question.quantity),
            (EDGE, STRIP - EDGE),
        );
        let label = self.question.quantity.definition().label;
        html! {
            div.scroll {
                table.models {
                    thead {
                        tr {
                            (self.column(Sort::Name, "Model", "Author and model"))
                            (self.column(Sort::Hosts, "Hosts", "Providers that sell it, and how many different prices they charge"))
                            (self.column(Sort::Lowest, "Lowest", "Cheapest host: input · output, US dollars per million tokens"))
                            (self.column(Sort::Median, "Median", "The host in the middle: input · output, US dollars per million tokens"))
                            th scope="col" { "90 days" }
                            (self.column(Sort::Quantity, label, "Median estimate with its 90 % interval"))
                            th scope="col" { (axis_of(&scale)) }
                        }
                    }
                    tbody { @for row in &self.rows { (self.row(row, &scale)) } }
                }
            }
        }
    }

    fn column(&self, sort: Sort, name: &str, meaning: &str) -> Markup {
        let is_current = self.question.sort == sort;
        let direction = is_current.then_some(if self.question.descending {
            "descending"
        } else {
            "ascending"
        });
        let arrow = match direction {
            Some("descending") => " ↓",
            Some(_) => " ↑",
            None => "",
        };
        html! {
            th scope="col" aria-sort=[direction] title=(meaning) {
                a href=(self.question.sorted_by(sort)) { (name) (arrow) }
            }
        }
    }

    fn row(&self, row: &Row<'_>, scale: &Scale) -> Markup {
        let model = row.model;
        let short = model
            .name
            .split_once('/')
            .map_or(model.name.as_str(), |(_, name)| name);
        let distinct = model.distinct_prices();
        html! {
            tr {
                th scope="row" {
                    a href=(model_address(&model.name)) { (short) }
                    " " small { (model.author) }
                }
                td data-name="Hosts" {
                    (model.hosts)
                    @if distinct > 0 && distinct < model.hosts {
                        " " small { "· " (distinct) @if distinct == 1 { " price" } @else { " prices" } }
                    }
                }
                td data-name="Lowest" { (price(model.lowest())) }
                td data-name="Median" { (price(model.median(self.question.copies))) }
                td data-name="90 days" {
                    @if row.steps.has_changed() { (row.steps.svg()) }
                    @else { small.faint { @if row.steps.points.is_empty() { "no price" } @else { "no change" } } }
                }
                (self.estimate(model, scale))
            }
        }
    }

    fn estimate(&self, model: &MarketModel, scale: &Scale) -> Markup {
        let Some(strip) = self.market.strip(model, self.question.quantity) else {
            return html! { td.faint data-name="Estimate" colspan="2" { "no estimate" } };
        };
        let faint = (!strip.identified && strip.truth.is_none()).then_some("faint");
        let interval = strip.interval_90;
        let span = format!("{}–{}", compact(interval.low), compact(interval.high));
        html! {
            td data-name="Estimate" class=[faint] {
                @if let Some(public) = strip.truth {
                    (compact(public)) " " small { "public; by prices " (compact(strip.median)) " " (span) }
                } @else {
                    (compact(strip.median)) " " small { (span) }
                }
            }
            td.strip {
                (inline("chart", (STRIP, STRIP_HEIGHT), &strip.words(), &strip.marks(scale, STRIP_HEIGHT / 2.0)))
            }
        }
    }

    fn empty(&self) -> Markup {
        let has_models = !self.market.models.is_empty();
        html! {
            div.empty {
                @if has_models {
                    p { "No model fits. " a href="/ui/" { "Show all models" } ", or " a href="/ui/try" { "try a sheet of your own" } "." }
                } @else {
                    p { "Nothing is stored yet." }
                    p { "Import a catalog: " code { "unroof import https://models.dev/api.json" } }
                    p { "Or store the example sheets: " code { "unroof serve --examples" } }
                    p { "Or " a href="/ui/try" { "try a sheet of your own" } "; nothing is stored by that." }
                }
            }
        }
    }

    /// The addresses of what is shown.
    fn forms(&self) -> Markup {
        html! {
            @if !self.rows.is_empty() {
                p.note {
                    "This page as a chart: " a href=(self.question.chart("svg")) { "SVG" } " · its data: "
                    a href=(self.question.chart("csv")) { "CSV" } " · " a href=(self.question.chart("json")) { "JSON" }
                }
            }
        }
    }

    fn pages(&self) -> Markup {
        let page = self.question.page;
        let pages = self.selected.len().div_ceil(ROWS);
        let other = |page| self.question.address_of(page);
        html! {
            @if pages > 1 {
                nav.pages aria-label="Pages of models" {
                    @if page > 1 { a rel="prev" href=(other(page - 1)) { "← Previous" } }
                    span { "Page " (page) " of " (pages) }
                    @if page < pages { a rel="next" href=(other(page + 1)) { "Next →" } }
                }
            }
        }
    }
}

/// The axis that all strips have.
fn axis_of(scale: &Scale) -> Markup {
    let (low, high) = scale.domain();
    let words = format!(
        "Axis of the strips, logarithmic, from {} to {}",
        compact(low),
        compact(high)
    );
    let marks = axis::horizontal(scale, (18.0, AXIS_HEIGHT - 18.0), axis::short);
    inline("chart", (STRIP, AXIS_HEIGHT), &words, &marks)
}

fn price(price: Option<Price>) -> Markup {
    html! {
        @match price {
            Some(price) => { (readable(price.input)) " · " (readable(price.output)) }
            None => span.faint { "–" }
        }
    }
}
