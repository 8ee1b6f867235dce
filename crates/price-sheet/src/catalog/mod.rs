//! Published catalogs: recognition of the format, splitting into entries, conversion of entries into sheets.
//!
//! ```
//! use unroof_price_sheet::catalog::read_catalog;
//!
//! let litellm = br#"{"gpt-5.4": {"litellm_provider": "openai", "mode": "chat",
//!     "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05}}"#;
//! let mut entries = read_catalog(litellm)?;
//! let sheet = entries.remove(0).sheets.unwrap().remove(0);
//! assert_eq!((sheet.provider.as_str(), sheet.model.as_str()), ("openai", "gpt-5.4"));
//! assert_eq!(sheet.base_rate().unwrap().output, Some("15".parse().unwrap()));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

pub mod canonical;
mod entry;
mod genai_prices;
mod hours;
mod litellm;
mod llm_prices;
mod meter;
mod models_dev;
mod names;
mod offer;
mod openrouter;
mod output;
mod portkey;
mod recognition;
mod rules;
mod seller;
#[cfg(test)]
mod testing;
mod values;
mod vercel;
mod whole;

use std::str::FromStr;

use jiff::Timestamp;

use crate::sheet::{PriceSheet, SourceFormat, catalog_table};
use recognition::has_field;
use rules::tokenizer_note;
use unroof_base::input::cursor::{Cursor, shortened};
use unroof_base::input::json::Json;
use unroof_base::input::text::{is_unprintable, printable};

pub use canonical::canonical_model;
pub use names::{model_key, offer_id};
pub use recognition::{Form, recognize, resemblance};
pub use seller::{author_of_sheet, is_sold_by_author};
pub use whole::{ReadEntry, read_catalog};

/// The model whose weights a sheet sells: the stated one, else the meaning of its name at the start of its price, or at the
/// time of its observation.
#[must_use]
pub fn model_of(sheet: &PriceSheet, seen_at: Timestamp) -> Option<String> {
    let stated = sheet.canonical_model.clone();
    let began_at = sheet.valid_from.unwrap_or(seen_at);
    stated.or_else(|| {
        let moved = canonical::moved_model(&sheet.provider, &sheet.model, began_at);
        moved.map(str::to_owned)
    })
}

/// A format in which a catalog is published: one file in this folder each, and a row in `sheet/source.rs`.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    /// The format of the sheets that are read from it.
    pub format: SourceFormat,
    /// A field of every entry that occurs neither in a whole catalog nor in a canonical sheet.
    pub mark: &'static str,
    /// Fields that only its entries have, by their paths, by which one is recognised where a price sheet was expected.
    pub signs: &'static [&'static str],
    /// Fields that show that a document of unknown origin is a whole catalog of this format.
    pub form: Form,
    /// The entries of a whole catalog, in its order. Where the document has another format, a fault is recorded.
    pub entries: for<'a> fn(&Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>>,
    /// Converts one entry into sheets, one per region and interval of validity.
    /// `None` means that a fault is recorded.
    pub read_entry: fn(&str, &Cursor<'_>) -> Option<Vec<PriceSheet>>,
}

impl Catalog {
    /// Name in `?format=` and `--format`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.format.name()
    }

    /// The seller's file that an entry is in, by its key, where the catalog is published as a file for each seller: such a file
    /// says nothing about the sellers of the others.
    #[must_use]
    pub fn file_of<'k>(&self, key: &'k str) -> Option<&'k str> {
        let has_files = self.format == SourceFormat::Portkey;
        let (file, _) = key.split_once('/').filter(|_| has_files)?;
        Some(file)
    }

    /// Converts one entry into sheets and adds the fields common to all catalogs. `None` means that a fault is recorded.
    #[must_use]
    pub fn read(&self, key: &str, entry: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
        let refuse = |what: &str, name: &str| {
            let name = shortened(name);
            entry.refuse(
                format!(
                    "the {what} `{}` contains control or formatting characters",
                    printable(&name)
                ),
                "leave out control characters and bidirectional controls",
            )
        };
        if key.contains(is_unprintable) {
            return refuse("key", key);
        }
        let mut sheets = (self.read_entry)(key, entry)?;
        if !output::generates_text(key, entry) {
            return None;
        }
        if let Some(name) = sheets.iter().find_map(unprintable_name) {
            return refuse("name", name);
        }
        for sheet in &mut sheets {
            sheet.notes.extend(tokenizer_note(&sheet.model));
        }
        Some(sheets)
    }
}

/// A name in the sheet with characters that change its display.
fn unprintable_name(sheet: &PriceSheet) -> Option<&str> {
    let names = [&sheet.provider, &sheet.model, &sheet.region];
    let others = [
        &sheet.upstream_provider,
        &sheet.canonical_model,
        &sheet.quantization,
    ];
    let others = others.into_iter().flatten().chain(&sheet.aliases);
    let tiers = sheet.service_tiers.keys().chain(sheet.schedules.keys());
    let mut names = names.into_iter().chain(others).chain(tiers);
    names
        .find(|name| name.contains(is_unprintable))
        .map(String::as_str)
}

/// One entry of a catalog.
#[derive(Clone)]
pub struct CatalogEntry<'a> {
    /// Key of the entry, unique in the catalog.
    pub key: String,
    /// JSON of the entry.
    pub cursor: Cursor<'a>,
    /// Whether another entry of the key has another content, so that neither is used.
    pub is_contradicted: bool,
}

impl<'a> CatalogEntry<'a> {
    /// An entry that occurs once.
    #[must_use]
    pub fn new(key: impl Into<String>, cursor: Cursor<'a>) -> Self {
        let key = key.into();
        Self {
            key,
            cursor,
            is_contradicted: false,
        }
    }
}

macro_rules! declare_catalogs {
    ($( $module:ident $variant:ident $name:tt $meaning:tt )+) => {
        /// The catalogs that are read.
        pub static CATALOGS: [&Catalog; [$( $name ),+].len()] = [$( &$module::CATALOG ),+];
    };
}

catalog_table!(declare_catalogs);

/// The catalog that a document is from, as an entry or as a whole.
#[must_use]
pub fn recognized(document: &Json) -> Option<&'static Catalog> {
    let is_entry = |catalog: &&&Catalog| catalog.signs.iter().any(|sign| has_field(document, sign));
    let entry = CATALOGS.iter().find(is_entry).copied();
    entry.or_else(|| recognize(document))
}

/// Error for an unknown format name.
#[derive(Debug, Clone, thiserror::Error)]
#[error("expected one of the formats {}", .0.join(", "))]
pub struct UnknownFormat(pub Vec<&'static str>);

impl FromStr for &'static Catalog {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let named = CATALOGS.into_iter().find(|catalog| catalog.name() == name);
        named.ok_or_else(|| UnknownFormat(CATALOGS.map(Catalog::name).to_vec()))
    }
}
