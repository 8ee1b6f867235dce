//! The frame of a drawing with a vertical and a horizontal axis: its size, the places of its sides, and the axes in it.

use maud::{Markup, html};

use super::axis::{self, named};
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

/// An axis as it is drawn.
pub struct Axis<'a> {
    /// Scale of the axis.
    pub scale: &'a Scale,
    /// Values of the axis, as they are written.
    pub ticks: Vec<(f64, String)>,
    /// Name of the axis; empty where the title says it.
    pub name: &'a str,
}

impl<'a> Axis<'a> {
    /// An axis with about so many values.
    pub fn new(
        scale: &'a Scale,
        count: usize,
        number: impl Fn(f64) -> String,
        name: &'a str,
    ) -> Self {
        Self {
            scale,
            ticks: named(scale, count, number),
            name,
        }
    }
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

    /// Height with the axis and its name.
    #[must_use]
    pub const fn height(&self) -> f64 {
        self.bottom + NAMED_AXIS
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

    /// The lines, values and names of both axes.
    #[must_use]
    pub fn axes(&self, horizontal: &Axis, vertical: &Axis) -> Markup {
        html! {
            (axis::vertical(vertical.scale, self.across(), &vertical.ticks))
            (axis::horizontal(horizontal.scale, (self.top, self.bottom), &horizontal.ticks))
            @if !horizontal.name.is_empty() {
                (text(Tone::Muted, (self.right, self.bottom + NAME), Anchor::End, horizontal.name))
            }
            @if !vertical.name.is_empty() { (text(Tone::Muted, (2.0, 12.0), Anchor::Start, vertical.name)) }
        }
    }
}
