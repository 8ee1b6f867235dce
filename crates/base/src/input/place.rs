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

use struson::reader::{JsonReader, ValueType};

use super::json::{Reader, reader_of};

/// The value at a JSON pointer (RFC 6901) of a text that is valid JSON, as a range of bytes.
#[must_use]
pub fn place(text: &str, pointer: &str) -> Option<Range<usize>> {
    let mut reader = reader_of(text.as_bytes());
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        match reader.peek().ok()? {
            ValueType::Object => {
                reader.begin_object().ok()?;
                while reader.next_name_owned().ok()? != step {
                    reader.skip_value().ok()?;
                }
            }
            ValueType::Array => {
                reader.begin_array().ok()?;
                for _ in 0..step.parse::<usize>().ok()? {
                    reader.skip_value().ok()?;
                }
            }
            _ => return None,
        }
    }
    reader.peek().ok()?;
    let start = position(&reader)?;
    reader.skip_value().ok()?;
    Some(start..position(&reader)?)
}

/// Bytes of the text that are read.
fn position(reader: &Reader<'_>) -> Option<usize> {
    usize::try_from(reader.current_position(false).data_pos?).ok()
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
