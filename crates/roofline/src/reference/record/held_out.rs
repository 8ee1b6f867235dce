//! The estimates of open-weight models by calibrations that have not seen them, beside the published values.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use super::track_record::RecordSetting;

static HELD_OUT: LazyLock<Vec<HeldOut>> = LazyLock::new(|| {
    read(include_str!("../../../data/held_out.csv"))
        .unwrap_or_else(|error| panic!("data/held_out.csv: {error}"))
});

/// The estimates of one model in one setting, each against its published value.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// The sheets that they are from.
    pub setting: RecordSetting,
    /// Name of the model, as in the data on open-weight models.
    pub model: String,
    /// The host, where the sheet is that of one host alone.
    pub host: Option<String>,
    /// Share of the model: a model counts once however many of its hosts are estimated from.
    pub weight: f64,
    /// Whether it counts in the track record; models that were added later do not.
    pub counted: bool,
    /// Results by name of the quantity.
    pub quantities: BTreeMap<String, HeldOutQuantity>,
}

/// The estimate of one quantity against its published value; natural logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutQuantity {
    /// The published value, or the one computed from it.
    pub log_truth: f64,
    /// Median of the estimate.
    pub log_median: f64,
    /// Lower end of the 90 % interval.
    pub log_low_90: f64,
    /// Upper end of the 90 % interval.
    pub log_high_90: f64,
    /// Probability that the estimate gives to values below the truth.
    pub rank: f64,
    /// Log score less that of the prior, in nats.
    pub gain: f64,
}

impl HeldOutQuantity {
    /// Whether the middle of the estimate that holds this share of the probability holds the truth.
    #[must_use]
    pub fn is_covered(&self, share: f64) -> bool {
        (self.rank - 0.5).abs() <= 0.5 * share
    }

    /// Columns of the row, each with its value and digits after the point.
    fn columns(&self) -> [(&'static str, f64, usize); 6] {
        [
            ("log_truth", self.log_truth, 3),
            ("log_median", self.log_median, 3),
            ("log_low_90", self.log_low_90, 3),
            ("log_high_90", self.log_high_90, 3),
            ("rank", self.rank, 6),
            ("gain", self.gain, 3),
        ]
    }
}

/// Every estimate: by setting, then by model and host.
#[must_use]
pub fn held_out() -> &'static [HeldOut] {
    &HELD_OUT
}

/// The text of `data/held_out.csv`.
#[must_use]
pub fn held_out_csv(estimates: &[HeldOut]) -> String {
    let mut text = "setting,model,host,weight,counted".to_owned();
    let first = estimates.first().into_iter();
    for (name, quantity) in first.flat_map(|estimate| &estimate.quantities) {
        for (column, ..) in quantity.columns() {
            let _ = write!(text, ",{name}:{column}");
        }
    }
    text.push('\n');
    for estimate in estimates {
        let setting = serde_json::to_value(estimate.setting).unwrap_or_default();
        let _ = write!(
            text,
            "{},{},{},{},{}",
            setting.as_str().unwrap_or_default(),
            estimate.model,
            estimate.host.as_deref().unwrap_or_default(),
            rounded(estimate.weight, 4),
            if estimate.counted { "yes" } else { "no" },
        );
        for (_, value, digits) in estimate
            .quantities
            .values()
            .flat_map(HeldOutQuantity::columns)
        {
            let _ = write!(text, ",{}", rounded(value, digits));
        }
        text.push('\n');
    }
    text
}

/// A number with at most so many digits after the point.
fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.digits$}").parse().unwrap_or(number)
}

fn read(text: &str) -> Result<Vec<HeldOut>, String> {
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let header = rows.headers().map_err(|error| error.to_string())?.clone();
    rows.records()
        .map(|row| estimate(&header, &row.map_err(|error| error.to_string())?))
        .collect()
}

/// The estimates in a row.
fn estimate(header: &csv::StringRecord, row: &csv::StringRecord) -> Result<HeldOut, String> {
    let text = |name: &str| {
        let place = header.iter().position(|column| column == name);
        place
            .and_then(|place| row.get(place))
            .ok_or_else(|| format!("no {name}"))
    };
    let number = |name: &str| {
        let text = text(name)?;
        text.parse::<f64>().map_err(|_| format!("{name}: `{text}`"))
    };
    let quantity = |name: &str| {
        let part = |column: &str| number(&format!("{name}:{column}"));
        Ok::<_, String>(HeldOutQuantity {
            log_truth: part("log_truth")?,
            log_median: part("log_median")?,
            log_low_90: part("log_low_90")?,
            log_high_90: part("log_high_90")?,
            rank: part("rank")?,
            gain: part("gain")?,
        })
    };
    let names = header.iter().filter_map(|name| name.strip_suffix(":rank"));
    let quantities = names.map(|name| Ok((name.to_owned(), quantity(name)?)));
    let setting = serde_json::Value::from(text("setting")?);
    Ok(HeldOut {
        setting: serde_json::from_value(setting).map_err(|error| error.to_string())?,
        model: text("model")?.to_owned(),
        host: Some(text("host")?.to_owned()).filter(|host| !host.is_empty()),
        weight: number("weight")?,
        counted: text("counted")? == "yes",
        quantities: quantities.collect::<Result<_, String>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::track_record::track_records_of_quantity;
    use super::*;

    #[test]
    fn the_text_of_the_estimates_is_read_as_it_was_written() {
        assert_eq!(read(&held_out_csv(held_out())).unwrap(), held_out());
        assert!(held_out_csv(held_out()).len() < 300_000);
        let wrong = "setting,model,host,weight,counted\nelsewhere,m,,1,yes\n";
        assert!(read(wrong).is_err());
    }

    #[test]
    fn the_track_record_is_that_of_these_estimates() {
        let mut compared = 0;
        for name in held_out()[0].quantities.keys() {
            let whole = |record: &crate::reference::QuantityRecord| record.decisions.is_none();
            for record in track_records_of_quantity(name).filter(whole) {
                let own: Vec<(&HeldOut, &HeldOutQuantity)> = held_out()
                    .iter()
                    .filter(|estimate| estimate.counted && estimate.setting == record.setting)
                    .map(|estimate| (estimate, &estimate.quantities[name]))
                    .collect();
                let total: f64 = own.iter().map(|(estimate, _)| estimate.weight).sum();
                let covered = own.iter().filter(|(_, quantity)| quantity.is_covered(0.9));
                let covered: f64 = covered.map(|(estimate, _)| estimate.weight).sum();
                let gain: f64 = own
                    .iter()
                    .map(|(estimate, quantity)| estimate.weight * quantity.gain)
                    .sum();
                #[expect(clippy::cast_precision_loss, reason = "a few hundred models")]
                let models = record.models as f64;
                assert!((total - models).abs() < 0.01, "{name}: {total} of {models}");
                let apart = (covered / total - record.coverage_90).abs();
                assert!(apart < 0.005, "{name}, {:?}: {apart}", record.setting);
                assert!((gain / total - record.mean_gain).abs() < 0.002, "{name}");
                compared += 1;
            }
        }
        assert_eq!(compared, 24);
    }
}
