//! Open-weight models, whose architecture is public.

use std::sync::LazyLock;

use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;

use super::architecture::Architecture;
use super::weight_formats::WeightFormats;
use unroof_base::input;
use unroof_base::input::cursor::Cursor;

/// The file is part of the program and a test reads it, so a fault is a defect of the build, not of the input.
static OPEN_MODELS: LazyLock<Vec<OpenModel>> = LazyLock::new(|| {
    let text = include_bytes!("../../data/open_models.json");
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
    /// Day on which the weights were published or announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub released: Option<Date>,
    /// Architecture, as needed for serving.
    pub architecture: Architecture,
    /// Longest context in tokens.
    pub max_context: u32,
    /// The format its weights are published in.
    pub native_precision: String,
    /// Source of the figures.
    pub sources: Vec<String>,
    /// Basis of the figures: `config` for a published configuration, `estimate` for the defaults of a class in serving software,
    /// else a description.
    pub confidence: String,
    /// Remarks on the row.
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
            released: fields.get("released").and_then(|day| day.day()),
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

    /// Whether its attention is assumed from its class.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.confidence == "estimate"
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

/// Bytes per parameter of `mxfp4`: 4 bits, and a scale of 8 bits for each 32 weights.
pub const MXFP4_BYTES: f64 = 0.531_25;
/// Bytes per parameter of `nvfp4`: 4 bits, and a scale of 8 bits for each 16 weights.
pub const NVFP4_BYTES: f64 = 0.562_5;
/// Bytes per parameter of `mxfp8`: 8 bits, and a scale of 8 bits for each 32 weights.
pub const MXFP8_BYTES: f64 = 1.031_25;
/// Bytes per parameter of `int4`: 4 bits, and a scale of 16 bits for each 32 weights.
pub const INT4_BYTES: f64 = 0.562_5;

impl OpenModel {
    /// Bytes per parameter of the release that is served: that in 8 bits where the vendor has published one beside bf16.
    #[must_use]
    pub fn served_formats(&self) -> WeightFormats {
        let format = self.native_precision.as_str();
        if !format.starts_with("bf16") || !format.contains("fp8") {
            return self.native_formats();
        }
        WeightFormats::uniform(if format.contains("mxfp8") {
            MXFP8_BYTES
        } else {
            1.0
        })
    }

    /// Bytes per parameter of the published weights by component, scales included. `… experts` names the format of
    /// the experts alone; the rest is in bf16 unless another format is named beside it.
    #[must_use]
    pub fn native_formats(&self) -> WeightFormats {
        let format = self.native_precision.as_str();
        let Some((experts, rest)) = format.split_once(" experts") else {
            let is_nvfp4 = format.starts_with("nvfp4");
            return WeightFormats::uniform(if is_nvfp4 {
                NVFP4_BYTES
            } else {
                self.native_weight_bytes()
            });
        };
        let others = if rest.contains("fp8") { 1.0 } else { 2.0 };
        WeightFormats {
            experts: if experts.starts_with("int4") {
                INT4_BYTES
            } else {
                MXFP4_BYTES
            },
            others,
            embedding: 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_as_large_as_published() {
        // The files of gpt-oss-120b hold 65.2 GB, those of gpt-oss-20b 13.8 GB.
        for (name, gigabytes) in [("gpt-oss-120b", 65.2), ("gpt-oss-20b", 13.8)] {
            let model = open_model(name).unwrap();
            let bytes = model.native_formats().bytes_of(&model.architecture);
            assert!((bytes.0 / 1e9 / gigabytes - 1.0).abs() < 0.01, "{bytes:?}");
        }
    }

    #[test]
    fn the_release_in_8_bits_is_served_where_there_is_one() {
        for (name, width) in [
            ("GLM-5.2", 1.0),
            ("MiniMax-M3", MXFP8_BYTES),
            ("Llama-3.1-70B", 2.0),
            ("gpt-oss-120b", MXFP4_BYTES),
        ] {
            let served = open_model(name).unwrap().served_formats().experts;
            assert!((served - width).abs() < 1e-12, "{name}: {served}");
        }
    }

    #[test]
    fn every_model_has_sources_and_a_name_of_its_own() {
        assert_eq!(open_models().len(), 183);
        for model in open_models() {
            assert!(!model.sources.is_empty(), "{}", model.name);
            let found = open_model(&model.name.to_uppercase()).unwrap();
            assert_eq!(found.name, model.name);
        }
    }

    #[test]
    fn every_model_has_a_day_of_release() {
        let first = jiff::civil::date(2023, 7, 18);
        for model in open_models() {
            let released = model.released.unwrap();
            assert!(released >= first, "{}: {released}", model.name);
        }
    }

    #[test]
    fn a_day_is_written_in_one_way() {
        let read_day = |field: &Cursor<'_>| field.day();
        let read = |text: &str| input::read(format!("\"{text}\"").as_bytes(), read_day);
        assert_eq!(read("2024-04-18").unwrap(), jiff::civil::date(2024, 4, 18));
        for text in ["2024-04", "2024-02-30", "20240418", "+002024-04-18"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_open_models_of_the_reference_have_names() {
        for model in open_models() {
            // Some rows hold several models, and some the base and the tuned one.
            let name = model.name.split([' ', '/']).next().unwrap();
            let known = [
                name.to_owned(),
                format!("{name}-instruct"),
                format!("{name}-chat"),
            ];
            let found = known
                .iter()
                .find_map(|name| unroof_price_sheet::catalog::canonical_model(name));
            assert!(found.is_some(), "{}", model.name);
        }
    }
}
