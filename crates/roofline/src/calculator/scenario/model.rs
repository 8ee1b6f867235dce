//! The model of a scenario: by its name, its architecture, its published configuration, or its sizes alone.
//!
//! ```
//! use unroof_roofline::calculator::simulate::simulate;
//!
//! let answer = simulate(br#"{"machine": "h100-sxm", "model": {"config": {"hidden_size": 8192, "num_hidden_layers": 80,
//!     "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256,
//!     "torch_dtype": "bfloat16", "hidden_act": "silu"}}}"#)?;
//! let billions = answer.architecture.total_parameters / 1e9;
//! assert!((billions - 70.6).abs() < 0.1);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{Ref, RefOr, Schema};

use super::config::Published;
use super::sizes::{DEFAULT_MODEL, StatedSizes};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::reference::architecture::{Architecture, PARAMETERS};
use crate::reference::names::OpenModelName;
use crate::reference::{WeightFormats, open_model};
use unroof_base::input::body::document::inline;
use unroof_base::input::body::{
    Body, Flag, Kind, Schemas, Stated, add_schema, body, number, object, plain, value,
};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

body! {
    /// A model by its name.
    pub struct NamedModel {
        /// A name of `/reference/open-models`, in capitals or not.
        name: &'static str = plain(value(OpenModelName).hint("name one of /reference/open-models")),
    }

    /// A model by its published configuration.
    pub struct ConfiguredModel {
        /// The file `config.json` of the model, as Hugging Face keeps it: fields that say nothing about sizes, layers or
        /// formats may stay in.
        config: Published = plain(value(inline(Published::read, config_schema))),
        /// `N_t`: parameters of the model; those that the configuration implies if left out.
        total_parameters: Stated<f64> = number(PARAMETERS).unit("parameters"),
        /// `N_a`: parameters that one token is multiplied with; those that the configuration implies if left out.
        active_parameters: Stated<f64> = number(PARAMETERS).unit("parameters"),
    }
}

fn config_schema() -> RefOr<Schema> {
    ObjectBuilder::new()
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
        .into()
}

/// A model as a request states it.
#[derive(Debug, Clone)]
pub enum StatedModel {
    /// A name of the open-weight models.
    Named(&'static str),
    /// An architecture.
    Architecture(Architecture),
    /// A published configuration.
    Configured(Box<ConfiguredModel>),
    /// Sizes alone.
    Sizes(Box<StatedSizes>),
}

/// A name, an object with a name, an architecture, a configuration, or sizes.
pub struct ModelKind;

impl Kind for ModelKind {
    type Value = StatedModel;

    fn read(&self, cursor: &Cursor<'_>) -> Option<StatedModel> {
        let Json::Object(entries) = cursor.json else {
            return OpenModelName.read(cursor).map(StatedModel::Named);
        };
        if entries.contains_key("name") {
            NamedModel::read(cursor).map(|model| StatedModel::Named(model.name))
        } else if entries.contains_key("config") {
            ConfiguredModel::read(cursor).map(|model| StatedModel::Configured(Box::new(model)))
        } else if entries.contains_key("attention") {
            Architecture::read(cursor).map(StatedModel::Architecture)
        } else {
            StatedSizes::read(cursor).map(|sizes| StatedModel::Sizes(Box::new(sizes)))
        }
    }

    fn schema(&self) -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(OpenModelName.schema())
            .item(object::<NamedModel>().schema())
            .item(Ref::from_schema_name("Architecture"))
            .item(object::<ConfiguredModel>().schema())
            .item(object::<StatedSizes>().schema())
            .into()
    }

    fn schemas(&self, schemas: &mut Schemas) {
        object::<NamedModel>().schemas(schemas);
        add_schema::<Architecture>(schemas);
        object::<ConfiguredModel>().schemas(schemas);
        object::<StatedSizes>().schemas(schemas);
    }

