//! An estimate in one sentence: figures of what is identified, the names of the rest, and the margin of the output price.

use super::posterior::Interval;
use super::quantities::JointQuantity;
use crate::units::compact;

/// A space at which no line is broken.
const NO_BREAK: char = '\u{a0}';

/// A quantity as the sentence needs it.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// The quantity.
    pub quantity: JointQuantity,
    /// Median.
    pub median: f64,
    /// 90 % interval.
    pub interval_90: Interval,
    /// Whether it is identified.
    pub identified: bool,
    /// Whether such estimates can be scored.
    pub has_record: bool,
}

/// The sentence without its subject: `probably 60B active parameters (14B to 320B); KV cache not identified from this sheet;
/// output margin 94 % (76 to 99 %), without public truth`. `from` names the sheets, the margin is of the output price with
/// its 90 % interval.
#[must_use]
pub fn finding(figures: &[Figure], from: &str, margin: Option<(f64, Interval)>) -> String {
    let shown = figures
        .iter()
        .filter(|figure| figure.has_record || figure.identified);
    let (identified, others): (Vec<_>, Vec<_>) = shown.partition(|figure| figure.identified);
    let known: Vec<String> = identified.into_iter().map(Figure::in_words).collect();
    let mut others: Vec<&str> = others
        .into_iter()
        .map(|figure| figure.quantity.definition().label)
        .collect();
    if !known.iter().any(|figures| is_of_cache(figures)) {
        // Nothing is known of the cache, whichever way it is counted.
        for label in &mut others {
            *label = if is_of_cache(label) {
                "KV cache"
            } else {
                label
            };
        }
        others.dedup();
    }
    let mut parts = Vec::new();
    if !known.is_empty() {
        parts.push(format!("probably {}", listed(&known)));
    }
    if !others.is_empty() {
        let others = listed(&others);
        parts.push(if known.is_empty() {
            format!("nothing identified from {from}: {others} are mostly the prior")
        } else {
            format!("{others} not identified from {from}")
        });
    }
    parts.extend(margin.map(|(median, interval)| {
        format!(
            "output margin {}, without public truth",
            margin_in_words(median, interval)
        )
    }));
    parts.join("; ")
}

fn is_of_cache(label: &str) -> bool {
    label.starts_with("KV ")
}

impl Figure {
    /// As `71B active parameters (17B to 285B)`; other quantities have their name in front.
    fn in_words(&self) -> String {
        let definition = self.quantity.definition();
        let (median, label) = (compact(self.median), definition.label);
        let (low, high) = (
            compact(self.interval_90.low),
            compact(self.interval_90.high),
        );
        if definition.unit == "parameters" {
            format!("{median} {label} ({low} to {high})")
        } else {
            format!("{label} {median} ({low} to {high})")
        }
    }
}

/// A margin with its interval, in percent.
#[must_use]
pub fn margin_in_words(median: f64, interval: Interval) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    format!(
        "{}{NO_BREAK}% ({} to {}{NO_BREAK}%)",
        percent(median),
        percent(interval.low),
        percent(interval.high)
    )
}

/// `a, b and c`.
#[must_use]
pub fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(quantity: JointQuantity, identified: bool) -> Figure {
        Figure {
            quantity,
            median: 60e9,
            interval_90: Interval {
                low: 14e9,
                high: 320e9,
            },
            identified,
            has_record: quantity != JointQuantity::CostOutput,
        }
    }

    #[test]
    fn figures_are_of_what_is_identified_and_the_rest_has_its_name() {
        let figures = [
            figure(JointQuantity::ActiveParameters, true),
            figure(JointQuantity::TotalParameters, false),
            figure(JointQuantity::KvBytesRead, false),
            figure(JointQuantity::KvBytesStored, false),
            figure(JointQuantity::CostOutput, false),
        ];
        let margin = Interval {
            low: 0.4,
            high: 0.9,
        };
        assert_eq!(
            finding(&figures, "this sheet", Some((0.7, margin))),
            "probably 60.0B active parameters (14.0B to 320B); total parameters and KV cache not identified from this sheet; \
             output margin 70\u{a0}% (40 to 90\u{a0}%), without public truth"
        );
        assert_eq!(
            finding(&figures[1..], "this sheet", None),
            "nothing identified from this sheet: total parameters and KV cache are mostly the prior"
        );
    }
}
