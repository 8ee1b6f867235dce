//! Which sheets are copies of one pricing decision: regional copies, resellers' copies, dated aliases.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use super::listed::Listed;
use unroof_core::catalog::model_key;
use unroof_core::input::wanted::{Unwanted, Wanted};
use unroof_core::sheet::PriceSheet;
use unroof_core::sheet::compare::decision::{Index, Prices};

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
///
/// # Errors
/// The result is not wanted any more.
pub(super) fn sort(
    sheets: &[Listed],
    mut known: Leaders,
    wanted: &Wanted,
) -> Result<Vec<Standing>, Unwanted> {
    let mut by_model: BTreeMap<String, Vec<Ranked<'_>>> = BTreeMap::new();
    for (place, listed) in sheets.iter().enumerate() {
        wanted.check()?;
        let of_model = by_model.entry(model_key(&listed.sheet.model)).or_default();
        of_model.push(Ranked {
            place,
            listed,
            prices: Prices::of(&listed.sheet),
        });
    }
    let mut standings = vec![Standing::Leader; sheets.len()];
    for (model, mut of_model) in by_model {
        of_model.sort_by_cached_key(Ranked::rank);
        let leaders = known.remove(&model).unwrap_or_default();
        sort_model(&of_model, &leaders, wanted, &mut standings)?;
    }
    Ok(standings)
}

/// A sheet that is to be sorted.
struct Ranked<'s> {
    place: usize,
    listed: &'s Listed,
    prices: Prices,
}

impl Ranked<'_> {
    /// The lower, the sooner it leads.
    fn rank(&self) -> impl Ord + use<> {
        let sheet = &self.listed.sheet;
        (
            !is_of_its_author(sheet),
            Reverse(self.prices.count()),
            sheet.region != PriceSheet::DEFAULT_REGION,
            Reverse(sheet.valid_from),
            sheet.model.len(),
            self.listed.name(),
        )
    }
}

