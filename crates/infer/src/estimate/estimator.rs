//! An estimator: this engine with one calibration.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::{Answer, Format, Request, infer_while, read_request};
use crate::evidence::assumptions::Assumptions;
use crate::posterior::{Interval, Prior};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::sheet::{EvidenceItem, PriceSheet, SheetId};
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::calibration::Calibration;

/// Public facts about models, by canonical name.
pub type ModelFacts = BTreeMap<String, Vec<EvidenceItem>>;

/// Estimates with one calibration. Estimates by another calibration have other ids.
#[derive(Debug, Clone)]
pub struct Estimator {
    calibration: Arc<Calibration>,
    calibration_id: Arc<str>,
    facts: Arc<ModelFacts>,
}

/// A sheet with nothing but the two prices that every estimate reads.
const LEAST_SHEET: &[u8] =
    br#"{"schema": "pricesheet/v1", "provider": "unroof", "model": "first", "currency": "USD",
    "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "5"}],
    "sources": [{"url": "https://example.com", "format": "manual"}]}"#;

impl Default for Estimator {
    /// An estimator with the built-in calibration.
    fn default() -> Self {
        Self::new(Calibration::shipped().clone())
    }
}

impl Estimator {
    /// An estimator with a given calibration.
    #[must_use]
    pub fn new(calibration: Calibration) -> Self {
        Self {
            calibration_id: calibration.id().into(),
            calibration: Arc::new(calibration),
            facts: Arc::default(),
        }
    }

    /// The estimator with public facts, which the estimates of stored models read beside those of their sheets.
    #[must_use]
    pub fn with_facts(self, facts: ModelFacts) -> Self {
        Self {
            facts: Arc::new(facts),
            ..self
        }
    }

    /// The public facts about models.
    #[must_use]
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// The calibration in use.
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Id of the calibration.
    #[must_use]
    pub fn calibration_id(&self) -> &str {
        &self.calibration_id
    }

    /// The 90 % interval of every quantity before any sheet is read, in the order of [`super::quantities::JointQuantity::ALL`].
    #[must_use]
    pub fn prior(&self) -> Vec<Interval> {
        let assumptions = Assumptions::default();
        let prior = Prior::shared(&self.calibration, &assumptions, &[]);
        prior.summaries().map(|before| before.interval_90()).into()
    }

    /// Computes the tables and the prior, which the first estimate would otherwise compute.
    ///
    /// # Panics
    /// Never: the sheet is valid.
    pub fn prepare(&self) {
        let request = read_request(LEAST_SHEET, &Format::Canonical).expect("the sheet is valid");
        let _ = self.infer(&request, &CancelToken::default());
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The request is cancelled.
    pub fn infer(&self, request: &Request, wanted: &CancelToken) -> Result<Answer, Cancelled> {
        infer_while(request, &self.calibration, wanted)
    }

    /// The part of a sheet that its check for a misfit reads: the prices and limits. Sheets with one of them have one result.
    #[must_use]
    pub fn evidence(&self, sheet: &PriceSheet) -> PriceSheet {
        let own = is_sold_by_author(sheet);
        let mut evidence = PriceSheet {
            upstream_provider: None,
            canonical_model: own.map(|own| own.to_string()),
            quantization: None,
            valid_from: None,
            valid_to: None,
            retires_at: None,
            status: None,
            ..sheet.pricing_content()
        };
        evidence.model.clear();
        evidence.region.clear();
        // Of a host that the calibration knows, the usual markup is known.
        let is_known = self.calibration.hosts.contains_key(&evidence.provider)
            || self
                .calibration
                .authors
                .contains_key(&vendor(&evidence.provider));
        if !is_known {
            evidence.provider.clear();
        }
        evidence
    }

    /// Whether a sheet fits no machine: `misfit.flagged` of its estimate without assumptions.
    ///
    /// # Errors
    /// The check is cancelled.
    pub fn is_misfit(&self, sheet: &PriceSheet, wanted: &CancelToken) -> Result<bool, Cancelled> {
        crate::joint::is_misfit(&sheet.pricing_content(), &self.calibration, wanted)
    }

    /// The id of the answer to one sheet without assumptions.
    #[must_use]
    pub fn estimate_id(&self, sheet: SheetId) -> Uuid {
        let sheets = vec![sheet.to_string()];
        super::identity(sheets, &Assumptions::default(), &self.calibration_id)
    }
}
