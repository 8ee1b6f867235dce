//! From the form to a question for `/infer`: the format is recognised, the entry found, the assumptions added; and back from
//! the faults of the question to the lines of what was pasted.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::form::{FORMAT, Filled, MODEL};
use super::placed::Placed;
use super::stated;
use unroof_base::input::cursor::{Cursor, Fault, Faults, nearest_names};
use unroof_base::input::json;
use unroof_base::input::json::{Json, JsonError};
use unroof_base::input::place;
use unroof_edge::Problem;
use unroof_infer::estimate::Format;
use unroof_price_sheet::catalog::{Catalog, UnknownFormat, recognized};

/// Fields of which a canonical sheet or a request has at least one.
const CANONICAL: [&str; 7] = [
    "schema",
    "rates",
    "price_sheet",
    "price_sheets",
    "assumptions",
    "quantities",
    "unit",
];
/// Fields that hold what a request is about.
const WRAPPERS: [&str; 3] = ["price_sheet", "price_sheets", "entry"];
/// Most keys of a catalog that are offered.
const MOST_KEYS: usize = 60;

/// A question for `/infer`.
#[derive(Debug)]
pub(super) struct Question {
    /// Body of the request.
    pub(super) body: Vec<u8>,
    /// Format of the body.
    pub(super) format: Format,
    /// The form in which the text was read, in words.
    pub(super) read_as: String,
    /// The pointer in the body of what the text, or a part of it, became.
    cut: &'static str,
    /// The pointer of that part in the text.
    put: String,
    /// Whether assumptions of the form are part of it.
    is_stated: bool,
}

/// Reason that there is no question.
#[derive(Debug)]
pub(super) enum Open {
    /// The form has faults.
    Wrong(Vec<Placed>),
    /// A catalog of several entries, of which one has to be chosen.
    Choice {
        /// Name of the catalog.
        catalog: &'static str,
        /// The first keys, or those like the one that was named.
        keys: Vec<String>,
        /// Number of entries of the catalog.
        entries: usize,
        /// The key that no entry has.
        missed: Option<String>,
    },
}

impl From<Placed> for Open {
    fn from(fault: Placed) -> Self {
        Self::Wrong(vec![fault])
    }
}

impl From<JsonError> for Open {
    fn from(error: JsonError) -> Self {
        let fault = Placed {
            line: usize::try_from(error.line).ok(),
            ..Placed::of_all(error.reason, error.hint.to_owned())
        };
        fault.into()
    }
}

/// The pasted text as JSON: a member of an object that was copied with its key gets braces.
fn completed(sheet: &str) -> String {
    let trimmed = sheet.trim();
    if trimmed.starts_with('"') {
        format!("{{{}}}", sheet.trim_end().trim_end_matches(','))
    } else {
        sheet.to_owned()
    }
}

impl Question {
    /// The question that a form makes, at a time that selects among dated prices.
    pub(super) fn new(filled: &mut Filled, at: Timestamp) -> Result<Self, Open> {
        filled.sheet = completed(&filled.sheet);
        let text = filled.sheet.as_str();
        let tree = json::parse(text.as_bytes())?;
        let stated = stated::assumptions(filled).map_err(Open::Wrong)?;
        match catalog_of(filled, &tree)? {
            None => Ok(canonical(text, &tree, stated)),
            Some(catalog) => {
                let (key, part) = entry_of(filled, catalog, &tree)?;
                let read_as = format!("an entry of {}, {key}", catalog.name());
                let format = Format::Entry {
                    catalog,
                    model: key,
                    at,
                };
                Ok(entry(text, &tree, (part, format, read_as), stated))
            }
        }
    }

    /// The faults of the question, at the lines of the text.
    pub(super) fn placed(&self, text: &str, problem: &Problem) -> Vec<Placed> {
        if problem.errors.is_empty() {
            let hint = problem.hint.clone().unwrap_or_default();
            return vec![Placed::of_all(problem.detail.clone(), hint)];
        }
        let faults = problem.errors.iter();
        let mut faults: Vec<Placed> = faults.map(|fault| self.placed_fault(text, fault)).collect();
        faults.sort_by_key(|fault| fault.line);
        faults
    }

    fn placed_fault(&self, text: &str, fault: &Fault) -> Placed {
        let assumption = fault.pointer.strip_prefix("/assumptions");
        let control = assumption.filter(|_| self.is_stated).map(control);
        let pointer = match fault.pointer.strip_prefix(self.cut) {
            Some(rest) => format!("{}{rest}", self.put),
            None => fault.pointer.clone(),
        };
        let line = control.is_none().then(|| place::line(text, &pointer));
        Placed {
            line,
            control,
            fault: Fault {
                pointer,
                ..fault.clone()
            },
        }
    }
}

/// Name in the form of an assumption at a pointer below `/assumptions`.
fn control(pointer: &str) -> String {
    let name = pointer.trim_start_matches('/').replace('/', ".");
    let end = name.strip_suffix(".low").or(name.strip_suffix(".high"));
    end.unwrap_or(&name).to_owned()
}

