//! Background jobs of a serving process: they follow changes, send webhooks, refresh catalogs, announce prices as they
//! come into force, estimate models whose sheets have changed, check the database, close lost imports, and write who was here.
//! [`Jobs::start`] is the one place that starts them.

mod attempts;
mod change_feed;
mod check;
mod due_prices;
pub mod egress;
mod expiry;
mod lost_imports;
mod model_estimates;
pub mod outage;
mod refresh;
mod visits;
mod webhook_sender;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use unroof_infer::estimate::Estimator;

use attempts::AttemptCounts;
pub use change_feed::{ChangeFeed, News, PAGE, PAUSE};
pub use check::LastCheck;
pub use refresh::Refresh;
pub use webhook_sender::ChangeDelivery;
pub use webhook_sender::SECRET_PREFIX;
use webhook_sender::Unrecorded;

use unroof_import::Importer;
use unroof_store::access::Visits;
use unroof_store::clock::Clock;
use unroof_store::{Retention, Store};

/// Pause where the database does not answer.
const PAUSE_WITHOUT_DATABASE: Duration = Duration::from_secs(5);

/// Settings of the jobs.
#[derive(Debug, Clone, Copy)]
pub struct JobSettings {
    /// Streams of changes at once.
    pub streams: usize,
    /// True if webhooks may lead to addresses that are not public.
    pub webhook_allow_private: bool,
    /// True if catalogs may be refreshed from addresses that are not public.
    pub refresh_allow_private: bool,
    /// True if another process estimates models.
    pub skip_models: bool,
    /// Longest pause between two checks for deliveries that another process left unfinished.
    pub webhook_rest: Duration,
    /// Time for which changes are gathered before a webhook is sent them.
    pub webhook_gathering: Duration,
    /// Number of estimating threads of a refresh.
    pub threads: usize,
    /// Interval at which the database is checked, if it is.
    pub check_every: Option<Duration>,
    /// Time for which rows are kept.
    pub retention: Retention,
}

/// The state that jobs share with each other and with requests.
#[derive(Debug, Clone)]
pub struct Jobs {
    /// Store of sheets, estimates and changes.
    pub store: Store,
    /// Clock of the process.
    pub clock: Clock,
    /// Importer of catalogs.
    pub importer: Importer,
    /// Feed of the changes that are stored.
    pub feed: Arc<ChangeFeed>,
    /// Cancelled when a stop is requested.
    pub stopping: CancellationToken,
    /// The estimator of requests and refreshes.
    pub estimator: Estimator,
    /// Attempts to deliver changes to webhooks.
    pub attempts: Arc<AttemptCounts>,
    /// Uses of keys, and refused requests.
    pub visits: Arc<Visits>,
    /// The last check of the database.
    pub last_check: Arc<LastCheck>,
    /// The refreshes that were started.
    refreshes: Arc<OnceLock<Vec<Refresh>>>,
    settings: JobSettings,
    webhook_client: ureq::Agent,
    unrecorded: Arc<Unrecorded>,
    /// Limit of concurrent fetches.
    fetching: Arc<Semaphore>,
}

impl Jobs {
    /// The state of a process; no job runs yet.
    #[must_use]
    pub fn new(store: Store, clock: Clock, settings: JobSettings) -> Self {
        Self {
            importer: Importer::new(store.clone(), clock.clone()),
            feed: Arc::new(ChangeFeed::new(settings.streams)),
            stopping: CancellationToken::new(),
            webhook_client: egress::client(settings.webhook_allow_private),
            attempts: Arc::default(),
            visits: Arc::default(),
            last_check: Arc::default(),
            refreshes: Arc::default(),
            unrecorded: Arc::default(),
            fetching: Arc::new(Semaphore::new(1)),
            estimator: Estimator::default(),
            store,
            clock,
            settings,
        }
    }

    /// The refreshes that were started.
    pub fn refreshes(&self) -> &[Refresh] {
        self.refreshes.get().map_or(&[], Vec::as_slice)
    }

    /// Starts every job. All end when the set is dropped.
    #[must_use]
    pub fn start(&self, refreshes: &[Refresh]) -> JoinSet<()> {
        // Jobs start once.
        let _ = self.refreshes.set(refreshes.to_vec());
        let mut running = JoinSet::new();
        running.spawn(self.clone().follow_changes());
        running.spawn(self.clone().announce_due_prices());
        running.spawn(self.clone().close_lost_imports());
        running.spawn(self.clone().write_visits_at_intervals());
        running.spawn(self.clone().keep_expiring());
        if !self.settings.skip_models {
            running.spawn(self.clone().keep_models_estimated());
        }
        if let Some(period) = self.settings.check_every {
            running.spawn(self.clone().check_at_intervals(period));
        }
        for refresh in refreshes {
            running.spawn(self.clone().keep_fresh(refresh.clone()));
        }
        running
    }

    /// Runs the change listener, the broadcaster, the webhook sender and the outage log. Without it, requests poll the
    /// database.
    pub async fn follow_changes(self) {
        tokio::join!(
            self.listen(),
            self.broadcast(),
            self.send_webhooks(),
            self.log_outages()
        );
    }
}
