//! A reading: one closed-form answer drawn from one clue, with everything it rests on.
//!
//! ```
//! use unroof_infer::clue::readings;
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::reading::Reason;
//! use unroof_price_sheet::sheet::PriceSheet;
//!
//! // Without a value, a reading says what is missing.
//! let empty = readings(&PriceSheet::new("acme", "m-1", Vec::new()), &Assumptions::default());
//! let batch = empty.iter().find(|reading| reading.id.name() == "batch_discount_utilisation").unwrap();
//! assert_eq!(batch.not_defined.as_ref().unwrap().reason, Reason::SheetLacks);
//! ```

use serde::Serialize;
use utoipa::ToSchema;

use super::assumptions::Origin;
use super::clue_table::{ClueKind, ReadingId};
use unroof_base::units::readable;
use unroof_roofline::reference::TrackRecord;

/// Specification of a reading: the row of `docs/MODEL.md` that it implements.
#[derive(Debug, Serialize, ToSchema)]
pub struct Specification {
    /// Stable id, part of the API.
    pub id: ReadingId,
    /// The price-sheet feature it is drawn from.
    pub clue: ClueKind,
    /// The quantity it estimates. Readings of one quantity can contradict each other.
    pub quantity: &'static str,
    /// Closed form of the reading.
    pub equation: &'static str,
    /// Unit of the value; empty for a plain ratio.
    pub unit: &'static str,
    /// Whether the value is a point or a bound.
    pub kind: Kind,
    /// Inputs it needs from the sheet or the caller.
    pub needs: &'static str,
    /// Condition under which it is not defined.
    pub not_defined_when: &'static str,
    /// Assumptions of the reading about the provider.
    pub assumes: &'static [&'static str],
    /// Source of the equation: T talk, F flashcards, MK Mooncake, D derived in `docs/MODEL.md`.
    pub source: &'static str,
    /// Whether the value is one number, so that list rows carry it.
    pub scalar: bool,
}

impl Specification {
    /// A specification of a point that is one number without a unit, for a row to fill in.
    pub(crate) const fn of(id: ReadingId) -> Self {
        Self {
            id,
            clue: id.clue(),
            quantity: "",
            equation: "",
            unit: "",
            kind: Kind::Equal,
            needs: "",
            not_defined_when: "",
            assumes: &[],
            source: "",
            scalar: true,
        }
    }
}

/// Whether a value is a point or a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The quantity equals the value.
    Equal,
    /// The quantity is at most the value.
    Upper,
    /// The quantity is at least the value.
    Lower,
}

/// A number, or the id of a storage tier or service tier.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Value {
    /// A finite number, in the unit of the input.
    Number(f64),
    /// Id of something in the reference data.
    Name(String),
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(_) => None,
        }
    }
}

/// An input of a reading.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Input {
    /// Name of the input.
    pub name: &'static str,
    /// Symbol of the input in the equation; empty for a qualifier.
    pub symbol: &'static str,
    /// Value of the input, the geometric middle of a range.
    pub value: Value,
    /// Lower end of a stated range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub low: Option<f64>,
    /// Upper end of a stated range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub high: Option<f64>,
    /// Unit of the value; empty for a plain ratio.
    pub unit: String,
    /// Origin of the value.
    pub from: Origin,
}

impl Input {
    /// One without a range.
    pub(crate) fn new(
        name: &'static str,
        symbol: &'static str,
        value: Value,
        unit: impl Into<String>,
        from: Origin,
    ) -> Self {
        Self {
            name,
            symbol,
            value,
            low: None,
            high: None,
            unit: unit.into(),
            from,
        }
    }

    /// A name from the sheet, which distinguishes entries of one id.
    pub(crate) fn qualifier(name: &'static str, value: &str) -> Self {
        Self::new(name, "", Value::Name(value.to_owned()), "", Origin::Sheet)
    }
}

/// A figure that belongs to a reading beside its value.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Detail {
    /// Name of the detail.
    pub name: String,
    /// Value of the detail.
    pub value: Value,
    /// Lower end where an input is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub low: Option<f64>,
    /// Upper end where an input is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub high: Option<f64>,
    /// Unit of the value.
    pub unit: &'static str,
    /// Kind of the value: a point or a bound.
    pub kind: Kind,
}

/// Reason that a reading has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NotDefined {
    /// The class of the reason.
    pub reason: Reason,
    /// The assumptions that would define it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub missing: Vec<String>,
    /// The reason in words, and what would define the reading.
    pub detail: String,
}

/// Class of a reason for having no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The sheet lacks the feature of the reading.
    SheetLacks,
    /// A value must be stated.
    AssumptionMissing,
    /// The equation has no solution at these values.
    NoSolution,
}

