//! The model of a simulation, and its precisions.

use std::ops::RangeInclusive;

use utoipa::openapi::schema::OneOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::reference::WeightFormats;
use crate::reference::architecture::Architecture;
use crate::reference::names::OpenModelName;
use crate::reference::open_model;
use unroof_base::input::body::body;
use unroof_base::input::body::{
    Body, Kind, Schemas, Stated, add_schema, number, object, plain, value,
};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

const DEFAULT_MODEL: &str = "DeepSeek-V3";
/// Bytes per parameter or element.
const WIDTHS: RangeInclusive<f64> = 0.0625..=4.0;

body! {
    /// A model by its name.
    pub(super) struct NamedModel {
        /// A name of `/reference/open-models`, in capitals or not.
        name: &'static str = plain(value(OpenModelName).hint("name one of /reference/open-models")),
    }

    /// Precisions of weights, KV cache and attention.
    pub struct SimulatedPrecision {
        /// w: bytes per parameter; that of the published weights if left out.
        weight_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B").flag("weight-bytes"),
        /// Bytes per parameter of routed experts; w if left out.
        expert_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B"),
        /// Bytes per parameter of all other weights but the input embedding; w if left out.
        other_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B"),
        /// Bytes per parameter of the input embedding; w if left out.
        embedding_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B"),
        /// Width of the multiplies with weights; if left out that of the weights, and bf16 for 4-bit weights on a chip
        /// without such a format.
        arithmetic_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B"),
        /// `b_kv`: bytes per element of the KV cache; w within 1 and 2 if left out.
        kv_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B").flag("kv-bytes"),
        /// Width of attention's arithmetic; that of the cache if left out.
        attention_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B"),
    }
}

/// A model by its name, or its architecture.
#[derive(Debug, Clone)]
pub enum SimulatedModel {
    /// A name of the open-weight models.
    Named(&'static str),
    /// Architecture stated in the request.
    Stated(Architecture),
}

/// A name, an object with a name, or an architecture.
pub(super) struct ModelKind;

impl Kind for ModelKind {
    type Value = SimulatedModel;

    fn read(&self, cursor: &Cursor<'_>) -> Option<SimulatedModel> {
        match cursor.json {
            Json::Object(entries) if entries.contains_key("name") => {
                NamedModel::read(cursor).map(|model| SimulatedModel::Named(model.name))
            }
            Json::Object(_) => Architecture::read(cursor).map(SimulatedModel::Stated),
            _ => OpenModelName.read(cursor).map(SimulatedModel::Named),
        }
    }

    fn schema(&self) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(OpenModelName.schema())
            .item(object::<NamedModel>().schema())
            .item(Ref::from_schema_name("Architecture"))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        object::<NamedModel>().schemas(schemas);
        add_schema::<Architecture>(schemas);
    }
}

/// The model with its published figures.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) name: Option<String>,
    pub(super) architecture: Architecture,
    pub(super) longest_context: Option<f64>,
    native_formats: WeightFormats,
}

/// Precisions of weights, KV cache and attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precision {
    /// w: the mean over the model.
    pub(super) weights: f64,
    /// Bytes per parameter by component.
    pub(super) formats: WeightFormats,
    /// Width of the multiplies with weights, if it is stated.
    pub(super) arithmetic: Option<f64>,
    /// `b_kv`: bytes per element of the KV cache.
    pub(super) cache: f64,
    /// Width of attention's arithmetic.
    pub(super) attention: f64,
}

pub(super) fn fill_model(stated: &Stated<SimulatedModel>, inputs: &Inputs<'_>) -> Option<Model> {
    let (name, from) = match stated.value.as_ref().ok()? {
        Some(SimulatedModel::Stated(architecture)) => {
            inputs.name("model.architecture", "as stated", Origin::Stated);
            return Some(Model {
                name: None,
                architecture: architecture.clone(),
                longest_context: None,
                native_formats: WeightFormats::uniform(1.0),
            });
        }
        Some(SimulatedModel::Named(name)) => (*name, Origin::Stated),
        None => (DEFAULT_MODEL, Origin::Default),
    };
    let model = open_model(name)?;
    inputs.name("model.name", &model.name, from);
    Some(Model {
        name: Some(model.name.clone()),
        architecture: model.architecture.clone(),
        longest_context: Some(f64::from(model.max_context)),
        native_formats: model.native_formats(),
    })
}

pub(super) fn fill_precision(
    stated: &SimulatedPrecision,
    inputs: &Inputs<'_>,
    model: Option<&Model>,
) -> Option<Precision> {
    let formats = fill_formats(stated, inputs, model)?;
    let weights = model.map_or(formats.others, |model| formats.mean(&model.architecture));
    let arithmetic = if stated.arithmetic_bytes_per_element.is_stated() {
        Some(inputs.or_else(&stated.arithmetic_bytes_per_element, None)?)
    } else {
        None
    };
    let near = weights.clamp(1.0, 2.0);
    let cache = inputs.or(&stated.kv_bytes_per_element, near, Origin::Default)?;
    let attention = inputs.or(&stated.attention_bytes_per_element, cache, Origin::Default)?;
    Some(Precision {
        weights,
        formats,
        arithmetic,
        cache,
        attention,
    })
}

/// The width of every component: its own, else the one stated for all, else that of the published weights.
fn fill_formats(
    stated: &SimulatedPrecision,
    inputs: &Inputs<'_>,
    model: Option<&Model>,
) -> Option<WeightFormats> {
    let native = model.map_or(WeightFormats::uniform(1.0), |model| model.native_formats);
    let mean = model.map_or(1.0, |model| native.mean(&model.architecture));
    let weights = &stated.weight_bytes_per_parameter;
    let mean = inputs.or(weights, mean, Origin::Reference)?;
    let (base, from) = if weights.is_stated() {
        (WeightFormats::uniform(mean), Origin::Stated)
    } else {
        (native, Origin::Reference)
    };
    let of_part = |field, width| inputs.or(field, width, from);
    Some(WeightFormats {
        experts: of_part(&stated.expert_bytes_per_parameter, base.experts)?,
        others: of_part(&stated.other_bytes_per_parameter, base.others)?,
        embedding: of_part(&stated.embedding_bytes_per_parameter, base.embedding)?,
    })
}
