//! Tables of pages: a heading per column, and rows.

use maud::{Markup, html};

/// A heading of a column.
#[derive(Debug, Clone, Copy)]
pub enum Head<'a> {
    /// Heading of words.
    Text(&'a str),
    /// Heading of numbers, which are at the right.
    Number(&'a str),
}

/// A table without a class.
#[must_use]
pub fn table(heads: &[Head<'_>], rows: &Markup) -> Markup {
    table_of(None, heads, rows)
}

/// A table of a class.
#[must_use]
pub fn table_of(class: Option<&str>, heads: &[Head<'_>], rows: &Markup) -> Markup {
    html! {
        table class=[class] {
            thead { tr { @for head in heads { (head.cell()) } } }
            tbody { (rows) }
        }
    }
}

impl Head<'_> {
    fn cell(self) -> Markup {
        match self {
            Self::Text(name) => html! { th scope="col" { (name) } },
            Self::Number(name) => html! { th.number scope="col" { (name) } },
        }
    }
}

/// A table that scrolls by itself where the window is narrow.
#[must_use]
pub fn scrolling(name: &str, table: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) { (table) }
    }
}
