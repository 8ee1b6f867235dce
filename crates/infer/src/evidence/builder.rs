//! Builds readings: collects the inputs, and solves a closed form at the middle and at the ends of every range.

use std::collections::BTreeSet;

use super::assumptions::{Origin, RangeCorner, RangeEnd};
use super::quantity::Quantity;
use super::reading::{Detail, Input, Kind, NotDefined, Reading, Specification, Value};
use crate::evidence::sheet::{Cell, Evidence};
use unroof_base::units::readable;
use unroof_roofline::reference::track_record_of_reading;

/// Values of the quantities that a closed form uses.
pub(crate) struct Values([f64; Quantity::COUNT]);

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

/// A reading of a clue, or one that ended early with the reason that the sheet gives it no value.
pub(crate) type Drawn = Result<Reading, Box<Reading>>;

/// Builder of one reading.
pub(crate) struct ReadingBuilder<'a> {
    evidence: Evidence<'a>,
    reading: Reading,
}

impl<'a> ReadingBuilder<'a> {
    /// Begins a reading that is not yet defined.
    #[must_use]
    pub(crate) fn new(specification: &'static Specification, evidence: &Evidence<'a>) -> Self {
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
            track_record: track_record_of_reading(specification.id.name()),
        };
        Self {
            evidence: *evidence,
            reading,
        }
    }

    /// Qualifies the reading by the cell it is drawn from.
    #[must_use]
    pub(crate) fn of_cell(self, cell: &Cell<'_>) -> Self {
        self.of_mode(&cell.rate.service_tier, cell)
    }

    /// Qualifies the reading by a service tier, for the prompts and times of a cell.
    #[must_use]
    pub(crate) fn of_mode(self, service_tier: &str, cell: &Cell<'_>) -> Self {
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
    pub(crate) fn label(self, name: &'static str, value: &str) -> Self {
        self.input(Input::qualifier(name, value))
    }

    /// Adds a number from the sheet.
    #[must_use]
    pub(crate) fn sheet(
        self,
        name: &'static str,
        symbol: &'static str,
        value: f64,
        unit: impl Into<String>,
    ) -> Self {
        let value = Value::Number(value);
        self.input(Input::new(name, symbol, value, unit, Origin::Sheet))
    }

    /// Adds a price of the sheet, in its currency per million tokens.
    #[must_use]
    pub(crate) fn price(self, name: &'static str, symbol: &'static str, price: f64) -> Self {
        let unit = self.evidence.price_unit();
        self.sheet(name, symbol, price, unit)
    }

    /// Adds a value of another origin.
    #[must_use]
    pub(crate) fn input(mut self, input: Input) -> Self {
        self.reading.inputs.push(input);
        self
    }

    /// Solves the closed form at the middle of every range and at all its ends.
    #[must_use]
    pub(crate) fn solve(
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

    /// Adds a figure next to the value, where it is defined.
    #[must_use]
    pub(crate) fn detail(
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

    /// Adds a name next to the value.
    #[must_use]
    pub(crate) fn named_detail(mut self, name: &str, value: &str) -> Self {
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

    /// Whether the reading has a value.
    #[must_use]
    pub(crate) fn has_value(&self) -> bool {
        self.reading.value.is_some()
    }

    /// Sets a value that is a name.
    #[must_use]
    pub(crate) fn name(mut self, value: &str) -> Self {
        self.reading.value = Some(Value::Name(value.to_owned()));
        self
    }

    /// Adds remarks to the reading.
    #[must_use]
    pub(crate) fn caveats<C: Into<String>>(self, caveats: impl IntoIterator<Item = C>) -> Self {
        caveats.into_iter().fold(self, Self::caveat)
    }

    /// Adds a remark to the reading.
    #[must_use]
    pub(crate) fn caveat(mut self, caveat: impl Into<String>) -> Self {
        self.reading.caveats.push(caveat.into());
        self
    }

    /// Changes whether the value is a point or a bound.
    #[must_use]
    pub(crate) fn kind(mut self, kind: Kind) -> Self {
        self.reading.kind = kind;
        self
    }

    /// A value of the sheet, or the end of the reading with the reason that it does not.
    pub(crate) fn given<T>(&self, stated: Result<T, NotDefined>) -> Result<T, Box<Reading>> {
        stated.map_err(|reason| {
            Box::new(Reading {
                not_defined: Some(reason),
                ..self.reading.clone()
            })
        })
    }

    /// Ends the reading with the reason for a missing value.
    #[must_use]
    pub(crate) fn not_defined(mut self, reason: NotDefined) -> Reading {
        self.reading.not_defined = Some(reason);
        self.reading
    }

    /// Ends the reading and returns it.
    #[must_use]
    pub(crate) fn build(mut self) -> Reading {
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
            let Some((value, from)) = self.known(*quantity, &RangeCorner::new()) else {
                continue;
            };
            if shown {
                continue;
            }
            let ends = self.ends(*quantity);
            let (symbol, unit) = (quantity.row().symbol, quantity.row().unit);
            self.reading.inputs.push(Input {
                low: ends.map(|(low, _)| low),
                high: ends.map(|(_, high)| high),
                ..Input::new(quantity.name(), symbol, Value::Number(value), unit, from)
            });
        }
    }

    fn ends(&self, quantity: Quantity) -> Option<(f64, f64)> {
        let solved = self
            .solved(&[quantity], &|values: &Values| Ok(values[quantity]))
            .ok()?;
        Some((solved.low?, solved.high?))
    }

    /// A sheet in US dollars has the exchange rate 1.
    fn known(&self, quantity: Quantity, corner: &RangeCorner) -> Option<(f64, Origin)> {
        if quantity == Quantity::UsdPerCurrencyUnit && self.evidence.in_usd() {
            return Some((1.0, Origin::Sheet));
        }
        self.evidence.assumptions.known_at(quantity, corner)
    }

    fn solved(
        &self,
        quantities: &[Quantity],
        form: &impl Fn(&Values) -> Result<f64, NotDefined>,
    ) -> Result<Solved, NotDefined> {
        self.check_known(quantities)?;
        let at = |corner: &RangeCorner| {
            let value = form(&self.values(quantities, corner))?;
            if value.is_finite() {
                Ok(value)
            } else {
                Err(NotDefined::no_solution("the value is not finite"))
            }
        };
        let middle = at(&RangeCorner::new())?;
        let ranged: Vec<Quantity> = {
            let ranges = quantities
                .iter()
                .flat_map(|quantity| self.evidence.assumptions.ranges_behind(*quantity));
            ranges.collect::<BTreeSet<_>>().into_iter().collect()
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
            .filter(|quantity| self.known(**quantity, &RangeCorner::new()).is_none());
        let mut missing: Vec<&str> = Vec::new();
        for name in unknown.flat_map(|quantity| self.evidence.assumptions.how_to_state(*quantity)) {
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

    fn values(&self, quantities: &[Quantity], corner: &RangeCorner) -> Values {
        let mut values = Values([f64::NAN; Quantity::COUNT]);
        for quantity in quantities {
            values.0[*quantity as usize] = self
                .known(*quantity, corner)
                .map_or(f64::NAN, |(value, _)| value);
        }
        values
    }
}

/// Every combination of ends of the ranged quantities.
fn corners(ranged: &[Quantity]) -> impl Iterator<Item = RangeCorner> {
    (0..1_u32 << ranged.len()).map(move |bits| {
        let end = |index: usize| {
            if bits >> index & 1 == 0 {
                RangeEnd::Low
            } else {
                RangeEnd::High
            }
        };
        ranged
            .iter()
            .enumerate()
            .map(|(index, quantity)| (*quantity, end(index)))
            .collect()
    })
}

/// The right-hand side of the equation with substituted numbers, and the result.
fn working(reading: &Reading, value: f64) -> String {
    let form = reading
        .equation
        .split_once(['=', '≤', '≥'])
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
