//! Parses a catalog into sheets and refused entries.

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::Timestamp;

use super::listed::Listed;
use super::refusals::Refusal;
use super::united::Offers;
use super::weight::bytes_of;
use unroof_base::input::RequestError;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::input::cursor::{Cursor, Fault, FaultKind, Faults, nearest_names, shortened};
use unroof_base::input::json;
use unroof_base::input::json::{Json, Stopped};
use unroof_base::input::text::printable;
use unroof_price_sheet::catalog::{
    CATALOGS, Catalog, CatalogEntry, UnknownFormat, recognize, resemblance,
};
use unroof_price_sheet::history::UNKNOWN_START;
use unroof_price_sheet::sheet::compare::Contradiction;
use unroof_price_sheet::sheet::{PriceSheet, canonical};

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

    pub(super) fn of(document: &Json) -> Option<Self> {
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

    /// The format of a document, which must prove to be of the stated one.
    fn proved(stated: Option<Self>, document: &Json) -> Result<Self, CatalogError> {
        match stated {
            Some(Self::Published(catalog)) => match catalog.why_not(document) {
                None => Ok(Self::Published(catalog)),
                Some(reason) => Err(CatalogError::unrecognized(&reason)),
            },
            Some(Self::Canonical) => Ok(Self::Canonical),
            None => Self::of(document).ok_or_else(|| {
                let like = resemblance(document);
                let reason = format!("the catalog's format is not recognised: {like}");
                CatalogError::unrecognized(&reason)
            }),
        }
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
    /// The document does not prove to be of the stated format, or of any.
    #[error("{0}")]
    Unrecognized(String),
    /// The catalog exceeds a limit.
    #[error("the catalog has more than {0}")]
    TooMuch(String),
    /// No offer is of the provider to which the import is restricted.
    #[error("{0}")]
    NoProvider(String),
    /// Documents of one snapshot have several formats.
    #[error("the documents have several formats, {0} and {1}; send those of one catalog together")]
    SeveralFormats(&'static str, &'static str),
    /// The stored document of a held import is damaged.
    #[error("the stored catalog is damaged; discard the import, and send the catalog again")]
    Damaged,
    /// The client disconnected.
    #[error("the client disconnected before the catalog was read")]
    Unwanted,
    /// A worker panicked.
    #[error("reading the catalog failed with an internal error; see the log")]
    Crashed,
}

impl CatalogError {
    pub(super) fn unrecognized(reason: &str) -> Self {
        let known: Vec<&str> = CatalogFormat::names().collect();
        Self::Unrecognized(format!("{reason}; known formats: {}", known.join(", ")))
    }

    fn no_provider(provider: &str, known: &BTreeSet<String>) -> Self {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let names = nearest_names(provider, &known);
        let provider = shortened(provider);
        let provider = printable(&provider);
        let reason = format!("the catalog has no usable offer of the provider `{provider}`");
        let quoted = |names: &[&str]| -> Vec<String> {
            let names = names
                .iter()
                .map(|name| printable(&shortened(name)).into_owned());
            names.map(|name| format!("`{name}`")).collect()
        };
        Self::NoProvider(if known.is_empty() {
            reason
        } else if names.is_empty() {
            let (shown, others) = known.split_at(known.len().min(MOST_PROVIDERS));
            let more = match others.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            format!("{reason}; it lists {}{more}", quoted(shown).join(", "))
        } else {
            format!("{reason}; did you mean {}?", quoted(&names).join(" or "))
        })
    }
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
/// Most providers that the message about an unknown one names.
const MOST_PROVIDERS: usize = 20;
/// Most memory for the sheets of a catalog, in bytes.
const MOST_SHEET_BYTES: usize = 160 * 1024 * 1024;

/// Contents of a parsed catalog.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) format: CatalogFormat,
    pub(crate) entries: usize,
    pub(crate) sheets: Vec<Listed>,
    pub(crate) refused: Vec<Refusal>,
    /// Places of sheets that a later one contradicts.
    contradicted: BTreeSet<usize>,
    sheet_bytes: usize,
}

/// Parses a whole catalog. Invalid entries are refused; the others are kept.
///
/// # Errors
/// The text is not JSON or not a catalog, exceeds a limit, or the client disconnected.
pub(crate) fn read(
    text: impl AsRef<[u8]>,
    format: Option<CatalogFormat>,
    provider: Option<&str>,
    observed_at: Timestamp,
    wanted: &CancelToken,
) -> Result<Contents, CatalogError> {
    let (document, repeated) = json::parse_catalog(text.as_ref(), wanted)?;
    let format = CatalogFormat::proved(format, &document);
    if repeated.is_some() && !matches!(format, Ok(CatalogFormat::Published(_))) {
        // The author of a sheet can correct it; a published catalog is read as it is.
        json::parse_while(text.as_ref(), wanted)?;
    }
    // Frees memory for the sheets.
    drop(text);
    let format = format?;
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
        contradicted: BTreeSet::new(),
        sheet_bytes: 0,
    };
    let mut seen = Offers::new();
    let mut providers = BTreeSet::new();
    let contradictions = Contradictions::new(repeated.unwrap_or_default(), &entries);
    contents.refuse_contradictions(&contradictions.left_out, provider);
    for CatalogEntry {
        key,
        cursor: entry,
        is_contradicted,
    } in entries
    {
        wanted.check()?;
        if is_contradicted || contradictions.is_inside(&entry.pointer()) {
            contents.refuse_contradictions(&[key], provider);
            continue;
        }
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
                    contents.refused.push(Refusal {
                        entry: key,
                        reason: reasons(&entry.pointer(), &found),
                        is_read: found
                            .iter()
                            .any(|fault| fault.kind == FaultKind::WithoutPrice),
                    });
                }
                continue;
            }
        };
        providers.extend(sheets.iter().map(|sheet| sheet.provider.clone()));
        let sheets = sheets
            .into_iter()
            .filter(|sheet| provider.is_none_or(|provider| sheet.provider == provider));
        let before = contents.sheets.len() + contents.refused.len();
        for sheet in sheets {
            contents.add(key.clone(), sheet, observed_at, &mut seen)?;
        }
        contents.entries += usize::from(contents.sheets.len() + contents.refused.len() > before);
    }
    contents.take_out_contradicted();
    match provider {
        Some(provider) if !providers.contains(provider) && contents.entries == 0 => {
            Err(CatalogError::no_provider(provider, &providers))
        }
        _ => Ok(contents),
    }
}

