//! Output to the terminal and the log: escapes control characters in untrusted text and removes secrets from addresses.

use std::borrow::Cow;
use std::io::{self, StderrLock, StdoutLock, Write};

use anstream::AutoStream;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use unroof_base::input::text::{escaped, is_unprintable, printable};
use unroof_telemetry::secrets::{redacted, without_secrets};

/// Standard output as reports are written to it.
pub(crate) type Output = Plain<AutoStream<StdoutLock<'static>>>;

/// Standard output, without colours where none are wanted.
pub(crate) fn stdout() -> Output {
    Plain(anstream::stdout().lock())
}

/// Standard error, without colours where none are wanted.
pub(crate) fn stderr() -> Plain<AutoStream<StderrLock<'static>>> {
    Plain(anstream::stderr().lock())
}

/// Columns where standard output is not a terminal.
const USUAL_WIDTH: usize = 80;
/// Fewest columns that reports are laid out for.
const LEAST_WIDTH: usize = 40;
/// Most columns that a line is read across.
const MOST_WIDTH: usize = 200;

/// Columns of the terminal that standard output goes to, or of `COLUMNS`; 80 where neither says.
pub(crate) fn width() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    let of_terminal = size.map(|(width, _)| usize::from(width.0));
    let stated = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = of_terminal.or_else(stated).unwrap_or(USUAL_WIDTH);
    columns.clamp(LEAST_WIDTH, MOST_WIDTH)
}

/// Escapes text from elsewhere, such as an error of a library.
pub(crate) fn quoted(text: &str) -> String {
    printable(&redacted(text)).into_owned()
}

/// The styles of [`crate::label`].
const STYLES: [&str; 2] = ["\u{1b}[1m", "\u{1b}[0m"];

/// Writer that escapes control characters other than line ends and our own styles, as JSON does, so that JSON output stays
/// the same.
pub(crate) struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(plain(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn plain(text: &str) -> Cow<'_, str> {
    keeping(text, |rest| {
        STYLES
            .into_iter()
            .find(|style| rest.starts_with(style))
            .map_or(0, str::len)
    })
}

/// Escapes control characters, except for line ends and escape sequences whose length `own` returns.
fn keeping(text: &str, own: impl Fn(&str) -> usize) -> Cow<'_, str> {
    let is_escaped = |character: char| is_unprintable(character) && character != '\n';
    if !text.contains('\u{1b}') {
        return escaped(text, is_escaped);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        let (before, at) = rest.split_at(start);
        let (style, after) = at.split_at(own(at));
        shown.push_str(&escaped(before, is_escaped));
        shown.push_str(style);
        rest = after;
        if style.is_empty() {
            let (escape, after) = rest.split_at(1);
            shown.push_str(&printable(escape));
            rest = after;
        }
    }
    shown.push_str(&escaped(rest, is_escaped));
    Cow::Owned(shown)
}

/// Writer of the log to standard error; every event is one line.
pub(crate) struct LogLines {
    /// Whether to keep the styles of the log.
    pub(crate) has_styles: bool,
}

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = redacted(line);
        let line = keeping(&line, |rest| {
            if self.has_styles {
                style_length(rest)
            } else {
                0
            }
        });
        let line = escaped(&line, |character| character == '\n');
        io::stderr()
            .lock()
            .write_all(format!("{line}\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Length of the style at the start of a text: `ESC [`, numbers, `m`.
fn style_length(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let behind = numbers.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == ';');
    if behind.starts_with('m') {
        text.len() - behind.len() + 1
    } else {
        0
    }
}

/// Arguments whose value may contain a secret.
const SECRET_ARGUMENTS: [&str; 3] = ["--database-url", "--refresh", "--url"];

/// Flags that had another name before one was chosen for each thing, and the new ones.
const OLD_FLAGS: [(&str, &str); 12] = [
    ("--accelerators", "--chips"),
    ("--cache-read-tokens", "--cached-input"),
    ("--cached-price", "--cached-input-price"),
    ("--expert-parallel-gpus", "--expert-parallel-chips"),
    ("--gpus", "--chips"),
    ("--hardware", "--accelerator"),
    ("--output-tokens", "--output"),
    ("--prompt", "--input"),
    ("--prompt-tokens", "--input"),
    ("--reasoning-tokens", "--reasoning"),
    ("--sequences-per-gpu", "--batch-per-chip"),
    ("--uncached-input-tokens", "--input"),
];

fn new_flag(argument: &str) -> Option<&'static str> {
    let name = argument.split('=').next()?;
    let renamed = OLD_FLAGS.iter().find(|(old, _)| *old == name);
    renamed.map(|(_, new)| *new)
}

/// Removes secrets and control characters from a command-line error.
pub(crate) fn without_typed_secrets(mut error: clap::Error) -> clap::Error {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion
    ) {
        return error;
    }
    let is_of_secret = matches!(
        error.get(ContextKind::InvalidArg),
        Some(ContextValue::String(argument))
            if SECRET_ARGUMENTS.iter().any(|secret| argument.starts_with(secret))
    );
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && let Some(new) = new_flag(argument)
    {
        error.insert(
            ContextKind::SuggestedArg,
            ContextValue::String(new.to_owned()),
        );
    }
    let mut is_changed = false;
    // In other errors this is the name of a known argument.
    let argument = (error.kind() == ErrorKind::UnknownArgument).then_some(ContextKind::InvalidArg);
    let typed = [ContextKind::InvalidValue, ContextKind::InvalidSubcommand];
    for kind in typed.into_iter().chain(argument) {
        let Some(ContextValue::String(value)) = error.get(kind) else {
            continue;
        };
        let shown = if kind == ContextKind::InvalidValue && is_of_secret {
            "…".to_owned()
        } else {
            typed_value(value)
        };
        if shown != *value {
            is_changed = true;
            error.insert(kind, ContextValue::String(shown));
        }
    }
    // The rendered message quotes the input.
    if is_changed {
        error.remove(ContextKind::Suggested);
    }
    error
}

fn typed_value(value: &str) -> String {
    let (flag, value) = match value.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (Some(flag), value),
        _ => (None, value),
    };
    let shown = if value.contains("://") || value.contains('@') {
        without_secrets(value)
    } else {
        quoted(value)
    };
    match flag {
        Some(flag) => format!("{}={shown}", printable(flag)),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_own_styles_are_kept_and_other_control_characters_escaped() {
        for (text, shown) in [
            ("a\nb\n", "a\nb\n"),
            (
                "\u{1b}[1merror:\u{1b}[0m a\n",
                "\u{1b}[1merror:\u{1b}[0m a\n",
            ),
            (
                "a\u{1b}[2Jb\u{1b}]0;t\u{7}\n",
                "a\\u001b[2Jb\\u001b]0;t\\u0007\n",
            ),
            ("a\u{9b}31mb\u{202e}c\u{1b}", "a\\u009b31mb\\u202ec\\u001b"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn a_log_line_may_contain_styles() {
        for (text, length) in [
            ("\u{1b}[2mx", 4),
            ("\u{1b}[38;5;1mx", 9),
            ("\u{1b}[2J", 0),
            ("\u{1b}", 0),
        ] {
            assert_eq!(style_length(text), length, "{text:?}");
        }
    }
}
