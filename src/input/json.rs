//! First step of reading a request: text to a JSON tree.
//!
//! Numbers keep the digits they were written with, and what would be ambiguous or dangerous further on is refused here
//! with its line and column: duplicate keys, nesting deeper than 32, NUL, numbers that no floating-point number is near.

use std::collections::BTreeMap;
use std::str::FromStr;

use bigdecimal::BigDecimal;

use struson::reader::{
    JsonReader, JsonReaderPosition, JsonStreamReader, ReaderError, ReaderSettings, SyntaxErrorKind,
    ValueType,
};

use super::cursor::shortened;

/// Longest written form of a number, without its exponent.
const LONGEST_NUMBER: usize = 100;
/// Values of a document: seven times as many as the largest published catalog has.
const MOST_VALUES: usize = 2_000_000;
/// Containers inside containers, at most.
pub const DEEPEST_NESTING: u32 = 32;

/// A JSON value; a number is the text it was written as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    Array(Vec<Json>),
    /// An object; keys are unique and sorted.
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// The value as a person would call it, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl From<&Json> for serde_json::Value {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(written) => verbatim_number(written),
            Json::Text(text) => Self::String(text.clone()),
            Json::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Json::Object(entries) => Self::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// The number, or its digits as a text where a floating-point number would not keep them.
fn verbatim_number(written: &str) -> serde_json::Value {
    let exact = |text: &str| BigDecimal::from_str(text).ok();
    match serde_json::from_str::<serde_json::Number>(written) {
        Ok(number) if exact(&number.to_string()) == exact(written) => number.into(),
        _ => written.into(),
    }
}

/// Why a text is not a JSON tree that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct JsonError {
    /// Line of the fault, from 1.
    pub line: u64,
    /// Column of the fault, from 1.
    pub column: u64,
    /// What is wrong.
    pub reason: String,
    /// What would be right.
    pub hint: &'static str,
}

/// Reads one JSON value that fills the whole text.
///
/// # Errors
/// [`JsonError`] at the first fault, with its line and column.
pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
    check_encoding(text)?;
    let settings = ReaderSettings {
        max_nesting_depth: Some(DEEPEST_NESTING),
        track_path: false,
        // It would take no exponent beyond 99; `read_number` draws its own line.
        restrict_number_values: false,
        ..Default::default()
    };
    let mut reader = JsonStreamReader::new_custom(text, settings);
    let value = read_value(&mut reader, &mut 0)?;
    reader.consume_trailing_whitespace()?;
    Ok(value)
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

type Reader<'a> = JsonStreamReader<&'a [u8]>;

/// Reads a value; `values` counts them, since each takes more room in memory than in the text.
fn read_value(reader: &mut Reader<'_>, values: &mut usize) -> Result<Json, JsonError> {
    *values += 1;
    if *values > MOST_VALUES {
        let reason = format!("there are more than {MOST_VALUES} values");
        let position = reader.current_position(false);
        return Err(error_at(&position, reason, "send a part of it at a time"));
    }
    Ok(match reader.peek()? {
        ValueType::Null => {
            reader.next_null()?;
            Json::Null
        }
        ValueType::Boolean => Json::Bool(reader.next_bool()?),
        ValueType::Number => Json::Number(read_number(reader)?),
        ValueType::String => Json::Text(read_text(reader, JsonReader::next_string)?),
        ValueType::Array => {
            let mut items = Vec::new();
            reader.begin_array()?;
            while reader.has_next()? {
                items.push(read_value(reader, values)?);
            }
            reader.end_array()?;
            Json::Array(items)
        }
        ValueType::Object => read_object(reader, values)?,
    })
}

fn read_object(reader: &mut Reader<'_>, values: &mut usize) -> Result<Json, JsonError> {
    let mut entries = BTreeMap::new();
    reader.begin_object()?;
    while reader.has_next()? {
        let position = reader.current_position(false);
        let name = read_text(reader, JsonReader::next_name_owned)?;
        if entries.contains_key(&name) {
            let reason = format!("the key `{}` stands twice in one object", shortened(&name));
            return Err(error_at(&position, reason, "keep one of the two"));
        }
        let value = read_value(reader, values)?;
        entries.insert(name, value);
    }
    reader.end_object()?;
    Ok(Json::Object(entries))
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

/// Whether a floating-point number is near: neither beyond the largest, nor taken for 0. Few enough digits and so small an
/// exponent that exact arithmetic with them is quick.
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
                    kind => format!("not valid JSON: {}", spaced_words(&kind.to_string())),
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
        assert!(refusal(&list(MOST_VALUES)).contains("more than 2000000 values"));
    }

    #[test]
    fn numbers_keep_the_digits_they_were_written_with() {
        let Json::Object(entries) = parse(br#"{"b": 4e-07, "a": [0.10, -3]}"#).unwrap() else {
            panic!()
        };
        assert_eq!(entries["b"], Json::Number("4e-07".to_owned()));
        assert_eq!(
            entries["a"],
            Json::Array(vec![
                Json::Number("0.10".to_owned()),
                Json::Number("-3".to_owned())
            ])
        );
    }

    #[test]
    fn every_refusal_names_line_and_column() {
        assert_eq!(
            refusal("{\"a\": 1,\n \"a\": 2}"),
            "line 2, column 2: the key `a` stands twice in one object"
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
            "line 1, column 8: not valid JSON: trailing comma not enabled"
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
                Ok(Json::Number(number.to_owned())),
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
    fn thirty_two_levels_are_read() {
        let text = format!("{}{}", "[".repeat(32), "]".repeat(32));
        assert!(parse(text.as_bytes()).is_ok());
    }
}
