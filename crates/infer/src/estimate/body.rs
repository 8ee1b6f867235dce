//! The body of `/infer`: a sheet, several hosts' sheets or a catalog's entry, bare or with assumptions.

use std::borrow::Cow;

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::evidence::assumptions::Assumptions;
use unroof_base::input::body::body;
use unroof_base::input::body::{Body, Kind, Schemas, add_schema, by, optional, plain, value};
use unroof_base::input::cursor::{Cursor, shortened};
use unroof_base::input::json::Json;
use unroof_base::input::schema::Name;
use unroof_price_sheet::sheet::{PriceSheet, canonical};

/// Most sheets that are pooled.
const MOST_SHEETS: usize = 64;
/// Limit of rates in all pooled sheets: an answer takes about 16 kB for each.
const MOST_POOLED_RATES: usize = 256;

body! {
    /// A request: a sheet and assumptions about the machine behind it.
    pub struct InferRequest {
        /// The sheet in canonical form.
        price_sheet: PriceSheet = plain(value(by(read_stated_sheet)).hint("send the sheet")),
        /// Stated assumptions. A number fixes a value, `{"low", "high"}` is a 90 % interval.
        assumptions: Option<Assumptions> = optional(value(by(Assumptions::read))),
    }

    /// A request for several hosts' sheets of one model: the model is common to all, markup and noise belong to each host.
    pub struct PoolRequest {
        /// The sheets in canonical form, all of one `canonical_model`; copies of one pricing decision count once.
        price_sheets: Vec<PriceSheet> = plain(value(PoolKind).hint("send the sheets")),
        /// Assumptions that the caller states.
        assumptions: Option<Assumptions> = optional(value(by(Assumptions::read))),
    }

    /// A request for a catalog entry.
    pub struct InferEntryRequest {
        /// Entry of the catalog.
        entry: LitellmEntry = plain(value(by(|_| Some(LitellmEntry))).hint("send the entry")),
        /// Assumptions that the caller states.
        assumptions: Option<Assumptions> = optional(value(by(Assumptions::read))),
    }
}

/// Several hosts' sheets of one model.
struct PoolKind;

impl Kind for PoolKind {
    type Value = Vec<PriceSheet>;

    fn read(&self, cursor: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
        read_pool(cursor)
    }

    fn schema(&self) -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(Ref::from_schema_name(PriceSheet::name()))
            .min_items(Some(1))
            .max_items(Some(MOST_SHEETS))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        add_schema::<PriceSheet>(schemas);
    }
}

/// A sheet of a request. Its addresses are checked; stored sheets keep those that were accepted before.
pub(super) fn read_stated_sheet(sheet: &Cursor<'_>) -> Option<PriceSheet> {
    let read = canonical::read_sheet(sheet)?;
    let sources = sheet.at("sources").and_then(|sources| sources.items());
    for source in sources.into_iter().flatten() {
        let Some(url) = source.at("url") else {
            continue;
        };
        let Json::Text(address) = url.json else {
            continue;
        };
        if is_address_without_scheme(address) {
            url.fault(
                format!("`{}` is an address without a scheme", shortened(address)),
                format!("write \"https://{address}\""),
            );
        }
    }
    Some(read)
}

/// Whether a text is a host's name with a dot, with or without a path behind it.
fn is_address_without_scheme(text: &str) -> bool {
    let (host, _) = text.split_once('/').unwrap_or((text, ""));
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '-')
    };
    let labels: Vec<&str> = host.split('.').collect();
    let (Some(top), true) = (labels.last(), labels.len() > 1) else {
        return false;
    };
    labels.iter().all(|label| is_label(label)) && top.chars().all(char::is_alphabetic)
}

/// Several hosts' sheets of one model.
fn read_pool(list: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
    const ONE_MODEL: &str =
        "pool sheets of one model only; ask for others by requests of their own";
    let count = list.items()?.len();
    if !(1..=MOST_SHEETS).contains(&count) {
        return list.refuse(
            format!("{count} sheets"),
            format!("send 1 to {MOST_SHEETS} sheets"),
        );
    }
    let mut sheets = list.list_of(read_stated_sheet)?;
    if sheets.len() < count {
        return None;
    }
    let rates: usize = sheets.iter().map(|sheet| sheet.rates.len()).sum();
    if rates > MOST_POOLED_RATES {
        return list.refuse(
            format!("{rates} rates in all sheets together"),
            format!("pool sheets with at most {MOST_POOLED_RATES} rates in all, or ask for them one by one"),
        );
    }
    let Some(model) = sheets.first()?.canonical_model.clone() else {
        return list.refuse(
            "the first sheet names no `canonical_model`",
            "write author/model into `canonical_model` of every sheet: it joins the hosts of one model",
        );
    };
    let other = sheets
        .iter()
        .position(|sheet| sheet.canonical_model.as_ref() != Some(&model));
    if let Some(place) = other {
        let found = sheets[place].canonical_model.as_deref();
        return list.refuse(
            format!(
                "sheet {place} is of {}, the first one of `{model}`",
                found.map_or("no `canonical_model`".to_owned(), |found| format!(
                    "`{found}`"
                )),
            ),
            ONE_MODEL,
        );
    }
    sheets.sort_by_cached_key(|sheet| {
        let seller = (sheet.provider.clone(), sheet.region.clone());
        (seller, sheet.id(), sheet.evidence_id())
    });
    sheets.dedup_by_key(|sheet| sheet.id());
    Some(sheets)
}

/// A catalog entry, in the catalog's own format.
#[derive(Debug, Clone)]
pub struct LitellmEntry;

impl PartialSchema for LitellmEntry {
    fn schema() -> RefOr<Schema> {
        let mut provider = Ref::from_schema_name(Name::name());
        "The provider, as `LiteLLM` spells it.".clone_into(&mut provider.description);
        ObjectBuilder::new()
            .description(Some(
                "An entry of a `LiteLLM` catalog: at least one token price, and any other fields.",
            ))
            .property("litellm_provider", provider)
            .required("litellm_provider")
            .into()
    }
}

impl ToSchema for LitellmEntry {
    fn name() -> Cow<'static, str> {
        "LitellmEntry".into()
    }

    fn schemas(schemas: &mut Schemas) {
        add_schema::<Name>(schemas);
    }
}

/// The body: a request object, or a bare sheet.
pub struct InferBody;

impl PartialSchema for InferBody {
    fn schema() -> RefOr<Schema> {
        let form = |name: &str, description: &str| {
            let mut form = Ref::from_schema_name(name);
            description.clone_into(&mut form.description);
            form
        };
        let pool = "Several hosts' sheets of one model, with assumptions.";
        let entry = "With `format`: a catalog entry with assumptions.";
        OneOfBuilder::new()
            .item(form(InferRequest::NAME, "A sheet with assumptions."))
            .item(form(PoolRequest::NAME, pool))
            .item(form("PriceSheet", "A bare sheet."))
            .item(form(InferEntryRequest::NAME, entry))
            .item(form("LitellmEntry", "With `format`: a bare entry."))
            .description(Some("The body: a request object, or a bare sheet."))
            .into()
    }
}

impl ToSchema for InferBody {
    fn name() -> Cow<'static, str> {
        "InferBody".into()
    }

    fn schemas(schemas: &mut Schemas) {
        add_schema::<InferRequest>(schemas);
        add_schema::<PoolRequest>(schemas);
        add_schema::<InferEntryRequest>(schemas);
    }
}
