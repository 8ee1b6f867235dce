//! The question that `/simulate` answers, read fault by fault.

use std::cell::RefCell;

use super::grid::Grid;
use super::hardware::{Hardware, read_hardware};
use super::load::{Load, read_load};
use super::offer::{Offer, read_offer};
use super::reached::{Reached, read_reached};
use crate::calculator::inputs::{InputOrigin as Origin, InputUsed, Inputs, Number};
use crate::input::cursor::{Cursor, nearest_names};
use crate::input::json::Json;
use crate::reference::architecture::Architecture;
use crate::reference::{OpenModel, open_model, open_models};
use crate::roofline::KvCache;

const DEFAULT_MODEL: &str = "DeepSeek-V3";
/// Longest context, prompt or window.
pub(super) const MOST_TOKENS: f64 = 1e9;

/// The model, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) name: Option<String>,
    pub(super) architecture: Architecture,
    pub(super) longest_context: Option<f64>,
    native_weight_bytes: f64,
}

/// Widths of what is held and multiplied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precision {
    /// w
    pub(super) weights: f64,
    /// `b_kv`
    pub(super) cache: f64,
    /// Width of attention's arithmetic.
    pub(super) attention: f64,
}

/// A question with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) model: Model,
    pub(super) cache: KvCache,
    pub(super) precision: Precision,
    pub(super) hardware: Hardware,
    pub(super) reached: Reached,
    pub(super) load: Load,
    pub(super) grid: Option<Grid>,
    pub(super) offer: Option<Offer>,
    pub(super) inputs: Vec<InputUsed>,
}

type Used = RefCell<Vec<InputUsed>>;

pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let fields = root.fields()?;
    let used = Used::default();
    let model = read_model(fields.get("model").as_ref(), &used);
    let precision = read_precision(
        &Inputs::of("precision.", fields.get("precision").as_ref(), &used),
        model.as_ref(),
    );
    let machine = fields.get("machine");
    let hardware = read_hardware(
        &Inputs::of("machine.", machine.as_ref(), &used),
        model.as_ref(),
        precision,
    );
    let reached = read_reached(fields.get("efficiencies").as_ref(), &used);
    let cache = model
        .as_ref()
        .map(|model| KvCache::new(&model.architecture));
    let load = fields.get("operating_point");
    let load = read_load(
        &Inputs::of("operating_point.", load.as_ref(), &used),
        model.as_ref(),
        precision,
        hardware.as_ref(),
        cache.as_ref(),
    );
    let grid = fields.optional("grid", Grid::read);
    let offer = fields.optional("price_sheet", |field| {
        read_offer(field, model.as_ref(), hardware.as_ref(), &used)
    });
    fields.refuse_unknown();
    let (model, hardware) = (model?, hardware?);
    Some(Question {
        model,
        cache: cache?,
        precision: precision?,
        hardware,
        reached: reached?,
        load: load?,
        grid: grid.ok()?,
        offer: offer.ok()?,
        inputs: used.into_inner(),
    })
}

/// A name, an object with a name, or an architecture.
fn read_model(field: Option<&Cursor<'_>>, used: &Used) -> Option<Model> {
    let inputs = Inputs::of("model.", None, used);
    let named = |model: &'static OpenModel, from| {
        inputs.name("name", &model.name, from);
        Model {
            name: Some(model.name.clone()),
            architecture: model.architecture.clone(),
            longest_context: Some(f64::from(model.max_context)),
            native_weight_bytes: model.native_weight_bytes(),
        }
    };
    let Some(field) = field else {
        return open_model(DEFAULT_MODEL).map(|model| named(model, Origin::Default));
    };
    if let Json::Object(entries) = field.json
        && !entries.contains_key("name")
    {
        let architecture = Architecture::read(field)?;
        inputs.name("architecture", "as stated", Origin::Stated);
        return Some(Model {
            name: None,
            architecture,
            longest_context: None,
            native_weight_bytes: 1.0,
        });
    }
    let name = match field.json {
        Json::Object(_) => {
            let fields = field.fields()?;
            let name = fields.get("name");
            fields.refuse_unknown();
            name?
        }
        _ => field.clone(),
    };
    let text = name.name()?;
    let found = open_model(&text);
    if found.is_none() {
        let known: Vec<&str> = open_models()
            .iter()
            .map(|model| model.name.as_str())
            .collect();
        name.fault(
            format!("`{text}` is not among the open-weight models"),
            format!(
                "{}, or state an architecture; all names: /reference/open-models, unroof simulate --list-models",
                nearest_or_any(&text, &known)
            ),
        );
    }
    found.map(|model| named(model, Origin::Stated))
}

/// Names that begin like the text or hold it, then those that are spelled much like it. An organisation before the name
/// and the kind of tuning after it are no part of a name here.
fn nearest_or_any(text: &str, known: &[&str]) -> String {
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
    let quoted: Vec<String> = nearest
        .iter()
        .take(3)
        .map(|name| format!("`{name}`"))
        .collect();
    if quoted.is_empty() {
        "name one of them".to_owned()
    } else {
        format!("did you mean {}", quoted.join(" or "))
    }
}

fn read_precision(inputs: &Inputs<'_>, model: Option<&Model>) -> Option<Precision> {
    let width = |name| Number {
        name,
        unit: "B",
        range: 0.0625..=4.0,
    };
    let native = model.map_or(1.0, |model| model.native_weight_bytes);
    let weights = inputs.number_or_none(
        &width("weight_bytes_per_parameter"),
        Some((native, Origin::Reference)),
    );
    let cache = inputs.number(
        &width("kv_bytes_per_element"),
        weights.unwrap_or(1.0).clamp(1.0, 2.0),
    );
    let attention = inputs.number(&width("attention_bytes_per_element"), cache.unwrap_or(1.0));
    inputs.refuse_unknown();
    Some(Precision {
        weights: weights?,
        cache: cache?,
        attention: attention?,
    })
}