impl NotDefined {
    fn new(reason: Reason, missing: &[&str], detail: &str) -> Self {
        Self {
            reason,
            missing: missing.iter().map(|name| (*name).to_owned()).collect(),
            detail: format!("not defined: {detail}"),
        }
    }

    /// The sheet lacks the feature of the reading.
    #[must_use]
    pub fn sheet_lacks(detail: impl AsRef<str>) -> Self {
        Self::new(Reason::SheetLacks, &[], detail.as_ref())
    }

    /// The sheet does not say it, and these values may be stated in its place.
    pub(crate) fn sheet_lacks_unless(names: &[&str], detail: &str) -> Self {
        Self::new(Reason::SheetLacks, names, detail)
    }

    /// The equation has no solution at these values.
    #[must_use]
    pub fn no_solution(detail: impl AsRef<str>) -> Self {
        Self::new(Reason::NoSolution, &[], detail.as_ref())
    }

    /// Values must be stated.
    #[must_use]
    pub fn assumption_missing(names: &[&str]) -> Self {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let detail = format!("state {}", quoted.join(" and "));
        Self::new(Reason::AssumptionMissing, names, &detail)
    }
}

/// One closed-form answer drawn from one clue.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Reading {
    /// Id of the reading; a sheet with several tiers, times to live or modes gives one entry each.
    pub id: ReadingId,
    /// The price-sheet feature it is drawn from.
    pub clue: ClueKind,
    /// The quantity it estimates.
    pub quantity: &'static str,
    /// Closed form of the reading.
    pub equation: &'static str,
    /// The equation with the numbers substituted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub working: Option<String>,
    /// Inputs with their origin; qualifiers among them distinguish entries of one id.
    pub inputs: Vec<Input>,
    /// Kind of the value: a point or a bound.
    pub kind: Kind,
    /// The value, null where it is not defined.
    pub value: Option<Value>,
    /// Smallest value over the ends of stated ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub low: Option<f64>,
    /// Largest value over the ends of stated ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub high: Option<f64>,
    /// Unit of the value; empty for a plain ratio.
    pub unit: &'static str,
    /// Reason that there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_defined: Option<NotDefined>,
    /// Figures that belong to the reading beside its value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub details: Vec<Detail>,
    /// Assumptions of the reading about the provider.
    pub assumes: &'static [&'static str],
    /// Caveats about its use.
    pub caveats: Vec<String>,
    /// Errors of this reading alone on open-weight models; null where no true value is public.
    pub track_record: Option<TrackRecord>,
}

impl Reading {
    /// Adds a text input that distinguishes this entry from others of its id.
    pub fn add_qualifier(&mut self, name: &'static str, value: &str) {
        self.inputs.push(Input::qualifier(name, value));
    }

    /// The number, where the value is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.value.as_ref().and_then(Value::number)
    }

    /// A text input by name, such as `service_tier`.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        match self.value_of(name)? {
            Value::Name(label) => Some(label),
            Value::Number(_) => None,
        }
    }

    fn value_of(&self, name: &str) -> Option<&Value> {
        let mut inputs = self.inputs.iter();
        Some(&inputs.find(|input| input.name == name)?.value)
    }

    /// The qualifiers that distinguish this entry from others of its id, in words.
    #[must_use]
    pub fn qualifiers(&self) -> String {
        let cache = self.label("cache").filter(|cache| *cache != "implicit");
        let names = ["provider", "service_tier", "schedule", "capacity_offer"];
        let names = names.map(|name| self.label(name));
        let names = names.into_iter().flatten().chain(cache);
        let mut parts: Vec<String> = names.map(str::to_owned).collect();
        let tokens = self.input("min_prompt_tokens");
        let tokens = tokens.filter(|tokens| *tokens > 0.0);
        let from = if self.label("boundary").is_some() {
            "from"
        } else {
            "above"
        };
        parts.extend(tokens.map(|tokens| format!("{from} {} tokens", readable(tokens))));
        parts.extend(self.input("ttl_seconds").map(duration));
        let pair = self
            .input("ttl_short_seconds")
            .zip(self.input("ttl_long_seconds"));
        parts
            .extend(pair.map(|(short, long)| format!("{} to {}", duration(short), duration(long))));
        parts.join(", ")
    }

    /// A number beside the value, by name.
    #[must_use]
    pub fn detail(&self, name: &str) -> Option<f64> {
        let mut details = self.details.iter();
        details.find(|detail| detail.name == name)?.value.number()
    }

    /// A number input by name, such as `threshold_tokens`.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<f64> {
        self.value_of(name)?.number()
    }
}

/// A time to live as people say it.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min")];
    let unit = units
        .iter()
        .find(|(length, _)| seconds >= *length && seconds % length == 0.0);
    unit.map_or_else(
        || format!("{seconds} s"),
        |(length, name)| format!("{} {name}", seconds / length),
    )
}
