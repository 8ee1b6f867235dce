//! The sizes of providers, by which the leading one of equal copies is chosen.

use std::collections::{BTreeSet, HashMap};

use super::listed::Listed;

/// Number of offers of each provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts(HashMap<String, usize>);

impl Hosts {
    pub(crate) fn of(sheets: &[Listed]) -> Self {
        let mut hosts = Self::default();
        for listed in sheets {
            hosts.add(&listed.sheet.provider);
        }
        hosts
    }

    pub(crate) fn add(&mut self, provider: &str) {
        *self.0.entry(provider.to_owned()).or_default() += 1;
    }

    pub(crate) fn offers(&self, provider: &str) -> usize {
        self.0.get(provider).copied().unwrap_or_default()
    }

    /// Whether some providers have the same order of size by other numbers.
    pub(crate) fn is_same_order(&self, other: &Self, providers: &BTreeSet<&str>) -> bool {
        let all: Vec<&str> = providers.iter().copied().collect();
        all.iter().enumerate().all(|(place, left)| {
            all[..place].iter().all(|right| {
                let order = |hosts: &Self| hosts.offers(left).cmp(&hosts.offers(right));
                order(self) == order(other)
            })
        })
    }
}
