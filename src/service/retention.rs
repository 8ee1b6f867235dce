//! The time for which rows are kept, as flags.

use std::str::FromStr;

use clap::Args;
use jiff::SignedDuration;

use unroof_store::Retention;

/// Time for which rows are kept: `forever`, or a time such as 30d.
#[expect(clippy::struct_field_names, reason = "each is the name of its flag")]
#[derive(Debug, Args)]
#[command(next_help_heading = "Retention")]
pub(crate) struct RetentionArguments {
    /// Time for which answers to questions are kept, such as 30d, or `forever`; prices and their estimates are kept for ever
    #[arg(
        long,
        env = "UNROOF_KEEP_QUESTIONS",
        default_value = "30d",
        value_name = "TIME"
    )]
    keep_questions: Kept,
    /// Time for which the audit log is kept
    #[arg(
        long,
        env = "UNROOF_KEEP_AUDIT",
        default_value = "400d",
        value_name = "TIME"
    )]
    keep_audit: Kept,
    /// Time for which keys are listed after they were revoked or have expired
    #[arg(
        long,
        env = "UNROOF_KEEP_KEYS",
        default_value = "400d",
        value_name = "TIME"
    )]
    keep_keys: Kept,
    /// Time for which runs of imports are listed; the last ones of every catalog are always
    #[arg(
        long,
        env = "UNROOF_KEEP_IMPORTS",
        default_value = "400d",
        value_name = "TIME"
    )]
    keep_imports: Kept,
}

/// A time, or none where rows are kept for ever.
#[derive(Debug, Clone, Copy)]
struct Kept(Option<SignedDuration>);

impl FromStr for Kept {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "forever" {
            return Ok(Self(None));
        }
        // A day has 24 hours here.
        let days = jiff::SpanRelativeTo::days_are_24_hours();
        let span: Option<jiff::Span> = text.parse().ok();
        let time = span.and_then(|span| span.to_duration(days).ok());
        let time = time.filter(SignedDuration::is_positive);
        time.map(|time| Self(Some(time)))
            .ok_or("write a time such as 12h or 30d, or `forever`")
    }
}

impl RetentionArguments {
    /// Time for which each kind of rows is kept.
    pub(crate) fn retention(&self) -> Retention {
        Retention {
            questions: self.keep_questions.0,
            audit: self.keep_audit.0,
            keys: self.keep_keys.0,
            imports: self.keep_imports.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        retention: RetentionArguments,
    }

    fn read(flags: &[&str]) -> Option<Retention> {
        let flags = [&["unroof"], flags].concat();
        let line = Line::try_parse_from(flags).ok()?;
        Some(line.retention.retention())
    }

    #[test]
    fn flags_left_out_have_the_default_and_rows_may_be_kept_for_ever() {
        assert_eq!(read(&[]), Some(Retention::default()));
        let stated = read(&["--keep-questions", "12h", "--keep-audit", "forever"]).unwrap();
        assert_eq!(stated.questions, Some(SignedDuration::from_hours(12)));
        assert_eq!(stated.audit, None);
        for wrong in ["0d", "-1d", "30", "never"] {
            assert_eq!(read(&["--keep-questions", wrong]), None, "{wrong}");
        }
    }
}
