//! One file per price-sheet feature: what it observes and the textbook readings drawn from it.
//!
//! A reading is a closed form that a person can compute by hand. Each is complete in itself, with its equation, its
//! inputs and what it assumes; equation numbers and ids are those of `docs/MODEL.md`. A new feature is one new file
//! here with its `mod` line, and its row in `model/clue_table.rs`.
//!
//! ```
//! use unroof_infer::clue::readings;
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//!
//! # let cell = |tier: &str, input: &str, output: &str| {
//! #     let mut cell = RateCell::new(tier, ContextTier::default(), None);
//! #     (cell.input, cell.output) = (input.parse().ok(), output.parse().ok());
//! #     cell
//! # };
//! let sheet = PriceSheet::new("acme", "m-1", vec![cell("standard", "3", "15"), cell("batch", "1.5", "7.5")]);
//! let readings = readings(&sheet.pricing_content(), &Assumptions::default());
//! let number = |id: &str| readings.iter().find(|reading| reading.id.name() == id)?.number();
//! // Decoding waits five times as long for memory as it computes; a batch tier at half the price runs twice as full.
//! assert_eq!(number("output_ratio_memory_boundness"), Some(5.0));
//! assert_eq!(number("batch_discount_utilisation"), Some(0.5));
//! ```

mod batch_discount;
mod cache_read;
mod cache_storage;
mod cache_ttl;
mod cache_write;
mod capacity_offer;
pub(crate) mod compute_margin;
mod context_bands;
mod context_maximum;
mod context_tier;
mod facts;
mod fast_mode;
mod output_ratio;
pub(crate) mod output_speed;
mod peak_schedule;
mod price_level;
mod reasoning_output;
mod recompute_or_hold;
mod token_prices;

use facts::{knowledge_score, model_kind};

use crate::evidence::assumptions::Assumptions;
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::clue_table::clue_table;
use crate::evidence::likelihood::Observed;
use crate::evidence::reading::{NotDefined, Reading, Specification};
use crate::evidence::sheet::Evidence;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::whole_sheets;
use unroof_roofline::reference::calibration::Calibration;

/// A price-sheet feature: its readings, and the functions that draw them from a sheet.
pub struct Clue {
    /// The readings, in the order in which they are listed.
    pub specifications: &'static [&'static Specification],
    /// Whether it compares service tiers or schedules with the standard prices, or is promised for one of them.
    pub about_modes: bool,
    read: fn(&Evidence<'_>) -> Readings,
    observe: fn(&[Evidence<'_>], &Calibration) -> Observed,
}

/// The readings of a clue, or why a sheet gives none.
type Readings = Result<Vec<Reading>, NotDefined>;

impl Clue {
    /// A clue that gives readings, and no term of the joint estimate.
    const fn new(
        specifications: &'static [&'static Specification],
        read: fn(&Evidence<'_>) -> Readings,
    ) -> Self {
        Self {
            specifications,
            about_modes: false,
            read,
            observe: |_, _| Observed::new(),
        }
    }

    const fn about_modes(self) -> Self {
        Self {
            about_modes: true,
            ..self
        }
    }

    /// The clue gives terms of the joint estimate too.
    const fn observed_by(self, observe: fn(&[Evidence<'_>], &Calibration) -> Observed) -> Self {
        Self { observe, ..self }
    }

    fn readings(&self, evidence: &Evidence<'_>) -> Vec<Reading> {
        (self.read)(evidence).unwrap_or_else(|reason| none_defined(self, evidence, &reason))
    }
}

macro_rules! declare_clues {
    ($( $module:ident { $( $names:tt )+ } { $( $readings:tt )* } )+) => {
        /// Every clue, in the order in which answers list their readings.
        pub static CLUES: &[&Clue] = &[$( &$module::CLUE ),+];
    };
}

clue_table!(declare_clues);

/// Every kind of reading.
pub fn specifications() -> impl Iterator<Item = &'static Specification> {
    CLUES
        .iter()
        .flat_map(|clue| clue.specifications.iter().copied())
}

/// All readings of a sheet, given as its pricing content, under the caller's assumptions.
#[must_use]
pub fn readings(content: &PriceSheet, assumptions: &Assumptions) -> Vec<Reading> {
    let evidence = Evidence {
        sheet: content,
        assumptions,
    };
    CLUES
        .iter()
        .flat_map(|clue| clue.readings(&evidence))
        .collect()
}

/// Likelihood terms of the unknowns from the sheets of one model, one per clue that they show; the clues that hardly
/// any sheet lacks come first.
#[must_use]
pub fn observed(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
) -> Observed {
    let whole = whole_sheets(contents);
    let sheets: Vec<Evidence<'_>> = whole
        .iter()
        .map(|sheet| Evidence { sheet, assumptions })
        .collect();
    CLUES
        .iter()
        .flat_map(|clue| (clue.observe)(&sheets, calibration))
        .collect()
}

/// The readings, or where there are none, that the sheet lacks what they are drawn from.
fn or_lacking(drawn: impl IntoIterator<Item = Drawn>, lack: &str) -> Readings {
    let drawn = drawn.into_iter();
    let readings: Vec<Reading> = drawn
        .map(|reading| reading.unwrap_or_else(|ended| *ended))
        .collect();
    if readings.is_empty() {
        return Err(NotDefined::sheet_lacks(lack));
    }
    Ok(readings)
}

/// The readings of modes; without one, the lack of the modes or of the standard prices that they are compared with.
fn or_lacking_modes(
    evidence: &Evidence<'_>,
    drawn: impl IntoIterator<Item = Drawn>,
    lack: &str,
) -> Readings {
    or_lacking(drawn, lack).map_err(|lack| evidence.no_standard_cell().unwrap_or(lack))
}

/// Undefined entries for all readings of a clue that the sheet lacks.
fn none_defined(clue: &Clue, evidence: &Evidence<'_>, reason: &NotDefined) -> Vec<Reading> {
    let only_computed = evidence.cells().is_empty() && !evidence.sheet.rates.is_empty();
    let computed =
        NotDefined::sheet_lacks("all cells are computed, and only stated prices are evidence");
    let reason = if only_computed { &computed } else { reason };
    let empty = |specification: &&'static Specification| {
        ReadingBuilder::new(specification, evidence).not_defined(reason.clone())
    };
    clue.specifications.iter().map(empty).collect()
}
