//! Commands in the language of a POSIX shell, as pages and messages show them to be pasted.
//!
//! ```
//! use unroof_base::shell::{curl, word};
//!
//! assert_eq!(word("gpt-5.4"), "gpt-5.4");
//! assert_eq!(word("it's $(date)"), r"'it'\''s $(date)'");
//! assert_eq!(curl("/models?limit=2", None), r#"curl "$UNROOF/models?limit=2""#);
//! ```

use std::borrow::Cow;

use crate::input::text::{escaped, is_unprintable};

/// One argument of a command: quoted unless it is plain.
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "%+,-./:=@_".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// A request to the service whose address is in `UNROOF`, with a body of JSON if it has one. Characters that a terminal
/// may interpret are escaped as JSON does.
#[must_use]
pub fn curl(path: &str, json: Option<&str>) -> String {
    // An interactive shell replaces `!` between double quotes too.
    let is_plain = !path.contains(['"', '$', '`', '\\', '!']) && !path.contains(is_unprintable);
    let mut command = if is_plain {
        format!(r#"curl "$UNROOF{path}""#)
    } else {
        format!(r#"curl "$UNROOF"{}"#, word(path))
    };
    if let Some(json) = json {
        let is_escaped = |character| character != '\n' && is_unprintable(character);
        command.push_str(" --json ");
        command.push_str(&word(&escaped(json, is_escaped)));
    }
    command
}
