//! unroof reads an LLM provider's public price sheet, inverts the serving roofline behind it, and says what the sheet
//! reveals about the machine: KV-cache bytes per token, how memory-bound decoding is, and which storage tier each
//! cache offer lives on.
//!
//! Who may use whom, read `a <- b` as "b may use a, and what a may use"; `tests/architecture.rs` holds the code to it:
//!
//! ```text
//! units <- input <- reference <- roofline;   input <- sheet
//! sheet, roofline <- clue <- estimate <- storage <- http <- cli <- main;   sheet, roofline <- forward <- http;   roofline <- calibration <- cli
//! ```
//!
//! Everything up to and including [`estimate`] is pure: no clock, no chance, no input or output.

pub mod calibration;
pub mod cli;
pub mod clue;
pub mod estimate;
pub mod forward;
pub mod http;
pub mod import;
pub mod input;
pub mod reference;
pub mod roofline;
pub mod sheet;
pub mod storage;
pub mod units;
