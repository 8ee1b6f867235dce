//! Faults next to their lines.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::placed::Placed;
use crate::pages::hint::linked;

/// Lines shown before and after one with a fault.
const AROUND: usize = 2;
/// Most lines of the text that are shown.
const MOST_LINES: usize = 200;
/// Most characters of a line.
const LONGEST_LINE: usize = 240;

/// The faults: those of a line next to it, those of an assumption with its name, the others first.
pub(super) fn faults(text: &str, faults: &[Placed]) -> Markup {
    let elsewhere = faults.iter().filter(|fault| fault.line.is_none());
    let elsewhere: Vec<&Placed> = elsewhere.collect();
    html! {
        @if !elsewhere.is_empty() {
            ul.faults {
                @for fault in elsewhere {
                    li {
                        @if let Some(name) = &fault.control {
                            a href={ "#" (super::controls::id(name)) } { (name.replace(['_', '.'], " ")) } ": "
                        }
                        (words(fault))
                    }
                }
            }
        }
        (lines(text, faults))
    }
}

fn words(fault: &Placed) -> Markup {
    html! {
        strong.bad { (fault.fault.detail) }
        @if !fault.fault.hint.is_empty() { " – " (linked(&fault.fault.hint)) }
    }
}

/// The lines with faults, and a few around each.
fn lines(text: &str, faults: &[Placed]) -> Markup {
    let wrong: BTreeSet<usize> = faults.iter().filter_map(|fault| fault.line).collect();
    if wrong.is_empty() {
        return html! {};
    }
    let shown: BTreeSet<usize> = wrong
        .iter()
        .flat_map(|line| line.saturating_sub(AROUND)..=line + AROUND)
        .collect();
    let source = (1..).zip(text.lines());
    let source = source.filter(|(number, _)| shown.contains(number));
    let source = source.take(MOST_LINES);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Lines with faults" {
            table.source {
                @for (number, line) in source {
                    tr.wrong[wrong.contains(&number)] {
                        th scope="row" {
                            a href="#sheet" data-line=(number) { span.hidden { "Line " } (number) }
                        }
                        td {
                            code { (shortened(line)) }
                            @for fault in faults.iter().filter(|fault| fault.line == Some(number)) {
                                p { (words(fault)) " " code.faint { (fault.fault.pointer) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(LONGEST_LINE).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
