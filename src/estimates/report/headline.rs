//! The answer in one sentence, and reasons to doubt it.

use std::io::{self, Write};

use super::paragraph;
use crate::label;
use crate::shell::terminal;
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::judgement::headline::{finding, subject};
use unroof_infer::estimate::warnings;

/// The headline: what is public, else figures of what is identified and the names of the rest.
pub(super) fn write(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    let subject = terminal::quoted(&subject(estimated));
    let finding = finding(estimated);
    paragraph(out, &format!("{}: {finding}.", label(&subject)), 0)?;
    writeln!(out)
}

/// Reasons to doubt the answer.
pub(super) fn write_warnings(out: &mut impl Write, estimated: &StoredEstimate) -> io::Result<()> {
    let warnings = warnings(estimated, None);
    for warning in &warnings {
        let text = format!("{} {}", label("warning:"), terminal::quoted(warning));
        paragraph(out, &text, 0)?;
    }
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(out)
}
