//! Parts of pages: charts as SVG, each with the words that explain it and the table behind it, and the
//! answers of the calculators as HTML.

pub mod calculators;
pub mod chart;
pub mod names;
pub mod price_line;
pub mod tables;
pub mod words;
