//! A reading: one closed-form answer drawn from one clue, with everything it rests on.

use serde::Serialize;
use utoipa::ToSchema;

use super::assumptions::{Assumptions, Corner, Origin, Place};
use super::evidence::{Cell, Evidence};
use super::quantity::Quantity;
use crate::units::readable;

/// What is fixed about a reading: the row of `docs/MODEL.md` that it implements.
#[derive(Debug, Serialize, ToSchema)]
pub struct Specification {
    /// Stable id, part of the API.
    pub id: &'static str,
    /// The price-sheet feature it is drawn from.
    pub clue: &'static str,
    /// What it estimates. Readings of one quantity can contradict each other.
    pub quantity: &'static str,
    /// The closed form.
    pub equation: &'static str,
    /// Unit of the value; empty for a plain ratio.
    pub unit: &'static str,
    /// Whether the value is a point or a bound.
    pub kind: Kind,
    /// What it needs from the sheet or the caller.
    pub needs: &'static str,
    /// When it is not defined.
    pub not_defined_when: &'static str,
    /// What it assumes about the provider.
    pub assumes: &'static [&'static str],
    /// Where the equation comes from: T talk, F flashcards, MK Mooncake, D derived in `docs/MODEL.md`.
    pub source: &'static str,
    /// Whether the value is one number, so that list rows carry it.
    pub scalar: bool,
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
    /// A finite number.
    Number(f64),
    /// An id.
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

/// Something that went into a reading.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// Its symbol in the equation; empty for what only tells readings apart.
    pub symbol: &'static str,
    /// Its value, the geometric middle of a range.
    pub value: Value,
    /// Lower end of a stated range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub low: Option<f64>,
    /// Upper end of a stated range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub high: Option<f64>,
    /// Its unit; empty for a plain ratio.
    pub unit: String,
    /// Where it comes from.
    pub from: Origin,
}

/// A figure that belongs to a reading beside its value.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Detail {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Lower end where an input is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub low: Option<f64>,
    /// Upper end where an input is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub high: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// Point or bound.
    pub kind: Kind,
}

/// Why a reading has no value.
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
    /// The sheet does not say what the reading is drawn from.
    SheetLacks,
    /// A value would have to be stated.
    AssumptionMissing,
    /// The equation has no solution at these values.
    NoSolution,
}

impl NotDefined {
    /// The sheet does not say what the reading is drawn from.
    #[must_use]
    pub fn sheet_lacks(detail: impl Into<String>) -> Self {
        Self {
            reason: Reason::SheetLacks,
            missing: Vec::new(),
            detail: format!("not defined: {}", detail.into()),
        }
    }

    /// The equation has no solution at these values.
    #[must_use]
    pub fn no_solution(detail: impl Into<String>) -> Self {
        Self {
            reason: Reason::NoSolution,
            missing: Vec::new(),
            detail: format!("not defined: {}", detail.into()),
        }
    }

    /// Values would have to be stated.
    #[must_use]
    pub fn assumption_missing(names: &[&str]) -> Self {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Self {
            reason: Reason::AssumptionMissing,
            missing: names.iter().map(|name| (*name).to_owned()).collect(),
            detail: format!("not defined: state {}", quoted.join(" and ")),
        }
    }
}

/// One closed-form answer drawn from one clue.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Reading {
    /// Which reading it is; a sheet with several tiers, times to live or modes gives one entry each.
    pub id: &'static str,
    /// The price-sheet feature it is drawn from.
    pub clue: &'static str,
    /// What it estimates.
    pub quantity: &'static str,
    /// The closed form.
    pub equation: &'static str,
    /// The closed form with the numbers put in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub working: Option<String>,
    /// What went in, each with where it comes from; they tell entries of one id apart.
    pub inputs: Vec<Input>,
    /// Point or bound.
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
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_defined: Option<NotDefined>,
    /// Figures that belong to the reading beside its value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub details: Vec<Detail>,
    /// What it assumes about the provider.
    pub assumes: &'static [&'static str],
    /// What a reader should know before using it.
    pub caveats: Vec<String>,
}

