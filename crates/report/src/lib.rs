//! Charts as SVG, each with the words that explain it and the table behind it.

pub mod chart;
