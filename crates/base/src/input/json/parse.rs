//! Parses a text into a JSON tree; the first fault has its line and column.

use std::collections::BTreeSet;

use struson::reader::{
    JsonReader, JsonReaderPosition, JsonStreamReader, ReaderError, ReaderSettings, SyntaxErrorKind,
    ValueType,
};

use super::repeated::Repeated;
use super::{Json, Object, SameKey};
use crate::input::cancel::{CancelToken, Cancelled};
use crate::input::cursor::shortened;

/// Longest written form of a number, without its exponent.
const LONGEST_NUMBER: usize = 100;
/// Limit of values in a document: more than three times the number in the largest published catalog.
const MOST_VALUES: usize = 1_000_000;
/// Values between two checks for cancellation.
const VALUES_BETWEEN_LOOKS: usize = 512;
/// Beginning of the keys by which `serde_json` marks text that it reads as JSON of its own, however deep that is.
const RESERVED: &str = "$serde_json::private::";
/// Containers inside containers, at most.
pub const DEEPEST_NESTING: u32 = 32;

/// Error of parsing a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct JsonError {
    /// Line of the fault, from 1.
    pub line: u64,
    /// Column of the fault, from 1.
    pub column: u64,
    /// Description of the fault.
    pub reason: String,
    /// Correction that removes the fault.
    pub hint: &'static str,
}

/// Reason that parsing ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// The text is invalid.
    Wrong(JsonError),
    /// The client has disconnected.
    Unwanted,
}

impl From<JsonError> for Stopped {
    fn from(error: JsonError) -> Self {
        Self::Wrong(error)
    }
}

impl From<ReaderError> for Stopped {
    fn from(error: ReaderError) -> Self {
        Self::Wrong(error.into())
    }
}

impl From<Cancelled> for Stopped {
    fn from(_: Cancelled) -> Self {
        Self::Unwanted
    }
}

/// Reads one JSON value that fills the whole text.
///
/// # Errors
/// [`JsonError`] at the first fault, with its line and column.
pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
    // The default token is never cancelled.
    parse_while(text, &CancelToken::default()).map_err(|stopped| match stopped {
        Stopped::Wrong(error) => error,
        Stopped::Unwanted => JsonError {
            line: 1,
            column: 1,
            reason: Cancelled.to_string(),
            hint: "send it again",
        },
    })
}

/// Parses a JSON text, until the work is cancelled.
///
/// # Errors
/// The text is wrong, or the work is cancelled.
pub fn parse_while(text: &[u8], wanted: &CancelToken) -> Result<Json, Stopped> {
    check_encoding(text)?;
    let mut reading = Reading::new(text, wanted);
    let value = reading.value()?;
    reading.reader.consume_trailing_whitespace()?;
    if reading.has_same_key {
        find_same_key(&mut reader_of(text), wanted)?;
    }
    Ok(value)
}

/// Parses a catalog, in which a key may occur twice in an object: equal copies are one, and others are left out. Where a key is
/// repeated, the places (RFC 6901) of those that are left out are returned.
///
/// # Errors
/// The text is wrong, or the work is cancelled.
pub fn parse_catalog(
    text: &[u8],
    wanted: &CancelToken,
) -> Result<(Json, Option<Vec<String>>), Stopped> {
    check_encoding(text)?;
    let mut reading = Reading::new(text, wanted);
    let value = reading.value()?;
    reading.reader.consume_trailing_whitespace()?;
    if !reading.has_same_key {
        return Ok((value, None));
    }
    drop(value);
    // Places cost memory, so that they are kept only where they are needed.
    reading = Reading::new(text, wanted);
    reading.repeated = Some(Repeated::default());
    let value = reading.value()?;
    let places = reading.repeated.map(|repeated| repeated.contradicted);
    Ok((value, places))
}

