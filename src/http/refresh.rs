//! What a serving process does by itself: it pulls catalogs, and tells when prices come into force or run out.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::app::App;
use super::lines::lines;
use crate::estimate::Wanted;
use crate::import::{CatalogFormat, Fetched, Options, Turn, Version, fetch, without_secrets};
use crate::input::secrets::{AMBIGUOUS, is_certain};
use crate::sheet::UnknownFormat;
use crate::storage::{DbTime, ImportOutcome, ImportRow, StoreError};

/// A catalog that is pulled again and again.
#[derive(Clone)]
pub struct Refresh {
    format: CatalogFormat,
    url: String,
    period: Duration,
}

/// Shortest time between two pulls.
const SHORTEST_PERIOD: Duration = Duration::from_mins(1);
/// After a failure it is tried again this soon, then each time twice as late, but never later than planned.
const FIRST_PAUSE: Duration = Duration::from_mins(1);
/// Runs that are looked at to tell how often it failed in a row.
const RUNS_LOOKED_AT: u32 = 12;
/// Where the database cannot say when to begin.
const PAUSE_WITHOUT_DATABASE: Duration = Duration::from_secs(5);

impl FromStr for Refresh {
    type Err = String;

    /// `litellm=https://example.com/prices.json@24h`. What is said of a wrong one does not repeat it: an address may hold a
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
    /// As it stands in the list of imports.
    fn source(&self) -> String {
        without_secrets(&self.url)
    }

    /// How long to wait after runs of which the last began first.
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

fn is_success(run: &ImportRow) -> bool {
    matches!(
        run.outcome,
        ImportOutcome::Done | ImportOutcome::NotModified
    )
}

/// The version of the last catalog that was imported, or found unchanged.
fn known_version(runs: &[ImportRow]) -> Version {
    let last = runs.iter().find(|run| is_success(run));
    last.map_or_else(Version::default, |run| Version {
        etag: run.etag.clone(),
        last_modified: run.last_modified.clone(),
    })
}

/// Pulls a catalog whenever it is due. Never ends.
pub async fn keep_fresh(app: App, refresh: Refresh) {
    loop {
        let pause = match refresh_if_due(&app, &refresh).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(
                    error = error.with_causes(),
                    source = refresh.source(),
                    "cannot tell whether a refresh is due"
                );
                PAUSE_WITHOUT_DATABASE
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Pulls it if it is due, and says how long to wait for the next time.
async fn refresh_if_due(app: &App, refresh: &Refresh) -> Result<Duration, StoreError> {
    let source = refresh.source();
    let remaining = |runs: &[ImportRow]| {
        let due_at = refresh.due_at(runs)?;
        Duration::try_from(app.now().duration_until(due_at))
            .ok()
            .filter(|pause| !pause.is_zero())
    };
    let runs = app
        .store
        .imports(Some(&source), None, RUNS_LOOKED_AT)
        .await?;
    if let Some(pause) = remaining(&runs) {
        return Ok(pause);
    }
    // One replica at a time; whoever comes after the first sees its run.
    let Some(lock) = app.store.try_lock(&source).await? else {
        return Ok(FIRST_PAUSE);
    };
    let runs = app
        .store
        .imports(Some(&source), None, RUNS_LOOKED_AT)
        .await?;
    if let Some(pause) = remaining(&runs) {
        return Ok(pause);
    }
    pull(app, refresh, &source, known_version(&runs)).await?;
    drop(lock);
    let runs = app
        .store
        .imports(Some(&source), None, RUNS_LOOKED_AT)
        .await?;
    Ok(remaining(&runs).unwrap_or(FIRST_PAUSE))
}

/// Fetches and imports a catalog; how that went is in the list of imports.
async fn pull(
    app: &App,
    refresh: &Refresh,
    source: &str,
    known: Version,
) -> Result<(), StoreError> {
    let started_at = DbTime::from(app.now());
    let (url, asked) = (refresh.url.clone(), known.clone());
    // Whatever is fetched waits in memory for the place to import.
    let fetching = app.fetching.acquire().await;
    let fetched = tokio::task::spawn_blocking(move || fetch(&url, &asked)).await;
    let (outcome, error, version) = match fetched {
        Ok(Ok(Fetched::NotModified)) => (ImportOutcome::NotModified, None, known),
        Ok(Ok(Fetched::Catalog(text, version))) => {
            let place = app.wait_for_import_place().await;
            drop(fetching);
            let turn = Turn::new(place, Wanted::default());
            match import(app, refresh, source, text, version, turn).await {
                Ok(()) => return Ok(()),
                Err(reason) => (ImportOutcome::Failed, Some(reason), Version::default()),
            }
        }
        Ok(Err(error)) => (
            ImportOutcome::Failed,
            Some(error.to_string()),
            Version::default(),
        ),
        Err(_) => (
            ImportOutcome::Failed,
            Some("fetching was interrupted".to_owned()),
            Version::default(),
        ),
    };
    if let Some(error) = &error {
        tracing::warn!(source, error, "a refresh failed");
    }
    let id = Uuid::new_v4();
    let format = refresh.format.name();
    let running = app
        .store
        .begin_import(id, source, Some(format), started_at)
        .await?;
    let run = ImportRow::without_entries(id, format, app.now().into(), outcome, error, version);
    app.end_import(running, run).await;
    Ok(())
}

/// Imports what was fetched. The error is a reason without a run in the list of imports.
async fn import(
    app: &App,
    refresh: &Refresh,
    source: &str,
    text: Vec<u8>,
    version: Version,
    turn: Turn,
) -> Result<(), String> {
    let options = Options {
        format: Some(refresh.format),
        provider: None,
        only_changed: true,
        dry_run: false,
        observed_at: app.store.not_ahead(app.now()),
        seen_now: true,
        threads: app.limits.computing,
    };
    let import = app
        .read_catalog(text, options, turn)
        .await
        .map_err(|error| error.to_string())?;
    let (sender, mut receiver) = lines(Duration::MAX);
    let unread = async { while receiver.next().await.is_some() {} };
    // How the import went stands in its own run.
    let _ = tokio::join!(app.import(source, import, version, sender), unread);
    Ok(())
}

/// Longest time between two looks for prices that come into force or run out.
const LONGEST_REST: Duration = Duration::from_mins(1);
/// Shortest one.
const SHORTEST_REST: Duration = Duration::from_millis(500);

/// Tells when prices come into force or run out. Never ends.
pub async fn announce_due_prices(app: App) {
    loop {
        let rest = match announce_and_find_next(&app).await {
            Ok(next) => {
                let until = next.map(|next| app.now().duration_until(next));
                let until = until.and_then(|until| Duration::try_from(until).ok());
                until.unwrap_or(if next.is_some() {
                    SHORTEST_REST
                } else {
                    LONGEST_REST
                })
            }
            Err(error) => {
                tracing::debug!(
                    error = error.with_causes(),
                    "cannot tell which prices are due"
                );
                PAUSE_WITHOUT_DATABASE
            }
        };
        tokio::time::sleep(rest.clamp(SHORTEST_REST, LONGEST_REST)).await;
    }
}

async fn announce_and_find_next(app: &App) -> Result<Option<Timestamp>, StoreError> {
    // Also learns the database's time.
    app.store.version().await?;
    let now = app.store.not_ahead(app.now());
    app.store.announce_due_prices(now).await?;
    app.store.next_due().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(started_at: &str, outcome: ImportOutcome) -> ImportRow {
        let at: Timestamp = started_at.parse().unwrap();
        let mut run = ImportRow::without_entries(
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
