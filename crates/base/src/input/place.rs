//! From a JSON pointer to its place in the text: where a person has to look.
//!
//! ```
//! use unroof_base::input::place::{line, place};
//!
//! let text = "{\n  \"rates\": [\n    {\"input\": \"3\"}\n  ]\n}";
//! assert_eq!(&text[place(text, "/rates/0/input").unwrap()], "\"3\"");
//! assert_eq!(line(text, "/rates/0/input"), 3);
//! ```

use std::ops::Range;

/// The value at a JSON pointer (RFC 6901) of a text that is valid JSON, as a range of bytes.
#[must_use]
pub fn place(text: &str, pointer: &str) -> Option<Range<usize>> {
    let mut at = space(text, 0);
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match text.as_bytes().get(at)? {
            b'{' => member(text, at, &step)?,
            b'[' => item(text, at, step.parse().ok()?)?,
            _ => return None,
        };
    }
    Some(at..end_of_value(text, at)?)
}

/// The line, from 1, of the value at a pointer; where there is none, that of the nearest value around it.
#[must_use]
pub fn line(text: &str, pointer: &str) -> usize {
    let mut pointer = pointer;
    let start = loop {
        if let Some(place) = place(text, pointer) {
            break place.start;
        }
        match pointer.rsplit_once('/') {
            Some((parent, _)) => pointer = parent,
            None => break 0,
        }
    };
    let before = text.as_bytes().get(..start).unwrap_or_default();
    1 + before.split(|byte| *byte == b'\n').skip(1).count()
}

/// The first byte from a place on that is not a space.
fn space(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().iter().enumerate().skip(from);
    let mut rest = rest.filter(|(_, byte)| !byte.is_ascii_whitespace());
    rest.next().map_or(text.len(), |(at, _)| at)
}

/// Start of the value of a key in the object that begins at a place.
fn member(text: &str, object: usize, key: &str) -> Option<usize> {
    let mut at = space(text, object + 1);
    while text.as_bytes().get(at) == Some(&b'"') {
        let end = end_of_text(text, at)?;
        let value = space(text, space(text, end) + 1);
        if serde_json::from_str::<String>(text.get(at..end)?).is_ok_and(|name| name == key) {
            return Some(value);
        }
        at = next(text, end_of_value(text, value)?)?;
    }
    None
}

/// Start of an item of the list that begins at a place.
fn item(text: &str, list: usize, number: usize) -> Option<usize> {
    let mut at = space(text, list + 1);
    for _ in 0..number {
        at = next(text, end_of_value(text, at)?)?;
    }
    (text.as_bytes().get(at)? != &b']').then_some(at)
}

/// Start of the item behind the comma that follows a value.
fn next(text: &str, end: usize) -> Option<usize> {
    let comma = space(text, end);
    (text.as_bytes().get(comma)? == &b',').then(|| space(text, comma + 1))
}

/// The place behind the text that begins at a place.
fn end_of_text(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The place behind the value that begins at a place.
fn end_of_value(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = end_of_text(text, at)?,
            b'{' | b'[' => (depth, at) = (depth + 1, at + 1),
            b'}' | b']' => (depth, at) = (depth.checked_sub(1)?, at + 1),
            _ if depth > 0 => at += 1,
            _ => {
                let rest = bytes[at..].iter();
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                return Some(at + rest.take_while(|byte| !ends(byte)).count());
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "{\n  \"a/b\": [1, {\"x\": \"]}\\\"\"},\n    true],\n  \"c\": {},\n  \"d\" : -1.5e3\n}";

    #[test]
    fn every_pointer_has_its_value() {
        let cases = [
            ("", TEXT),
            ("/a~1b/0", "1"),
            ("/a~1b/1/x", "\"]}\\\"\""),
            ("/a~1b/2", "true"),
            ("/c", "{}"),
            ("/d", "-1.5e3"),
        ];
        for (pointer, value) in cases {
            assert_eq!(&TEXT[place(TEXT, pointer).unwrap()], value, "{pointer}");
        }
        for none in ["/e", "/a~1b/3", "/a~1b/x", "/c/d", "/d/0"] {
            assert_eq!(place(TEXT, none), None, "{none}");
        }
    }

    #[test]
    fn a_line_is_that_of_the_value_or_of_what_is_around_it() {
        let cases = [
            ("", 1),
            ("/a~1b/1/x", 2),
            ("/a~1b/2", 3),
            ("/c/missing", 4),
            ("/d", 5),
        ];
        for (pointer, expected) in cases {
            assert_eq!(line(TEXT, pointer), expected, "{pointer}");
        }
    }

    #[test]
    fn a_text_that_is_no_json_has_no_places() {
        for text in ["", "{", "[1,", "{\"a\"", "\"", "}", "{\"a\": }"] {
            assert_eq!(place(text, "/a/0"), None, "{text}");
            assert_eq!(line(text, "/a/0"), 1, "{text}");
        }
    }
}
