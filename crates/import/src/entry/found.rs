//! Findings of a snapshot of a whole catalog, compared with the earlier listings of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::difference::Difference;
use super::entries::{CatalogFormat, Contents};
use super::listed::Listed;
use crate::error::ImportError;
use crate::options::Options;
use crate::turn::Turn;
use unroof_infer::estimate::CancelToken;
use unroof_store::{
    DbTime, ImportFacts, ListedOffer, ListedSheet, SheetFacts, SnapshotAt, Store, StoreLock,
};

/// Offers of a snapshot per transaction.
const OFFERS_AT_ONCE: usize = 200;

/// Pause between two attempts to lock a catalog.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(250);

/// Name of the lock of a source.
pub(crate) fn lock_name(source: &str) -> String {
    format!("catalog {source}")
}

/// Waits until no other process imports a catalog.
async fn lock_catalog(
    store: &Store,
    catalog: &str,
    wanted: &CancelToken,
) -> Result<StoreLock, ImportError> {
    loop {
        if let Some(lock) = store.try_lock(&lock_name(catalog)).await? {
            return Ok(lock);
        }
        wanted.check()?;
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
}

/// Findings of a snapshot, compared with the earlier listings of its catalog.
pub(crate) struct Found {
    snapshot: SnapshotAt,
    /// Held to the end, except where nothing is recorded: what the catalog listed before must be known as of its newest snapshot.
    lock: Option<StoreLock>,
    /// Whether each observation is written: the snapshot is not later than all others, or follows a pause.
    is_each: bool,
    listed: BTreeMap<Uuid, ListedOffer>,
    before: Vec<ListedSheet>,
    /// The files of the catalog, where it has one for each seller.
    files: BTreeSet<String>,
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
        is_locked: bool,
    ) -> Result<Option<Self>, ImportError> {
        let CatalogFormat::Published(catalog) = contents.format else {
            return Ok(None);
        };
        let source = catalog.name().to_owned();
        let lock = if is_locked {
            Some(lock_catalog(store, &source, turn.wanted()).await?)
        } else {
            None
        };
        let file = |one: &Listed| catalog.file_of(&one.entry).map(str::to_owned);
        let files: BTreeSet<String> = contents.sheets.iter().filter_map(file).collect();
        let at = if options.seen_now {
            store.time_of_snapshot(&source, options.observed_at).await?
        } else {
            DbTime::from(options.observed_at).into()
        };
        let unparsed = contents.refused.iter().filter(|refused| !refused.is_read);
        let unparsed: BTreeSet<String> = unparsed.map(|refused| refused.entry.clone()).collect();
        let snapshot = SnapshotAt {
            source,
            scopes: scopes(contents, options, !files.is_empty()),
            at,
            unparsed: Arc::new(unparsed),
        };
        let among = store.among_snapshots(&snapshot).await?;
        let is_between = among.is_between();
        let withdrawn = store.withdrawn_before(&snapshot).await?;
        Ok(Some(Self {
            before: store.listed_by(&snapshot, is_between).await?,
            is_each: is_between || among.is_after_pause() || snapshot.is_partial(),
            snapshot,
            lock,
            files,
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
    pub(crate) async fn record(
        self,
        store: &Store,
        now: Timestamp,
        import: Option<&ImportFacts>,
    ) -> Result<(), ImportError> {
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
                .record_snapshot(&self.snapshot, offers.to_vec(), now, import)
                .await?;
        }
        lock.map_or(Ok(()), StoreLock::check)?;
        if !self.snapshot.is_partial() {
            let complete = store.complete_snapshot(&self.snapshot, ended, now, import);
            complete.await?;
        }
        Ok(())
    }

    /// Time of the snapshot.
    pub(crate) fn at(&self) -> Timestamp {
        self.snapshot.at
    }

    /// Whether it would have found the offer of a sheet that the catalog listed before.
    fn covers(&self, sheet: &ListedSheet) -> bool {
        let file = sheet
            .entry
            .as_deref()
            .and_then(|entry| entry.split_once('/'));
        let is_of_file = file.is_some_and(|(file, _)| self.files.contains(file));
        self.snapshot.covers(&sheet.provider) && (self.files.is_empty() || is_of_file)
    }

    /// Difference to the earlier listings of the catalog.
    pub(crate) async fn difference(
        &self,
        sheets: &[Listed],
        store: &Store,
    ) -> Result<Difference, ImportError> {
        let known = self.before();
        let is_about = |sheet: &&ListedSheet| self.snapshot.is_partial() || self.covers(sheet);
        let about: Vec<&ListedSheet> = self.before.iter().filter(is_about).collect();
        let is_unparsed = |sheet: &ListedSheet| {
            let entry = sheet.entry.as_ref();
            entry.is_some_and(|entry| self.snapshot.unparsed.contains(entry))
        };
        let unparsed = self.before.iter().filter(|sheet| is_unparsed(sheet));
        let unparsed: BTreeSet<Uuid> = unparsed.map(|sheet| sheet.offer_id).collect();
        let ended = self.ended().into_iter().map(|offer| offer.offer_id);
        let ended = ended.filter(|offer| !unparsed.contains(offer)).collect();
        let mut difference = Difference::new(&about, &ended);
        difference.add_new(sheets, &known);
        let moved: BTreeMap<Uuid, &ListedSheet> = self
            .before
            .iter()
            .filter(|sheet| self.lists_otherwise(sheet.offer_id, &known))
            .map(|sheet| (sheet.offer_id, sheet))
            .collect();
        let before = moved.keys().filter_map(|offer| known.get(offer)).flatten();
        let stored = store
            .prices_of(&before.copied().collect::<Vec<_>>())
            .await?;
        let moved = moved.into_iter();
        let offers = moved.filter_map(|(offer, sheet)| Some((self.listed.get(&offer)?, sheet)));
        difference.add_changed(offers, &stored);
        Ok(difference)
    }

    /// Whether it lists an offer with other sheets than before.
    fn lists_otherwise(&self, offer: Uuid, known: &BTreeMap<Uuid, BTreeSet<Uuid>>) -> bool {
        self.listed.get(&offer).is_some_and(|listed| {
            let sheets: BTreeSet<Uuid> = listed.sheets.iter().map(|one| one.sheet_id).collect();
            known.get(&offer) != Some(&sheets)
        })
    }

    /// The offers that the catalog lists no longer, or in entries that it could not read.
    fn ended(&self) -> Vec<ListedOffer> {
        let before = self.before.iter();
        let ended =
            before.filter(|sheet| self.covers(sheet) && !self.listed.contains_key(&sheet.offer_id));
        let ended: BTreeMap<Uuid, &String> = ended
            .map(|sheet| (sheet.offer_id, &sheet.provider))
            .collect();
        let gone = |(offer_id, provider): (Uuid, &String)| ListedOffer::new(offer_id, provider);
        ended.into_iter().map(gone).collect()
    }
}

/// The providers of which the catalog lists all offers: one, those of the files that there are, or all of them.
fn scopes(contents: &Contents, options: &Options, has_files: bool) -> Vec<String> {
    match &options.provider {
        _ if options.partial => Vec::new(),
        Some(provider) => vec![provider.clone()],
        None if has_files => {
            let providers = contents.sheets.iter().map(|one| one.sheet.provider.clone());
            let providers: BTreeSet<String> = providers.collect();
            providers.into_iter().collect()
        }
        None => vec![String::new()],
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
