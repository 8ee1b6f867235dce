//! Findings of a snapshot of a whole catalog, compared with the earlier listings of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::entries::{CatalogFormat, Refused};
use super::listed::Listed;
use crate::import::error::ImportError;
use crate::import::options::Options;
use crate::import::turn::Turn;
use crate::{DbTime, ListedOffer, ListedSheet, SheetFacts, SnapshotAt, Store, StoreLock};

/// Offers of a snapshot per transaction.
const OFFERS_AT_ONCE: usize = 200;

/// Pause between two attempts to lock a catalog.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(250);

/// Waits until no other process imports the same catalog; none for sheets that stand for themselves, and for a dry run.
pub(crate) async fn lock_catalog(
    store: &Store,
    format: CatalogFormat,
    options: &Options,
    turn: &Turn,
) -> Result<Option<StoreLock>, ImportError> {
    let CatalogFormat::Published(catalog) = format else {
        return Ok(None);
    };
    if options.dry_run {
        return Ok(None);
    }
    loop {
        let lock = store.try_lock_catalog(catalog.name()).await?;
        if lock.is_some() {
            return Ok(lock);
        }
        turn.wanted().check()?;
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
}

/// The snapshot of a whole catalog; none for sheets that stand for themselves.
pub(crate) async fn begin_snapshot(
    store: &Store,
    format: CatalogFormat,
    options: &Options,
    refused: &[Refused],
) -> Result<Option<SnapshotAt>, ImportError> {
    let CatalogFormat::Published(catalog) = format else {
        return Ok(None);
    };
    let source = catalog.name().to_owned();
    let at = if options.seen_now {
        store.time_of_snapshot(&source, options.observed_at).await?
    } else {
        DbTime::from(options.observed_at).into()
    };
    let scope = options.provider.clone().unwrap_or_default();
    let unparsed = refused.iter().filter(|refused| !refused.is_read);
    let unparsed: BTreeSet<String> = unparsed.map(|refused| refused.entry.clone()).collect();
    Ok(Some(SnapshotAt {
        source,
        scope,
        at,
        unparsed: Arc::new(unparsed),
    }))
}

/// Findings of a snapshot, compared with the earlier listings of its catalog.
pub(crate) struct Found {
    snapshot: SnapshotAt,
    /// Whether each observation is written: the snapshot is not later than all others, or follows a pause.
    is_each: bool,
    listed: BTreeMap<Uuid, ListedOffer>,
    before: Vec<ListedSheet>,
    /// Sheets that were withdrawn and are listed still.
    pub(crate) withdrawn: BTreeSet<Uuid>,
}

impl Found {
    pub(crate) async fn of(
        snapshot: Option<&SnapshotAt>,
        sheets: &[Listed],
        store: &Store,
    ) -> Result<Option<Self>, ImportError> {
        let Some(snapshot) = snapshot else {
            return Ok(None);
        };
        let is_between = store.is_between_snapshots(snapshot).await?;
        let mut listed: BTreeMap<Uuid, ListedOffer> = BTreeMap::new();
        for one in sheets {
            tokio::task::consume_budget().await;
            let offer_id = one.offer_id();
            let offer = listed.entry(offer_id).or_insert_with(|| ListedOffer {
                offer_id,
                provider: one.sheet.provider.clone(),
                sheets: Vec::new(),
            });
            if !offer
                .sheets
                .iter()
                .any(|sheet| sheet.sheet_id == one.sheet_id)
            {
                offer
                    .sheets
                    .push(SheetFacts::new(&one.sheet, one.sheet_id, false));
            }
        }
        let withdrawn = store.withdrawn_before(snapshot).await?;
        Ok(Some(Self {
            before: store.listed_by(snapshot, is_between).await?,
            snapshot: snapshot.clone(),
            is_each: is_between || store.is_after_pause(snapshot).await?,
            listed,
            withdrawn: withdrawn.into_iter().map(|sheet| sheet.sheet_id).collect(),
        }))
    }

    /// The sheets that the catalog listed before, by offer.
    pub(crate) fn before(&self) -> BTreeMap<Uuid, BTreeSet<Uuid>> {
        let mut before: BTreeMap<Uuid, BTreeSet<Uuid>> = BTreeMap::new();
        for sheet in &self.before {
            before
                .entry(sheet.offer_id)
                .or_default()
                .insert(sheet.sheet_id);
        }
        before
    }

    /// Records the snapshot, some offers at a time, and completes it. A catalog without a sheet is not a snapshot.
    pub(crate) async fn record(
        self,
        lock: Option<&StoreLock>,
        store: &Store,
        now: Timestamp,
    ) -> Result<(), ImportError> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let ended = self.ended();
        let before = self.before();
        let is_changed = |offer: &ListedOffer| {
            let sheets: BTreeSet<Uuid> = offer.sheets.iter().map(|sheet| sheet.sheet_id).collect();
            self.is_each || before.get(&offer.offer_id) != Some(&sheets)
        };
        let changed: Vec<ListedOffer> = self.listed.into_values().filter(is_changed).collect();
        for offers in changed.chunks(OFFERS_AT_ONCE) {
            lock.map_or(Ok(()), StoreLock::check)?;
            store
                .record_snapshot(&self.snapshot, offers.to_vec(), now)
                .await?;
        }
        lock.map_or(Ok(()), StoreLock::check)?;
        store.complete_snapshot(&self.snapshot, ended, now).await?;
        Ok(())
    }

    /// The offers that the catalog lists no longer, or in entries that it could not read.
    fn ended(&self) -> Vec<ListedOffer> {
        let mut ended: BTreeMap<Uuid, ListedOffer> = BTreeMap::new();
        for sheet in &self.before {
            if self.snapshot.covers(&sheet.provider) && !self.listed.contains_key(&sheet.offer_id) {
                ended.insert(
                    sheet.offer_id,
                    ListedOffer {
                        offer_id: sheet.offer_id,
                        provider: sheet.provider.clone(),
                        sheets: Vec::new(),
                    },
                );
            }
        }
        ended.into_values().collect()
    }
}
