//! Batches and contexts over which a simulation is repeated.

use crate::input::cursor::Cursor;
use crate::input::json::Json;

use super::request::MOST_TOKENS;

/// Most points of both axes together.
const MOST_POINTS: usize = 10_000;
/// Points of an axis that states only its ends.
const DEFAULT_POINTS: u32 = 50;
const BATCHES: (f64, f64) = (1e-6, 1e12);
const CONTEXTS: (f64, f64) = (0.0, MOST_TOKENS);

/// Every batch with every context; an axis that is left out stays at the operating point.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub(super) batches: Option<Vec<f64>>,
    pub(super) contexts: Option<Axis>,
}

/// Points along one axis.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) points: Vec<f64>,
    /// Whether the points were made from two ends, so that one more may be added among them.
    pub(super) is_made: bool,
}

impl Grid {
    pub(super) fn read(object: &Cursor<'_>) -> Option<Self> {
        let fields = object.fields()?;
        let batches = fields.optional("batch", |field| {
            Some(Axis::read(field, BATCHES)?.in_whole_steps())
        });
        let contexts = fields.optional("context_tokens", |field| Axis::read(field, CONTEXTS));
        fields.refuse_unknown();
        let grid = Self {
            batches: batches.ok()?.map(|axis| axis.points),
            contexts: contexts.ok()?,
        };
        let points = grid.points();
        if grid.batches.is_none() && grid.contexts.is_none() {
            object.fault(
                "a grid without an axis",
                "state `batch`, `context_tokens`, or both",
            );
        }
        if points > MOST_POINTS {
            object.fault(
                format!("a grid of {points} points"),
                format!("state axes whose lengths multiply to at most {MOST_POINTS}"),
            );
        }
        Some(grid)
    }

    /// Points of both axes together, but for one that may be added among the contexts.
    pub(super) fn points(&self) -> usize {
        let batches = self.batches.as_ref().map_or(1, Vec::len);
        batches * self.contexts.as_ref().map_or(1, |axis| axis.points.len())
    }
}

impl Axis {
    /// Points made between two ends as whole numbers, each once: half a sequence is none.
    fn in_whole_steps(mut self) -> Self {
        if self.is_made && self.points.first().is_some_and(|first| *first >= 1.0) {
            self.points
                .iter_mut()
                .for_each(|point| *point = point.round());
            self.points
                .dedup_by(|left, right| left.total_cmp(right).is_eq());
        }
        self
    }

    /// A list of values, or two ends with a number of points, evenly apart in the log; from 0 evenly apart.
    fn read(field: &Cursor<'_>, (least, most): (f64, f64)) -> Option<Self> {
        if !matches!(field.json, Json::Object(_)) {
            let count = field.items()?.len();
            if count == 0 || count > MOST_POINTS {
                field.fault(
                    format!("a list of {count} points"),
                    format!("list 1 to {MOST_POINTS}, or write {{\"from\", \"to\", \"points\"}}"),
                );
                return None;
            }
            let points = field.list_of(|item| item.number_within(least..=most))?;
            let is_whole = points.len() == count;
            return is_whole.then_some(Self {
                points,
                is_made: false,
            });
        }
        let fields = field.fields()?;
        let end = |name| {
            fields
                .required(name, "state both ends of the axis")?
                .number_within(least..=most)
        };
        let (from, to) = (end("from"), end("to"));
        let count = fields.get("points").map_or(Some(DEFAULT_POINTS), |field| {
            field.whole_number(2..=u32::try_from(MOST_POINTS).unwrap_or(u32::MAX))
        });
        fields.refuse_unknown();
        let (from, to, count) = (from?, to?, count?);
        if from >= to {
            field.fault("the axis ends before it begins", "state `from` below `to`");
            return None;
        }
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
        Some(Self {
            points: (0..count).map(point).collect(),
            is_made: true,
        })
    }
}
