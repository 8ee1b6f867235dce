//! Findings of a snapshot of a whole catalog, compared with the earlier listings of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::entries::{CatalogFormat, Contents};
use super::listed::Listed;
use crate::import::error::ImportError;
use crate::import::options::Options;
use crate::import::turn::Turn;
use crate::{DbTime, ListedOffer, ListedSheet, SheetFacts, SnapshotAt, Store, StoreLock};
use unroof_infer::estimate::CancelToken;

/// Offers of a snapshot per transaction.
const OFFERS_AT_ONCE: usize = 200;

/// Pause between two attempts to lock a catalog.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(250);

/// Waits until no other process imports a catalog.
async fn lock_catalog(
    store: &Store,
    catalog: &str,
    wanted: &CancelToken,
) -> Result<StoreLock, ImportError> {
    loop {
        if let Some(lock) = store.try_lock(&format!("catalog {catalog}")).await? {
            return Ok(lock);
        }
        wanted.check()?;
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
}

/// Findings of a snapshot, compared with the earlier listings of its catalog.
pub(crate) struct Found {
    snapshot: SnapshotAt,
    /// Held to the end, except in a dry run: what the catalog listed before must be known as of its newest snapshot.
    lock: Option<StoreLock>,
    /// Whether each observation is written: the snapshot is not later than all others, or follows a pause.
    is_each: bool,
    listed: BTreeMap<Uuid, ListedOffer>,
    before: Vec<ListedSheet>,
    /// Sheets that were withdrawn and are listed still.
    pub(crate) withdrawn: BTreeSet<Uuid>,
}

impl Found {
    /// Begins the snapshot of a whole catalog; none for sheets that stand for themselves.
    pub(crate) async fn begin(
        contents: &Contents,
        options: &Options,
        store: &Store,
        turn: &Turn,
    ) -> Result<Option<Self>, ImportError> {
        let CatalogFormat::Published(catalog) = contents.format else {
            return Ok(None);
        };
        let source = catalog.name().to_owned();
        let lock = if options.dry_run {
            None
        } else {
            Some(lock_catalog(store, &source, turn.wanted()).await?)
        };
        let at = if options.seen_now {
            store.time_of_snapshot(&source, options.observed_at).await?
        } else {
            DbTime::from(options.observed_at).into()
        };
        let unparsed = contents.refused.iter().filter(|refused| !refused.is_read);
        let unparsed: BTreeSet<String> = unparsed.map(|refused| refused.entry.clone()).collect();
        let snapshot = SnapshotAt {
            source,
            scope: options.provider.clone().unwrap_or_default(),
            at,
            unparsed: Arc::new(unparsed),
        };
        let is_between = store.is_between_snapshots(&snapshot).await?;
        let withdrawn = store.withdrawn_before(&snapshot).await?;
        Ok(Some(Self {
            before: store.listed_by(&snapshot, is_between).await?,
            is_each: is_between || store.is_after_pause(&snapshot).await?,
            snapshot,
            lock,
            listed: by_offer(&contents.sheets).await,
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
    pub(crate) async fn record(self, store: &Store, now: Timestamp) -> Result<(), ImportError> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let (ended, lock) = (self.ended(), self.lock.as_ref());
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
        let before = self.before.iter();
        let ended = before.filter(|sheet| {
            self.snapshot.covers(&sheet.provider) && !self.listed.contains_key(&sheet.offer_id)
        });
        let ended: BTreeMap<Uuid, &String> = ended
            .map(|sheet| (sheet.offer_id, &sheet.provider))
            .collect();
        let gone = |(offer_id, provider): (Uuid, &String)| ListedOffer::new(offer_id, provider);
        ended.into_iter().map(gone).collect()
    }
}

/// The sheets of a catalog by their offers, each once.
async fn by_offer(sheets: &[Listed]) -> BTreeMap<Uuid, ListedOffer> {
    let mut offers: BTreeMap<Uuid, ListedOffer> = BTreeMap::new();
    for one in sheets {
        tokio::task::consume_budget().await;
        let offer_id = one.offer_id();
        let offer = offers
            .entry(offer_id)
            .or_insert_with(|| ListedOffer::new(offer_id, &one.sheet.provider));
        let mut known = offer.sheets.iter();
        if !known.any(|sheet| sheet.sheet_id == one.sheet_id) {
            let facts = SheetFacts::new(&one.sheet, one.sheet_id, false);
            offer.sheets.push(facts);
        }
    }
    offers
}