/// Keys of the document that occur twice with different values.
struct Contradictions {
    /// Places of the keys, in order.
    places: BTreeSet<String>,
    /// Names of the entries that are left out as a whole.
    left_out: Vec<String>,
}

impl Contradictions {
    fn new(places: Vec<String>, entries: &[CatalogEntry<'_>]) -> Self {
        let mut all = Self {
            places: places.into_iter().collect(),
            left_out: Vec::new(),
        };
        if all.places.is_empty() {
            return all;
        }
        let mut outside = all.places.clone();
        for entry in entries {
            let inside = format!("{}/", entry.cursor.pointer());
            outside.retain(|place| !place.starts_with(&inside));
        }
        all.left_out = outside.iter().map(|place| name_of(place)).collect();
        all
    }

    /// Whether a contradiction is inside the entry of this place.
    fn is_inside(&self, entry: &str) -> bool {
        let inside = format!("{entry}/");
        let next = self.places.range(inside.clone()..).next();
        next.is_some_and(|place| place.starts_with(&inside))
    }
}

/// Name of an entry by its place: `/openai/models/gpt-5.4` is `openai/gpt-5.4`.
fn name_of(place: &str) -> String {
    let keys = place.split('/').skip(1).filter(|key| *key != "models");
    let keys: Vec<_> = keys
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
        .collect();
    keys.join("/")
}

impl Refusal {
    /// An entry that occurs twice with different contents, which is none.
    fn twice(entry: String) -> Self {
        Self {
            entry,
            reason:
                "it, or a field of it, occurs twice with different contents; none of them is used"
                    .to_owned(),
            is_read: false,
        }
    }

