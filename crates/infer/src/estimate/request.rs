//! Reads a request: a sheet in one of the known formats, and assumptions.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::body::{InferEntryRequest, InferRequest, PoolRequest, read_stated_sheet};
use crate::evidence::assumptions::Assumptions;
use crate::evidence::quantity::Quantity;
use unroof_base::input;
use unroof_base::input::RequestError;
use unroof_base::input::body::Body;
use unroof_base::input::cursor::{Cursor, Faults, nearest_names};
use unroof_base::input::json;
use unroof_base::input::json::{Json, JsonError, Object};
use unroof_price_sheet::catalog::{Catalog, recognize, recognized};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};

/// The sheets of one model, mostly one sheet, and the assumptions.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The sheets, each content once, by provider and region.
    pub sheets: Vec<PriceSheet>,
    /// Assumptions that the caller states.
    pub assumptions: Assumptions,
}

/// A format in which prices are read.
#[derive(Debug, Clone)]
pub enum Format {
    /// A price sheet, `pricesheet/v1`.
    Canonical,
    /// An entry of a published catalog.
    Entry {
        /// Catalog of the entry.
        catalog: &'static Catalog,
        /// The entry's key in it.
        model: String,
        /// Time that selects among dated prices of an entry.
        at: Timestamp,
    },
}

/// The field of a request that holds an entry of a catalog.
const ENTRY: &str = "entry";
/// The field that holds several hosts' sheets of one model.
const POOL: &str = "price_sheets";

/// Reads the body of a request: an object with the sheet and the assumptions, or a bare sheet.
///
/// # Errors
/// [`RequestError`] with the place of the first fault of the text, or with every fault of its content.
pub fn read_request(text: &[u8], format: &Format) -> Result<Request, RequestError> {
    input::read(text, |body| read_tree(body, format))
}

fn read_tree(body: &Cursor<'_>, format: &Format) -> Option<Request> {
    let (wrapper, bare) = match format {
        Format::Canonical => ("price_sheet", "rates"),
        Format::Entry { catalog, .. } => (ENTRY, catalog.mark),
    };
    let Json::Object(entries) = body.json else {
        let hint = match body.json {
            Json::Array(_) => format!(
                "send one sheet at a time: {{\"{wrapper}\": …, \"assumptions\": …}} or the bare object"
            ),
            _ => format!("send {{\"{wrapper}\": …, \"assumptions\": …}} or the bare object"),
        };
        return body.refuse(
            format!("expected an object, found {}", body.json.kind()),
            hint,
        );
    };
    if matches!(format, Format::Canonical) && !entries.contains_key("schema") {
        refuse_other_documents(body, entries)?;
    }
    let pools = matches!(format, Format::Canonical) && entries.contains_key(POOL);
    let wrapper = if pools { POOL } else { wrapper };
    if pools && entries.contains_key("price_sheet") {
        return body.refuse(
            "two forms at once: `price_sheet` and `price_sheets`",
            "send one sheet as `price_sheet`, or several hosts' sheets of one model as `price_sheets`",
        );
    }
    if !entries.contains_key(wrapper) {
        if entries.contains_key("assumptions") {
            return body.refuse(
                format!("`assumptions` is given without `{wrapper}`"),
                format!("send {{\"{wrapper}\": …, \"assumptions\": …}}"),
            );
        }
        return Some(Request {
            sheets: vec![read_sheet(body, format)?],
            assumptions: Assumptions::default(),
        });
    }
    if entries.contains_key(bare) {
        return body.refuse(
            format!("two forms at once: `{wrapper}` and a bare object with `{bare}`"),
            format!("send either {{\"{wrapper}\": …, \"assumptions\": …}} or the bare object"),
        );
    }
    let (sheets, assumptions) = read_question(body, format, pools)?;
    let assumptions = assumptions.unwrap_or_default();
    if let Some(stated) = body.at("assumptions") {
        check_speed_tiers(&stated, &sheets.iter().collect::<Vec<_>>(), &assumptions);
        check_rate(&stated, &sheets, &assumptions);
    }
    Some(Request {
        sheets,
        assumptions,
    })
}

