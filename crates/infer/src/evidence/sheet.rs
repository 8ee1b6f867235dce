//! Evidence of a sheet for readings: stated cells, context tiers, and modes next to the standard tier.

use super::assumptions::Assumptions;
use super::reading::NotDefined;
use unroof_base::units::Decimal;
use unroof_price_sheet::sheet::{
    Basis, ContextTierMeasure, ContextTierSemantics, PriceSheet, RateCell,
};

/// A sheet in its canonical order, and the assumptions.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// Pricing content of the sheet.
    pub(crate) sheet: &'a PriceSheet,
    /// Assumptions that the caller states.
    pub(crate) assumptions: &'a Assumptions,
}

/// A stated rate cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    /// The prices of the sheet.
    pub(crate) rate: &'a RateCell,
}

/// A price for ratios, or the reason for none.
pub(crate) type Price<'p> = Result<&'p Decimal, NotDefined>;

/// Two prices that are needed together, or the reason for the first that is missing.
pub(crate) fn both<T>(
    one: Result<T, NotDefined>,
    other: Result<T, NotDefined>,
) -> Result<(T, T), NotDefined> {
    Ok((one?, other?))
}

/// A context tier and the cell below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextStep<'a> {
    /// Prices up to the threshold.
    pub(crate) below: Cell<'a>,
    /// Cell with the prices above the threshold.
    pub(crate) above: Cell<'a>,
    /// `L_1`: threshold, in prompt tokens.
    pub(crate) threshold_tokens: f64,
    /// `L_max`: the next threshold, else the longest prompt.
    pub(crate) longest_tokens: Option<f64>,
}

impl<'a> Cell<'a> {
    /// A price that a ratio can be formed from.
    ///
    /// # Errors
    /// The price is not published, or it is 0.
    pub(crate) fn price<'p>(price: Option<&'p Decimal>, name: &str) -> Price<'p> {
        match price {
            None => Err(NotDefined::sheet_lacks(format!(
                "the sheet states no {name} price here"
            ))),
            Some(price) if price.is_zero() => Err(NotDefined::no_solution(format!(
                "the {name} price is 0: free or unknown, so no ratio is formed from it"
            ))),
            Some(price) => Ok(price),
        }
    }

    /// The input price, if a ratio can be formed from it.
    ///
    /// # Errors
    /// It is not published, or it is 0.
    pub(crate) fn input(&self) -> Price<'a> {
        Self::price(self.rate.input.as_ref(), "input")
    }

    /// The output price, if a ratio can be formed from it.
    ///
    /// # Errors
    /// It is not published, or it is 0.
    pub(crate) fn output(&self) -> Price<'a> {
        Self::price(self.rate.output.as_ref(), "output")
    }
}

impl<'a> Evidence<'a> {
    /// Whether the sheet is in US dollars.
    #[must_use]
    pub(crate) fn in_usd(&self) -> bool {
        self.sheet.currency == "USD"
    }

    /// Unit of a price.
    #[must_use]
    pub(crate) fn price_unit(&self) -> String {
        format!("{}/Mtok", self.sheet.currency)
    }

