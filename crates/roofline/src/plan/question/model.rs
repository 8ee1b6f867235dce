//! The model of a plan, and its precisions.

use std::ops::RangeInclusive;

use utoipa::openapi::schema::OneOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::reference::WeightFormats;
use crate::reference::architecture::Architecture;
use crate::reference::names::OpenModelName;
use crate::reference::open_model;
use unroof_base::input::body::body;
use unroof_base::input::body::{Kind, Schemas, Stated, add_schema, number};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

const DEFAULT_MODEL: &str = "DeepSeek-V3";
/// Bytes per parameter or element.
const WIDTHS: RangeInclusive<f64> = 0.0625..=4.0;

body! {
    /// Precisions of weights, KV cache and attention.
    pub struct PlannedPrecision {
        /// w: bytes per parameter; that of the published weights if left out.
        weight_bytes_per_parameter: Stated<f64> = number(WIDTHS).unit("B").flag("weight-bytes"),
        /// `b_kv`: bytes per element of the KV cache; w within 1 and 2 if left out.
        kv_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B").flag("kv-bytes"),
        /// Width of attention's arithmetic; that of the cache if left out.
        attention_bytes_per_element: Stated<f64> = number(WIDTHS).unit("B"),
    }
}

/// A model by its name, or its architecture.
#[derive(Debug, Clone)]
pub enum PlannedModel {
    /// A name of the open-weight models.
    Named(&'static str),
    /// Architecture stated in the request.
    Architecture(Architecture),
}

/// A name or an architecture.
pub(crate) struct ModelKind;

impl Kind for ModelKind {
    type Value = PlannedModel;

    fn read(&self, cursor: &Cursor<'_>) -> Option<PlannedModel> {
        match cursor.json {
            Json::Object(_) => Architecture::read(cursor).map(PlannedModel::Architecture),
            _ => OpenModelName.read(cursor).map(PlannedModel::Named),
        }
    }

    fn schema(&self) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(OpenModelName.schema())
            .item(Ref::from_schema_name("Architecture"))
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        add_schema::<OpenModelName>(schemas);
        add_schema::<Architecture>(schemas);
    }
}

/// The model with its published figures.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) name: Option<String>,
    pub(crate) architecture: Architecture,
    native_formats: WeightFormats,
}

/// Precisions of weights, KV cache and attention, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Precision {
    /// Bytes per parameter of the weights, by component.
    pub(crate) formats: WeightFormats,
    /// `b_kv`: bytes per element of the KV cache.
    pub(crate) cache: f64,
    /// Width of attention's arithmetic.
    pub(crate) attention: f64,
}

pub(crate) fn fill_model(stated: &Stated<PlannedModel>, inputs: &Inputs<'_>) -> Option<Model> {
    let (name, from) = match stated.value.as_ref().ok()? {
        Some(PlannedModel::Architecture(architecture)) => {
            inputs.name("model.architecture", "as stated", Origin::Stated);
            return Some(Model {
                name: None,
                architecture: architecture.clone(),
                native_formats: WeightFormats::uniform(1.0),
            });
        }
        Some(PlannedModel::Named(name)) => (*name, Origin::Stated),
        None => (DEFAULT_MODEL, Origin::Default),
    };
    let model = open_model(name)?;
    inputs.name("model.name", &model.name, from);
    Some(Model {
        name: Some(model.name.clone()),
        architecture: model.architecture.clone(),
        native_formats: model.native_formats(),
    })
}

pub(crate) fn fill_precision(
    stated: &PlannedPrecision,
    inputs: &Inputs<'_>,
    model: Option<&Model>,
) -> Option<Precision> {
    let uniform = WeightFormats::uniform(1.0);
    let (native, mean) = model.map_or((uniform, 1.0), |model| {
        (
            model.native_formats,
            model.native_formats.mean(&model.architecture),
        )
    });
    let stated_weights = &stated.weight_bytes_per_parameter;
    let weights = inputs.or(stated_weights, mean, Origin::Reference)?;
    let formats = if stated_weights.is_stated() {
        WeightFormats::uniform(weights)
    } else {
        native
    };
    let near = weights.clamp(1.0, 2.0);
    let cache = inputs.or(&stated.kv_bytes_per_element, near, Origin::Default)?;
    let attention = inputs.or(&stated.attention_bytes_per_element, cache, Origin::Default)?;
    Some(Precision {
        formats,
        cache,
        attention,
    })
}
