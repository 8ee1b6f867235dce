//! A comparison for a person: the finding, the quantities, the terms.

use std::io::{self, Write};

use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::samples::Spread;
use unroof_price_sheet::sheet::PriceSheet;

use super::compared::Compared;
use super::probabilities::Probabilities;
use super::terms;
use crate::estimates::report::{NO_BREAK, interval, joined, paragraph, percent, write_rows};
use crate::label;
use crate::shell::terminal;
use unroof_base::units::compact;

/// Estimates side by side, with the probabilities where they are known.
pub(super) struct Comparison<'a> {
    pub(super) compared: &'a [Compared],
    pub(super) probabilities: Probabilities,
}

/// One of what is compared, with the best that is known of one of its quantities.
type Known<'a> = (&'a Compared, Spread);

impl Comparison<'_> {
    /// Writes the finding and the tables.
    ///
    /// # Errors
    /// The output fails.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(finding) = self.finding() {
            paragraph(out, &finding, 0)?;
            writeln!(out)?;
        }
        let names = self.compared.iter().map(|one| terminal::quoted(&one.name));
        let names: Vec<String> = names.collect();
        let mut header = vec![""];
        header.extend(names.iter().map(String::as_str));
        let rows = JointQuantity::ALL.map(|quantity| self.row(quantity));
        write_rows(out, &header, rows)?;
        paragraph(out, &self.legend(), 0)?;
        writeln!(out)?;
        let sheets = self.compared.iter().map(|one| one.sheet.as_ref());
        let sheets: Vec<Option<&PriceSheet>> = sheets.collect();
        write_rows(out, &header, terms::rows(&sheets))?;
        paragraph(
            out,
            "Prices of the standard tier per million tokens, of the author's own offer where there is one.",
            0,
        )
    }

    fn legend(&self) -> String {
        let probability = if self.probabilities.are_known() {
            ", and the probability that it is more"
        } else {
            ""
        };
        format!(
            "Published values, else medians with 90 % intervals; * identified. In brackets: the ratio to the first{probability}."
        )
    }

    fn row(&self, quantity: JointQuantity) -> Vec<String> {
        let label = quantity.definition().label.to_owned();
        let cells = self.compared.iter().map(|one| self.cell(one, quantity));
        std::iter::once(label).chain(cells).collect()
    }

    /// The median with its ratio to that of the first, and the interval below it.
    fn cell(&self, one: &Compared, quantity: JointQuantity) -> String {
        let estimated = &one.estimated;
        let both = estimated
            .quantity(quantity)
            .zip(estimated.best_spread(quantity));
        let Some((estimate, best)) = both else {
            return "–".to_owned();
        };
        let ratio = self
            .ratio_to_first((one, best), quantity)
            .unwrap_or_default();
        let median = compact(best.median);
        if estimated.published_size(quantity).is_some() {
            let by_prices = interval(estimate.interval_90, compact);
            return format!("{median} published{ratio}\nprices: {by_prices}");
        }
        let mark = if estimate.identified { " *" } else { "" };
        let interval = interval(best.interval_90, compact);
        format!("{median}{mark}{ratio}\n{interval}")
    }

    fn ratio_to_first(&self, (one, own): Known, quantity: JointQuantity) -> Option<String> {
        let first = &self.compared[0];
        if std::ptr::eq(first, one) {
            return None;
        }
        let ratio = own.median / first.estimated.best_spread(quantity)?.median;
        let probability = self.probability(one, first, quantity);
        let probability = probability
            .map(|probability| format!(",{NO_BREAK}{}{NO_BREAK}%", percent(probability)));
        Some(format!(
            " ({}×{})",
            compact(ratio),
            probability.unwrap_or_default()
        ))
    }

    fn probability(&self, one: &Compared, than: &Compared, quantity: JointQuantity) -> Option<f64> {
        self.probabilities
            .of_more(one.model()?, than.model()?, quantity)
    }

    /// The finding in a sentence: which is the largest, by how much, and how sure that is.
    fn finding(&self) -> Option<String> {
        let active = JointQuantity::ActiveParameters;
        let known = self.compared.iter();
        let known = known.filter_map(|one| Some((one, one.estimated.best_spread(active)?)));
        let (mut identified, others): (Vec<Known>, Vec<Known>) =
            known.partition(|(one, _)| is_known(&one.estimated, active));
        identified.sort_by(|(_, left), (_, right)| right.median.total_cmp(&left.median));
        let mut parts = Vec::new();
        if let [largest, .., smallest] = identified.as_slice() {
            parts.push(self.larger(*largest, *smallest, active));
        }
        if !others.is_empty() {
            let names = others.iter().map(|(one, _)| terminal::quoted(&one.name));
            let names = joined(names, ", ");
            parts.push(format!("active parameters are not identified for {names}"));
        }
        (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
    }

    fn larger(
        &self,
        (largest, most): Known,
        (smallest, least): Known,
        quantity: JointQuantity,
    ) -> String {
        let is_published = |one: &Compared| one.estimated.published_size(quantity).is_some();
        let are_published = is_published(largest) && is_published(smallest);
        let sure = match self.probability(largest, smallest, quantity) {
            _ if are_published => "both are published".to_owned(),
            Some(probability) => format!(
                "it has more with a probability of {} %",
                percent(probability)
            ),
            None if most.interval_90.low <= least.interval_90.high => {
                "their 90 % intervals overlap".to_owned()
            }
            None => "their 90 % intervals do not overlap".to_owned(),
        };
        format!(
            "{} has {}{} times the active parameters of {} ({} against {}; {sure})",
            label(&terminal::quoted(&largest.name)),
            if are_published { "" } else { "probably " },
            compact(most.median / least.median),
            terminal::quoted(&smallest.name),
            compact(most.median),
            compact(least.median),
        )
    }
}

/// Whether a quantity is published or identified.
fn is_known(estimated: &StoredEstimate, quantity: JointQuantity) -> bool {
    let is_identified = || {
        estimated
            .quantity(quantity)
            .is_some_and(|own| own.identified)
    };
    estimated.published_size(quantity).is_some() || is_identified()
}
