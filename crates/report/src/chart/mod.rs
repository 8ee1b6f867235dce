//! Charts as SVG: a drawing, the words that explain it and the table behind it. One file per kind of chart; all of them
//! are made of the scales, axes and marks here. Pure: nothing is read and nothing is written.
//!
//! Every mark has presentation attributes and classes. Alone, as a file, a chart shows the attributes; in a page, the style
//! sheet overrides them by class, so that it follows the theme.

pub mod axis;
pub mod frame;
pub mod kinds;
pub mod labels;
pub mod mark;
pub mod scale;
pub mod table;
pub mod tone;

use maud::{Markup, html};

use self::mark::round;
use self::table::Table;
use self::tone::Tone;

/// A chart with its finding and its data.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The finding, or what is drawn: the accessible name.
    pub title: String,
    /// The finding with its figures, for those who do not see the drawing.
    pub description: String,
    /// Width of the drawing in its own units.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// Drawing of the chart.
    pub drawing: Markup,
    /// The figures behind it.
    pub table: Table,
}

/// The words of a chart.
#[derive(Debug, Clone)]
pub struct Words {
    /// The finding, or what is drawn: the accessible name.
    pub title: String,
    /// The finding with its figures, for those who do not see the drawing.
    pub description: String,
}

impl Words {
    /// A chart with these words, of a width and a height.
    #[must_use]
    pub fn chart(self, (width, height): (f64, f64), drawing: Markup, table: Table) -> Chart {
        let Self { title, description } = self;
        Chart {
            title,
            description,
            width,
            height,
            drawing,
            table,
        }
    }
}

/// Font of a chart that is shown alone.
const FONT: &str = "system-ui, sans-serif";

impl Chart {
    /// The element `svg`. Its marks that carry a label are stops of the keyboard's cursor.
    #[must_use]
    pub fn svg(&self) -> Markup {
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