/// Refuses three known documents that are neither a price sheet nor a request: an answer, a catalog, and an entry of one.
fn refuse_other_documents(body: &Cursor<'_>, entries: &Object) -> Option<()> {
    let has = |field: &str| entries.contains_key(field);
    if has("quantities") && has("engine_version") {
        return body.refuse(
            "this is an answer of unroof, not a price sheet",
            "send the price sheet that it came from: GET /price-sheets/{id} with an id of its `price_sheets` returns it",
        );
    }
    if has("rates") || has("price_sheet") || has(POOL) || has("assumptions") {
        return Some(());
    }
    if let Some(catalog) = recognize(body.json) {
        let name = catalog.name();
        return body.refuse(
            format!("this looks like the whole catalog {name}, not a price sheet"),
            format!("read all of it with `unroof import FILE` or POST /catalogs; one entry with `unroof infer FILE --format {name} --model KEY`"),
        );
    }
    let Some(catalog) = recognized(body.json) else {
        return Some(());
    };
    let name = catalog.name();
    body.refuse(
        format!("this looks like an entry of the catalog {name}, not a price sheet"),
        format!("name its format and its key: `format={name}` and `model=KEY` in the query, or --format {name} --model KEY"),
    )
}

/// The sheets and assumptions of a request.
fn read_question(
    body: &Cursor<'_>,
    format: &Format,
    pools: bool,
) -> Option<(Vec<PriceSheet>, Option<Assumptions>)> {
    if pools {
        let request = PoolRequest::read(body)?;
        return Some((request.price_sheets, request.assumptions));
    }
    if matches!(format, Format::Canonical) {
        let request = InferRequest::read(body)?;
        return Some((vec![request.price_sheet], request.assumptions));
    }
    let entry = body.at(ENTRY).and_then(|entry| read_sheet(&entry, format));
    let request = InferEntryRequest::read(body)?;
    Some((vec![entry?], request.assumptions))
}

fn read_sheet(sheet: &Cursor<'_>, format: &Format) -> Option<PriceSheet> {
    match format {
        Format::Canonical => read_stated_sheet(sheet),
        Format::Entry { catalog, model, at } => catalog
            .read(model, sheet)
            .and_then(|sheets| in_force(sheets, *at)),
    }
}

/// The sheet that is in force at a time: of several regions the one that stands for all of them, else the first; where
/// none is in force, the one that was last.
fn in_force(sheets: Vec<PriceSheet>, at: Timestamp) -> Option<PriceSheet> {
    let is_over = |sheet: &PriceSheet| sheet.valid_to.is_some_and(|end| end <= at);
    let is_begun = |sheet: &PriceSheet| sheet.valid_from.is_none_or(|start| start <= at);
    let rank = |sheet: &PriceSheet| {
        (
            !is_begun(sheet) || is_over(sheet),
            sheet.region != PriceSheet::DEFAULT_REGION,
            std::cmp::Reverse(sheet.valid_from),
        )
    };
    sheets.into_iter().min_by_key(rank)
}

/// Checks that one exchange rate is not used for two currencies.
fn check_rate(stated: &Cursor<'_>, sheets: &[PriceSheet], assumptions: &Assumptions) {
    let currencies = sheets.iter().map(|sheet| sheet.currency.as_str());
    let currencies: BTreeSet<&str> = currencies.filter(|currency| *currency != "USD").collect();
    if currencies.len() > 1 && assumptions.states(Quantity::UsdPerCurrencyUnit) {
        stated.fault(
            format!(
                "one `usd_per_currency_unit` for {}",
                Vec::from_iter(currencies).join(" and ")
            ),
            "pool sheets in US dollars and at most one other currency",
        );
    }
}

