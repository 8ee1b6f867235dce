//! The state of handlers that compute: the workers, what they estimate with, and what they have computed.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use jiff::Timestamp;
use moka::future::Cache;
use uuid::Uuid;

use super::answers::Answers;
use super::market::Markets;
use crate::api::answers::estimate_density::EstimateDensity;
use crate::api::answers::model_link::ModelLink;
use crate::api::answers::observation::Observation;
use crate::api::answers::storing::Storing;
use unroof_edge::{
    Budget, Estimate, Limits, Paid, Payer, Permit, Problem, Room, Running, Text, Workers,
};
use unroof_import::Priority::Long;
use unroof_infer::estimate::{Answer, Estimator, Format, Request, read_request};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::access::Scope;
use unroof_store::{NewEstimate, ObservedBy, Saved};
use unroof_telemetry::compute_span;

/// Densities in memory, of about 100 kB each.
const DENSITIES_KEPT: u64 = 64;

/// A kind of work: the scope that it needs, and what it is expected to take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    needed: Scope,
    /// CPU time and memory that it is expected to take.
    pub(crate) estimate: Estimate,
}

impl Work {
    /// Work of a scope that is expected to take CPU time and memory.
    pub(crate) const fn new(needed: Scope, milliseconds: u64, mebibytes: usize) -> Self {
        Self {
            needed,
            estimate: Estimate {
                cpu: Duration::from_millis(milliseconds),
                bytes: mebibytes * 1024 * 1024,
            },
        }
    }

    /// Several of it, one after another: they take the memory of one.
    pub(crate) fn times(mut self, count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.estimate.cpu = self.estimate.cpu.saturating_mul(count);
        self
    }
}

/// The estimate of a request with prices.
pub(crate) const ESTIMATE: Work = Work::new(Scope::Ask, 50, 24);
/// A question to a calculator.
pub(crate) const CALCULATE: Work = Work::new(Scope::Ask, 10, 16);
/// A search of layouts, from some milliseconds to seconds.
pub(crate) const PLAN: Work = Work::new(Scope::Ask, 500, 16);
/// Some lines of a list of usages.
pub(crate) const PRICE_LINES: Work = Work::new(Scope::Ask, 20, 4);
/// The draws of one model again, from what is stored.
pub(crate) const DRAW: Work = Work::new(Scope::Read, 60, 24);

/// State of handlers that compute.
#[derive(Debug, Clone)]
pub(super) struct Compute {
    /// Workers that compute answers.
    pub(super) workers: Arc<Workers>,
    /// Memory budget of bodies and responses.
    pub(super) budget: Budget,
    /// The engine with its calibration.
    pub(super) estimator: Estimator,
    /// All models at once, for the pages.
    pub(super) markets: Markets,
    /// Densities of estimates by their ids; they never change.
    pub(super) densities: Cache<Uuid, Arc<EstimateDensity>>,
}

/// State of handlers that read and compute: charts, pages, comparisons, costs.
#[derive(Debug, Clone)]
pub(super) struct Views {
    /// State to read.
    pub(super) answers: Arc<Answers>,
    /// State to compute.
    pub(super) compute: Arc<Compute>,
    /// Limits of the service.
    pub(super) limits: Arc<Limits>,
}

impl Compute {
    /// Workers that estimate with a calibration, in a memory budget.
    pub(super) fn new(estimator: Estimator, budget: Budget, limits: &Limits) -> Self {
        let room = Room {
            places: limits.computing,
            bytes: limits.computing_bytes,
            waiting: limits.waiting,
        };
        Self {
            workers: Arc::new(Workers::new("computing", Long, limits.computing, room)),
            budget,
            estimator,
            markets: Markets::default(),
            densities: Cache::new(DENSITIES_KEPT),
        }
    }

