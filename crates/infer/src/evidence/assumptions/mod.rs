//! The caller's assumptions, and every other quantity as it follows from them, reference data or the textbook.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::quantity::Quantity;
//!
//! let text = br#"{"active_parameters": {"low": 5e10, "high": 2e11}}"#;
//! let assumptions = unroof_base::input::read(text, Assumptions::read)?;
//! // A range is a 90 % interval around its geometric middle.
//! let stated = assumptions.stated(Quantity::ActiveParameters).unwrap();
//! assert!((stated.middle / 1e11 - 1.0).abs() < 1e-12);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

mod reading;

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde_json::{Map, Value, json};

pub use super::quantity::Origin;
use super::quantity::{Known, NINETY_PERCENT, Quantity as Q};
use unroof_roofline::reference::{Accelerator, accelerator};

/// A stated value: a number, or a 90 % interval with its geometric middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Geometric middle; the arithmetic one where an end is not positive.
    pub middle: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    fn new(low: f64, high: f64) -> Self {
        // -0 and 0 are one statement.
        let (low, high) = (low + 0.0, high + 0.0);
        let middle = if low >= high {
            low
        } else if low > 0.0 {
            (low * high).sqrt()
        } else {
            low.midpoint(high)
        };
        Self { low, middle, high }
    }

    /// Standard deviation of the logarithm, 0 where it is one number.
    #[must_use]
    pub fn log_sd(self) -> f64 {
        if self.is_range() {
            (self.high / self.low).ln() / (2.0 * NINETY_PERCENT)
        } else {
            0.0
        }
    }

    /// The value at an end or in the middle.
    #[must_use]
    pub fn at(self, end: RangeEnd) -> f64 {
        match end {
            RangeEnd::Low => self.low,
            RangeEnd::Middle => self.middle,
            RangeEnd::High => self.high,
        }
    }

    fn is_range(self) -> bool {
        self.low < self.high
    }

    fn to_json(self) -> Value {
        if self.is_range() {
            json!({"low": self.low, "high": self.high})
        } else {
            json!(self.low)
        }
    }
}

/// A value within an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// Lower end of a range.
    Low,
    /// Middle of a range.
    Middle,
    /// Upper end of a range.
    High,
}

/// The assumptions of a request. Unknown names are refused.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assumptions {
    accelerator: Option<&'static str>,
    architecture: Option<SizeClass>,
    release_date: Option<Date>,
    stated: BTreeMap<Q, Interval>,
    speed_multiplier: BTreeMap<String, Interval>,
}

/// Dense, or a mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeClass {
    /// Every parameter is active.
    Dense,
    /// A token uses a part of the parameters.
    Mixture,
}

impl SizeClass {
    /// Every class of models.
    pub(crate) const ALL: [Self; 2] = [Self::Dense, Self::Mixture];

    /// Name of the class in requests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Mixture => "mixture",
        }
    }
}

/// An end for each ranged quantity; those without one are at the middle.
pub(crate) type RangeCorner = BTreeMap<Q, RangeEnd>;