/// A reader of a text, with the limits of every document.
pub(in crate::input) fn reader_of(text: &[u8]) -> Reader<'_> {
    let settings = ReaderSettings {
        max_nesting_depth: Some(DEEPEST_NESTING),
        track_path: false,
        // It would take no exponent beyond 99; `read_number` draws its own line.
        restrict_number_values: false,
        ..Default::default()
    };
    JsonStreamReader::new_custom(text, settings)
}

fn check_encoding(text: &[u8]) -> Result<(), JsonError> {
    let at = |offset: usize, reason: &str, hint| {
        let before = &text[..offset];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        JsonError {
            line: before.split(|byte| *byte == b'\n').count() as u64,
            column: 1 + String::from_utf8_lossy(&before[line_start..])
                .chars()
                .count() as u64,
            reason: reason.to_owned(),
            hint,
        }
    };
    if text.starts_with(b"\xef\xbb\xbf") {
        return Err(at(
            0,
            "the text begins with a byte order mark",
            "send plain UTF-8 without a byte order mark",
        ));
    }
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(at(0, "the text is empty", "send a JSON object"));
    }
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(at(
            error.valid_up_to(),
            "the text is not valid UTF-8",
            "encode the text as UTF-8",
        )),
    }
}

/// A reader of a text in memory.
pub(in crate::input) type Reader<'a> = JsonStreamReader<&'a [u8]>;

/// A text being read.
struct Reading<'a> {
    reader: Reader<'a>,
    /// Values so far: each takes more room in memory than in the text.
    values: usize,
    /// Whether an object has two entries of one key; their place is looked up afterwards.
    has_same_key: bool,
    /// Repeated keys, where they are allowed.
    repeated: Option<Repeated>,
    wanted: &'a CancelToken,
}

impl<'a> Reading<'a> {
    fn new(text: &'a [u8], wanted: &'a CancelToken) -> Self {
        Self {
            reader: reader_of(text),
            values: 0,
            has_same_key: false,
            repeated: None,
            wanted,
        }
    }

    fn value(&mut self) -> Result<Json, Stopped> {
        self.count()?;
        let reader = &mut self.reader;
        Ok(match reader.peek()? {
            ValueType::Null => {
                reader.next_null()?;
                Json::Null
            }
            ValueType::Boolean => Json::Bool(reader.next_bool()?),
            ValueType::Number => Json::Number(read_number(reader)?.into()),
            ValueType::String => Json::Text(read_text(reader, JsonReader::next_string)?.into()),
            ValueType::Array => {
                let mut items = Vec::new();
                reader.begin_array()?;
                while self.reader.has_next()? {
                    let value = self.value_at(|| items.len().to_string())?;
                    items.push(value);
                }
                self.reader.end_array()?;
                Json::Array(items.into())
            }
            ValueType::Object => Json::Object(self.object()?),
        })
    }

    /// The value at a key or an index of its container.
    fn value_at(&mut self, key: impl FnOnce() -> String) -> Result<Json, Stopped> {
        if let Some(repeated) = &mut self.repeated {
            repeated.path.push(key());
        }
        let value = self.value()?;
        if let Some(repeated) = &mut self.repeated {
            repeated.path.pop();
        }
        Ok(value)
    }

    fn object(&mut self) -> Result<Object, Stopped> {
        let mut entries = Vec::new();
        self.reader.begin_object()?;
        while self.reader.has_next()? {
            let name = read_name(&mut self.reader)?;
            let value = self.value_at(|| name.clone())?;
            entries.push((name.into(), value));
        }
        self.reader.end_object()?;
        if let Some(repeated) = &mut self.repeated {
            entries = repeated.settle(entries);
        }
        Ok(Object::sorted(entries).unwrap_or_else(|SameKey| {
            self.has_same_key = true;
            Object::default()
        }))
    }

