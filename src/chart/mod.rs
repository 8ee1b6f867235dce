//! Charts as SVG: a drawing, the words that explain it and the table behind it. One file per kind of chart; all of them
//! are made of the scales, axes and marks here. Pure: nothing is read and nothing is written.
//!
//! Every mark has presentation attributes and classes. Alone, as a file, a chart shows the attributes; in a page, the style
//! sheet overrides them by class, so that it follows the theme.

pub(crate) mod aligned;
pub(crate) mod axis;
pub(crate) mod calibration;
pub(crate) mod cost;
pub(crate) mod density;
pub(crate) mod frame;
pub(crate) mod frontier;
pub(crate) mod heat;
pub(crate) mod labels;
pub(crate) mod mark;
pub(crate) mod neighbours;
pub(crate) mod prices;
pub(crate) mod roofline;
pub(crate) mod scale;
pub(crate) mod sparkline;
pub(crate) mod strip;
pub(crate) mod table;
pub(crate) mod tone;
pub(crate) mod truth;
pub(crate) mod waterfall;

use maud::{Markup, html};

use self::mark::round;
use self::table::Table;
use self::tone::Tone;

/// A chart with its finding and its data.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// The finding, or what is drawn: the accessible name.
    pub(crate) title: String,
    /// The finding with its figures, for those who do not see the drawing.
    pub(crate) description: String,
    /// Width of the drawing in its own units.
    pub(crate) width: f64,
    /// Height of the drawing.
    pub(crate) height: f64,
    /// Drawing of the chart.
    pub(crate) drawing: Markup,
    /// The figures behind it.
    pub(crate) table: Table,
}

/// Font of a chart that is shown alone.
const FONT: &str = "system-ui, sans-serif";

impl Chart {
    /// The element `svg`. Its marks that carry a label are stops of the keyboard's cursor.
    pub(crate) fn svg(&self) -> Markup {
        let (width, height) = (round(self.width), round(self.height));
        html! {
            svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}"))
                width=(width) height=(height) role="img" font-family=(FONT) font-size="12"
                aria-label=(self.title) {
                title { (self.title) }
                desc { (self.description) }
                rect class="paper" width=(width) height=(height) fill=(Tone::PAPER) {}
                (self.drawing)
            }
        }
    }
}