impl Reading {
    /// The number, where the value is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.value.as_ref().and_then(Value::number)
    }

    /// A text input by name, such as `service_tier`.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.inputs
            .iter()
            .find(|input| input.name == name)
            .and_then(|input| match &input.value {
                Value::Name(label) => Some(label.as_str()),
                Value::Number(_) => None,
            })
    }

    /// What tells this entry apart from others of its id, in words.
    #[must_use]
    pub fn told_apart(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.label("service_tier").map(str::to_owned));
        parts.extend(self.label("schedule").map(str::to_owned));
        parts.extend(
            self.label("cache")
                .filter(|cache| *cache != "implicit")
                .map(str::to_owned),
        );
        let tokens = self
            .input("min_prompt_tokens")
            .filter(|tokens| *tokens > 0.0);
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

    /// A number input by name, such as `threshold_tokens`.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<f64> {
        self.inputs
            .iter()
            .find(|input| input.name == name)
            .and_then(|input| input.value.number())
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

/// Values of the quantities that a closed form asked for.
pub struct Values([f64; Quantity::COUNT]);

impl std::ops::Index<Quantity> for Values {
    type Output = f64;
    fn index(&self, quantity: Quantity) -> &f64 {
        &self.0[quantity as usize]
    }
}

/// A value with its ends over stated ranges.
struct Solved {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// Least and greatest value where some of the ends have no solution; then there is no range.
    solvable: Option<(f64, f64)>,
}

/// Builds one reading.
pub struct ReadingBuilder<'a> {
    assumptions: &'a Assumptions,
    sheet_in_usd: bool,
    reading: Reading,
}

impl<'a> ReadingBuilder<'a> {
    /// Begins a reading that is not yet defined.
    #[must_use]
    pub fn new(specification: &'static Specification, evidence: &Evidence<'a>) -> Self {
        let reading = Reading {
            id: specification.id,
            clue: specification.clue,
            quantity: specification.quantity,
            equation: specification.equation,
            working: None,
            inputs: Vec::new(),
            kind: specification.kind,
            value: None,
            low: None,
            high: None,
            unit: specification.unit,
            not_defined: None,
            details: Vec::new(),
            assumes: specification.assumes,
            caveats: Vec::new(),
        };
        Self {
            assumptions: evidence.assumptions,
            sheet_in_usd: evidence.in_usd(),
            reading,
        }
    }

    /// Tells the reading apart by the cell it is drawn from.
    #[must_use]
    pub fn of_cell(self, cell: &Cell<'_>) -> Self {
        self.of_mode(&cell.rate.service_tier, cell)
    }

    /// Tells the reading apart by a service tier, for the prompts and times of a cell.
    #[must_use]
    pub fn of_mode(self, service_tier: &str, cell: &Cell<'_>) -> Self {
        let mut builder = self.label("service_tier", service_tier);
        if let Some(schedule) = &cell.rate.schedule {
            builder = builder.label("schedule", schedule);
        }
        let tier = cell.rate.context_tier;
        if tier.inclusive {
            builder = builder.label("boundary", "inclusive");
        }
        builder.sheet(
            "min_prompt_tokens",
            "",
            f64::from(tier.min_prompt_tokens),
            "tokens",
        )
    }

    /// Adds a name from the sheet.
    #[must_use]
    pub fn label(mut self, name: &'static str, value: &str) -> Self {
        self.push_input(
            name,
            "",
            Value::Name(value.to_owned()),
            String::new(),
            Origin::Sheet,
        );
        self
    }

    /// Adds a number from the sheet.
    #[must_use]
    pub fn sheet(
        mut self,
        name: &'static str,
        symbol: &'static str,
        value: f64,
        unit: impl Into<String>,
    ) -> Self {
        self.push_input(
            name,
            symbol,
            Value::Number(value),
            unit.into(),
            Origin::Sheet,
        );
        self
    }

