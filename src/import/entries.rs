//! Parses a catalog into sheets and refused entries.

use std::collections::HashMap;
use std::str::FromStr;

use jiff::Timestamp;
use uuid::Uuid;

use super::listed::Listed;
use super::weight::bytes_of;
use unroof_core::catalog::{CATALOGS, Catalog, UnknownFormat, recognize};
use unroof_core::history::UNKNOWN_START;
use unroof_core::input::RequestError;
use unroof_core::input::cancel::{CancelToken, Cancelled};
use unroof_core::input::cursor::{Cursor, Fault, Faults};
use unroof_core::input::json::{self, Json, Stopped};
use unroof_core::sheet::{PriceSheet, canonical};

/// Format of a catalog.
#[derive(Debug, Clone, Copy)]
pub enum CatalogFormat {
    /// One sheet in canonical form, or a list of them.
    Canonical,
    /// A published catalog.
    Published(&'static Catalog),
}

impl CatalogFormat {
    /// Name of the format, the value of `--format`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical => "pricesheet/v1",
            Self::Published(catalog) => catalog.name(),
        }
    }

    /// Names of all formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let published = CATALOGS.iter().map(|catalog| catalog.name());
        published.chain([Self::Canonical.name()])
    }

    fn of(document: &Json) -> Option<Self> {
        let is_sheet =
            |json: &Json| matches!(json, Json::Object(fields) if fields.contains_key("rates"));
        let is_canonical = match document {
            Json::Array(items) => items.iter().any(is_sheet),
            document => is_sheet(document),
        };
        if is_canonical {
            return Some(Self::Canonical);
        }
        recognize(document).map(Self::Published)
    }
}

impl FromStr for CatalogFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        if name == Self::Canonical.name() {
            return Ok(Self::Canonical);
        }
        let published = name.parse().map(Self::Published);
        published.map_err(|_| UnknownFormat(Self::names().collect()))
    }
}

/// Reason why a catalog cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The text is not JSON, or not in the format.
    #[error(transparent)]
    Wrong(#[from] RequestError),
    /// The format is not recognised.
    #[error("the catalog's format is not recognised; known formats: {}", CatalogFormat::names().collect::<Vec<_>>().join(", "))]
    Unknown,
    /// The catalog exceeds a limit.
    #[error("the catalog has more than {0}")]
    TooMuch(String),
    /// The client disconnected.
    #[error("the client disconnected before the catalog was read")]
    Unwanted,
    /// A worker panicked.
    #[error("reading the catalog failed with an internal error; see the log")]
    Crashed,
}

impl From<Stopped> for CatalogError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Wrong(error) => Self::Wrong(error.into()),
            Stopped::Unwanted => Self::Unwanted,
        }
    }
}

impl From<Cancelled> for CatalogError {
    fn from(_: Cancelled) -> Self {
        Self::Unwanted
    }
}

/// Most entries of a catalog, many times the largest published one.
const MOST_ENTRIES: usize = 100_000;
/// Most values of one entry.
const MOST_ENTRY_VALUES: usize = 50_000;
/// Most memory for the sheets of a catalog, in bytes.
const MOST_SHEET_BYTES: usize = 160 * 1024 * 1024;

/// A refused entry.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    pub(super) entry: String,
    pub(super) reason: String,
}

/// A parsed catalog.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) format: CatalogFormat,
    pub(super) entries: usize,
    pub(super) sheets: Vec<Listed>,
    pub(super) refused: Vec<Refused>,
    sheet_bytes: usize,
}