    /// An entry whose offer another entry prices otherwise.
    fn contradicted(listed: &Listed, by: &str, contradiction: &Contradiction) -> Self {
        let Contradiction { of, first, second } = contradiction;
        Self {
            reason: format!(
                "the catalog prices {} twice: `{of}` is {first} in the entry `{by}`, which is used, and {second} in `{}`",
                listed.name(),
                listed.entry
            ),
            entry: listed.entry.clone(),
            is_read: true,
        }
    }
}

impl Contents {
    /// Refuses entries that occur twice with different contents.
    fn refuse_contradictions(&mut self, names: &[String], provider: Option<&str>) {
        let is_wanted = |name: &&String| provider.is_none_or(|provider| name.starts_with(provider));
        for name in names.iter().filter(is_wanted) {
            self.entries += 1;
            let entry = printable(&shortened(name)).into_owned();
            self.refused.push(Refusal::twice(entry));
        }
    }

    /// Adds a sheet. Entries of one offer and time that contradict each other in nothing are one sheet, each of them under its own
    /// key. Else the first counts; in a list of canonical sheets, which have no keys, neither does.
    pub(super) fn add(
        &mut self,
        entry: String,
        mut sheet: PriceSheet,
        observed_at: Timestamp,
        seen: &mut Offers,
    ) -> Result<(), CatalogError> {
        for source in &mut sheet.sources {
            source
                .retrieved_at
                .get_or_insert_with(|| observed_at.to_string());
        }
        let mut listed = Listed {
            sheet_id: sheet.id().0,
            entry,
            sheet,
        };
        let start = listed.sheet.valid_from.unwrap_or(UNKNOWN_START);
        let known = seen.entry((listed.offer_id(), start)).or_default();
        if let Some(first) = known.differing_from(&listed, &self.sheets) {
            if matches!(self.format, CatalogFormat::Canonical) {
                self.contradicted.insert(first);
                self.refused.push(Refusal::twice(listed.entry));
                return Ok(());
            }
            match known.with(&mut self.sheets, &mut listed) {
                Ok(more_bytes) => self.sheet_bytes += more_bytes,
                Err((by, contradiction)) => {
                    let refusal = Refusal::contradicted(&listed, &by, &contradiction);
                    self.refused.push(refusal);
                    return Ok(());
                }
            }
        }
        self.sheet_bytes += bytes_of(&listed);
        if self.sheet_bytes > MOST_SHEET_BYTES {
            let most = MOST_SHEET_BYTES / (1024 * 1024);
            return Err(CatalogError::TooMuch(format!("{most} MiB of sheets")));
        }
        known.add(self.sheets.len());
        self.sheets.push(listed);
        Ok(())
    }

    /// Moves the sheets that another one contradicts to the refused entries.
    pub(super) fn take_out_contradicted(&mut self) {
        for place in std::mem::take(&mut self.contradicted).into_iter().rev() {
            let entry = self.sheets.remove(place).entry;
            self.refused.push(Refusal::twice(entry));
        }
    }
}

fn take_apart<'a>(root: &Cursor<'a>, format: CatalogFormat) -> Option<Vec<CatalogEntry<'a>>> {
    match format {
        CatalogFormat::Canonical => Some(canonical_sheets(root)),
        CatalogFormat::Published(catalog) => (catalog.entries)(root),
    }
}

