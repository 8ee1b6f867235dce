//! Published catalogs: how each is recognised and taken apart into entries, and how an entry becomes sheets.

mod entry;
mod names;
mod rules;
#[cfg(test)]
mod testing;

use std::str::FromStr;

use crate::input::cursor::{Cursor, shortened};
use crate::input::json::Json;
use crate::input::text::{is_unprintable, printable};
use crate::sheet::{PriceSheet, SourceFormat, catalog_table};
use rules::tokenizer_note;

pub use names::{model_key, offer_id};

/// A format in which a catalog is published: one file in this folder each, and a row in `sheet/source.rs`.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    /// The format of the sheets that are read from it.
    pub format: SourceFormat,
    /// A field that every entry has, and that neither a catalog nor a canonical sheet has.
    pub mark: &'static str,
    /// Whether a document of unknown origin is a whole catalog of this format.
    pub recognizes: fn(&Json) -> bool,
    /// The entries of a whole catalog, in its order. Where the document has another format, a fault is recorded.
    pub entries: for<'a> fn(&Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>>,
    /// Reads one entry by its key into its sheets: one for each region and each interval of validity that it states.
    /// `None` means that a fault is recorded.
    pub read_entry: fn(&str, &Cursor<'_>) -> Option<Vec<PriceSheet>>,
}

impl Catalog {
    /// Its name in `?format=` and `--format`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.format.name()
    }

    /// Reads one entry by its key into its sheets, with what is to be known of them whatever their catalog. `None` means
    /// that a fault is recorded.
    #[must_use]
    pub fn read(&self, key: &str, entry: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
        if key.contains(is_unprintable) {
            entry.fault(
                format!(
                    "the key `{}` holds characters that change how it is shown",
                    printable(&shortened(key))
                ),
                PLAIN_NAME,
            );
            return None;
        }
        let mut sheets = (self.read_entry)(key, entry)?;
        if let Some(name) = sheets.iter().find_map(unprintable_name) {
            entry.fault(
                format!(
                    "the name `{}` holds characters that change how it is shown",
                    printable(&shortened(name))
                ),
                PLAIN_NAME,
            );
            return None;
        }
        for sheet in &mut sheets {
            sheet.notes.extend(tokenizer_note(&sheet.model));
        }
        Some(sheets)
    }
}

const PLAIN_NAME: &str = "leave out control characters and bidirectional controls";

/// A name of a sheet that a terminal or a browser would not show as it is.
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
    /// Its key: unique in the catalog, and with the entry itself all that is needed to read it.
    pub key: String,
    /// The entry.
    pub cursor: Cursor<'a>,
}

macro_rules! declare_modules {
    ($( $module:ident $variant:ident $name:tt $meaning:tt )+) => {
        $( mod $module; )+

        /// The catalogs that are read.
        pub static CATALOGS: [&Catalog; [$( $name ),+].len()] = [$( &$module::CATALOG ),+];
    };
}

catalog_table!(declare_modules);

/// The format has another name than those that are known.
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

/// The format of a whole catalog.
#[must_use]
pub fn recognize(document: &Json) -> Option<&'static Catalog> {
    CATALOGS
        .into_iter()
        .find(|catalog| (catalog.recognizes)(document))
}
