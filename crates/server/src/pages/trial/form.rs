//! The form as it was sent: the pasted text and the assumptions.

use std::collections::BTreeMap;

use url::form_urlencoded;

use crate::examples::EXAMPLE_SHEETS;

/// Name of the field with what was pasted.
pub(super) const SHEET: &str = "sheet";
/// Name of the field with the format.
pub(super) const FORMAT: &str = "format";
/// Name of the field with the key of a catalog's entry.
pub(super) const MODEL: &str = "model";
/// Name of the button that stores.
pub(super) const STORE: &str = "store";
/// Most fields that are read.
const MOST_FIELDS: usize = 200;

/// The form as it was sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Filled {
    /// Text that was pasted.
    pub(super) sheet: String,
    /// Name of the catalog; empty to recognise it.
    pub(super) format: String,
    /// Key of the entry in its catalog.
    pub(super) model: String,
    /// The assumptions, by name; none is empty.
    pub(super) stated: BTreeMap<String, String>,
    /// Whether the answer is to be stored.
    pub(super) stores: bool,
}

impl Filled {
    /// Reads the body of a form.
    pub(super) fn read(body: &[u8]) -> Self {
        let mut filled = Self::default();
        for (name, value) in form_urlencoded::parse(body).take(MOST_FIELDS) {
            if value.trim().is_empty() {
                continue;
            }
            match &*name {
                SHEET => filled.sheet = value.into_owned(),
                FORMAT => filled.format = value.into_owned(),
                MODEL => value.trim().clone_into(&mut filled.model),
                STORE => filled.stores = true,
                name => {
                    let value = value.trim().to_owned();
                    filled.stated.insert(name.to_owned(), value);
                }
            }
        }
        filled
    }

    /// A built-in example, by the name of its file without the ending.
    pub(super) fn example(name: &str) -> Option<Self> {
        let mut examples = EXAMPLE_SHEETS.iter();
        let found = examples.find(|(file, _)| stem(file) == name);
        found.map(|(_, text)| Self {
            sheet: (*text).to_owned(),
            ..Self::default()
        })
    }

    /// The text of an assumption; empty where it is not stated.
    pub(super) fn stated(&self, name: &str) -> &str {
        self.stated.get(name).map_or("", String::as_str)
    }
}

/// Names of the built-in examples, as `provider/model`, each with that of its file.
pub(super) fn examples() -> impl Iterator<Item = (&'static str, String)> {
    EXAMPLE_SHEETS.iter().map(|(file, _)| {
        let stem = stem(file);
        (stem, stem.replacen('_', "/", 1))
    })
}

fn stem(file: &'static str) -> &'static str {
    file.strip_suffix(".json").unwrap_or(file)
}
