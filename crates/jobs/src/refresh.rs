//! Refreshes: catalogs that are fetched and imported at an interval.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::egress::{Fetched, fetch};
use super::{Jobs, PAUSE_WITHOUT_DATABASE};
use unroof_import::lines;
use unroof_import::{
    CatalogError, CatalogFormat, Options, Priority, Turn, Version, row_without_entries,
};
use unroof_infer::estimate::CancelToken;
use unroof_price_sheet::catalog::UnknownFormat;
use unroof_store::access::Actor;
use unroof_store::{
    DbTime, ImportOrder, ImportOutcome, ImportPlace, ImportRow, ImportSelection, StoreError,
};
use unroof_telemetry::secrets::{AMBIGUOUS, is_certain, without_secrets};

/// A catalog that is fetched at an interval.
#[derive(Clone)]
pub struct Refresh {
    format: CatalogFormat,
    url: String,
    period: Duration,
}

/// Shortest interval between two imports of a catalog.
const SHORTEST_PERIOD: Duration = Duration::from_mins(1);
/// Pause after a first failure. It doubles with each further failure, up to the period of the refresh.
const FIRST_PAUSE: Duration = Duration::from_mins(1);
/// Number of latest runs in which consecutive failures are counted.
const RUNS_LOOKED_AT: u32 = 12;
/// Difference between the clocks of replicas. A run that began later than this from now was made while a clock was ahead, and
/// does not count: the next one would wait until its time is reached.
const CLOCKS_DIFFER: Duration = Duration::from_mins(1);
/// Pause after which the clock is read again, which may have been set.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

impl FromStr for Refresh {
    type Err = String;

    /// `litellm=https://example.com/prices.json@24h`. An error does not repeat the text: an address may contain a
    /// password.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "expected FORMAT=URL@PERIOD, such as litellm=https://example.com/prices.json@24h"
                .to_owned()
        };
        let (format, rest) = text.split_once('=').ok_or_else(wrong)?;
        let (url, period) = rest.rsplit_once('@').ok_or_else(wrong)?;
        let format = format
            .parse()
            .map_err(|unknown: UnknownFormat| unknown.to_string())?;
        if !is_certain(url) {
            return Err(AMBIGUOUS.to_owned());
        }
        let is_address =
            url::Url::parse(url).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
        if !is_address {
            return Err("the address does not begin with http:// or https://".to_owned());
        }
        let period = period
            .parse::<SignedDuration>()
            .ok()
            .and_then(|period| Duration::try_from(period).ok());
        let period = period.filter(|period| *period >= SHORTEST_PERIOD);
        Ok(Self {
            format,
            url: url.to_owned(),
            period: period.ok_or("the period is a time of a minute or more, such as 30m or 24h")?,
        })
    }
}

impl fmt::Debug for Refresh {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}={}@{:?}",
            self.format.name(),
            self.source(),
            self.period
        )
    }
}

impl Refresh {
    /// Source of its imports, as their list shows it: the URL without secrets.
    #[must_use]
    pub fn source(&self) -> String {
        without_secrets(&self.url)
    }

    /// Format of the catalog.
    #[must_use]
    pub fn catalog(&self) -> &'static str {
        self.format.name()
    }

    /// Interval between two fetches.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Time of the next run, from the runs so far, the latest first. None before the first run.
    fn due_at(&self, runs: &[ImportRow]) -> Option<Timestamp> {
        let last = runs.first()?;
        let failures = runs.iter().take_while(|run| !is_success(run)).count();
        let doublings = u32::try_from(failures)
            .unwrap_or(u32::MAX)
            .saturating_sub(1)
            .min(16);
        let pause = match failures {
            0 => self.period,
            _ => self.period.min(FIRST_PAUSE * 2_u32.pow(doublings)),
        };
        Timestamp::from(last.started_at).checked_add(pause).ok()
    }
}

/// Whether a run has read the catalog, or found it unchanged.
fn is_success(run: &ImportRow) -> bool {
    // What is held, discarded or undone is not asked for again until it changes.
    !matches!(run.outcome, ImportOutcome::Failed | ImportOutcome::Running)
}

/// The version of the last catalog that was imported, or found unchanged.
fn known_version(runs: &[ImportRow]) -> Version {
    let last = runs.iter().find(|run| is_success(run));
    last.map_or_else(Version::default, |run| Version {
        etag: run.etag.clone(),
        last_modified: run.last_modified.clone(),
    })
}

