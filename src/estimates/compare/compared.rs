//! One of what is compared: an estimate with the sheet whose terms are shown.

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;
use unroof_infer::estimate::{Format, StoredEstimate, read_file};
use unroof_price_sheet::sheet::PriceSheet;

use crate::Failure;
use crate::record::source::{Document, Source};

/// One of what is compared.
pub(super) struct Compared {
    /// Name of the model on the command line.
    pub(super) name: String,
    /// The estimate as HTTP gives it.
    pub(super) document: Value,
    /// The parts of it that a report shows.
    pub(super) estimated: StoredEstimate,
    /// The sheet whose terms are shown.
    pub(super) sheet: Option<PriceSheet>,
}

impl Compared {
    /// An estimate with its sheet.
    ///
    /// # Errors
    /// The estimate is of another version.
    pub(super) fn new(
        name: &str,
        document: Value,
        sheet: Option<PriceSheet>,
    ) -> Result<Self, Failure> {
        let estimated = StoredEstimate::deserialize(&document);
        let estimated = estimated.context("the estimate is not one that this version reads")?;
        Ok(Self {
            name: name.to_owned(),
            document,
            estimated,
            sheet,
        })
    }

    /// A stored estimate with the sheet of its author's own offer, else of its first.
    ///
    /// # Errors
    /// The sheet cannot be read, or the estimate is of another version.
    pub(super) fn stored(
        source: &Source,
        name: &str,
        document: &Document,
    ) -> Result<Self, Failure> {
        let document: Value = document.read()?;
        let author = document["canonical_model"].as_str();
        let author = author.and_then(|name| name.split('/').next());
        let offers = document["offers"].as_array().map_or(&[][..], Vec::as_slice);
        let is_own = |offer: &&Value| offer["provider"].as_str() == author;
        let offer = offers.iter().find(is_own).or(offers.first());
        let first = &document["price_sheets"][0]["id"];
        let id = offer.map_or(first, |offer| &offer["price_sheet_id"]);
        let sheet = match id.as_str() {
            Some(id) => source.find(&["price-sheets", id], &[])?,
            None => None,
        };
        let sheet = sheet.and_then(|sheet| sheet_of(&sheet.text));
        Self::new(name, document, sheet)
    }

    /// The canonical name, of the estimate of a model.
    pub(super) fn model(&self) -> Option<&str> {
        self.document["canonical_model"].as_str()
    }
}

fn sheet_of(text: &str) -> Option<PriceSheet> {
    let file = read_file(text.as_bytes(), &Format::Canonical, None).ok()?;
    let request = file.requests.into_iter().next()?;
    request.sheets.into_iter().next()
}
