//! Open-weight models, whose architecture is public.

use std::sync::LazyLock;

use serde::Serialize;
use utoipa::ToSchema;

use super::architecture::Architecture;
use crate::input;
use crate::input::cursor::Cursor;

/// The file is part of the program and a test reads it, so a fault is a defect of the build, not of the input.
static OPEN_MODELS: LazyLock<Vec<OpenModel>> = LazyLock::new(|| {
    let text = include_bytes!("../../../../data/open_models.json");
    input::read(text, |list| list.list_of(OpenModel::read))
        .unwrap_or_else(|error| panic!("data/open_models.json: {error:?}"))
});

/// All open-weight models, in the order of the data file.
#[must_use]
pub fn open_models() -> &'static [OpenModel] {
    &OPEN_MODELS
}

/// The open-weight model of this name; case does not matter.
#[must_use]
pub fn open_model(name: &str) -> Option<&'static OpenModel> {
    OPEN_MODELS
        .iter()
        .find(|model| model.name.eq_ignore_ascii_case(name))
}

/// A model whose architecture is published.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OpenModel {
    /// The name used in requests.
    pub name: String,
    /// Family: models of one author with a common design.
    pub family: String,
    /// Architecture, as needed for serving.
    pub architecture: Architecture,
    /// Longest context in tokens.
    pub max_context: u32,
    /// The format its weights are published in.
    pub native_precision: String,
    /// Source of the figures.
    pub sources: Vec<String>,
    /// Basis of the figures: `config` for a published configuration, else a description.
    pub confidence: String,
    /// Remarks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

impl OpenModel {
    fn read(object: &Cursor<'_>) -> Option<Self> {
        let fields = object.fields()?;
        let text = |name| fields.required(name, "")?.text();
        let model = Self {
            name: text("name")?,
            family: text("family")?,
            architecture: Architecture::read_among(&fields)?,
            max_context: fields
                .required("max_context", "")?
                .whole_number(1..=u32::MAX)?,
            native_precision: text("native_precision")?,
            sources: fields.required("sources", "")?.list_of(Cursor::text)?,
            confidence: text("confidence")?,
            note: fields.get("note").and_then(|note| note.text()),
        };
        fields.refuse_unknown();
        Some(model)
    }

    /// w: bytes per parameter of the published weights.
    #[must_use]
    pub fn native_weight_bytes(&self) -> f64 {
        let has = |name: &str| self.native_precision.contains(name);
        if has("fp4") || has("int4") {
            0.5
        } else if self.native_precision.starts_with("fp8") {
            1.0
        } else {
            2.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_sources_and_a_name_of_its_own() {
        assert_eq!(open_models().len(), 80);
        for model in open_models() {
            assert!(!model.sources.is_empty(), "{}", model.name);
            let found = open_model(&model.name.to_uppercase()).unwrap();
            assert_eq!(found.name, model.name);
        }
    }
}