impl Jobs {
    /// Fetches a catalog whenever it is due, until it is dropped.
    pub(super) async fn keep_fresh(self, refresh: Refresh) {
        let source = refresh.source();
        loop {
            let pause = match self.refresh_if_due(&refresh, &source).await {
                Ok(pause) => pause,
                Err(error) => {
                    let error = error.with_causes();
                    tracing::warn!(error, source, "cannot read whether a refresh is due");
                    PAUSE_WITHOUT_DATABASE
                }
            };
            tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
        }
    }

    /// Fetches the catalog if it is due, and returns the pause until the next time.
    async fn refresh_if_due(
        &self,
        refresh: &Refresh,
        source: &str,
    ) -> Result<Duration, StoreError> {
        if let Err(pause) = self.runs_if_due(refresh, source).await? {
            return Ok(pause);
        }
        // One replica at a time; those that come later see its run.
        let Some(lock) = self.store.try_lock(source).await? else {
            return Ok(FIRST_PAUSE);
        };
        let runs = match self.runs_if_due(refresh, source).await? {
            Ok(runs) => runs,
            Err(pause) => return Ok(pause),
        };
        self.fetch_and_import(refresh, source, known_version(&runs))
            .await?;
        drop(lock);
        let next = self.runs_if_due(refresh, source).await?;
        Ok(next.err().unwrap_or(FIRST_PAUSE))
    }

    /// The last runs if a refresh is due, else the pause until it is.
    async fn runs_if_due(
        &self,
        refresh: &Refresh,
        source: &str,
    ) -> Result<Result<Vec<ImportRow>, Duration>, StoreError> {
        let of_source = ImportSelection {
            source: vec![source.to_owned()],
            ..ImportSelection::default()
        };
        let (now, newest) = (self.clock.now(), ImportOrder::NEWEST);
        let latest = now.checked_add(CLOCKS_DIFFER).unwrap_or(now);
        let up_to = ImportPlace::Started(latest, Uuid::max());
        let runs = self
            .store
            .imports(&of_source, newest, Some(&up_to), RUNS_LOOKED_AT);
        let runs = runs.await?;
        let pause = refresh
            .due_at(&runs)
            .and_then(|due_at| Duration::try_from(now.duration_until(due_at)).ok());
        Ok(match pause {
            Some(pause) if !pause.is_zero() => Err(pause),
            _ => Ok(runs),
        })
    }

    /// Fetches and imports a catalog; the list of imports shows the outcome.
    async fn fetch_and_import(
        &self,
        refresh: &Refresh,
        source: &str,
        known: Version,
    ) -> Result<(), StoreError> {
        let started_at = DbTime::from(self.clock.now());
        let (url, asked) = (refresh.url.clone(), known.clone());
        // A catalog that was fetched waits in memory for its turn.
        let fetching = self.fetching.acquire().await;
        let allows_private = self.settings.refresh_allow_private;
        let fetched =
            tokio::task::spawn_blocking(move || fetch(&url, &asked, allows_private)).await;
        let failed = |reason| (ImportOutcome::Failed, Some(reason), Version::default());
        let (outcome, error, version) = match fetched {
            Ok(Ok(Fetched::NotModified)) => (ImportOutcome::NotModified, None, known),
            Ok(Ok(Fetched::Catalog(text, version))) => {
                let place = self.importer.place().await;
                drop(fetching);
                let turn = Turn::new(place, CancelToken::default());
                match self.import(refresh, source, text, version, turn).await {
                    Ok(()) => return Ok(()),
                    Err(reason) => failed(reason),
                }
            }
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => failed("fetching was interrupted".to_owned()),
        };
        if let Some(error) = &error {
            tracing::warn!(source, error, "a refresh failed");
        }
        let id = Uuid::new_v4();
        let format = refresh.format.name();
        let begun = self
            .store
            .begin_import(id, source, Some(format), started_at, &Actor::SERVICE);
        let running = begun.await?;
        let ended_at = self.clock.now().into();
        let run = row_without_entries(id, format, ended_at, outcome, error, version);
        self.importer.end(running, run).await;
        Ok(())
    }

