//! The state of the service: its parts, made in one place. A handler takes the parts that it needs.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use tokio::sync::Semaphore;
use unroof_infer::estimate::Estimator;
use uuid::Uuid;

use super::answers::Answers;
use super::clients::Clients;
use super::compute::{Compute, Views};
use super::service::Service;
use unroof_edge::{Access, Budget, Limits};
use unroof_jobs::egress::Names;
use unroof_jobs::{JobSettings, Jobs};
use unroof_store::Store;
use unroof_store::clock::Clock;
use unroof_telemetry::Telemetry;

/// State of the service. A request passes several layers that each hold it, so that copying it is one count.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

/// The parts of the state.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Limits of the service.
    pub(super) limits: Arc<Limits>,
    /// State of handlers that read.
    pub(super) answers: Arc<Answers>,
    /// State of handlers that compute.
    pub(super) compute: Arc<Compute>,
    /// Keys and budgets of clients.
    pub(super) clients: Arc<Clients>,
    /// Jobs, imports and webhooks.
    pub(super) work: Arc<Work>,
    /// Metrics, traces and connections of the process.
    pub(super) service: Arc<Service>,
}

/// State of handlers that import catalogs and add webhooks.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The state that requests share with the jobs.
    pub(super) jobs: Jobs,
    /// Looks up the names of new webhooks.
    pub(super) names: Names,
    /// Permits for clients that read the lines of an import.
    pub(super) line_readers: Arc<Semaphore>,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// Lets handlers take parts of the state.
macro_rules! parts {
    ($($part:ident: $Part:ty,)+) => {$(
        impl FromRef<App> for Arc<$Part> {
            fn from_ref(app: &App) -> Self {
                Self::clone(&app.$part)
            }
        }
    )+};
}

parts! {
    limits: Limits,
    answers: Answers,
    compute: Compute,
    clients: Clients,
    work: Work,
    service: Service,
}

impl FromRef<App> for Views {
    fn from_ref(app: &App) -> Self {
        Self {
            answers: Arc::clone(&app.answers),
            compute: Arc::clone(&app.compute),
            limits: Arc::clone(&app.limits),
        }
    }
}

/// Clients that read the lines of an import at the same time: the one whose import runs, and those that read slowly.
const MAX_LINE_READERS: usize = 4;
/// Limit of concurrent DNS lookups for new webhooks.
const NAMES_AT_ONCE: usize = 8;

impl App {
    /// An application on a store. While its tables are not up to date, what needs them is unavailable.
    #[must_use]
    pub fn new(store: Store, clock: Clock, limits: Limits) -> Self {
        let limits = limits.within_budget();
        let settings = JobSettings {
            streams: limits.streams,
            webhook_allow_private: limits.webhook_allow_private,
            refresh_allow_private: limits.refresh_allow_private,
            skip_models: limits.skip_models,
            webhook_rest: limits.webhook_rest,
            webhook_gathering: limits.webhook_gathering,
            threads: limits.computing,
            check_every: limits.check_every,
            retention: limits.retention,
        };
        let jobs = Jobs::new(store, clock, settings);
        let budget = Budget::new(limits.bytes_in_flight, limits.cache_bytes);
        Self(Arc::new(Parts {
            answers: Arc::new(Answers::new(&jobs, budget.clone(), &limits)),
            compute: Arc::new(Compute::new(jobs.estimator.clone(), budget, &limits)),
            clients: Arc::new(Clients::new(&jobs, &limits)),
            service: Arc::new(Service::new(jobs.clock.now(), &limits)),
            work: Arc::new(Work {
                jobs,
                names: Names::new(NAMES_AT_ONCE),
                line_readers: Arc::new(Semaphore::new(MAX_LINE_READERS)),
            }),
            limits: Arc::new(limits),
        }))
    }

    /// Changes parts before requests share them.
    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// App with another calibration.
    #[must_use]
    pub fn estimating_with(self, estimator: Estimator) -> Self {
        self.with(|parts| {
            Arc::make_mut(&mut parts.compute).estimator = estimator.clone();
            Arc::make_mut(&mut parts.work).jobs.estimator = estimator;
        })
    }

    /// App with another rule for access; every caller may do everything without one.
    #[must_use]
    pub fn allowing(self, access: Access) -> Self {
        self.with(|parts| Arc::make_mut(&mut parts.clients).access = Arc::new(access))
    }

    /// Sends traces to a receiver; they know the process by this id.
    #[must_use]
    pub fn reporting_to(self, telemetry: Option<Telemetry>, instance: Uuid) -> Self {
        self.with(|parts| {
            let service = Arc::make_mut(&mut parts.service);
            service.instance = instance;
            service.telemetry = telemetry;
        })
    }

    /// Random id of this process, which `/healthz` states.
    #[must_use]
    pub fn instance(&self) -> Uuid {
        self.service.instance
    }

    /// The state that requests share with the jobs.
    #[must_use]
    pub fn jobs(&self) -> &Jobs {
        &self.work.jobs
    }
}