/// The catalog that the form names, or that is recognised; none for a canonical sheet.
fn catalog_of(filled: &Filled, tree: &Json) -> Result<Option<&'static Catalog>, Open> {
    if filled.format == "pricesheet/v1" {
        return Ok(None);
    }
    if !filled.format.is_empty() {
        let named = filled.format.parse().map(Some);
        return named.map_err(|_: UnknownFormat| {
            let detail = "the format is unknown".to_owned();
            Placed::of_control(FORMAT, detail, "choose one of the list").into()
        });
    }
    let inner = tree.at("entry").unwrap_or(tree);
    if CANONICAL.iter().any(|field| inner.has(field)) {
        return Ok(None);
    }
    Ok(recognized(inner))
}

/// The key of the entry that is meant, and its pointer in the text.
fn entry_of(
    filled: &Filled,
    catalog: &'static Catalog,
    tree: &Json,
) -> Result<(String, String), Open> {
    let named = Some(filled.model.clone()).filter(|key| !key.is_empty());
    if catalog.recognizes(tree) {
        return entry_of_catalog(named, catalog, tree);
    }
    let inner = tree.at("entry").unwrap_or(tree);
    let pointer = if tree.has("entry") { "/entry" } else { "" };
    let own = inner.at("id").and_then(Json::as_text).map(str::to_owned);
    let key = named.or(own).ok_or_else(|| {
        Placed::of_control(
            MODEL,
            format!("this is an entry of {} without its key", catalog.name()),
            "write the key that it has in its catalog, such as gemini/gemini-2.5-pro, or paste it with the key in front",
        )
    })?;
    Ok((key, pointer.to_owned()))
}

fn entry_of_catalog(
    named: Option<String>,
    catalog: &'static Catalog,
    tree: &Json,
) -> Result<(String, String), Open> {
    let faults = Faults::default();
    let entries = (catalog.entries)(&Cursor::root(tree, &faults)).unwrap_or_default();
    let found = match (&named, entries.as_slice()) {
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(key), entries) => entries.iter().find(|entry| entry.key == *key),
    };
    if let Some(entry) = found {
        return Ok((entry.key.clone(), entry.cursor.pointer()));
    }
    let all: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let near = nearest_names(named.as_deref().unwrap_or_default(), &all);
    let offered = if named.is_none() || near.is_empty() {
        &all
    } else {
        &near
    };
    let keys = offered.iter().take(MOST_KEYS);
    Err(Open::Choice {
        catalog: catalog.name(),
        keys: keys.map(|key| (*key).to_owned()).collect(),
        entries: entries.len(),
        missed: named,
    })
}

/// A canonical sheet or request, with the assumptions of the form. What is neither is sent as it is, to be refused.
fn canonical(text: &str, tree: &Json, stated: Map<String, Value>) -> Question {
    let wrapper = WRAPPERS.into_iter().find(|name| tree.has(name));
    let is_bare = wrapper.is_none() && tree.has("rates");
    let is_plain = |name: &str| name == "assumptions" || Some(name) == wrapper;
    let is_clean = matches!(tree, Json::Object(fields) if fields.keys().all(is_plain));
    let is_stated = !stated.is_empty() && (is_bare || is_clean && wrapper.is_some());
    let body = match wrapper {
        _ if !is_stated => text.to_owned(),
        Some(name) => wrapped(text, name, &format!("/{name}"), all_stated(tree, stated)),
        None => wrapped(text, "price_sheet", "", stated),
    };
    Question {
        body: body.into_bytes(),
        format: Format::Canonical,
        read_as: "a price sheet in the canonical form".to_owned(),
        cut: if is_stated && is_bare {
            "/price_sheet"
        } else {
            ""
        },
        put: String::new(),
        is_stated,
    }
}

/// An entry of a catalog at a pointer of the text, with the assumptions of the form.
fn entry(
    text: &str,
    tree: &Json,
    (part, format, read_as): (String, Format, String),
    stated: Map<String, Value>,
) -> Question {
    Question {
        is_stated: !stated.is_empty(),
        body: wrapped(text, "entry", &part, all_stated(tree, stated)).into_bytes(),
        format,
        read_as,
        cut: "/entry",
        put: part,
    }
}

/// The assumptions of the text, overridden by those of the form.
fn all_stated(tree: &Json, stated: Map<String, Value>) -> Map<String, Value> {
    let is_wrapped = WRAPPERS.iter().any(|name| tree.has(name));
    let own = tree.at("assumptions").filter(|_| is_wrapped);
    let mut all = match own.map(Value::from) {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    all.extend(stated);
    all
}

/// The body with a part of the text and assumptions.
fn wrapped(text: &str, name: &str, part: &str, stated: Map<String, Value>) -> String {
    let part = place::place(text, part).map_or(text, |place| &text[place]);
    if stated.is_empty() {
        return format!("{{\"{name}\": {part}}}");
    }
    let stated = Value::Object(stated);
    format!("{{\"{name}\": {part}, \"assumptions\": {stated}}}")
}