/// Parses a whole catalog. Invalid entries are refused; the others are kept.
///
/// # Errors
/// The text is not JSON or not a catalog, exceeds a limit, or the client disconnected.
pub(super) fn read(
    text: impl AsRef<[u8]>,
    format: Option<CatalogFormat>,
    provider: Option<&str>,
    observed_at: Timestamp,
    wanted: &CancelToken,
) -> Result<Contents, CatalogError> {
    let document = json::parse_while(text.as_ref(), wanted)?;
    // Frees memory for the tree.
    drop(text);
    let format = format.or_else(|| CatalogFormat::of(&document));
    let format = format.ok_or(CatalogError::Unknown)?;
    let faults = Faults::default();
    let entries = take_apart(&Cursor::root(&document, &faults), format);
    let entries = faults.result(entries).map_err(RequestError::Wrong)?;
    if entries.len() > MOST_ENTRIES {
        return Err(CatalogError::TooMuch(format!("{MOST_ENTRIES} entries")));
    }
    let mut contents = Contents {
        format,
        entries: 0,
        sheets: Vec::new(),
        refused: Vec::new(),
        sheet_bytes: 0,
    };
    let mut seen = HashMap::new();
    for (key, entry) in entries {
        wanted.check()?;
        let sheets = match format {
            _ if !entry.json.has_at_most(MOST_ENTRY_VALUES) => {
                entry.fault(
                    format!("the entry has more than {MOST_ENTRY_VALUES} values"),
                    "leave out all fields but the prices",
                );
                None
            }
            CatalogFormat::Canonical => canonical::read_sheet(&entry).map(|sheet| vec![sheet]),
            CatalogFormat::Published(catalog) => catalog.read(&key, &entry),
        };
        let sheets = match faults.result(sheets) {
            Ok(sheets) => sheets,
            Err(found) => {
                // Without a sheet, only the key shows the provider.
                if provider.is_none_or(|provider| key.starts_with(provider)) {
                    contents.entries += 1;
                    contents.refused.push(Refused {
                        entry: key,
                        reason: reasons(&entry.pointer(), &found),
                    });
                }
                continue;
            }
        };
        let sheets = sheets
            .into_iter()
            .filter(|sheet| provider.is_none_or(|provider| sheet.provider == provider));
        let before = contents.sheets.len() + contents.refused.len();
        for sheet in sheets {
            contents.add(key.clone(), sheet, observed_at, &mut seen)?;
        }
        contents.entries += usize::from(contents.sheets.len() + contents.refused.len() > before);
    }
    Ok(contents)
}

/// Entry and sheet by offer and start.
type Seen = HashMap<(Uuid, Timestamp), (String, Uuid)>;

impl Contents {
    /// Adds a sheet. Two entries may price one offer at one time: both are kept if they agree, else only the first.
    fn add(
        &mut self,
        entry: String,
        mut sheet: PriceSheet,
        observed_at: Timestamp,
        seen: &mut Seen,
    ) -> Result<(), CatalogError> {
        for source in &mut sheet.sources {
            source
                .retrieved_at
                .get_or_insert_with(|| observed_at.to_string());
        }
        let listed = Listed {
            sheet_id: sheet.id().0,
            entry,
            sheet,
        };
        let start = listed.sheet.valid_from.unwrap_or(UNKNOWN_START);
        let place = (listed.offer_id(), start);
        if let Some((first, sheet_id)) = seen.get(&place)
            && *sheet_id != listed.sheet_id
        {
            let reason = format!(
                "the catalog prices {} twice; the first entry `{first}` has other prices and is used",
                listed.name()
            );
            self.refused.push(Refused {
                entry: listed.entry,
                reason,
            });
            return Ok(());
        }
        self.sheet_bytes += bytes_of(&listed);
        if self.sheet_bytes > MOST_SHEET_BYTES {
            let most = MOST_SHEET_BYTES / (1024 * 1024);
            return Err(CatalogError::TooMuch(format!("{most} MiB of sheets")));
        }
        seen.insert(place, (listed.entry.clone(), listed.sheet_id));
        self.sheets.push(listed);
        Ok(())
    }
}

fn take_apart<'a>(root: &Cursor<'a>, format: CatalogFormat) -> Option<Vec<(String, Cursor<'a>)>> {
    match format {
        CatalogFormat::Canonical => Some(canonical_sheets(root)),
        CatalogFormat::Published(catalog) => {
            let entries = (catalog.entries)(root)?.into_iter();
            Some(entries.map(|entry| (entry.key, entry.cursor)).collect())
        }
    }
}

fn canonical_sheets<'a>(root: &Cursor<'a>) -> Vec<(String, Cursor<'a>)> {
    let sheets = match root.json {
        Json::Array(_) => root.items().unwrap_or_default(),
        _ => vec![root.clone()],
    };
    let key = |index: usize, sheet: &Cursor<'_>| {
        let Json::Object(fields) = sheet.json else {
            return format!("sheet {index}");
        };
        match (fields.get("provider"), fields.get("model")) {
            (Some(Json::Text(provider)), Some(Json::Text(model))) => format!("{provider}/{model}"),
            _ => format!("sheet {index}"),
        }
    };
    let keyed = sheets.into_iter().enumerate();
    keyed
        .map(|(index, sheet)| (key(index, &sheet), sheet))
        .collect()
}

/// The faults of an entry, each with its field.
fn reasons(entry: &str, faults: &[Fault]) -> String {
    const MOST: usize = 3;
    let reason = |fault: &Fault| {
        let place = fault.pointer.strip_prefix(entry).unwrap_or_default();
        let place = place.trim_start_matches('/');
        if place.is_empty() || fault.detail.contains(place) {
            return fault.detail.clone();
        }
        format!("{place}: {}", fault.detail)
    };
    let mut reasons: Vec<String> = faults.iter().take(MOST).map(reason).collect();
    if faults.len() > MOST {
        reasons.push(format!("{} more faults", faults.len() - MOST));
    }
    reasons.join("; ")
}
