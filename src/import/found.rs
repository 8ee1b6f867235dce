//! Findings of a look at a whole catalog, beside the earlier listings of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::entries::{CatalogFormat, Refused};
use super::error::ImportError;
use super::listed::Listed;
use super::options::Options;
use super::turn::Turn;
use crate::storage::{DbTime, ListedOffer, ListedSheet, LookAt, SheetFacts, Store, StoreLock};

/// Offers of a look per transaction.
const OFFERS_AT_ONCE: usize = 200;

/// Pause between two attempts to lock a catalog.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// Waits until no other process imports the same catalog; none for sheets that stand for themselves, and for a dry run.
pub(super) async fn lock_catalog(
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
    let mut lock = store.lock_of_catalog(catalog.name()).await?;
    while !lock.try_take().await? {
        turn.wanted().check()?;
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
    Ok(Some(lock))
}

/// The look at a whole catalog; none for sheets that stand for themselves.
pub(super) async fn begin_look(
    store: &Store,
    format: CatalogFormat,
    options: &Options,
) -> Result<Option<LookAt>, ImportError> {
    let CatalogFormat::Published(catalog) = format else {
        return Ok(None);
    };
    let source = catalog.name().to_owned();
    let at = if options.seen_now {
        store.time_of_look(&source, options.observed_at).await?
    } else {
        DbTime::from(options.observed_at).into()
    };
    let scope = options.provider.clone().unwrap_or_default();
    Ok(Some(LookAt { source, scope, at }))
}

/// Findings of a look, beside the earlier listings of its catalog.
pub(super) struct Found {
    look: LookAt,
    is_between: bool,
    listed: BTreeMap<Uuid, ListedOffer>,
    before: Vec<ListedSheet>,
    /// Sheets that were withdrawn and are listed still.
    pub(super) withdrawn: BTreeSet<Uuid>,
    /// Keys of entries that cannot be read, which may be about any offer.
    refused: BTreeSet<String>,
}

impl Found {
    pub(super) async fn of(
        look: Option<&LookAt>,
        sheets: &[Listed],
        refused: &[Refused],
        store: &Store,
    ) -> Result<Option<Self>, ImportError> {
        let Some(look) = look else { return Ok(None) };
        let is_between = store.is_between_looks(look).await?;
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
        let withdrawn = store.withdrawn_before(look).await?;
        Ok(Some(Self {
            before: store.listed_by(look, is_between).await?,
            look: look.clone(),
            is_between,
            listed,
            withdrawn: withdrawn.into_iter().map(|sheet| sheet.sheet_id).collect(),
            refused: refused
                .iter()
                .filter(|refused| !refused.states_no_price)
                .map(|refused| refused.entry.clone())
                .collect(),
        }))
    }

    /// The sheets that the catalog listed before, by offer.
    pub(super) fn before(&self) -> BTreeMap<Uuid, BTreeSet<Uuid>> {
        let mut before: BTreeMap<Uuid, BTreeSet<Uuid>> = BTreeMap::new();
        for sheet in &self.before {
            before
                .entry(sheet.offer_id)
                .or_default()
                .insert(sheet.sheet_id);
        }
        before
    }

    /// Records the look, some offers at a time, and completes it. A catalog without a sheet is no look.
    pub(super) async fn record(self, store: &Store, now: Timestamp) -> Result<(), ImportError> {
        if self.listed.is_empty() {
            return Ok(());
        }
        let ended = self.ended(store).await?;
        let before = self.before();
        let is_changed = |offer: &ListedOffer| {
            let sheets: BTreeSet<Uuid> = offer.sheets.iter().map(|sheet| sheet.sheet_id).collect();
            self.is_between || before.get(&offer.offer_id) != Some(&sheets)
        };
        let changed: Vec<ListedOffer> = self.listed.into_values().filter(is_changed).collect();
        for offers in changed.chunks(OFFERS_AT_ONCE) {
            store.record_look(&self.look, offers.to_vec(), now).await?;
        }
        store.complete_look(&self.look, ended, now).await?;
        Ok(())
    }

    /// The offers that the catalog no longer lists, but for those whose entries cannot be read this time.
    async fn ended(&self, store: &Store) -> Result<Vec<ListedOffer>, ImportError> {
        let scope = &self.look.scope;
        let mut ended: BTreeMap<Uuid, ListedOffer> = BTreeMap::new();
        let mut sheets = Vec::new();
        for sheet in &self.before {
            let is_covered = scope.is_empty() || *scope == sheet.provider;
            if !is_covered || self.listed.contains_key(&sheet.offer_id) {
                continue;
            }
            sheets.push(sheet.clone());
            ended.insert(
                sheet.offer_id,
                ListedOffer {
                    offer_id: sheet.offer_id,
                    provider: sheet.provider.clone(),
                    sheets: Vec::new(),
                },
            );
        }
        if !self.refused.is_empty() {
            let ids: Vec<Uuid> = sheets.iter().map(|sheet| sheet.sheet_id).collect();
            let unread = store.sheets_of_entries(&ids, &self.refused).await?;
            for sheet in sheets
                .iter()
                .filter(|sheet| unread.contains(&sheet.sheet_id))
            {
                ended.remove(&sheet.offer_id);
            }
        }
        Ok(ended.into_values().collect())
    }
}
