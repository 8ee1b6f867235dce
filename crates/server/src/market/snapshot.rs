//! All models with the prices of their offers, as of a time: read once for every version of the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use moka::future::Cache;
use uuid::Uuid;

use unroof_infer::estimate::judgement::published::{open_model_of, public_value};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::{Estimator, StoredQuantity, StoredRow};
use unroof_infer::posterior::Interval;
use unroof_report::chart::kinds::strip::{self, Strip};
use unroof_report::chart::{Chart, Words};
use unroof_store::{
    AsOf, DbTime, MarketOffer, MarketOffersRow, NewestEstimateRow, Store, StoreError,
};

/// A price of input and output tokens, in US dollars per million.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Price {
    pub(crate) input: f64,
    pub(crate) output: f64,
}

impl Price {
    /// The price of a token where three of four are input: by it, offers are called cheap or dear.
    pub(crate) fn blended(self) -> f64 {
        (3.0 * self.input + self.output) / 4.0
    }
}

/// Content of the newest estimate of a model, which never changes.
#[derive(Debug)]
struct Estimated {
    id: Uuid,
    /// The estimates, in the order of [`JointQuantity::ALL`].
    estimates: Vec<StoredQuantity>,
    /// Public values, in the same order.
    truths: Vec<Option<f64>>,
    is_open: bool,
}

impl Estimated {
    fn new(id: Uuid, model: &str, row_values: &str) -> Self {
        let stored = StoredRow::read(row_values);
        let estimates = JointQuantity::ALL
            .into_iter()
            .map(|quantity| stored.quantity(quantity));
        let truths = JointQuantity::ALL.into_iter();
        let truths = truths.map(|quantity| public_value(model, quantity));
        Self {
            id,
            estimates: estimates.collect(),
            truths: truths.collect(),
            is_open: open_model_of(model).is_some(),
        }
    }
}

/// A model with its estimate and its prices.
#[derive(Debug)]
pub(crate) struct MarketModel {
    /// Canonical name, `author/model`.
    pub(crate) name: String,
    pub(crate) author: String,
    estimated: Arc<Estimated>,
    /// Providers that sell it.
    pub(crate) hosts: usize,
    /// The lowest price of every provider, but free ones, the cheapest first.
    prices: Vec<Price>,
    /// Prices without copies: equal prices once.
    distinct: Vec<Price>,
}

impl MarketModel {
    fn new(row: NewestEstimateRow, estimated: Arc<Estimated>, offers: &[MarketOffer]) -> Self {
        let mut hosts = BTreeSet::new();
        let mut lowest: BTreeMap<&str, Price> = BTreeMap::new();
        for offer in offers {
            hosts.insert(&offer.provider);
            let Some(price) = price(offer) else { continue };
            let known = lowest.entry(&offer.provider).or_insert(price);
            if price.blended() < known.blended() {
                *known = price;
            }
        }
        let mut prices: Vec<Price> = lowest.into_values().collect();
        prices.sort_by(|left, right| left.blended().total_cmp(&right.blended()));
        let mut distinct = prices.clone();
        distinct.dedup();
        Self {
            estimated,
            hosts: hosts.len(),
            prices,
            distinct,
            author: row.author,
            name: row.canonical_model,
        }
    }

    /// The estimate of a quantity.
    pub(crate) fn estimate(&self, quantity: JointQuantity) -> Option<StoredQuantity> {
        self.estimated.estimates.get(quantity as usize).copied()
    }

    /// Public value of a quantity.
    pub(crate) fn truth(&self, quantity: JointQuantity) -> Option<f64> {
        self.estimated
            .truths
            .get(quantity as usize)
            .copied()
            .flatten()
    }

    /// Whether its architecture is published.
    pub(crate) fn is_open(&self) -> bool {
        self.estimated.is_open
    }

    /// Cheapest price of the model.
    pub(crate) fn lowest(&self) -> Option<Price> {
        self.prices.first().copied()
    }

