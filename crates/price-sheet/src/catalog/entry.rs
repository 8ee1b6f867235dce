//! A catalog entry being read: its unparsed fields, and notes for the reader.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sheet::JsonObject;
use unroof_base::input::cursor::{Cursor, shortened};
use unroof_base::input::json::{DEEPEST_NESTING, Json};
use unroof_base::units::Decimal;

use super::values::count;

/// Longest written form of a number, and its largest exponent: far beyond any price.
const LONGEST_NUMBER: usize = 100;
const LARGEST_EXPONENT: u32 = 99;
/// Greatest nesting depth of a kept value: `unmapped` and the sheet around it take two levels.
const DEEPEST_KEPT: u32 = DEEPEST_NESTING - 2;

/// The unparsed fields of an entry, with the notes and kept values so far.
#[derive(Default)]
pub(super) struct Entry<'a> {
    fields: BTreeMap<&'a str, Cursor<'a>>,
    kept: JsonObject,
    rounded: JsonObject,
    notes: Vec<String>,
    has_faults: bool,
}

impl<'a> Entry<'a> {
    /// The fields of an object; null is the same as absent.
    pub(super) fn new(entry: &Cursor<'a>) -> Option<Self> {
        Some(Self {
            fields: entry.present()?.into_iter().collect(),
            ..Self::default()
        })
    }

    /// Takes a field out; the caller must keep the parts it cannot use.
    pub(super) fn take(&mut self, name: &str) -> Option<Cursor<'a>> {
        self.fields.remove(name)
    }

    /// Takes a number of tokens out; one that is not above 0 is kept.
    pub(super) fn take_count(&mut self, name: &str) -> Option<u32> {
        let field = self.take(name)?;
        let count = count(field.json);
        if count.is_none() {
            self.keep(name, field.json);
        }
        count
    }

    /// Takes a field out if it can be read; else it stays.
    pub(super) fn take_read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.look_at(name)?.json)?;
        self.take(name);
        Some(value)
    }

    /// Takes a field out if it repeats a known value; true if it did.
    pub(super) fn take_same(&mut self, name: &str, known: &Json) -> bool {
        let same = |json: &Json| (json == known).then_some(());
        self.take_read(name, same).is_some()
    }

    /// Takes a field out if it is an object; other values are kept.
    pub(super) fn take_object(&mut self, name: &str) -> Option<Cursor<'a>> {
        let field = self.take(name)?;
        if matches!(field.json, Json::Object(_)) {
            return Some(field);
        }
        self.keep(name, field.json);
        None
    }

    /// Takes out the fields that satisfy a condition.
    pub(super) fn take_all<T>(
        &mut self,
        read: impl Fn(&str) -> Option<T>,
    ) -> Vec<(&'a str, T, Cursor<'a>)> {
        let fields = std::mem::take(&mut self.fields);
        let mut taken = Vec::new();
        for (name, field) in fields {
            match read(name) {
                Some(meaning) => taken.push((name, meaning, field)),
                None => {
                    self.fields.insert(name, field);
                }
            }
        }
        taken
    }

    /// A field by name, without taking it out.
    pub(super) fn look_at(&self, name: &str) -> Option<&Cursor<'a>> {
        self.fields.get(name)
    }

    /// Keeps a value unchanged under `unmapped`.
    pub(super) fn keep(&mut self, path: &str, json: &Json) {
        self.keep_value(path, Value::from(json));
    }

    /// Keeps what is left of a value under `unmapped`.
    pub(super) fn keep_value(&mut self, path: &str, value: Value) {
        self.kept.insert(path.to_owned(), value);
    }

    /// Keeps the fields of an object that are left over.
    pub(super) fn keep_rest(&mut self, path: &str, rest: JsonObject) {
        if !rest.is_empty() {
            self.keep_value(path, rest.into());
        }
    }

    /// Notes the lifetime that is assumed of a cache write.
    pub(super) fn note_lifetime(&mut self, catalog: &str, lifetime_s: u32) {
        self.note(&format!("{catalog} does not state the lifetime of a cache write; {lifetime_s} seconds are assumed."));
    }

    /// Adds a remark for the reader, once.
    pub(super) fn note(&mut self, remark: &str) {
        if !self.notes.iter().any(|note| note == remark) {
            self.notes.push(remark.to_owned());
        }
    }

    /// Whether a value could not be read; the cursor has the fault.
    pub(super) fn has_faults(&self) -> bool {
        self.has_faults
    }

    /// Names of the unparsed fields that contain this text.
    pub(super) fn unparsed(&self, part: &str) -> Vec<&'a str> {
        self.fields
            .keys()
            .copied()
            .filter(|name| name.contains(part))
            .collect()
    }

    /// A non-negative number, or a text with one, times `factor`. Float noise is rounded and recorded.
    pub(super) fn decimal(
        &mut self,
        path: &str,
        field: &Cursor<'_>,
        factor: u32,
    ) -> Option<Decimal> {
        let Some((decimal, is_rounded)) = read_decimal(field, factor) else {
            self.has_faults = true;
            return None;
        };
        if is_rounded && let Some(written) = written_number(field.json) {
            self.rounded.insert(path.to_owned(), Value::from(written));
        }
        Some(decimal)
    }

    /// The values of `unmapped` and `notes`.
    pub(super) fn finish(mut self) -> (JsonObject, Vec<String>) {
        for (name, field) in &self.fields {
            self.kept
                .insert((*name).to_owned(), Value::from(field.json));
        }
        if !self.rounded.is_empty() {
            self.kept
                .insert("rounded".to_owned(), Value::Object(self.rounded));
        }
        for value in self.kept.values_mut() {
            if depth(value) > DEEPEST_KEPT {
                *value = value.to_string().into();
            }
        }
        (self.kept, self.notes)
    }
}

/// Nesting depth of a value.
fn depth(value: &Value) -> u32 {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

fn written_number(json: &Json) -> Option<&str> {
    match json {
        Json::Number(written) => Some(written),
        // YAML writers turn 4e-07 into a text.
        Json::Text(text) => Some(text.trim()),
        _ => None,
    }
}

fn read_decimal(field: &Cursor<'_>, factor: u32) -> Option<(Decimal, bool)> {
    let refuse = |reason: &str| {
        let pointer = field.pointer();
        let name = pointer.rsplit('/').next().unwrap_or_default();
        field.refuse(
            format!("`{}` {reason}", shortened(name)),
            "write a number of 0 or more, such as 4e-07; leave the field out where nothing is published",
        )
    };
    let Some(written) = written_number(field.json) else {
        return refuse(&format!("is {}, not a number", field.json.kind()));
    };
    if !is_moderate_number(written) {
        return refuse("is not a number");
    }
    match Decimal::from_catalog(written, factor) {
        Ok(read) => Some(read),
        Err(_) if written.starts_with('-') => refuse(&format!("is negative: {written}")),
        Err(_) => refuse(&format!("is out of range: {written}")),
    }
}

/// Whether a number is of moderate size: the exponent of a text could make its digits fill the memory.
fn is_moderate_number(written: &str) -> bool {
    let (digits, exponent) = written.split_once(['e', 'E']).unwrap_or((written, "0"));
    let is_moderate = exponent
        .parse::<i32>()
        .is_ok_and(|exponent| exponent.unsigned_abs() <= LARGEST_EXPONENT);
    let is_digits = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    written.len() <= LONGEST_NUMBER && is_moderate && is_digits && digits.parse::<f64>().is_ok()
}