    /// Adds a number of another origin, with its range.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.reading.inputs.push(input);
        self
    }

    fn push_input(
        &mut self,
        name: &'static str,
        symbol: &'static str,
        value: Value,
        unit: String,
        from: Origin,
    ) {
        self.reading.inputs.push(Input {
            name,
            symbol,
            value,
            low: None,
            high: None,
            unit,
            from,
        });
    }

    /// Solves the closed form at the middle of every range and at all its ends.
    #[must_use]
    pub fn solve(
        mut self,
        quantities: &[Quantity],
        form: impl Fn(&Values) -> Result<f64, NotDefined>,
    ) -> Self {
        self.add_quantities(quantities);
        match self.solved(quantities, &form) {
            Ok(solved) => {
                self.reading.value = Some(Value::Number(solved.value));
                self.reading.low = solved.low;
                self.reading.high = solved.high;
                if let Some((least, most)) = solved.solvable {
                    let (least, most) = (readable(least), readable(most));
                    self = self.caveat(format!(
                        "at one end of a stated range the equation has no solution, so the range of the value is open; \
                         where it has one, the value lies between {least} and {most}"
                    ));
                }
            }
            Err(reason) => self.reading.not_defined = Some(reason),
        }
        self
    }

    /// Adds a figure beside the value, where it is defined.
    #[must_use]
    pub fn detail(
        mut self,
        (name, unit, kind): (impl Into<String>, &'static str, Kind),
        quantities: &[Quantity],
        form: impl Fn(&Values) -> Result<f64, NotDefined>,
    ) -> Self {
        if let Ok(Solved {
            value, low, high, ..
        }) = self.solved(quantities, &form)
        {
            self.add_quantities(quantities);
            let name = name.into();
            self.reading.details.push(Detail {
                name,
                value: Value::Number(value),
                low,
                high,
                unit,
                kind,
            });
        }
        self
    }

    /// Adds a name beside the value.
    #[must_use]
    pub fn named_detail(mut self, name: &str, value: &str) -> Self {
        self.reading.details.push(Detail {
            name: name.to_owned(),
            value: Value::Name(value.to_owned()),
            low: None,
            high: None,
            unit: "",
            kind: Kind::Equal,
        });
        self
    }

    /// Whether it has been solved.
    #[must_use]
    pub fn has_value(&self) -> bool {
        self.reading.value.is_some()
    }

    /// Sets a value that is a name.
    #[must_use]
    pub fn name(mut self, value: &str) -> Self {
        self.reading.value = Some(Value::Name(value.to_owned()));
        self
    }

    /// Adds a remark.
    #[must_use]
    pub fn caveat(mut self, caveat: impl Into<String>) -> Self {
        self.reading.caveats.push(caveat.into());
        self
    }

    /// Changes whether the value is a point or a bound.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.reading.kind = kind;
        self
    }

    /// Ends with a reason for having no value.
    #[must_use]
    pub fn not_defined(mut self, reason: NotDefined) -> Reading {
        self.reading.not_defined = Some(reason);
        self.reading
    }

    /// Ends the reading.
    #[must_use]
    pub fn build(mut self) -> Reading {
        if let Some(value) = self.reading.number() {
            self.reading.working = Some(working(&self.reading, value));
        }
        self.reading
    }

    fn add_quantities(&mut self, quantities: &[Quantity]) {
        for quantity in quantities {
            let shown = self
                .reading
                .inputs
                .iter()
                .any(|input| input.name == quantity.name());
            let Some((value, from)) = self.known(*quantity, &Corner::new()) else {
                continue;
            };
            if shown {
                continue;
            }
            let ends = self.ends(*quantity);
            self.reading.inputs.push(Input {
                name: quantity.name(),
                symbol: quantity.symbol(),
                value: Value::Number(value),
                low: ends.map(|(low, _)| low),
                high: ends.map(|(_, high)| high),
                unit: quantity.unit().to_owned(),
                from,
            });
        }
    }

    fn ends(&self, quantity: Quantity) -> Option<(f64, f64)> {
        let solved = self
            .solved(&[quantity], &|values: &Values| Ok(values[quantity]))
            .ok()?;
        Some((solved.low?, solved.high?))
    }

    /// A sheet in US dollars says its exchange rate by that.
    fn known(&self, quantity: Quantity, corner: &Corner) -> Option<(f64, Origin)> {
        if quantity == Quantity::UsdPerCurrencyUnit && self.sheet_in_usd {
            return Some((1.0, Origin::Sheet));
        }
        self.assumptions.known_at(quantity, corner)
    }

    fn solved(
        &self,
        quantities: &[Quantity],
        form: &impl Fn(&Values) -> Result<f64, NotDefined>,
    ) -> Result<Solved, NotDefined> {
        self.check_known(quantities)?;
        let at = |corner: &Corner| {
            let value = form(&self.values(quantities, corner))?;
            if value.is_finite() {
                Ok(value)
            } else {
                Err(NotDefined::no_solution("the value is not finite"))
            }
        };
        let middle = at(&Corner::new())?;
        let ranged: Vec<Quantity> = {
            let ranges = quantities
                .iter()
                .flat_map(|quantity| self.assumptions.ranges_behind(*quantity));
            ranges
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect()
        };
        if ranged.is_empty() {
            return Ok(Solved {
                value: middle,
                low: None,
                high: None,
                solvable: None,
            });
        }
        let (mut low, mut high, mut has_open_end) = (middle, middle, false);
        for corner in corners(&ranged) {
            match at(&corner) {
                Ok(value) => (low, high) = (low.min(value), high.max(value)),
                Err(_) => has_open_end = true,
            }
        }
        Ok(Solved {
            value: middle,
            low: (!has_open_end).then_some(low),
            high: (!has_open_end).then_some(high),
            solvable: has_open_end.then_some((low, high)),
        })
    }

    fn check_known(&self, quantities: &[Quantity]) -> Result<(), NotDefined> {
        let unknown = quantities
            .iter()
            .filter(|quantity| self.known(**quantity, &Corner::new()).is_none());
        let mut missing: Vec<&str> = Vec::new();
        for name in unknown.flat_map(|quantity| self.assumptions.how_to_state(*quantity)) {
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(NotDefined::assumption_missing(&missing))
        }
    }

    fn values(&self, quantities: &[Quantity], corner: &Corner) -> Values {
        let mut values = Values([f64::NAN; Quantity::COUNT]);
        for quantity in quantities {
            values.0[*quantity as usize] = self
                .known(*quantity, corner)
                .map_or(f64::NAN, |(value, _)| value);
        }
        values
    }
}

