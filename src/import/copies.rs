//! Which sheets are copies of one pricing decision: regional copies, resellers' copies, dated aliases.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::entries::Listed;
use crate::sheet::decision::{Likeness, Prices};
use crate::sheet::{PriceSheet, model_key};

/// A sheet that stands for a decision.
#[derive(Debug, Clone)]
pub(super) struct Leader {
    pub(super) sheet_id: Uuid,
    /// `provider/model`
    pub(super) name: String,
    prices: Prices,
}

impl Leader {
    pub(super) fn new(sheet_id: Uuid, name: String, sheet: &PriceSheet) -> Self {
        Self {
            sheet_id,
            name,
            prices: Prices::of(sheet),
        }
    }
}

/// Leaders by the key of their model's name.
pub(super) type Leaders = BTreeMap<String, Vec<Leader>>;

/// What a sheet is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// A decision of its own.
    Leader,
    /// A copy of this sheet, of this name.
    Copy(Uuid, String),
}

/// Sorts sheets into decisions, beside those that are known. A decision is led by its author's own sheet where there is
/// one, else by the sheet with the most prices.
pub(super) fn sort(sheets: &[Listed], mut known: Leaders) -> Vec<Standing> {
    let prices: Vec<Prices> = sheets
        .iter()
        .map(|listed| Prices::of(&listed.sheet))
        .collect();
    let mut order: Vec<usize> = (0..sheets.len()).collect();
    order.sort_by_cached_key(|index| {
        let sheet = &sheets[*index].sheet;
        (
            !is_of_its_author(sheet),
            Reverse(prices[*index].count()),
            sheet.region != PriceSheet::DEFAULT_REGION,
            Reverse(sheet.valid_from),
            sheet.model.len(),
            sheets[*index].name(),
        )
    });
    let mut standings = vec![Standing::Leader; sheets.len()];
    let mut own: BTreeSet<Uuid> = BTreeSet::new();
    for index in order {
        let listed = &sheets[index];
        let leaders = known.entry(model_key(&listed.sheet.model)).or_default();
        let leader = leaders
            .iter()
            .find(|leader| leader.prices.likeness(&prices[index]) == Some(Likeness::OneDecision));
        match leader {
            // The same content may stand under two keys; it is then a copy of itself.
            Some(leader)
                if leader.sheet_id != listed.sheet_id || own.contains(&leader.sheet_id) =>
            {
                standings[index] = Standing::Copy(leader.sheet_id, leader.name.clone());
            }
            Some(_) => {}
            None => leaders.push(Leader {
                sheet_id: listed.sheet_id,
                name: listed.name(),
                prices: prices[index].clone(),
            }),
        }
        own.insert(listed.sheet_id);
    }
    standings
}

fn is_of_its_author(sheet: &PriceSheet) -> bool {
    let author = sheet
        .canonical_model
        .as_deref()
        .and_then(|name| name.split_once('/'));
    author.is_some_and(|(author, _)| {
        author == sheet.provider || (author == "zhipuai" && sheet.provider == "zai")
    })
}