/// A speed can only be stated for a service tier that one of the sheets has.
fn check_speed_tiers(stated: &Cursor<'_>, sheets: &[&PriceSheet], assumptions: &Assumptions) {
    let mut tiers: BTreeSet<&str> = BTreeSet::new();
    for sheet in sheets {
        tiers.extend(sheet.rates.iter().map(|rate| rate.service_tier.as_str()));
        tiers.extend(sheet.service_tiers.keys().map(String::as_str));
        let aliases = sheet.service_tiers.values().flat_map(|tier| &tier.aliases);
        tiers.extend(aliases.map(String::as_str));
    }
    tiers.remove(RateCell::STANDARD);
    let known: Vec<&str> = tiers.into_iter().collect();
    for tier in assumptions
        .tiers_with_stated_speed()
        .filter(|tier| !known.contains(tier))
    {
        let hint = match nearest_names(tier, &known).as_slice() {
            _ if known.is_empty() => {
                "leave it out: the sheet has only the standard tier".to_owned()
            }
            [] => format!("name one of {}", known.join(", ")),
            nearest => format!("did you mean {}?", nearest.join(" or ")),
        };
        let speeds = stated
            .fields()
            .and_then(|fields| fields.get("speed_multiplier")?.entries());
        let place = speeds.into_iter().flatten().find(|(name, _)| *name == tier);
        place.map_or_else(|| stated.clone(), |(_, place)| place).fault(
            format!(
                "`speed_multiplier` names the service tier `{tier}`, which the sheet does not have"
            ),
            hint,
        );
    }
}

/// Requests of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestFile {
    /// The requests, in the order of the file.
    pub requests: Vec<Request>,
    /// Whether the file is a list.
    pub is_list: bool,
}

/// Reads a file: one sheet, one request or a list of them in canonical form, or an entry of a catalog, bare or within the
/// whole catalog; `stated` is the text of assumptions that hold for all of them.
///
/// # Errors
/// [`RequestError`] as for [`read_request`].
pub fn read_file(
    text: &[u8],
    format: &Format,
    stated: Option<&[u8]>,
) -> Result<RequestFile, RequestError> {
    let tree = json::parse(text)?;
    let assumptions_tree = stated
        .map(json::parse)
        .transpose()
        .map_err(|error| JsonError {
            reason: format!("in the assumptions: {}", error.reason),
            ..error
        })?;
    let faults = Faults::default();
    let root = Cursor::root(&tree, &faults);
    let mut requests = match (&tree, format) {
        (Json::Array(_), Format::Canonical) => root
            .list_of(|item| read_tree(item, format))
            .filter(|requests| !requests.is_empty())
            .or_else(|| root.refuse("the list holds no sheet", "list at least one sheet")),
        (_, Format::Entry { catalog, model, .. }) if !is_bare(&tree, catalog) => {
            catalog_entry(&root, catalog, model)
                .and_then(|entry| read_tree(&entry, format))
                .map(|request| vec![request])
        }
        _ => read_tree(&root, format).map(|request| vec![request]),
    };
    if let (Some(tree), Some(requests)) = (&assumptions_tree, &mut requests) {
        let stated = Cursor::root_at("/assumptions", tree, &faults);
        let assumptions = Assumptions::read(&stated).unwrap_or_default();
        let sheets: Vec<&PriceSheet> = requests
            .iter()
            .flat_map(|request| &request.sheets)
            .collect();
        check_speed_tiers(&stated, &sheets, &assumptions);
        for request in requests {
            if !request.assumptions.is_empty() {
                root.fault(
                    "assumptions are stated twice",
                    "state them in the file or on the command line, not in both",
                );
            }
            request.assumptions = assumptions.clone();
        }
    }
    let is_list = matches!(tree, Json::Array(_));
    let file = requests.map(|requests| RequestFile { requests, is_list });
    faults.result(file).map_err(RequestError::Wrong)
}

/// Whether a document is an entry, alone or with assumptions, and no whole catalog.
fn is_bare(document: &Json, catalog: &Catalog) -> bool {
    match document {
        Json::Object(fields) => [ENTRY, catalog.mark]
            .iter()
            .any(|name| fields.contains_key(name)),
        _ => false,
    }
}

/// The entry of a whole catalog by its key; nearest keys on a miss.
fn catalog_entry<'a>(document: &Cursor<'a>, catalog: &Catalog, model: &str) -> Option<Cursor<'a>> {
    let entries = (catalog.entries)(document)?;
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let hint = match (nearest_names(model, &names).as_slice(), names.first()) {
        ([], Some(first)) => format!("name an entry by its key in the catalog, such as `{first}`"),
        ([], None) => "name an entry by its key in the catalog".to_owned(),
        (nearest, _) => format!("did you mean {}?", nearest.join(" or ")),
    };
    let found = entries.into_iter().find(|entry| entry.key == model);
    if found.is_none() {
        document.fault(format!("the catalog has no entry `{model}`"), hint);
    }
    found.map(|entry| entry.cursor)
}
