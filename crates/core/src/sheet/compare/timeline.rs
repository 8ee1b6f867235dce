//! Price history of an offer: non-overlapping periods, and their changes by a new sheet.
//!
//! The price of an offer follows the catalog that priced it first; the provider's own page and manual entries take
//! precedence over catalogs. Other catalogs only fill gaps.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use uuid::Uuid;

use crate::sheet::SourceFormat;

/// Placeholder of an unknown start: the start of the year 1. Stated times are from 1970 on.
pub const UNKNOWN_START: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// A sheet in force from its start to before its end; without an end, until further notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// The sheet.
    pub sheet_id: Uuid,
    /// Name of the catalog.
    pub catalog: String,
    /// Inclusive start.
    pub starts_at: Timestamp,
    /// Exclusive end. A period replaced at its start is empty.
    pub ends_at: Option<Timestamp>,
    /// Withdrawal that ended it, if any.
    pub withdrawn: Option<Cut>,
}

/// A withdrawal that ended a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Time of the withdrawal.
    pub at: Timestamp,
    /// End of the period without the withdrawal.
    pub ends_at: Option<Timestamp>,
}

impl Period {
    /// Whether it is in force at a time.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.starts_at <= at && self.ends_at.is_none_or(|end| at < end)
    }

    fn is_empty(&self) -> bool {
        self.ends_at == Some(self.starts_at)
    }
}

/// A sheet as stated by a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The sheet.
    pub sheet_id: Uuid,
    /// Name of the catalog.
    pub catalog: &'a str,
    /// Inclusive start of validity, if stated.
    pub valid_from: Option<Timestamp>,
    /// Exclusive end of validity, if stated.
    pub valid_to: Option<Timestamp>,
    /// Time at which it was seen.
    pub observed_at: Timestamp,
}

impl Statement<'_> {
    /// Start of the price: without a stated start, the time at which it was seen; unknown if it had ended by then.
    #[must_use]
    pub fn starts_at(&self) -> Timestamp {
        let is_over = self.valid_to.is_some_and(|end| end <= self.observed_at);
        self.valid_from.unwrap_or(if is_over {
            UNKNOWN_START
        } else {
            self.observed_at
        })
    }

    /// Whether it states its validity.
    #[must_use]
    pub fn is_dated(&self) -> bool {
        self.valid_from.is_some() || self.valid_to.is_some()
    }

    fn takes_precedence(&self) -> bool {
        [SourceFormat::Official, SourceFormat::Manual]
            .iter()
            .any(|format| format.name() == self.catalog)
    }
}

/// A change of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Sets the end of the period at this index; None opens it again.
    End(usize, Option<Timestamp>),
    /// Adds a period.
    Open(Period),
}

/// Edits of an offer's timeline for a statement. The periods are in order and do not overlap, before and after. A withdrawn
/// sheet seen after its withdrawal is in force again from then on.
#[must_use]
pub fn admit(periods: &[Period], statement: &Statement<'_>) -> Vec<Edit> {
    let Some(withdrawn_at) = withdrawn_at(periods, statement.sheet_id) else {
        return if is_known(periods, statement) {
            Vec::new()
        } else {
            place(periods, statement)
        };
    };
    let seen = statement.observed_at;
    if seen <= withdrawn_at || statement.valid_to.is_some_and(|end| end <= seen) {
        return Vec::new();
    }
    let again = Statement {
        valid_from: statement.valid_from.map(|from| from.max(seen)),
        ..*statement
    };
    place(periods, &again)
}

/// Time at which a sheet was withdrawn, unless it has been in force since.
#[must_use]
pub fn withdrawn_at(periods: &[Period], sheet_id: Uuid) -> Option<Timestamp> {
    let own = || periods.iter().filter(|period| period.sheet_id == sheet_id);
    let cuts = own().filter_map(|period| period.withdrawn);
    let at = cuts.map(|cut| cut.at).max()?;
    let holds_again = own().any(|period| {
        let is_later = period.ends_at.is_none_or(|end| end > at);
        period.withdrawn.is_none() && !period.is_empty() && is_later
    });
    (!holds_again).then_some(at)
}

fn is_known(periods: &[Period], statement: &Statement<'_>) -> bool {
    let start = statement.starts_at();
    periods.iter().any(|period| {
        period.sheet_id == statement.sheet_id && (statement.is_dated() || period.covers(start))
    })
}

fn place(periods: &[Period], statement: &Statement<'_>) -> Vec<Edit> {
    let start = statement.starts_at();
    let Some(index) = periods.iter().rposition(|period| period.covers(start)) else {
        return fill(periods, statement);
    };
    if statement.takes_precedence() || periods[index].catalog == statement.catalog {
        return replace(periods, index, statement);
    }
    if statement.is_dated() {
        fill(periods, statement)
    } else {
        Vec::new()
    }
}

/// Ends the period at `index` where the sheet begins; it continues after the sheet's own end.
fn replace(periods: &[Period], index: usize, statement: &Statement<'_>) -> Vec<Edit> {
    let start = statement.starts_at();
    let current = &periods[index];
    let next = periods
        .iter()
        .filter(|period| !period.is_empty())
        .map(|period| period.starts_at)
        .find(|next| *next > start);
    let end = earlier(statement.valid_to, next);
    let mut edits = vec![
        Edit::End(index, Some(start)),
        Edit::Open(period(statement, start, end)),
    ];
    if let Some(end) = end
        && current.ends_at.is_none_or(|current_end| end < current_end)
        && next != Some(end)
    {
        edits.push(Edit::Open(Period {
            starts_at: end,
            ends_at: earlier(current.ends_at, next),
            withdrawn: None,
            ..current.clone()
        }));
    }
    edits
}