    /// Imports a fetched catalog. The error is a reason that no run in the list of imports states.
    async fn import(
        &self,
        refresh: &Refresh,
        source: &str,
        text: Vec<u8>,
        version: Version,
        turn: Turn,
    ) -> Result<(), String> {
        let now = self.store.time_to_record(self.clock.now()).await;
        let options = Options {
            format: Some(refresh.format),
            provider: None,
            partial: false,
            accepted: None,
            only_changed: true,
            dry_run: false,
            observed_at: now,
            seen_now: true,
            recorded_at: now,
            estimator: self.estimator.clone(),
            threads: self.settings.threads,
        };
        let read = self.importer.read(text, options, turn, Priority::Batch);
        let import = read
            .await
            .map_err(|error| public_reason(refresh, source, &error))?;
        if let Some(refusals) = import.without_sheet() {
            let refusals = &refusals[..refusals.len().min(REFUSALS_LOGGED)];
            tracing::warn!(source, ?refusals, "no entry of the document is an offer");
            return Err(not_a_catalog(refresh));
        }
        let begun = self.importer.begin(source, import, &Actor::SERVICE).await;
        let begun = begun.map_err(|error| error.to_string())?;
        let (sender, mut receiver) = lines(Duration::MAX);
        let unread = async { while receiver.next().await.is_some() {} };
        // The import's own run states how it ended.
        let _ = tokio::join!(self.importer.import(begun, version, sender), unread);
        Ok(())
    }
}

/// Most refused entries that are logged of a document without offers.
const REFUSALS_LOGGED: usize = 5;

/// Reason for the list of imports, which every reader sees. Only the log quotes a document that is not a catalog: the address
/// may lead to one that is not public.
fn public_reason(refresh: &Refresh, source: &str, error: &CatalogError) -> String {
    match error {
        CatalogError::Wrong(_) | CatalogError::Unrecognized(_) => {
            tracing::warn!(source, detail = ?error, "the document is not a catalog");
            not_a_catalog(refresh)
        }
        error => error.to_string(),
    }
}

fn not_a_catalog(refresh: &Refresh) -> String {
    let format = refresh.format.name();
    format!("the document has no offer in the format `{format}`; see the log")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(started_at: &str, outcome: ImportOutcome) -> ImportRow {
        let at: Timestamp = started_at.parse().unwrap();
        let mut run = row_without_entries(
            Uuid::nil(),
            "litellm",
            at.into(),
            outcome,
            None,
            Version::default(),
        );
        run.started_at = at.into();
        run
    }

    #[test]
    fn a_refresh_is_read_from_its_text() {
        let refresh: Refresh = "litellm=https://ann@example.com/prices.json?key=1@24h"
            .parse()
            .unwrap();
        assert_eq!(refresh.format.name(), "litellm");
        assert_eq!(refresh.url, "https://ann@example.com/prices.json?key=1");
        assert_eq!(refresh.source(), "https://example.com/prices.json");
        assert_eq!(refresh.period, Duration::from_hours(24));
        for text in [
            "https://example.com/prices.json@24h",
            "litellm=https://example.com/prices.json",
            "other=https://example.com/prices.json@24h",
            "litellm=file:///etc/passwd@24h",
            "litellm=https://example.com/prices.json@1s",
            "litellm=https://example.com/prices.json@often",
            "litellm=https://ann:12/cret@example.com/prices.json@24h",
        ] {
            assert!(text.parse::<Refresh>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_failure_is_tried_again_soon_then_later_and_later() {
        let refresh: Refresh = "litellm=https://example.com/a@24h".parse().unwrap();
        let due = |runs: &[ImportRow]| refresh.due_at(runs).unwrap().to_string();
        assert_eq!(refresh.due_at(&[]), None);
        let done = run("2026-11-20T00:00:00Z", ImportOutcome::Done);
        assert_eq!(due(std::slice::from_ref(&done)), "2026-11-21T00:00:00Z");
        let failed = run("2026-11-21T00:00:00Z", ImportOutcome::Failed);
        assert_eq!(due(&[failed.clone(), done.clone()]), "2026-11-21T00:01:00Z");
        assert_eq!(
            due(&[failed.clone(), failed.clone(), failed.clone(), done.clone()]),
            "2026-11-21T00:04:00Z"
        );
        // A run that never ended counts as one that failed.
        let lost = run("2026-11-21T00:00:00Z", ImportOutcome::Running);
        assert_eq!(due(&[lost, done]), "2026-11-21T00:01:00Z");
        assert_eq!(due(&vec![failed; 12]), "2026-11-22T00:00:00Z");
    }
}
