//! Unsafe characters of a text: control characters, and those that change the direction of text.
//!
//! ```
//! use unroof_base::input::text::printable;
//!
//! assert_eq!(printable("red \u{1b}[31m"), "red \\u001b[31m");
//! ```

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character changes the direction of text: the marks, embeddings, overrides and isolates of the
/// Unicode bidirectional algorithm.
#[must_use]
pub fn turns_direction(character: char) -> bool {
    matches!(
        character,
        '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// Whether a terminal may interpret a character instead of showing it.
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}')
        || turns_direction(character)
}

/// The text with every character that a terminal may interpret escaped as in JSON, such as `\u001b`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable)
}

/// The text with these characters escaped as in JSON.
#[must_use]
pub fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            // Writing to a text does not fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_may_act_on_is_written_as_json_writes_it() {
        for (text, shown) in [
            ("gpt-5.4 é 模型", "gpt-5.4 é 模型"),
            ("a\u{1b}[2Jb", "a\\u001b[2Jb"),
            ("a\nb\r\tc\u{7f}", "a\\u000ab\\u000d\\u0009c\\u007f"),
            ("a\u{9b}2Jb", "a\\u009b2Jb"),
            ("a\u{202e}b\u{2066}c\u{200f}", "a\\u202eb\\u2066c\\u200f"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