/// Every way to put each ranged quantity at one of its ends.
fn corners(ranged: &[Quantity]) -> impl Iterator<Item = Corner> {
    (0..1_u32 << ranged.len()).map(move |bits| {
        let place = |index: usize| {
            if bits >> index & 1 == 0 {
                Place::Low
            } else {
                Place::High
            }
        };
        ranged
            .iter()
            .enumerate()
            .map(|(index, quantity)| (*quantity, place(index)))
            .collect()
    })
}

/// The right-hand side of the equation with numbers for its symbols, and the result.
fn working(reading: &Reading, value: f64) -> String {
    let form = reading
        .equation
        .split_once(['=', '≤'])
        .map_or(reading.equation, |(_, form)| form)
        .trim();
    let mut text = String::new();
    let mut symbol = String::new();
    for character in form.chars().chain([' ']) {
        if character.is_alphanumeric() || character == '_' {
            symbol.push(character);
            continue;
        }
        let number = reading
            .inputs
            .iter()
            .find(|input| input.symbol == symbol && !symbol.is_empty());
        match number.and_then(|input| input.value.number()) {
            Some(number) => text.push_str(&readable(number)),
            None => text.push_str(&symbol),
        }
        symbol.clear();
        text.push(character);
    }
    let sign = match reading.kind {
        Kind::Equal => "=",
        Kind::Upper => "≤",
        Kind::Lower => "≥",
    };
    let result = format!("{} {}", readable(value), reading.unit);
    match (text.trim(), result.trim()) {
        (form, result) if form == readable(value) => format!("{sign} {result}"),
        (form, result) => format!("{sign} {form} = {result}"),
    }
}