/// Fills the gaps within the sheet's validity; without a stated validity, only the first gap.
fn fill(periods: &[Period], statement: &Statement<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut start = statement.starts_at();
    let later = periods.iter().filter(|period| !period.is_empty());
    for known in later {
        if known.ends_at.is_some_and(|end| end <= start) {
            continue;
        }
        if statement.valid_to.is_some_and(|end| end <= known.starts_at) {
            break;
        }
        if start < known.starts_at {
            edits.push(Edit::Open(period(statement, start, Some(known.starts_at))));
            if !statement.is_dated() {
                return edits;
            }
        }
        match known.ends_at {
            Some(end) => start = end,
            None => return edits,
        }
    }
    if statement.valid_to.is_none_or(|end| start < end) {
        edits.push(Edit::Open(period(statement, start, statement.valid_to)));
    }
    edits
}

/// Edits that withdraw a sheet: a current period ends now, a future one is cancelled, and the sheet before it continues
/// until its own stated end. Empty if there is nothing to withdraw.
#[must_use]
pub fn withdraw(
    periods: &[Period],
    sheet_id: Uuid,
    now: Timestamp,
    stated_end: impl Fn(Uuid) -> Option<Timestamp>,
) -> Vec<Edit> {
    let mut after = periods.to_vec();
    for index in 0..periods.len() {
        let period = after[index].clone();
        if period.sheet_id != sheet_id {
            continue;
        }
        if period.covers(now) {
            after[index].ends_at = Some(now);
        } else if period.starts_at > now && !period.is_empty() {
            after[index].ends_at = Some(period.starts_at);
            let before = after[..index].iter().rposition(|before| {
                before.ends_at == Some(period.starts_at) && before.starts_at < period.starts_at
            });
            if let Some(before) = before {
                let end = earlier(period.ends_at, stated_end(after[before].sheet_id));
                after[before].ends_at = end;
            }
        }
    }
    ends_that_differ(periods, &after)
}

/// Error of undoing a withdrawal: another price is in force in that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeTaken;

/// Edits that undo the last withdrawal of a sheet: its periods get their former ends, or the start of an announced price
/// if that is earlier, and the price continued in its place ends again. Empty if the sheet is not withdrawn.
///
/// # Errors
/// Another price is in force in that time.
pub fn reinstate(
    periods: &[Period],
    sheet_id: Uuid,
    now: Timestamp,
) -> Result<Vec<Edit>, TimeTaken> {
    let Some(withdrawn_at) = withdrawn_at(periods, sheet_id) else {
        return Ok(Vec::new());
    };
    let mut after = periods.to_vec();
    // Latest first, the reverse order of the withdrawals.
    for index in (0..periods.len()).rev() {
        let period = &periods[index];
        let Some(cut) = period.withdrawn.filter(|cut| cut.at == withdrawn_at) else {
            continue;
        };
        if period.sheet_id != sheet_id {
            continue;
        }
        let from = period.starts_at.max(withdrawn_at);
        let others = || after.iter().filter(|other| !other.is_empty());
        let next = others()
            .map(|other| other.starts_at)
            .find(|start| *start >= from);
        let end = earlier(cut.ends_at, next);
        if next.is_some_and(|next| next <= now.max(from) && end == Some(next) && cut.ends_at != end)
        {
            return Err(TimeTaken);
        }
        let before = after
            .iter()
            .position(|other| other.starts_at < from && other.covers(from));
        if let Some(before) = before {
            let other = &after[before];
            let is_newer = other.starts_at > withdrawn_at && from <= now;
            // Its time after the sheet's end would be lost.
            let ends_later = earlier(other.ends_at, end) != other.ends_at;
            if is_newer || ends_later {
                return Err(TimeTaken);
            }
            after[before].ends_at = Some(from);
        }
        after[index].ends_at = end;
    }
    if overlap(&after) {
        return Err(TimeTaken);
    }
    Ok(ends_that_differ(periods, &after))
}

/// Whether two periods overlap.
fn overlap(periods: &[Period]) -> bool {
    let mut lasting: Vec<&Period> = periods.iter().filter(|period| !period.is_empty()).collect();
    lasting.sort_by_key(|period| period.starts_at);
    lasting
        .windows(2)
        .any(|pair| pair[0].ends_at.is_none_or(|end| end > pair[1].starts_at))
}

fn ends_that_differ(before: &[Period], after: &[Period]) -> Vec<Edit> {
    let pairs = before.iter().zip(after).enumerate();
    pairs
        .filter(|(_, (before, after))| before.ends_at != after.ends_at)
        .map(|(index, (_, after))| Edit::End(index, after.ends_at))
        .collect()
}

fn period(statement: &Statement<'_>, starts_at: Timestamp, ends_at: Option<Timestamp>) -> Period {
    Period {
        sheet_id: statement.sheet_id,
        catalog: statement.catalog.to_owned(),
        starts_at,
        ends_at,
        withdrawn: None,
    }
}

/// The earlier of two ends; None is open.
fn earlier(left: Option<Timestamp>, right: Option<Timestamp>) -> Option<Timestamp> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (end, None) | (None, end) => end,
    }
}