    /// The price in the middle; copies count once where that is wanted.
    pub(crate) fn median(&self, copies_once: bool) -> Option<Price> {
        let prices = if copies_once {
            &self.distinct
        } else {
            &self.prices
        };
        prices.get(prices.len().saturating_sub(1) / 2).copied()
    }

    /// Number of different prices.
    pub(crate) fn distinct_prices(&self) -> usize {
        self.distinct.len()
    }
}

/// The price of an offer that is sold by the token and is not free.
fn price(offer: &MarketOffer) -> Option<Price> {
    let price = Price {
        input: offer.input_per_mtok?,
        output: offer.output_per_mtok?,
    };
    (price.input > 0.0 && price.output > 0.0).then_some(price)
}

/// A model's newest estimate with its content.
type Newest = (NewestEstimateRow, Arc<Estimated>);

/// The newest estimates by name; of those that an earlier market has, the numbers are not read again.
async fn newest(
    store: &Store,
    as_of: Option<DbTime>,
    before: Option<Arc<Market>>,
) -> Result<Vec<Newest>, StoreError> {
    let newest = store.newest_estimates(as_of).await?;
    let mut known = before.map(|before| before.estimated()).unwrap_or_default();
    let ids = newest.iter().map(|row| row.id);
    let unknown: Vec<Uuid> = ids.filter(|id| !known.contains_key(id)).collect();
    let numbers = store.numbers_of_estimates(unknown.into_iter()).await?;
    let read = move || {
        let numbers: HashMap<Uuid, String> = numbers
            .into_iter()
            .map(|row| (row.id, row.row_values))
            .collect();
        let with_numbers = |row: NewestEstimateRow| {
            let estimated = known.remove(&row.id).unwrap_or_else(|| {
                let numbers = numbers.get(&row.id).map_or("", String::as_str);
                Arc::new(Estimated::new(row.id, &row.canonical_model, numbers))
            });
            (row, estimated)
        };
        newest.into_iter().map(with_numbers).collect()
    };
    let read = tokio::task::spawn_blocking(read);
    read.await.map_err(|_| StoreError::Away)
}

/// The models with their prices, both in the order of names.
fn models(newest: Vec<Newest>, offers: &[MarketOffersRow]) -> Vec<MarketModel> {
    let with_offers = |(row, estimated): Newest| {
        let found =
            offers.binary_search_by(|offers| offers.canonical_model.cmp(&row.canonical_model));
        let offers = found.map_or(&[][..], |index| &offers[index].offers);
        MarketModel::new(row, estimated, offers)
    };
    newest.into_iter().map(with_offers).collect()
}

/// All models as of a time, by name.
#[derive(Debug)]
pub(crate) struct Market {
    pub(crate) models: Vec<MarketModel>,
    /// 90 % interval of every quantity before any sheet is read.
    priors: Vec<Interval>,
}

impl Market {
    /// Reads the market, after an earlier one.
    async fn read(
        store: &Store,
        estimator: &Estimator,
        (as_of, now): (Option<DbTime>, DbTime),
        before: Option<Arc<Self>>,
    ) -> Result<Self, StoreError> {
        let at = as_of.map_or(AsOf::Now(now), AsOf::Time);
        let newest = Box::pin(newest(store, as_of, before));
        let offers = Box::pin(store.offers_of_all_models(at));
        let (newest, offers) = tokio::try_join!(newest, offers)?;
        let priors = estimator.prior();
        let made = tokio::task::spawn_blocking(move || Self {
            models: models(newest, &offers),
            priors,
        });
        made.await.map_err(|_| StoreError::Away)
    }

    /// Content of its models' estimates, by their ids.
    fn estimated(&self) -> HashMap<Uuid, Arc<Estimated>> {
        let estimated = self.models.iter().map(|model| &model.estimated);
        estimated
            .map(|estimated| (estimated.id, Arc::clone(estimated)))
            .collect()
    }

