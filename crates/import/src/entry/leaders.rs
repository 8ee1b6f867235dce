//! The leading copy of every pricing decision. It follows from the set of sheets that catalogs have listed so far, whatever
//! was imported first: a catalog's import sorts the stored sheets of its models again, together with its own.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::duplicates::{Original, Originals, SheetKind, classify};
use super::hosts::Hosts;
use super::listed::Listed;
use crate::error::ImportError;
use crate::turn::Turn;
use unroof_infer::estimate::{Cancelled, Estimator};
use unroof_price_sheet::catalog::model_key;
use unroof_price_sheet::sheet::SheetId;
use unroof_store::{LeaderRow, OfferRow, Store, read_sheet};

/// Models whose stored sheets are read by one query: a large database answers it within its time limit.
const MODELS_READ_AT_ONCE: usize = 100;

/// New sheets with their kinds, and the stored sheets that follow another one now.
#[derive(Default)]
pub(crate) struct Sorted {
    pub(crate) fresh: Vec<Listed>,
    pub(crate) kinds: Vec<SheetKind>,
    pub(crate) moved: Vec<(Listed, SheetKind)>,
}

/// Sorts new sheets into originals and copies.
pub(crate) struct Sorter<'a> {
    pub(crate) store: &'a Store,
    pub(crate) estimator: &'a Estimator,
    pub(crate) turn: &'a Turn,
}

impl Sorter<'_> {
    /// Sorts sheets that stand for themselves: what is stored keeps its place.
    pub(crate) async fn sort_posted(&self, fresh: Vec<Listed>) -> Result<Sorted, ImportError> {
        let keys: BTreeSet<String> = fresh.iter().map(Listed::model_key).collect();
        let keys: Vec<String> = keys.into_iter().collect();
        let mut originals = Originals::new();
        for keys in keys.chunks(MODELS_READ_AT_ONCE) {
            let mut rows = self.store.leaders(keys).await?;
            rows.retain(|row| self.is_current(row));
            let turn = self.turn.clone();
            let read = tokio::task::spawn_blocking(move || read_originals(rows, &turn));
            originals.extend(read.await.map_err(|_| ImportError::Crashed)??);
        }
        // Classifying thousands of sheets takes a while and must not block an async thread.
        let turn = self.turn.clone();
        let sorted = tokio::task::spawn_blocking(move || {
            let kinds = classify(&fresh, originals, &Hosts::of(&fresh), turn.wanted())?;
            Ok::<_, Cancelled>(Sorted {
                fresh,
                kinds,
                moved: Vec::new(),
            })
        });
        Ok(sorted.await.map_err(|_| ImportError::Crashed)??)
    }

    /// Sorts the new sheets of a catalog together with all sheets of their models that catalogs have listed, and with those
    /// of other models whose hosts have another order of size now.
    pub(crate) async fn sort(&self, fresh: Vec<Listed>) -> Result<Sorted, ImportError> {
        if fresh.is_empty() {
            return Ok(Sorted::default());
        }
        let stored = self.store.listed_offers().await?;
        let (keys, hosts) = keys_and_hosts(&stored, &fresh);
        let own: BTreeSet<Uuid> = fresh.iter().map(|listed| listed.sheet_id).collect();
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, listed) in fresh.iter().enumerate() {
            places.entry(listed.model_key()).or_default().push(place);
        }
        let mut kinds = vec![SheetKind::Original; fresh.len()];
        let mut fresh: Vec<Option<Listed>> = fresh.into_iter().map(Some).collect();
        let mut moved = Vec::new();
        for keys in keys.chunks(MODELS_READ_AT_ONCE) {
            let mut rows = self.store.copies(keys).await?;
            rows.retain(|row| self.is_current(row) && !own.contains(&row.id));
            let places = keys.iter().filter_map(|key| places.get(key)).flatten();
            let places: Vec<usize> = places.copied().collect();
            let members = places.iter().filter_map(|place| fresh[*place].take());
            let members: Vec<Listed> = members.collect();
            let (turn, hosts) = (self.turn.clone(), hosts.clone());
            let sorted =
                tokio::task::spawn_blocking(move || sort_models(members, rows, &hosts, &turn));
            let sorted = sorted.await.map_err(|_| ImportError::Crashed)??;
            let own = sorted.fresh.into_iter().zip(sorted.kinds);
            for (place, (listed, kind)) in places.into_iter().zip(own) {
                (fresh[place], kinds[place]) = (Some(listed), kind);
            }
            moved.extend(sorted.moved);
        }
        Ok(Sorted {
            fresh: fresh.into_iter().flatten().collect(),
            kinds,
            moved,
        })
    }

    /// Whether the estimate of a stored sheet is one by this engine.
    fn is_current(&self, row: &LeaderRow) -> bool {
        let original = SheetId(row.duplicate_of.unwrap_or(row.id));
        row.estimate_id == self.estimator.estimate_id(original)
    }
}

