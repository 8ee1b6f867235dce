//! A reported compute margin as evidence, and the estimate without it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::posterior;
use crate::clue;
use crate::clue::compute_margin::reported_of;
use crate::estimate::judgement::headline::{margin_in_words, rough};
use crate::estimate::margins::{ImpliedMargin, base_output_price};
use crate::estimate::quantities::JointQuantity;
use crate::estimate::samples::Samples;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::quantity::Quantity;
use crate::posterior::{Interval, Prior};
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
    pub without: BTreeMap<String, Without>,
    /// Margin of the output price without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output_margin_without: Option<ImpliedMargin>,
}

/// A quantity without the report.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct Without {
    /// Median of the estimate.
    pub median: f64,
    /// Interval of 90 %.
    pub interval_90: Interval,
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
        let samples = Samples::of(&posterior(prior, &terms, wanted)?.draws);
        let without = |quantity: JointQuantity| {
            let summary = samples.summary(quantity);
            Without {
                median: summary.median(),
                interval_90: summary.interval_90(),
            }
        };
        let cost = without(JointQuantity::CostOutput);
        let price = base_output_price(contents, assumptions);
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
            output_margin_without: price
                .and_then(|price| ImpliedMargin::new(price, cost.median, cost.interval_90)),
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
            let Without {
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
        let margin = self.output_margin_without.map_or(String::new(), |margin| {
            format!(
                " and an output margin of {}",
                margin_in_words(margin.median, margin.interval_90)
            )
        });
        format!(
            "a compute margin of {reported} was reported of {} and is read as evidence; no public truth tells how often that is \
             right. Without it: {} active, {} total parameters{margin}",
            self.vendor,
            size(JointQuantity::ActiveParameters),
            size(JointQuantity::TotalParameters),
        )
    }
}