    fn count(&mut self) -> Result<(), Stopped> {
        self.values += 1;
        if self.values > MOST_VALUES {
            let reason = format!("there are more than {MOST_VALUES} values");
            let position = self.reader.current_position(false);
            return Err(error_at(&position, reason, "send a part of it at a time").into());
        }
        if self.values.is_multiple_of(VALUES_BETWEEN_LOOKS) {
            self.wanted.check()?;
        }
        Ok(())
    }
}

/// The error that names the first key that occurs a second time in its object. The text is otherwise right.
fn find_same_key(reader: &mut Reader<'_>, wanted: &CancelToken) -> Result<(), Stopped> {
    match reader.peek()? {
        ValueType::Array => {
            reader.begin_array()?;
            while reader.has_next()? {
                find_same_key(reader, wanted)?;
            }
            reader.end_array()?;
        }
        ValueType::Object => {
            wanted.check()?;
            let mut names = BTreeSet::new();
            reader.begin_object()?;
            while reader.has_next()? {
                let position = reader.current_position(false);
                let name: Box<str> = reader.next_name_owned()?.into();
                if names.contains(&name) {
                    let reason =
                        format!("the key `{}` occurs twice in one object", shortened(&name));
                    return Err(error_at(&position, reason, "keep one of the two").into());
                }
                names.insert(name);
                find_same_key(reader, wanted)?;
            }
            reader.end_object()?;
        }
        _ => reader.skip_value()?,
    }
    Ok(())
}

fn read_name(reader: &mut Reader<'_>) -> Result<String, JsonError> {
    let position = reader.current_position(false);
    let name = read_text(reader, JsonReader::next_name_owned)?;
    if name.starts_with(RESERVED) {
        let reason = format!("the key `{}` is reserved", shortened(&name));
        return Err(error_at(&position, reason, "leave it out"));
    }
    Ok(name)
}

fn read_text<'a>(
    reader: &mut Reader<'a>,
    next: impl FnOnce(&mut Reader<'a>) -> Result<String, ReaderError>,
) -> Result<String, JsonError> {
    let position = reader.current_position(false);
    let text = next(reader)?;
    if text.contains('\0') {
        return Err(error_at(
            &position,
            "a text holds the NUL character".to_owned(),
            "leave `\\u0000` out",
        ));
    }
    Ok(text)
}

fn read_number(reader: &mut Reader<'_>) -> Result<String, JsonError> {
    let position = reader.current_position(false);
    let written = reader.next_number_as_string()?;
    if is_in_range(&written) {
        return Ok(written);
    }
    let shown: String = written.chars().take(40).collect();
    Err(error_at(
        &position,
        format!("the number `{shown}` is out of range"),
        "write a number of at most 100 digits, 0 or from 5e-324 to 1.7e308 in size",
    ))
}

/// Whether a floating-point number represents it: it is not beyond the largest, and not rounded to 0. Digits and
/// exponent are limited, so that exact arithmetic is fast.
fn is_in_range(written: &str) -> bool {
    let (digits, exponent) = written.split_once(['e', 'E']).unwrap_or((written, "0"));
    let size_of_exponent = exponent.trim_start_matches(['+', '-', '0']);
    let is_zero = !digits.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    digits.len() <= LONGEST_NUMBER
        && size_of_exponent.len() <= 3
        && written
            .parse::<f64>()
            .is_ok_and(|number| number.is_finite() && (is_zero || number != 0.0))
}

fn error_at(position: &JsonReaderPosition, reason: String, hint: &'static str) -> JsonError {
    let (line, column) = position.line_pos.map_or((0, 0), |at| (at.line, at.column));
    JsonError {
        line: line + 1,
        column: column + 1,
        reason,
        hint,
    }
}