    fn flags(&self, pointer: &str, flags: &mut Vec<Flag>) {
        flags.push(Flag {
            name: "config",
            pointer: format!("{pointer}/config"),
            help: "File `config.json` of a published model".to_owned(),
            placeholder: FILE_PLACEHOLDER,
        });
        object::<StatedSizes>().flags(pointer, flags);
    }
}

/// The placeholder of a flag that names a file with JSON.
pub const FILE_PLACEHOLDER: &str = "FILE";

/// A model as the calculators need it.
#[derive(Debug, Clone)]
pub struct Model {
    /// The name, if it is one of the open-weight models.
    pub name: Option<String>,
    /// The architecture: as published, as stated, or as it follows from sizes.
    pub architecture: Architecture,
    /// Longest context in tokens, if it is published.
    pub longest_context: Option<f64>,
    /// Bytes per parameter of the release that is served, if it is known.
    pub served_formats: Option<WeightFormats>,
    /// Whether its attention is assumed from its class.
    pub is_estimate: bool,
}

impl Model {
    /// The model of a request, with this width of a cache whose bytes are stated.
    pub fn fill(
        stated: &Stated<StatedModel>,
        inputs: &Inputs<'_>,
        bytes_per_element: f64,
    ) -> Option<Self> {
        match stated.value.as_ref().ok()? {
            None => Self::named(DEFAULT_MODEL, Origin::Default, inputs),
            Some(StatedModel::Named(name)) => Self::named(name, Origin::Stated, inputs),
            Some(StatedModel::Architecture(architecture)) => {
                inputs.name("model.architecture", "as stated", Origin::Stated);
                note_sizes(architecture, inputs, Origin::Stated);
                Some(Self::unnamed(architecture.clone()))
            }
            Some(StatedModel::Configured(model)) => {
                inputs.name("model.config", "as stated", Origin::Stated);
                let total = inputs.stated(&model.total_parameters).ok()?;
                let active = inputs.stated(&model.active_parameters).ok()?;
                let published = model.config.with_parameters(total, active);
                if published.is_none() {
                    inputs.fault(
                        &model.total_parameters,
                        "the stated parameters do not go with the experts and layers of the configuration",
                        "state the published number, or leave it out",
                    );
                }
                let published = published?;
                note_sizes(&published.architecture, inputs, Origin::Derived);
                Some(Self {
                    longest_context: published.longest_context,
                    served_formats: Some(published.formats),
                    ..Self::unnamed(published.architecture)
                })
            }
            Some(StatedModel::Sizes(sizes)) => {
                let architecture = sizes.architecture(inputs, bytes_per_element)?;
                Some(Self::unnamed(architecture))
            }
        }
    }

    /// Doubt about its figures, as a sentence.
    #[must_use]
    pub fn caveat(&self) -> Option<String> {
        let name = self.name.as_ref().filter(|_| self.is_estimate)?;
        Some(format!(
            "the attention of {name} is an estimate: the defaults of its class in serving software, since no configuration is \
             published"
        ))
    }

    fn named(name: &str, from: Origin, inputs: &Inputs<'_>) -> Option<Self> {
        let model = open_model(name)?;
        inputs.name("model.name", &model.name, from);
        note_sizes(&model.architecture, inputs, Origin::Reference);
        Some(Self {
            name: Some(model.name.clone()),
            architecture: model.architecture.clone(),
            longest_context: Some(f64::from(model.max_context)),
            served_formats: Some(model.served_formats()),
            is_estimate: model.is_estimate(),
        })
    }

    fn unnamed(architecture: Architecture) -> Self {
        Self {
            name: None,
            architecture,
            longest_context: None,
            served_formats: None,
            is_estimate: false,
        }
    }
}

/// Records the sizes of a model that are not stated one by one.
fn note_sizes(architecture: &Architecture, inputs: &Inputs<'_>, from: Origin) {
    let sizes = [
        ("total_parameters", architecture.total_parameters),
        ("active_parameters", architecture.active_parameters),
    ];
    for (name, parameters) in sizes {
        inputs.number(&format!("model.{name}"), parameters, "parameters", from);
    }
}
