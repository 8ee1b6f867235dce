//! Typed access to the files under `data/`, every number with its source.
//!
//! ```
//! use unroof_base::units::Bytes;
//! use unroof_roofline::reference::{accelerator, open_model};
//!
//! let h100 = accelerator("h100-sxm").unwrap();
//! assert_eq!(h100.hbm_bytes, Bytes(80e9));
//! assert!(h100.source.contains("NVIDIA H100"));
//! assert_eq!(open_model("deepseek-v3").unwrap().architecture.total_parameters, 671e9);
//! ```

/// Declares the functions that give the rows of embedded tables.
macro_rules! embedded_tables {
    ($( $(#[doc = $doc:literal])+ $name:ident: $Row:ty = $file:literal; )+) => {$(
        $(#[doc = $doc])+
        #[must_use]
        pub fn $name() -> &'static [$Row] {
            static ROWS: std::sync::LazyLock<Vec<$Row>> = std::sync::LazyLock::new(|| {
                let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $file));
                crate::reference::embedded_rows($file, text)
            });
            &ROWS
        }
    )+};
}

pub mod architecture;
mod attainment;
mod attention_kind;
mod cache_document;
/// The calibration fitted to open-weight models.
pub mod calibration;
mod compute_margin;
mod context_speed;
mod decode_context;
mod draft_acceptance;
mod hardware;
mod kernel_time;
/// Published measurements of serving.
pub mod measurement;
mod moe_quality;
pub mod names;
mod open_model;
mod peer_time;
mod record;
mod serving_speed;
mod time_errors;
mod vendor_figure;
mod weight_formats;

pub use attainment::{Attainment, FittedAttainment, OfGeneration, fitted_attainment};
pub use attention_kind::AttentionKind;
pub use cache_document::{CacheDocument, OfferedAs, address_of_document, cache_documents};
pub use compute_margin::{
    ComputeMargin, compute_margins, reported_compute_margin, vendors_with_compute_margin,
};
pub use context_speed::{ContextSpeed, context_speeds, kv_bytes_from_speeds};
pub use decode_context::{DecodeContextRow, DecodeContexts, decode_context_rows, decode_contexts};
pub use draft_acceptance::{DraftAcceptance, DraftDomain, draft_acceptances, token_acceptance_of};
pub use hardware::{
    Accelerator, AcceleratorStatus, CostBasis, NumberFormat, PublishedRent, Rent, RentContract,
    RentalUsdPerHour, StorageClass, StorageKind, StorageTier, TALK_DRAIN_TIMES, accelerator,
    accelerators, published_rent, rents, storage_tiers,
};
pub use kernel_time::{KernelTime, kernel_times};
pub use moe_quality::{
    PublishedEquivalent, RoutedLaw, published_equivalents, routed_law, routed_laws,
};
pub use open_model::{
    INT4_BYTES, MXFP4_BYTES, MXFP8_BYTES, NVFP4_BYTES, OpenModel, open_model, open_models,
};
pub use peer_time::{PeerTime, peer_times};
pub use record::{
    BandKind, HeldOut, HeldOutQuantity, LEAST_GAIN, MOST_COUNTED_DECISIONS, NamedQuantityRecord,
    NamedRecord, OTHERS, QuantityRecord, RecordBand, RecordSetting, RollingRecord, TrackRecord,
    TrackRecords, bands, held_out, held_out_csv, track_record_of_quantity, track_record_of_reading,
    track_records_of_quantity,
};
pub use serving_speed::{ServingSpeed, serving_speeds};
pub use time_errors::{FigureInterval, INTERVAL_NOTE, Predicted, TimeRange, unmeasured};
pub use vendor_figure::{FigureKind, VendorFigure, vendor_figures};
pub use weight_formats::WeightFormats;

use serde::de::DeserializeOwned;

/// Reads one embedded table. The files are part of the program and a test reads them all, so a bad row is a defect of
/// the build, not of the input.
fn embedded_rows<Row: DeserializeOwned>(file: &str, text: &str) -> Vec<Row> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .map(|row| row.unwrap_or_else(|error| panic!("data/{file}: {error}")))
        .collect()
}

/// Column names under `estimates`, separated by blanks.
fn words<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let text: String = serde::Deserialize::deserialize(deserializer)?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}
