//! Batches and contexts over which a simulation is repeated.

use std::ops::RangeInclusive;

use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema};

use crate::calculator::inputs::Inputs;
use crate::calculator::scenario::load::{BATCHES, MOST_CONTEXT};
use unroof_base::input::body::{
    Describe, Kind, List, Stated, body, count, number, optional, value,
};
use unroof_base::input::cursor::{Cursor, Recorded};
use unroof_base::input::json::Json;

/// Most points of both axes together.
const MOST_POINTS: u32 = 10_000;
/// Points of an axis that states only its ends.
const DEFAULT_POINTS: u32 = 50;

body! {
    /// Every batch with every context; an axis that is left out stays at the operating point.
    #[derive(Default)]
    #[at_least(1)]
    pub struct SimulatedGrid {
        /// Batches; whole numbers where the axis states two ends.
        batch: Option<Axis> = optional(value(AxisKind(BATCHES))),
        /// Contexts. If the axis states two ends, the context at which memory time overtakes compute time is added.
        context_tokens: Option<Axis> = optional(value(AxisKind(0.0..=MOST_CONTEXT))),
    }
}

impl SimulatedGrid {
    /// Number of points of the grid, without the kink that may be added to the contexts.
    pub(super) fn points(&self) -> usize {
        let points = |axis: &Option<Axis>| axis.as_ref().map_or(1, |axis| axis.points.len());
        points(&self.batch) * points(&self.context_tokens)
    }
}

/// Points along one axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// The points, ascending where they come from two ends.
    pub points: Vec<f64>,
    /// Whether the points come from two ends, so that the kink may be added.
    pub is_made: bool,
}

impl Axis {
    /// Points between two ends as whole numbers, without duplicates: a batch has whole sequences.
    pub(super) fn in_whole_steps(mut self) -> Self {
        if self.is_made && self.points.first().is_some_and(|first| *first >= 1.0) {
            self.points
                .iter_mut()
                .for_each(|point| *point = point.round());
            self.points
                .dedup_by(|left, right| left.total_cmp(right).is_eq());
        }
        self
    }

    /// Points spaced evenly in the logarithm; spaced evenly in the value where the axis starts at 0.
    fn between(from: f64, to: f64, count: u32) -> Self {
        let steps = f64::from(count - 1);
        let point = |index: u32| {
            let share = f64::from(index) / steps;
            match index {
                0 => from,
                _ if index == count - 1 => to,
                _ if from > 0.0 => from * (to / from).powf(share),
                _ => from + (to - from) * share,
            }
        };
        Self {
            points: (0..count).map(point).collect(),
            is_made: true,
        }
    }
}

/// A list of points within a range, or two ends and the number of points between them.
pub(super) struct AxisKind(pub(super) RangeInclusive<f64>);

impl AxisKind {
    fn list(&self) -> List<RangeInclusive<f64>> {
        List::of(self.0.clone(), 1..=MOST_POINTS as usize)
    }
}

impl Kind for AxisKind {
    type Value = Axis;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Axis> {
        if !matches!(cursor.json, Json::Object(_)) {
            let count = cursor.items()?.len();
            if !(1..=MOST_POINTS as usize).contains(&count) {
                cursor.fault(
                    format!("a list of {count} points"),
                    format!("list 1 to {MOST_POINTS}, or write {{\"from\", \"to\", \"points\"}}"),
                );
                return None;
            }
            let points = self.list().read(cursor)?;
            return Some(Axis {
                points,
                is_made: false,
            });
        }
        let fields = cursor.fields()?;
        let end = |name| {
            let field = fields.required(name, "state both ends of the axis")?;
            self.0.read(&field)
        };
        let (from, to) = (end("from"), end("to"));
        let count = fields.get("points").map_or(Some(DEFAULT_POINTS), |field| {
            field.whole_number(2..=MOST_POINTS)
        });
        fields.refuse_unknown();
        let (from, to, count) = (from?, to?, count?);
        if from >= to {
            cursor.fault("the axis ends before it begins", "state `from` below `to`");
            return None;
        }
        Some(Axis::between(from, to, count))
    }

    fn schema(&self) -> RefOr<Schema> {
        let end = |doc: &str| number(self.0.clone()).property(doc.to_owned());
        let points = count(2..=MOST_POINTS).or(DEFAULT_POINTS);
        let ends = ObjectBuilder::new()
            .property("from", end("First point."))
            .property("to", end("Last point."))
            .property("points", points.property("Number of points.".to_owned()))
            .required("from")
            .required("to")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .description(Some(
                "Two ends, and points between them: evenly spaced in the logarithm, or in the value where the axis starts at 0.",
            ));
        OneOfBuilder::new()
            .item(value(self.list()).property("The points.".to_owned()))
            .item(ends)
            .into()
    }
}

/// The grid, if the request has one.
pub(super) fn fill_grid(
    stated: &Stated<SimulatedGrid>,
    inputs: &Inputs<'_>,
) -> Result<Option<SimulatedGrid>, Recorded> {
    let Some(mut grid) = stated.value.clone()? else {
        return Ok(None);
    };
    grid.batch = grid.batch.map(Axis::in_whole_steps);
    let points = grid.points();
    if points > MOST_POINTS as usize {
        inputs.fault(
            stated,
            format!("a grid of {points} points"),
            format!("state axes whose lengths multiply to at most {MOST_POINTS}"),
        );
        return Err(Recorded);
    }
    Ok(Some(grid))
}