impl Assumptions {
    /// Whether there are no assumptions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The assumptions in canonical form: names sorted, a range with equal ends as a number.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let mut custom = Map::new();
        for (quantity, interval) in &self.stated {
            let target = if quantity.is_of_accelerator() {
                &mut custom
            } else {
                &mut object
            };
            target.insert(quantity.name().to_owned(), interval.to_json());
        }
        if let Some(id) = self.accelerator {
            object.insert("accelerator".to_owned(), json!(id));
        } else if !custom.is_empty() {
            object.insert("accelerator".to_owned(), Value::Object(custom));
        }
        if let Some(class) = self.architecture {
            object.insert("architecture".to_owned(), json!(class.name()));
        }
        if let Some(day) = self.release_date {
            object.insert("release_date".to_owned(), json!(day));
        }
        if !self.speed_multiplier.is_empty() {
            let speeds = self
                .speed_multiplier
                .iter()
                .map(|(tier, interval)| (tier.clone(), interval.to_json()));
            object.insert(
                "speed_multiplier".to_owned(),
                Value::Object(speeds.collect()),
            );
        }
        object.sort_keys();
        object
    }

    /// Copy with the speed stated for one service tier as the speed multiplier, if there is one.
    #[must_use]
    pub(crate) fn with_speed_of(&self, names: &[&str]) -> Option<Self> {
        let interval = *names
            .iter()
            .find_map(|name| self.speed_multiplier.get(*name))?;
        let mut assumptions = self.clone();
        assumptions.stated.insert(Q::SpeedMultiplier, interval);
        Some(assumptions)
    }

    /// Copy that states a quantity.
    #[must_use]
    pub(crate) fn stating(mut self, quantity: Q, value: f64) -> Self {
        self.stated.insert(quantity, Interval::new(value, value));
        self
    }

    /// Whether the model is dense or a mixture of experts, as stated.
    #[must_use]
    pub fn architecture(&self) -> Option<SizeClass> {
        self.architecture
    }

    /// The day on which the model was released, as stated.
    #[must_use]
    pub fn release_date(&self) -> Option<Date> {
        self.release_date
    }

    /// Service tiers whose speed is stated.
    pub fn tiers_with_stated_speed(&self) -> impl Iterator<Item = &str> {
        self.speed_multiplier.keys().map(String::as_str)
    }

    /// Whether this quantity itself is stated.
    #[must_use]
    pub fn states(&self, quantity: Q) -> bool {
        self.stated.contains_key(&quantity)
    }

    /// The caller's value of this quantity itself.
    #[must_use]
    pub fn stated(&self, quantity: Q) -> Option<Interval> {
        self.stated.get(&quantity).copied()
    }

    /// The caller's value of this quantity itself, the middle of a range.
    #[must_use]
    pub fn middle(&self, quantity: Q) -> Option<f64> {
        self.stated(quantity).map(|stated| stated.middle)
    }

    /// The accelerator, where it is one of the reference table.
    #[must_use]
    pub fn reference_accelerator(&self) -> Option<&'static Accelerator> {
        self.accelerator.and_then(accelerator)
    }

    /// Whether the accelerator is one whose rent is neither published nor stated.
    #[must_use]
    pub fn lacks_rent(&self) -> bool {
        let unpublished = |chip: &Accelerator| chip.rental_usd_per_hour.typical.is_none();
        !self.states(Q::RentalPerHour) && self.reference_accelerator().is_some_and(unpublished)
    }

    /// A quantity and where it comes from, with ranged quantities in the middle.
    #[must_use]
    pub fn known(&self, quantity: Q) -> Option<Known> {
        self.known_at(quantity, &RangeCorner::new())
    }

    pub(crate) fn known_at(&self, quantity: Q, corner: &RangeCorner) -> Option<Known> {
        if let Some(interval) = self.stated.get(&quantity) {
            let end = corner.get(&quantity).copied().unwrap_or(RangeEnd::Middle);
            return Some((interval.at(end), Origin::Stated));
        }
        self.derived(quantity, corner)
            .or_else(|| self.textbook_value(quantity))
    }

    /// The value derived from others by the quantity's row.
    fn derived(&self, quantity: Q, corner: &RangeCorner) -> Option<Known> {
        let row = quantity.row();
        let parents = row
            .parents
            .iter()
            .map(|parent| self.known_at(*parent, corner));
        let parents = parents.collect::<Option<Vec<Known>>>()?;
        let of_chip = row.of_chip.zip(self.reference_accelerator());
        let of_chip = of_chip.and_then(|(of_chip, chip)| of_chip(chip, &parents));
        of_chip
            .map(|value| (value, Origin::Reference))
            .or_else(|| row.from_parents.map(|value| value(&parents)))
    }

    /// The textbook value of a quantity. Those of active and total parameters belong together: if one is stated beyond
    /// the textbook value of the other, the other has none.
    fn textbook_value(&self, quantity: Q) -> Option<Known> {
        let textbook = quantity.row().textbook?;
        let stated = |quantity| self.stated.get(&quantity);
        let fits = match quantity {
            Q::ActiveParameters => {
                stated(Q::TotalParameters).is_none_or(|total| total.low >= textbook)
            }
            Q::TotalParameters => {
                stated(Q::ActiveParameters).is_none_or(|active| active.high <= textbook)
            }
            _ => true,
        };
        fits.then_some((textbook, Origin::Textbook))
    }

    /// The ranged statements that a quantity depends on.
    pub(crate) fn ranges_behind(&self, quantity: Q) -> BTreeSet<Q> {
        if let Some(interval) = self.stated.get(&quantity) {
            return if interval.is_range() {
                BTreeSet::from([quantity])
            } else {
                BTreeSet::new()
            };
        }
        let parents = quantity.row().parents.iter();
        parents
            .flat_map(|parent| self.ranges_behind(*parent))
            .collect()
    }

    /// Names of the assumptions that would define a missing quantity.
    pub(crate) fn how_to_state(&self, quantity: Q) -> Vec<&'static str> {
        let row = quantity.row();
        let has_accelerator = self.accelerator.is_some() || self.has_custom_accelerator();
        match quantity.path() {
            // An accelerator of the reference table brings it along.
            _ if row.of_chip.is_some() && !has_accelerator => vec!["accelerator"],
            Some(path) => vec![path],
            None if row.parents.is_empty() => vec![quantity.name()],
            None => {
                let parents = row.parents.iter();
                let missing = parents.filter(|parent| self.known(**parent).is_none());
                missing
                    .flat_map(|parent| self.how_to_state(*parent))
                    .collect()
            }
        }
    }

    fn has_custom_accelerator(&self) -> bool {
        self.stated
            .keys()
            .any(|quantity| quantity.is_of_accelerator())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_base::input::cursor::{Cursor, Fault, Faults};
    use unroof_base::input::json;

    fn read(text: &str) -> Result<Assumptions, Vec<Fault>> {
        let tree = json::parse(text.as_bytes()).unwrap();
        let faults = Faults::default();
        let assumptions = Assumptions::read(&Cursor::root(&tree, &faults));
        faults.result(assumptions)
    }

    #[test]
    fn compute_to_bandwidth_is_computed_from_the_chip_and_the_format_of_the_weights() {
        // docs/MODEL.md, "The compute-to-bandwidth ratio".
        let cases = [
            ("h100-sxm", 2.0, 295.0),
            ("h100-sxm", 1.0, 295.0),
            ("b200-sxm", 1.0, 281.0),
            ("mi300x", 1.0, 247.0),
            ("a100-80-sxm", 1.0, 153.0),
            ("h200-sxm", 1.0, 206.0),
            ("h20", 1.0, 37.0),
            ("tpu-v5e", 1.0, 241.0),
            ("tpu-v5p", 2.0, 166.0),
            ("b300-sxm", 1.0, 281.0),
            ("b300-sxm", 0.5, 394.0),
            ("gb300-nvl72", 1.0, 312.5),
            ("gb300-nvl72", 0.5, 469.0),
            ("rubin-nvl72", 2.0, 182.0),
            ("rubin-nvl72", 1.0, 398.0),
            ("tpu-v6e", 1.0, 280.0),
            ("tpu-v6e", 2.0, 560.0),
            ("trainium2", 2.0, 230.0),
            ("trainium2", 1.0, 224.0),
        ];
        for (id, weight_bytes, expected) in cases {
            let text = format!(
                r#"{{"accelerator": "{id}", "weight_bytes_per_parameter": {weight_bytes}}}"#
            );
            let (ratio, origin) = read(&text).unwrap().known(Q::ComputeToBandwidth).unwrap();
            assert!(
                (ratio - expected).abs() <= 0.6,
                "{id} at {weight_bytes}: {ratio}"
            );
            assert_eq!(origin, Origin::Reference);
        }
    }

    #[test]
    fn a_stated_ratio_fixes_the_ratio_and_nothing_else() {
        let stated = read(
            r#"{"accelerator": {"compute_to_bandwidth": 250, "bandwidth_bytes_per_second": 8e12}}"#,
        )
        .unwrap();
        assert_eq!(
            stated.known(Q::ComputeToBandwidth),
            Some((250.0, Origin::Stated))
        );
        assert_eq!(stated.known(Q::MultiplyRate), None);
        assert_eq!(
            stated.how_to_state(Q::MultiplyRate),
            ["accelerator.flops_per_second"]
        );
        assert_eq!(stated.how_to_state(Q::UnitBandwidth), ["chips"]);
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest_ones() {
        let faults = read(r#"{"active_params": 1, "accelerator": "h100"}"#).unwrap_err();
        assert_eq!(faults[0].pointer, "/accelerator");
        assert!(
            faults[0].hint.starts_with("did you mean `h100-"),
            "{}",
            faults[0].hint
        );
        assert_eq!(faults[1].pointer, "/active_params");
        assert!(
            faults[1]
                .hint
                .starts_with("did you mean `active_parameters`"),
            "{}",
            faults[1].hint
        );
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for text in [
            r#"{"active_parameters": 0}"#,
            r#"{"active_parameters": "1e11"}"#,
            r#"{"input_margin": 1}"#,
            r#"{"prefill_efficiency": 1.1}"#,
            r#"{"chips": 0.5}"#,
            r#"{"active_parameters": {"low": 2e9, "high": 1e9}}"#,
            r#"{"active_parameters": {"low": 2e9}}"#,
            r#"{"active_parameters": 2e11, "total_parameters": 1e11}"#,
            r#"{"speed_multiplier": 2}"#,
            r#"{"speed_multiplier": {"fast": -2}}"#,
            r#"{"accelerator": 300}"#,
            r#"{"accelerator": {"id": "h100-sxm"}}"#,
            r#"{"textbook": true}"#,
        ] {
            assert_eq!(read(text).unwrap_err().len(), 1, "{text}");
        }
    }

    #[test]
    fn a_range_with_equal_ends_is_a_number() {
        let range = read(r#"{"active_parameters": {"low": 1e11, "high": 1e11}}"#).unwrap();
        assert_eq!(
            range.to_json(),
            read(r#"{"active_parameters": 100000000000}"#)
                .unwrap()
                .to_json()
        );
    }

    #[test]
    fn textbook_parameters_yield_to_a_statement_they_contradict() {
        let large = read(r#"{"active_parameters": 1e12}"#).unwrap();
        assert_eq!(large.known(Q::TotalParameters), None);
        let small = read(r#"{"total_parameters": 7e10}"#).unwrap();
        assert_eq!(small.known(Q::ActiveParameters), None);
    }
}