    /// 90 % interval of a quantity before any sheet is read.
    fn prior(&self, quantity: JointQuantity) -> Interval {
        self.priors[quantity as usize]
    }

    /// The strip of a model's estimate; none without an estimate.
    pub(crate) fn strip(&self, model: &MarketModel, quantity: JointQuantity) -> Option<Strip> {
        let stored = model.estimate(quantity)?;
        let (median, interval) = stored.span()?;
        let prior = self.prior(quantity);
        Some(Strip {
            prior_90: Some(prior),
            interval_90: interval,
            interval_50: stored.interval_50,
            median,
            identified: stored.identified == Some(true),
            truth: model.truth(quantity),
        })
    }

    /// Chart of the estimates of some models.
    pub(crate) fn chart(&self, models: &[&MarketModel], quantity: JointQuantity) -> Chart {
        let label = quantity.definition().label;
        let row = |model: &&MarketModel| Some((model.name.clone(), self.strip(model, quantity)?));
        let rows: Vec<(String, Strip)> = models.iter().filter_map(row).collect();
        let identified = rows.iter().filter(|(_, strip)| strip.identified).count();
        let all = rows.len();
        let words = Words {
            title: format!("The {label} of {identified} of {all} models are identified"),
            description: format!(
                "Each strip is the estimate of the {label} of a model: the dot is the median, the dark part the 50 % interval, the \
                 light part that of 90 %, grey the prior, an upright mark the published value. It is faint where the quantity is not identified."
            ),
        };
        strip::lines(words, self.domain(quantity), &rows)
    }

    /// The values that an axis for all models shows: the prior, and the 90 % intervals of nineteen models in twenty.
    pub(crate) fn domain(&self, quantity: JointQuantity) -> (f64, f64) {
        let prior = self.prior(quantity);
        let spans = self
            .models
            .iter()
            .filter_map(|model| model.estimate(quantity)?.span());
        let (mut lows, mut highs): (Vec<f64>, Vec<f64>) = spans
            .map(|(_, interval)| (interval.low, interval.high))
            .unzip();
        lows.sort_by(f64::total_cmp);
        highs.sort_by(f64::total_cmp);
        let low = lows.get(lows.len() / 20).copied().unwrap_or(prior.low);
        let high = highs
            .get(highs.len() * 19 / 20)
            .copied()
            .unwrap_or(prior.high);
        (low.min(prior.low), high.max(prior.high))
    }
}

/// The last markets that were asked for, by version of the store and time, and the newest of them.
#[derive(Debug, Clone)]
pub(crate) struct Markets {
    asked: Cache<(i64, Option<DbTime>), Arc<Market>>,
    newest: Arc<Mutex<Option<Arc<Market>>>>,
}

impl Default for Markets {
    fn default() -> Self {
        Self {
            asked: Cache::new(4),
            newest: Arc::default(),
        }
    }
}

impl Markets {
    /// The market of a version as of a time, read once for concurrent requests.
    pub(crate) async fn get(
        &self,
        store: &Store,
        estimator: &Estimator,
        (version, as_of, now): (i64, Option<DbTime>, DbTime),
    ) -> Result<Arc<Market>, StoreError> {
        let read = async {
            let before = self.newest().clone();
            let market = Market::read(store, estimator, (as_of, now), before).await?;
            let market = Arc::new(market);
            if as_of.is_none() {
                *self.newest() = Some(Arc::clone(&market));
            }
            Ok(market)
        };
        let read = self.asked.try_get_with((version, as_of), read);
        // The cause was logged where it happened; all that waited share it.
        read.await
            .map_err(|error: Arc<StoreError>| Arc::try_unwrap(error).unwrap_or(StoreError::Away))
    }

    fn newest(&self) -> std::sync::MutexGuard<'_, Option<Arc<Market>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