    /// Cells that the source states: standard and unscheduled first, then by service tier, schedule and prompt length.
    #[must_use]
    pub(crate) fn cells(&self) -> Vec<Cell<'a>> {
        let mut cells: Vec<Cell<'a>> = self
            .sheet
            .rates
            .iter()
            .filter(|rate| rate.basis == Basis::Stated)
            .map(|rate| Cell { rate })
            .collect();
        cells.sort_by(|left, right| left.rate.key().cmp(&right.rate.key()));
        cells
    }

    /// Every context tier with the cell below it.
    ///
    /// # Errors
    /// There is none, or its semantics is not that the whole request is repriced.
    pub(crate) fn context_steps(&self) -> Result<Vec<ContextStep<'a>>, NotDefined> {
        let cells = self.cells();
        let same_offer = |left: &Cell<'_>, right: &Cell<'_>| {
            left.rate.service_tier == right.rate.service_tier
                && left.rate.schedule == right.rate.schedule
        };
        let mut steps = Vec::new();
        for (index, above) in cells.iter().enumerate() {
            let Some(below) = index.checked_sub(1).map(|before| cells[before]) else {
                continue;
            };
            if !same_offer(&below, above) {
                continue;
            }
            let threshold = above.rate.context_tier.min_prompt_tokens;
            let next = cells.get(index + 1).filter(|next| same_offer(next, above));
            let limits = &self.sheet.limits;
            let longest = next
                .map(|next| next.rate.context_tier.min_prompt_tokens)
                .or(limits.max_input)
                .or(limits.context)
                .filter(|longest| *longest > threshold);
            steps.push(ContextStep {
                below,
                above: *above,
                threshold_tokens: f64::from(threshold),
                longest_tokens: longest.map(f64::from),
            });
        }
        if steps.is_empty() {
            return Err(NotDefined::sheet_lacks("the sheet has no context tier"));
        }
        match self.sheet.context_tier_semantics {
            ContextTierSemantics::WholeRequest => Ok(steps),
            ContextTierSemantics::Marginal => Err(NotDefined::sheet_lacks(
                "the context tier reprices only the tokens above it; the reading needs one that reprices the whole request",
            )),
            ContextTierSemantics::Unknown => Err(NotDefined::sheet_lacks(
                "the sheet does not say whether the context tier reprices the whole request",
            )),
        }
    }

    /// Caveat about the measure of thresholds.
    #[must_use]
    pub(crate) fn measure_caveat(&self) -> Option<&'static str> {
        match self.sheet.context_tier_measure {
            ContextTierMeasure::PromptTokens => None,
            ContextTierMeasure::PromptPlusOutputTokens => {
                Some("the threshold counts prompt and answer together")
            }
            ContextTierMeasure::Session => {
                Some("the threshold counts a whole session, not one request")
            }
            ContextTierMeasure::Unknown => Some("the sheet does not say what the threshold counts"),
        }
    }

    /// Cells of a service tier, each with the standard cell for the same prompts and times.
    #[must_use]
    pub(crate) fn beside_standard(&self, service_tier: &str) -> Vec<(Cell<'a>, Cell<'a>)> {
        let cells = self.cells();
        let standard = |cell: &Cell<'_>| {
            cells.iter().copied().find(|other| {
                other.rate.service_tier == RateCell::STANDARD
                    && other.rate.schedule == cell.rate.schedule
                    && other.rate.context_tier.min_prompt_tokens
                        == cell.rate.context_tier.min_prompt_tokens
            })
        };
        let of_tier = cells
            .iter()
            .copied()
            .filter(|cell| cell.rate.service_tier == service_tier);
        of_tier
            .filter_map(|cell| Some((standard(&cell)?, cell)))
            .collect()
    }

    /// The base cell, if the source states it.
    #[must_use]
    pub(crate) fn base_cell(&self) -> Option<Cell<'a>> {
        let base = self
            .sheet
            .base_rate()
            .filter(|rate| rate.basis == Basis::Stated);
        base.map(|rate| Cell { rate })
    }

    /// Reason that the sheet's modes cannot be compared: it has some, and no standard cell.
    #[must_use]
    pub(crate) fn no_standard_cell(&self) -> Option<NotDefined> {
        let cells = self.cells();
        let has_standard = (cells.iter()).any(|cell| cell.rate.service_tier == RateCell::STANDARD);
        (!cells.is_empty() && !has_standard).then(|| {
            NotDefined::sheet_lacks(
                "the sheet states no standard cell to compare its other service tiers with",
            )
        })
    }
}

/// A service tier's prices with the standard ones, for the same prompts and times.
#[derive(Debug, Clone)]
pub(crate) struct ModePrices<'a> {
    /// The cell that qualifies the comparison.
    pub(crate) cell: Cell<'a>,
    /// Output price over the standard output price.
    pub(crate) output_ratio: Result<f64, NotDefined>,
    /// Input price over the standard input price.
    pub(crate) input_ratio: Result<f64, NotDefined>,
}

impl<'a> Evidence<'a> {
    /// Service tiers other than the standard one, by name.
    #[must_use]
    pub(crate) fn modes(&self) -> Vec<&'a str> {
        let named = self.sheet.service_tiers.keys().map(String::as_str);
        named.filter(|tier| *tier != RateCell::STANDARD).collect()
    }

    /// Prices of a mode over those of the standard tier: from its own prices, or from a stated multiplier.
    #[must_use]
    pub(crate) fn mode_prices(&self, mode: &str) -> Vec<ModePrices<'a>> {
        let ratio = |above: Price<'a>, below: Price<'a>| Ok(above?.over(below?));
        let pairs = self.beside_standard(mode);
        let multiplier = self
            .sheet
            .service_tiers
            .get(mode)
            .and_then(|tier| tier.price_multiplier.as_ref());
        match (pairs.is_empty(), multiplier, self.base_cell()) {
            (true, Some(multiplier), Some(base)) => {
                let factor = Cell::price(Some(multiplier), "multiplied").map(Decimal::to_f64);
                vec![ModePrices {
                    cell: base,
                    output_ratio: factor.clone(),
                    input_ratio: factor,
                }]
            }
            _ => pairs
                .into_iter()
                .map(|(standard, cell)| ModePrices {
                    cell,
                    output_ratio: ratio(cell.output(), standard.output()),
                    input_ratio: ratio(cell.input(), standard.input()),
                })
                .collect(),
        }
    }
}
