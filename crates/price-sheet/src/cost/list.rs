//! A list of usages: a line for each, its faults, and the sum.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::amount::Amount;
use super::answer::Cost;
use unroof_base::input::RequestError;
use unroof_base::input::cursor::Fault;

/// Faults of a line that are listed.
const FAULTS_OF_LINE: usize = 4;
/// Characters of each text of a fault.
const CHARACTERS_OF_FAULT: usize = 200;

/// A line of the answer to a list of usages.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CostEntry {
    /// The cost of a usage.
    Cost {
        /// Line of the request, counted from 1.
        line: u64,
        /// Cost of the line's usage.
        cost: Box<Cost>,
    },
    /// A line that cannot be priced.
    Fault {
        /// Line of the request, counted from 1.
        line: u64,
        /// The request's own name for the usage, where the line states one.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        id: Option<String>,
        /// Fault of the line, as a sentence.
        detail: String,
        /// The correction; null if each of `errors` has its own.
        hint: Option<String>,
        /// The faults of the line with their JSON pointers; the first four of many.
        errors: Vec<Fault>,
    },
    /// Sum at the end of the list.
    Done(CostSum),
    /// The last line of a list that was not read to its end.
    Failed {
        /// Reason of the failure, as a sentence.
        reason: String,
    },
}

/// The sum of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct CostSum {
    /// Usages with a total.
    pub priced: u64,
    /// Usages without a total: a used meter has no price.
    pub without_total: u64,
    /// Number of lines with faults.
    pub faults: u64,
    /// Sum of the totals, by currency.
    pub totals: Vec<CurrencyTotal>,
}

/// The sum in one currency.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CurrencyTotal {
    /// Currency, an ISO 4217 code.
    #[schema(example = "USD")]
    pub currency: String,
    /// Exact sum of the totals.
    pub total: Amount,
    /// Usages in the sum.
    pub usages: u64,
}

impl CostEntry {
    /// The line of a request that cannot be priced, with its own name for the usage.
    #[must_use]
    pub fn refused(line: u64, id: Option<String>, error: RequestError) -> Self {
        let (detail, hint, errors) = match error {
            RequestError::Unreadable(error) => {
                (error.to_string(), Some(error.hint.to_owned()), Vec::new())
            }
            RequestError::Wrong(faults) => {
                let count = faults.len();
                let faults: Vec<Fault> =
                    faults.into_iter().take(FAULTS_OF_LINE).map(short).collect();
                match faults.as_slice() {
                    [fault] => (
                        format!("{}: {}", fault.pointer, fault.detail),
                        Some(fault.hint.clone()),
                        faults,
                    ),
                    several if several.len() < count => (
                        format!("{count} faults; `errors` has the first {FAULTS_OF_LINE}"),
                        None,
                        faults,
                    ),
                    _ => (format!("{count} faults; see `errors`"), None, faults),
                }
            }
        };
        Self::Fault {
            line,
            id: id.map(shortened),
            detail,
            hint,
            errors,
        }
    }
}

/// A fault that is short, however long the names in the line are.
fn short(fault: Fault) -> Fault {
    Fault {
        pointer: shortened(fault.pointer),
        detail: shortened(fault.detail),
        hint: shortened(fault.hint),
        ..fault
    }
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(CHARACTERS_OF_FAULT) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Sums up a list.
#[derive(Debug, Default)]
pub struct Tally {
    counts: CostSum,
    totals: BTreeMap<String, (Amount, u64)>,
}

impl Tally {
    /// Adds a line to the sum.
    pub fn add(&mut self, entry: &CostEntry) {
        let CostEntry::Cost { cost, .. } = entry else {
            self.counts.faults += u64::from(matches!(entry, CostEntry::Fault { .. }));
            return;
        };
        let Some(total) = &cost.total else {
            self.counts.without_total += 1;
            return;
        };
        self.counts.priced += 1;
        let none = || (Amount::zero(), 0);
        let sum = self
            .totals
            .entry(cost.currency.clone())
            .or_insert_with(none);
        *sum = (sum.0.plus(total), sum.1 + 1);
    }

    /// The sum of the lines so far.
    #[must_use]
    pub fn sum(&self) -> CostSum {
        let total = |(currency, (total, usages)): (&String, &(Amount, u64))| CurrencyTotal {
            currency: currency.clone(),
            total: total.clone(),
            usages: *usages,
        };
        CostSum {
            totals: self.totals.iter().map(total).collect(),
            ..self.counts.clone()
        }
    }
}
