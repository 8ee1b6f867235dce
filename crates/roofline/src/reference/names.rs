//! Names of rows of the reference data, as requests write them: how they are read, and the list in the API document.
//!
//! ```
//! use unroof_base::input::body::Kind;
//! use unroof_base::input::{RequestError, read};
//! use unroof_roofline::reference::names::AcceleratorId;
//!
//! assert_eq!(read(br#""h100-sxm""#, |text| AcceleratorId.read(text)).unwrap(), "h100-sxm");
//! let Err(RequestError::Wrong(faults)) = read(br#""h100""#, |text| AcceleratorId.read(text)) else { panic!() };
//! assert!(faults[0].hint.contains("h100-sxm"));
//! ```

use std::borrow::Cow;

use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::{StorageTier, accelerators, open_models, routed_laws, storage_tiers};
use unroof_base::input::body::{Kind, Schemas, add_schema};
use unroof_base::input::cursor::{Cursor, nearest_names, one_of_hint};
use unroof_base::input::schema::one_of_texts;

/// Name of all accelerators in a plan.
pub const ALL: &str = "all";

/// Racks of the lecture, by the accelerator that they are made of.
const RACKS: [(&str, &str); 4] = [
    ("hopper-8", "h100-sxm"),
    ("blackwell-72", "gb200-nvl72"),
    ("rubin-72", "rubin-nvl72"),
    ("rubin-ultra-576", "rubin-ultra-nvl576"),
];

/// Storage tiers that a cache can be offered on: what holding and reading a byte costs is known.
pub fn offered_tiers() -> impl Iterator<Item = &'static StorageTier> {
    storage_tiers().iter().filter(|tier| {
        tier.id != StorageTier::HBM_COMPONENT
            && tier.hold_usd_per_byte_hour.is_some()
            && tier.read_usd_per_byte.is_some()
    })
}

macro_rules! names {
    ($(#[doc = $doc:literal] $Name:ident($known:expr, $is_same:expr, $unknown:literal, $hint:expr);)*) => {$(
        #[doc = $doc]
        pub struct $Name;

        impl Kind for $Name {
            type Value = &'static str;

            fn read(&self, cursor: &Cursor<'_>) -> Option<&'static str> {
                let text = cursor.name()?;
                let known: Vec<&'static str> = $known.collect();
                let found = known.iter().find(|name| $is_same(&text, name)).copied();
                if found.is_none() {
                    cursor.fault(format!("`{text}` {}", $unknown), $hint(&text, &known));
                }
                found
            }

            fn schema(&self) -> RefOr<Schema> {
                Ref::from_schema_name(stringify!($Name)).into()
            }

            fn schemas(&self, schemas: &mut Schemas) {
                add_schema::<Self>(schemas);
            }
        }

        impl PartialSchema for $Name {
            fn schema() -> RefOr<Schema> {
                one_of_texts($known).description(Some($doc.trim())).into()
            }
        }

        impl ToSchema for $Name {
            fn name() -> Cow<'static, str> {
                stringify!($Name).into()
            }
        }
    )*};
}

names! {
    /// id of `/reference/accelerators`
    AcceleratorId(accelerator_ids(), is_same, "is not a known accelerator", accelerator_hint);
    /// id of `/reference/accelerators`; `all` in a plan, which then ranks them
    AcceleratorIdOrAll(
        accelerator_ids().chain([ALL]),
        is_same,
        "is not a known accelerator",
        accelerator_hint
    );
    /// name of `/reference/open-models`, in capitals or not
    OpenModelName(
        open_models().iter().map(|model| model.name.as_str()),
        str::eq_ignore_ascii_case,
        "is not among the open-weight models",
        model_hint
    );
    /// id of `/reference/storage-tiers`, of a tier whose costs are known
    OfferedTierId(
        offered_tiers().map(|tier| tier.id.as_str()),
        is_same,
        "is not a storage tier whose costs are known",
        one_of_hint
    );
    /// how tokens find their expert
    RoutingName(
        routed_laws().iter().map(|law| law.routing.as_str()),
        is_same,
        "is not known here",
        one_of_hint
    );
}

fn is_same(text: &str, name: &str) -> bool {
    text == name
}

fn accelerator_ids() -> impl Iterator<Item = &'static str> {
    accelerators().iter().map(|row| row.id.as_str())
}

/// The accelerator of a rack of the lecture, else the nearest ones.
fn accelerator_hint(text: &str, known: &[&str]) -> String {
    let rack = RACKS.iter().find(|(rack, _)| *rack == text);
    let ids: Vec<&str> = known.iter().copied().filter(|id| *id != ALL).collect();
    rack.map_or_else(
        || one_of_hint(text, &ids),
        |(_, id)| format!("write `{id}`, the accelerator of that rack"),
    )
}

fn model_hint(text: &str, known: &[&str]) -> String {
    let nearest = nearest_models(text, known);
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    let proposal = if quoted.is_empty() {
        "name one of them".to_owned()
    } else {
        format!("did you mean {}", quoted.join(" or "))
    };
    format!(
        "{proposal}, or state sizes, an architecture or a `config`; all names: /reference/open-models, unroof simulate --list-models"
    )
}

/// Up to three names: those that contain the text first, then those spelled much like it. The organisation before a name
/// and the kind of tuning after it do not count.
fn nearest_models<'n>(text: &str, known: &[&'n str]) -> Vec<&'n str> {
    const TUNINGS: [&str; 6] = ["-instruct", "-chat", "-it", "-base", "-fp8", "-hf"];
    let lower = text.to_lowercase();
    let mut core = lower.rsplit('/').next().unwrap_or(&lower);
    while let Some(shorter) = TUNINGS.iter().find_map(|tuning| core.strip_suffix(tuning)) {
        core = shorter;
    }
    let place = |name: &str| name.to_lowercase().find(core);
    let mut holding: Vec<&str> = known
        .iter()
        .copied()
        .filter(|name| core.len() > 2 && place(name).is_some())
        .collect();
    holding.sort_by_key(|name| (place(name), name.len()));
    let mut nearest: Vec<&str> = Vec::new();
    for name in holding.into_iter().chain(nearest_names(core, known)) {
        if !nearest.contains(&name) {
            nearest.push(name);
        }
    }
    nearest.truncate(3);
    nearest
}