fn canonical_sheets<'a>(root: &Cursor<'a>) -> Vec<CatalogEntry<'a>> {
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
        .map(|(index, sheet)| CatalogEntry::new(key(index, &sheet), sheet))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, provider: Option<&str>) -> Result<Contents, CatalogError> {
        let wanted = CancelToken::default();
        read(text, None, provider, Timestamp::UNIX_EPOCH, &wanted)
    }

    fn outcome(text: &str) -> (Vec<String>, Vec<String>) {
        let contents = read_text(text, None).unwrap();
        assert_eq!(
            contents.entries,
            contents.sheets.len() + contents.refused.len()
        );
        let sheets = contents.sheets.into_iter().map(|listed| listed.entry);
        let refused = contents.refused.into_iter().map(|refused| refused.entry);
        (sheets.collect(), refused.collect())
    }

    #[test]
    fn of_canonical_sheets_of_one_offer_with_other_prices_none_is_used() {
        let sheet = |model: &str, price: &str, start: &str| {
            format!(
                r#"{{"schema": "pricesheet/v1", "provider": "acme", "model": "{model}", "currency": "USD",
                    "unit": "per_1m_tokens", "valid_from": "{start}T00:00:00Z", "rates": [{{"input": "{price}"}}],
                    "sources": [{{"url": "https://example.com/", "format": "manual"}}]}}"#
            )
        };
        let day = "2026-01-01";
        let sheets = [
            sheet("other", "1", day),
            sheet("same", "1", day),
            sheet("history", "1", day),
            sheet("same", "1", day),
            sheet("history", "2", "2026-02-01"),
            sheet("other", "2", day),
        ];
        let (kept, refused) = outcome(&format!("[{}]", sheets.join(",")));
        assert_eq!(
            kept,
            ["acme/same", "acme/history", "acme/same", "acme/history"]
        );
        assert_eq!(refused, ["acme/other", "acme/other"]);
    }

    #[test]
    fn of_a_key_that_occurs_twice_equal_copies_are_one_and_others_are_refused() {
        let entry = |price: &str| {
            format!(r#"{{"litellm_provider": "acme", "input_cost_per_token": {price}}}"#)
        };
        let inside = r#"{"litellm_provider": "acme", "input_cost_per_token": 1e-6, "input_cost_per_token": 2e-6}"#;
        let text = format!(
            r#"{{"same": {0}, "other": {0}, "same": {2}, "other": {1}, "in/side": {inside}, "once": {0}}}"#,
            entry("1e-6"),
            entry("2e-6"),
            entry("0.0000010")
        );
        let (sheets, refused) = outcome(&text);
        assert_eq!(sheets, ["once", "same"]);
        assert_eq!(refused, ["other", "in/side"]);
        let model = |price: u32| format!(r#""m": {{"cost": {{"input": {price}}}}}"#);
        let nested = format!(
            r#"{{"acme": {{"npm": "x", "models": {{{}, {}, "n": {{"cost": {{"input": 1}}}}}}}}}}"#,
            model(1),
            model(2)
        );
        assert_eq!(
            outcome(&nested),
            (vec!["acme/n".to_owned()], vec!["acme/m".to_owned()])
        );
        let row = |price: u32| format!(r#"{{"vendor": "acme", "id": "m", "input": {price}}}"#);
        let list = |one, other| {
            format!(
                r#"{{"prices": [{}, {}, {{"vendor": "acme", "id": "n", "input": 1}}]}}"#,
                row(one),
                row(other)
            )
        };
        assert_eq!(outcome(&list(1, 1)).0, ["acme/m", "acme/n"]);
        assert_eq!(
            outcome(&list(1, 2)),
            (vec!["acme/n".to_owned()], vec!["acme/m".to_owned()])
        );
    }

    #[test]
    fn a_sheet_that_repeats_a_key_is_unreadable() {
        let twice = r#"{"rates": [], "rates": []}"#;
        assert!(matches!(
            read_text(twice, None),
            Err(CatalogError::Wrong(_))
        ));
    }

    #[test]
    fn a_provider_that_is_not_listed_is_named_with_those_that_are_alike() {
        let text = r#"{"m": {"litellm_provider": "anthropic", "input_cost_per_token": 1e-6}}"#;
        let error = read_text(text, Some("antropic")).unwrap_err();
        assert!(
            error.to_string().ends_with("did you mean `anthropic`?"),
            "{error}"
        );
        let error = read_text(text, Some("typo")).unwrap_err().to_string();
        assert!(error.ends_with("`typo`; it lists `anthropic`"), "{error}");
        assert_eq!(read_text(text, Some("anthropic")).unwrap().sheets.len(), 1);
    }
}