/// Sorts the sheets of one model, in the order in which they lead, behind the known leaders.
fn sort_model(
    sheets: &[Ranked<'_>],
    known: &[Leader],
    wanted: &Wanted,
    standings: &mut [Standing],
) -> Result<(), Unwanted> {
    let of_known = known.iter().map(|leader| &leader.prices);
    let contents = of_known.chain(sheets.iter().map(|sheet| &sheet.prices));
    let index = Index::new(contents.collect(), wanted)?;
    let mut is_leader = vec![true; known.len()];
    is_leader.resize(known.len() + sheets.len(), false);
    let mut found: HashMap<usize, usize> = HashMap::new();
    let mut own: BTreeSet<Uuid> = BTreeSet::new();
    for (number, Ranked { place, listed, .. }) in sheets.iter().enumerate() {
        wanted.check()?;
        let number = known.len() + number;
        let content = index.first_equal(number);
        // Leaders are only added behind the others: what led equal prices leads these too.
        let leader = found.get(&content).copied();
        let leader = leader.or_else(|| index.first_leader(number, &is_leader));
        let Some(leader) = leader else {
            is_leader[number] = true;
            own.insert(listed.sheet_id);
            continue;
        };
        found.insert(content, leader);
        let (sheet_id, name) = match leader.checked_sub(known.len()) {
            None => (known[leader].sheet_id, known[leader].name.clone()),
            Some(leader) => (sheets[leader].listed.sheet_id, sheets[leader].listed.name()),
        };
        // The same content may stand under two keys; it is then a copy of itself.
        if sheet_id != listed.sheet_id || own.contains(&sheet_id) {
            standings[*place] = Standing::Copy(sheet_id, name);
        }
        own.insert(listed.sheet_id);
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::import::entries::read;
    use unroof_core::sheet::{CacheWrite, ContextTier, Modifier, RateCell};
    use unroof_core::units::Decimal;

    /// What the index must find: every leader is looked at, in order.
    fn sort_by_looking_at_all(sheets: &[Listed], mut known: Leaders) -> Vec<Standing> {
        let mut order: Vec<Ranked<'_>> = sheets
            .iter()
            .enumerate()
            .map(|(place, listed)| Ranked {
                place,
                listed,
                prices: Prices::of(&listed.sheet),
            })
            .collect();
        order.sort_by_cached_key(Ranked::rank);
        let mut standings = vec![Standing::Leader; sheets.len()];
        let mut own: BTreeSet<Uuid> = BTreeSet::new();
        for Ranked {
            place,
            listed,
            prices,
        } in order
        {
            let leaders = known.entry(model_key(&listed.sheet.model)).or_default();
            let mut all = leaders.iter();
            match all.find(|leader| leader.prices.is_one_decision(&prices)) {
                Some(leader)
                    if leader.sheet_id != listed.sheet_id || own.contains(&leader.sheet_id) =>
                {
                    standings[place] = Standing::Copy(leader.sheet_id, leader.name.clone());
                }
                Some(_) => {}
                None => leaders.push(Leader {
                    sheet_id: listed.sheet_id,
                    name: listed.name(),
                    prices,
                }),
            }
            own.insert(listed.sheet_id);
        }
        standings
    }

    fn leaders_of(sheets: &[Listed]) -> Leaders {
        let mut leaders = Leaders::new();
        for Listed {
            sheet_id, sheet, ..
        } in sheets
        {
            let leader = Leader::new(*sheet_id, sheet.provider.clone(), sheet);
            leaders
                .entry(model_key(&sheet.model))
                .or_default()
                .push(leader);
        }
        leaders
    }

    fn price() -> impl Strategy<Value = Option<Decimal>> {
        let prices = [
            "0",
            "0.3",
            "0.30",
            "0.33",
            "0.34",
            "1",
            "1.1",
            "1.10",
            "1.21",
            "1.005",
            "1.0049",
            "1.2",
            "1.25",
            "1.3",
            "1.375",
            "2.5",
            "2.75",
            "3",
            "3.3",
            "0.000001",
            "0.0000011",
        ];
        proptest::option::of(select(prices.to_vec()).prop_map(|price| price.parse().unwrap()))
    }

    prop_compose! {
        fn cell()(
            threshold in select(vec![0, 0, 32_000, 32_001, 200_000]),
            tier in select(vec!["standard", "standard", "batch", "fast"]),
            prices in vec(price(), 3..4),
            write in price(),
        ) -> RateCell {
            let tier_of = ContextTier { min_prompt_tokens: threshold, inclusive: false };
            let mut cell = RateCell::new(tier, tier_of, None);
            [cell.input, cell.output, cell.cache_read] = prices.try_into().unwrap();
            cell.cache_write = write
                .map(|price| CacheWrite { ttl_seconds: Some(300), price })
                .into_iter()
                .collect();
            cell
        }
    }

    prop_compose! {
        fn listed()(
            provider in select(vec!["acme", "other", "third"]),
            model in select(vec!["m-1", "m-1", "m-2"]),
            region in select(vec!["global", "eu", "us"]),
            currency in select(vec!["USD", "USD", "USD", "CNY"]),
            multiplier in proptest::option::of(select(vec!["1.2", "0.5", "0", "3", "0.00001"])),
            cells in vec(cell(), 1..4),
        ) -> Listed {
            let sheet = PriceSheet {
                region: region.to_owned(),
                currency: currency.to_owned(),
                modifiers: multiplier
                    .map(|multiplier| Modifier {
                        name: "faster".to_owned(),
                        when: serde_json::Map::new(),
                        multiplier: multiplier.parse().unwrap(),
                        applies_to: Vec::new(),
                    })
                    .into_iter()
                    .collect(),
                ..PriceSheet::new(provider, model, cells)
            };
            Listed { entry: String::new(), sheet_id: sheet.id().0, sheet }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn the_index_finds_what_looking_at_all_leaders_finds(
            known in vec(listed(), 0..20),
            sheets in vec(listed(), 1..60),
        ) {
            let sorted = sort(&sheets, leaders_of(&known), &Wanted::default());
            let expected = sort_by_looking_at_all(&sheets, leaders_of(&known));
            prop_assert_eq!(sorted, Ok(expected));
        }
    }

    #[test]
    fn published_catalogs_are_sorted_as_by_looking_at_all_leaders() {
        let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
            return;
        };
        let mut all = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|ending| ending == "json")
                && let Ok(text) = std::fs::read(&file)
                && let Ok(contents) = read(
                    text,
                    None,
                    None,
                    jiff::Timestamp::UNIX_EPOCH,
                    &Wanted::default(),
                )
            {
                all.extend(contents.sheets);
            }
        }
        assert!(all.len() > 5_000);
        let (known, sheets) = all.split_at(all.len() / 3);
        let known: Vec<Listed> = known.to_vec();
        for known in [leaders_of(&[]), leaders_of(&known)] {
            let sorted = sort(sheets, known.clone(), &Wanted::default()).unwrap();
            assert!(sorted == sort_by_looking_at_all(sheets, known));
        }
    }

    fn offers_of_one_model(count: u32, sheet: impl Fn(u32) -> PriceSheet) -> Vec<Listed> {
        let listed = (0..count).map(|number| {
            let sheet = sheet(number);
            Listed {
                entry: String::new(),
                sheet_id: sheet.id().0,
                sheet,
            }
        });
        listed.collect()
    }

    #[test]
    fn sorting_ends_when_no_client_waits_for_it() {
        let (wanted, waiting) = Wanted::while_waiting();
        drop(waiting);
        let sheets = offers_of_one_model(1, |_| PriceSheet::new("acme", "m-1", Vec::new()));
        assert_eq!(sort(&sheets, Leaders::new(), &wanted), Err(Unwanted));
    }
}