/// The models to sort, and the size of each provider: by what was listed before, and what is listed now.
fn keys_and_hosts(stored: &[OfferRow], fresh: &[Listed]) -> (Vec<String>, Hosts) {
    let mut before = Hosts::default();
    let mut known = BTreeSet::new();
    let mut providers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in stored {
        let of_model = providers.entry(&row.model_key).or_default();
        of_model.insert(&row.provider);
        if known.insert(row.offer_id) {
            before.add(&row.provider);
        }
    }
    let mut after = before.clone();
    for listed in fresh {
        if known.insert(listed.offer_id()) {
            after.add(&listed.sheet.provider);
        }
    }
    let mut keys: BTreeSet<String> = fresh.iter().map(Listed::model_key).collect();
    let moved = providers
        .into_iter()
        .filter(|(_, providers)| !before.is_same_order(&after, providers));
    keys.extend(moved.map(|(key, _)| key.to_owned()));
    (keys.into_iter().collect(), after)
}

/// Sorts the new and the stored sheets of some models.
fn sort_models(
    fresh: Vec<Listed>,
    rows: Vec<LeaderRow>,
    hosts: &Hosts,
    turn: &Turn,
) -> Result<Sorted, ImportError> {
    let (count, mut members) = (fresh.len(), fresh);
    let mut followed = Vec::with_capacity(rows.len());
    for row in rows {
        turn.wanted().check()?;
        let sheet = read_sheet(row.id, &row.document)?;
        followed.push(row.duplicate_of);
        members.push(Listed {
            entry: String::new(),
            sheet,
            sheet_id: row.id,
        });
    }
    let mut kinds = classify(&members, Originals::new(), hosts, turn.wanted())?;
    let stored = members.split_off(count).into_iter();
    let stored = stored.zip(kinds.split_off(count)).zip(followed);
    let moved = stored.filter(|((_, kind), followed)| kind.leader() != *followed);
    Ok(Sorted {
        fresh: members,
        kinds,
        moved: moved.map(|(sorted, _)| sorted).collect(),
    })
}

/// The originals among stored sheets, by the key of their model.
fn read_originals(rows: Vec<LeaderRow>, turn: &Turn) -> Result<Originals, ImportError> {
    let mut originals: Originals = BTreeMap::new();
    for row in rows {
        turn.wanted().check()?;
        let sheet = read_sheet(row.id, &row.document)?;
        let name = format!("{}/{}", sheet.provider, sheet.model);
        let original = Original::new(row.id, name, &sheet);
        originals
            .entry(model_key(&sheet.model))
            .or_default()
            .push(original);
    }
    Ok(originals)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use unroof_base::input::cancel::CancelToken;
    use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};

    fn listed(provider: &str, model: &str, price: &str) -> Listed {
        let mut cell = RateCell::new("standard", ContextTier::default(), None);
        cell.input = Some(price.parse().unwrap());
        let sheet = PriceSheet::new(provider, model, vec![cell]);
        Listed {
            entry: format!("{provider}/{model}"),
            sheet_id: sheet.id().0,
            sheet,
        }
    }

    /// Leaders after imports one after the other.
    fn leaders(imports: &[&[Listed]]) -> BTreeMap<Uuid, Option<Uuid>> {
        let mut stored: BTreeMap<Uuid, (Listed, Option<Uuid>)> = BTreeMap::new();
        let wanted = CancelToken::default();
        for import in imports {
            let mut fresh: Vec<Listed> = import.to_vec();
            fresh.retain(|one| !stored.contains_key(&one.sheet_id));
            fresh.sort_by_key(|one| one.sheet_id);
            fresh.dedup_by_key(|one| one.sheet_id);
            let offers: Vec<OfferRow> = stored
                .values()
                .map(|(one, _)| OfferRow {
                    offer_id: one.offer_id(),
                    provider: one.sheet.provider.clone(),
                    model_key: one.model_key(),
                })
                .collect();
            let (keys, hosts) = keys_and_hosts(&offers, &fresh);
            let of_keys = stored.values().map(|(one, _)| one);
            let of_keys = of_keys.filter(|one| keys.contains(&one.model_key()));
            let all: Vec<Listed> = fresh.iter().chain(of_keys).cloned().collect();
            let kinds = classify(&all, Originals::new(), &hosts, &wanted).unwrap();
            for (one, kind) in all.into_iter().zip(kinds) {
                stored.insert(one.sheet_id, (one, kind.leader()));
            }
        }
        let leaders = stored.into_iter().map(|(id, (_, leader))| (id, leader));
        leaders.collect()
    }

    prop_compose! {
        fn sheet()(
            provider in select(vec!["acme", "other", "third", "fourth"]),
            model in select(vec!["m-1", "m-2", "m-3", "m-4", "m-5"]),
            price in select(vec!["1", "1.0", "1.1", "1.2", "2"]),
        ) -> Listed {
            listed(provider, model, price)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn the_order_of_imports_is_of_no_account(
            first in vec(sheet(), 0..12),
            second in vec(sheet(), 0..12),
            third in vec(sheet(), 0..12),
        ) {
            let all = leaders(&[&first, &second, &third]);
            prop_assert_eq!(&all, &leaders(&[&third, &first, &second]));
            prop_assert_eq!(&all, &leaders(&[&second, &third, &first]));
        }
    }
}
