//! The frame of a drawing with a vertical and a horizontal axis: its size, the places of its sides, and the axes in it.

use maud::{Markup, html};

use super::axis;
use super::mark::{Anchor, text};
use super::scale::Scale;
use super::tone::Tone;

/// Width of a drawing that a telephone shows without scrolling.
pub const WIDTH: f64 = 480.0;
/// Height of a horizontal axis without a name.
pub const AXIS: f64 = 26.0;
/// Height of one with a name below its values.
const NAMED_AXIS: f64 = 44.0;
/// Baseline of that name.
const NAME: f64 = 36.0;
/// Space above the drawing, for words.
const ABOVE: f64 = 22.0;
/// Space at the left, for the values of the vertical axis.
const BEFORE: f64 = 52.0;
/// Space at the right, for half of the last value of the horizontal axis.
const AFTER: f64 = 20.0;

/// A horizontal and a vertical value, or their place in a drawing.
pub type Point = (f64, f64);

/// The places of the sides of a drawing.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Width with what is beside the drawing.
    pub width: f64,
    /// Left side of the drawing area.
    pub left: f64,
    /// Right side of the drawing area.
    pub right: f64,
    /// Upper side of the drawing area.
    pub top: f64,
    /// The lower side, where the horizontal axis is.
    pub bottom: f64,
}

impl Frame {
    /// A frame of a width around a drawing of a height.
    #[must_use]
    pub const fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            left: BEFORE,
            right: width - AFTER,
            top: ABOVE,
            bottom: ABOVE + height,
        }
    }

    /// Width and height with the axis and its name.
    #[must_use]
    pub const fn size(&self) -> (f64, f64) {
        (self.width, self.bottom + NAMED_AXIS)
    }

    /// The range of a horizontal scale.
    #[must_use]
    pub const fn across(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// The range of a vertical scale.
    #[must_use]
    pub const fn up(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }
}

/// A frame with the scales of its axes.
#[derive(Debug, Clone, Copy)]
pub struct Plane {
    /// The places of its sides.
    pub frame: Frame,
    /// The horizontal scale.
    pub across: Scale,
    /// The vertical scale.
    pub up: Scale,
}

impl Plane {
    /// The place of a point.
    #[must_use]
    pub fn at(&self, (x, y): Point) -> Point {
        (self.across.at(x), self.up.at(y))
    }

    /// The places of points.
    pub fn path(&self, points: impl IntoIterator<Item = Point>) -> Vec<Point> {
        points.into_iter().map(|point| self.at(point)).collect()
    }

    /// The lines, values and names of both axes, the horizontal one first; an axis has no name where the title says it.
    #[must_use]
    pub fn axes(&self, write: [fn(f64) -> String; 2], [across, up]: [&str; 2]) -> Markup {
        let Frame { right, bottom, .. } = self.frame;
        let [write_across, write_up] = write;
        html! {
            (axis::vertical(&self.up, self.frame.across(), write_up))
            (axis::horizontal(&self.across, (self.frame.top, bottom), write_across))
            @if !across.is_empty() { (text(Tone::Muted, (right, bottom + NAME), Anchor::End, across)) }
            @if !up.is_empty() { (text(Tone::Muted, (2.0, 12.0), Anchor::Start, up)) }
        }
    }
}
