//! A reported compute margin as evidence, and the estimate without it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::drawn_again;
use crate::clue;
use crate::clue::compute_margin::reported_of;
use crate::estimate::judgement::words::{margin_in_words, rough};
use crate::estimate::margins::LineMargin;
use crate::estimate::quantities::JointQuantity;
use crate::estimate::samples::Spread;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::quantity::Quantity;
use crate::posterior::Prior;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;
use unroof_roofline::reference::compute_margins;

/// A compute margin that was reported of the vendor, which the estimate reads, and the estimate without it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MarginReport {
    /// Vendor of which it was reported.
    pub vendor: String,
    /// Least reported margin of the days whose prices are estimated.
    pub low: f64,
    /// Greatest one.
    pub high: f64,
    /// Period and source of each report.
    pub sources: Vec<String>,
    /// Estimates without the report, by quantity.
    pub without: BTreeMap<String, Spread>,
    /// Margin of each price line without it.
    pub margins_without: Vec<LineMargin>,
}

impl MarginReport {
    /// The report that the estimate from these sheets reads; none where a margin is stated or none was reported.
    ///
    /// # Errors
    /// The work is cancelled.
    pub(super) fn read_of(
        contents: &[PriceSheet],
        assumptions: &Assumptions,
        calibration: &Calibration,
        prior: &Prior,
        wanted: &CancelToken,
    ) -> Result<Option<Self>, Cancelled> {
        let is_stated = assumptions.states(Quantity::ComputeMargin);
        let Some((vendor, (low, high))) =
            contents.iter().find_map(reported_of).filter(|_| !is_stated)
        else {
            return Ok(None);
        };
        let mut terms = clue::observed(contents, assumptions, calibration);
        let all = terms.len();
        terms.retain(|term| term.parts() != [ClueKind::ComputeMargin]);
        if terms.len() == all {
            return Ok(None);
        }
        let Some((samples, margins_without)) =
            drawn_again(contents, assumptions, calibration, (prior, &terms), wanted)?
        else {
            return Ok(None);
        };
        let without = |quantity: JointQuantity| samples.spread(quantity);
        let rows = compute_margins().iter();
        let sources = rows.filter(|row| row.vendor == vendor && row.is_offered);
        Ok(Some(Self {
            vendor: vendor.to_owned(),
            low,
            high,
            sources: sources
                .map(|row| format!("{}: {}", row.period, row.source))
                .collect(),
            without: JointQuantity::ALL
                .into_iter()
                .map(|quantity| (quantity.name().to_owned(), without(quantity)))
                .collect(),
            margins_without,
        }))
    }

    /// The report and the estimate without it, as a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        let reported = if self.low < self.high {
            format!("{} to {} %", percent(self.low), percent(self.high))
        } else {
            format!("{} %", percent(self.low))
        };
        let size = |quantity: JointQuantity| {
            let Spread {
                median,
                interval_90,
            } = self.without[quantity.name()];
            format!(
                "{} ({} to {})",
                rough(median),
                rough(interval_90.low),
                rough(interval_90.high)
            )
        };
        let mut lines = self.margins_without.iter();
        let output = lines.find(|margin| margin.line == "output");
        let margin = output.map_or(String::new(), |margin| {
            format!(
                ", output margin {}",
                margin_in_words(margin.median, margin.interval_90)
            )
        });
        format!(
            "a compute margin of {reported} was reported of {} and is read, without a record. Without it: {} active, {} total{margin}",
            self.vendor,
            size(JointQuantity::ActiveParameters),
            size(JointQuantity::TotalParameters),
        )
    }
}