impl From<ReaderError> for JsonError {
    fn from(error: ReaderError) -> Self {
        const SYNTAX_HINT: &str = "send one JSON value as RFC 8259 describes it";
        match error {
            ReaderError::SyntaxError(syntax) => {
                let reason = match syntax.kind {
                    SyntaxErrorKind::MalformedJson => "not valid JSON".to_owned(),
                    kind => {
                        // The parser can accept trailing commas and comments; here both are errors.
                        let kind = spaced_words(&kind.to_string()).replace(" not enabled", "");
                        format!("not valid JSON: {kind}")
                    }
                };
                error_at(&syntax.location, reason, SYNTAX_HINT)
            }
            ReaderError::MaxNestingDepthExceeded { location, .. } => error_at(
                &location,
                format!("nested deeper than {DEEPEST_NESTING} levels"),
                "a price sheet needs fewer than ten levels",
            ),
            ReaderError::UnexpectedValueType { location, .. }
            | ReaderError::UnexpectedStructure { location, .. }
            | ReaderError::IoError { location, .. } => {
                error_at(&location, "not valid JSON".to_owned(), SYNTAX_HINT)
            }
            _ => Self {
                line: 1,
                column: 1,
                reason: "not valid JSON".to_owned(),
                hint: SYNTAX_HINT,
            },
        }
    }
}