    /// Computes off the async threads, a few tasks at a time; a few more wait, and beyond those the service is busy. A client
    /// that disconnects while it waits loses its place, and a computation for it stops unfinished.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: Work,
        compute: impl FnOnce(&Running) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.permit(work).await?;
        let span = compute_span();
        permit
            .run(move |running| span.in_scope(|| compute(running)))
            .await?
    }

    /// Waits for a permit.
    pub(super) async fn permit(&self, work: Work) -> Result<Permit, Problem> {
        self.workers.permit(work.needed, work.estimate).await
    }

    /// Reads and answers a price sheet.
    pub(crate) async fn answer(&self, body: Bytes, format: Format) -> Result<Answered, Problem> {
        let (budget, estimator) = (self.budget.clone(), self.estimator.clone());
        self.run(ESTIMATE, move |running| {
            let request = read_request(&body, &format)?;
            drop(body);
            let answer = estimator.infer(&request, running.wanted())?;
            let mut document = Text::new(&budget)?;
            document.write_with(|text| serde_json::to_writer(text, &answer))?;
            Ok(Answered {
                answer,
                document,
                request,
            })
        })
        .await
    }
}

/// An answer, and the text that is sent for it.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    document: Text,
    request: Request,
}

impl Answered {
    /// Whether anything was stated about the machine, so that the request is a question.
    pub(super) fn has_assumptions(&self) -> bool {
        !self.answer.assumptions.is_empty()
    }

    /// The sheets of the request.
    pub(super) fn sheets(&self) -> &[PriceSheet] {
        &self.request.sheets
    }

    /// The response body, with the effect of the request, counted in the memory budget until it is sent. So is the link to
    /// the estimate of the model. An answer that is not stored has no ids: nothing would be found under them.
    pub(super) fn into_document(
        mut self,
        observe: Option<&Observation>,
        storing: &Storing,
        model: Option<&ModelLink>,
    ) -> Result<Bytes, Problem> {
        if !storing.stored {
            let sheets = self.answer.price_sheets.iter();
            let ids = sheets.map(|sheet| sheet.id.0.to_string());
            let own = [self.answer.id.to_string()].into_iter();
            self.document.leave_out("id", own.chain(ids));
        }
        if let Some(observe) = observe {
            self.document.add_member("observe", observe)?;
        }
        self.document.add_member("store", storing)?;
        if let Some(model) = model {
            self.document.add_member("model_estimate", model)?;
        }
        self.document.finish()
    }

    /// Stores an answer as [`Self::save`] does. A question that is new is paid for by the bytes that it takes.
    pub(crate) async fn save_paid(
        &self,
        views: &Views,
        seen_at: Option<Timestamp>,
        observed_by: Option<ObservedBy>,
        payer: &Payer,
    ) -> Result<(Saved, Timestamp), Problem> {
        let is_free = observed_by.is_some() || payer.is_unlimited() || self.is_known(views).await?;
        let paid = if is_free {
            Paid::default()
        } else {
            payer.pay(self.stored_bytes()?)?
        };
        match self.save(views, seen_at, observed_by).await {
            Ok((saved, seen_at)) if saved.is_new => Ok((saved, seen_at)),
            other => {
                payer.give_back(&paid);
                other
            }
        }
    }

    /// Whether it is stored already, so that storing it takes nothing.
    async fn is_known(&self, views: &Views) -> Result<bool, Problem> {
        let ids = [self.answer.id];
        let stored = views.answers.store.stored_estimates(&ids).await?;
        Ok(!stored.is_empty())
    }

    /// Bytes of the documents that are stored.
    fn stored_bytes(&self) -> Result<usize, Problem> {
        let mut bytes = self.document.bytes().len();
        for sheet in &self.request.sheets {
            let sheet = serde_json::to_string(sheet).map_err(Problem::not_serialised)?;
            bytes += sheet.len();
        }
        Ok(bytes)
    }

    /// Stores an answer, with the time at which its prices were seen if that is stated, and returns that time too. It is
    /// committed on return.
    pub(crate) async fn save(
        &self,
        views: &Views,
        seen_at: Option<Timestamp>,
        observed_by: Option<ObservedBy>,
    ) -> Result<(Saved, Timestamp), Problem> {
        let document =
            std::str::from_utf8(self.document.bytes()).map_err(Problem::not_serialised)?;
        let store = &views.answers.store;
        // Asked once: both times are those of one moment.
        let asked_at = views.answers.now();
        let now = store.time_to_record(asked_at).await;
        let new = NewEstimate {
            answer: &self.answer,
            document,
            sheets: &self.request.sheets,
            observed_at: seen_at.map_or(now, |seen_at| store.not_ahead(seen_at)),
            recorded_at: now,
            observed_by,
            waits_for_others: views.compute.workers.has_long_queue(),
        };
        Ok((store.save(new).await?, seen_at.unwrap_or(asked_at)))
    }
}