/// `TrailingCommaNotEnabled` becomes "trailing comma not enabled".
fn spaced_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_document_of_too_many_values_is_refused() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 1));
        assert!(parse(list(MOST_VALUES - 1).as_bytes()).is_ok());
        assert!(refusal(&list(MOST_VALUES)).contains("more than 1000000 values"));
    }

    #[test]
    fn a_value_takes_24_bytes_and_an_entry_40() {
        assert_eq!(size_of::<Json>(), 24);
        assert_eq!(size_of::<(Box<str>, Json)>(), 40);
    }

    #[test]
    fn an_object_has_each_key_once_and_finds_it() {
        let keys = |count: u32| (0..count).rev().map(|key| format!("\"k{key:06}\":{key}"));
        let object = |keys: Vec<String>| parse(format!("{{{}}}", keys.join(",")).as_bytes());
        let Json::Object(large) = object(keys(300_000).collect()).unwrap() else {
            panic!()
        };
        assert_eq!(large.len(), 300_000);
        assert_eq!(large["k299999"], Json::Number("299999".into()));
        assert!(!large.contains_key("k3") && large.keys().is_sorted());
        let from: Vec<&str> = large.starting_at("k29999").map(|(key, _)| key).collect();
        assert_eq!(from.first(), Some(&"k299990"));
        let twice = keys(300_000).chain(["\"k000007\":0".to_owned()]);
        let refusal = object(twice.collect()).unwrap_err();
        assert_eq!(
            refusal.reason,
            "the key `k000007` occurs twice in one object"
        );
        let length: usize = keys(300_000).map(|entry| entry.len() + 1).sum();
        assert_eq!(refusal.column, length as u64 + 2);
    }

    #[test]
    fn of_two_keys_that_occur_twice_the_first_in_the_text_is_named() {
        assert_eq!(
            refusal("[{\"b\": 1},\n {\"b\": 1, \"a\": {\"c\": 1, \"c\": 2}, \"b\": 2}]"),
            "line 2, column 25: the key `c` occurs twice in one object"
        );
    }

    #[test]
    fn a_key_under_which_serde_json_would_read_json_in_a_text_is_refused() {
        assert_eq!(
            refusal(r#"{"a": {"\u0024serde_json::private::RawValue": "[[1]]"}}"#),
            "line 1, column 8: the key `$serde_json::private::RawValue` is reserved"
        );
    }

    #[test]
    fn a_text_that_no_client_waits_for_is_not_read_to_its_end() {
        let (wanted, waiting) = CancelToken::while_waiting();
        let text = format!("[{}0]", "0,".repeat(VALUES_BETWEEN_LOOKS));
        assert!(parse_while(text.as_bytes(), &wanted).is_ok());
        drop(waiting);
        assert_eq!(
            parse_while(text.as_bytes(), &wanted),
            Err(Stopped::Unwanted)
        );
    }

    #[test]
    fn numbers_keep_the_digits_they_were_written_with() {
        let Json::Object(entries) = parse(br#"{"b": 4e-07, "a": [0.10, -3]}"#).unwrap() else {
            panic!()
        };
        assert_eq!(entries["b"], Json::Number("4e-07".into()));
        assert_eq!(
            entries["a"],
            Json::Array([Json::Number("0.10".into()), Json::Number("-3".into())].into())
        );
    }

    #[test]
    fn every_refusal_names_line_and_column() {
        assert_eq!(
            refusal("{\"a\": 1,\n \"a\": 2}"),
            "line 2, column 2: the key `a` occurs twice in one object"
        );
        assert_eq!(
            refusal("{\"a\": 1e400}"),
            "line 1, column 7: the number `1e400` is out of range"
        );
        assert_eq!(refusal("[NaN]"), "line 1, column 2: not valid JSON");
        assert_eq!(
            refusal("[\"\\u0000\"]"),
            "line 1, column 2: a text holds the NUL character"
        );
        assert_eq!(
            refusal(&"[".repeat(100_000)),
            "line 1, column 33: nested deeper than 32 levels"
        );
        assert_eq!(
            refusal("{} x"),
            "line 1, column 4: not valid JSON: trailing data"
        );
        assert_eq!(
            refusal("{\"a\": 1,}"),
            "line 1, column 8: not valid JSON: trailing comma"
        );
        assert_eq!(refusal(" \n"), "line 1, column 1: the text is empty");
        assert_eq!(
            refusal("\u{feff}{}"),
            "line 1, column 1: the text begins with a byte order mark"
        );
        assert_eq!(
            refusal(r#"["\ud800"]"#).split(": ").nth(1),
            Some("not valid JSON")
        );
        assert_eq!(
            parse(b"{\"a\":\n\"\xff\"}").unwrap_err().to_string(),
            "line 2, column 2: the text is not valid UTF-8"
        );
    }

    #[test]
    fn every_number_near_a_floating_point_number_is_read_and_no_other() {
        for number in [
            "0",
            "-0.0",
            "0e999",
            "5e-324",
            "-1.7e308",
            "1e-0300",
            "3.5E+248",
            &"9".repeat(100),
        ] {
            assert_eq!(
                parse(number.as_bytes()),
                Ok(Json::Number((*number).into())),
                "{number}"
            );
        }
        for number in [
            "1e309",
            "-1e400",
            "1e-324",
            "0e1000",
            "1e-999999999",
            &"9".repeat(101),
        ] {
            let shown: String = number.chars().take(40).collect();
            assert_eq!(
                refusal(number),
                format!("line 1, column 1: the number `{shown}` is out of range")
            );
        }
    }

    #[test]
    fn a_catalog_may_repeat_a_key() {
        let read = |text: &str| parse_catalog(text.as_bytes(), &CancelToken::default()).unwrap();
        assert_eq!(read(r#"{"a": 1, "b": 2}"#).1, None);
        let equal = read(r#"{"a": {"x": [1]}, "b": 2, "a": {"x": [1]}}"#);
        assert_eq!(
            equal,
            (
                parse(br#"{"a": {"x": [1]}, "b": 2}"#).unwrap(),
                Some(Vec::new())
            )
        );
        let other =
            read(r#"{"p/q": [{"a": 1, "c": 3, "a": 2, "a": 1}], "d": 1, "d": "1", "e": 0}"#);
        assert_eq!(other.0, parse(br#"{"p/q": [{"c": 3}], "e": 0}"#).unwrap());
        assert_eq!(other.1.unwrap(), ["/p~1q/0/a", "/d"]);
    }

    #[test]
    fn thirty_two_levels_are_read() {
        let text = format!("{}{}", "[".repeat(32), "]".repeat(32));
        assert!(parse(text.as_bytes()).is_ok());
    }
}
