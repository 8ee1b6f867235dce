//! Duplicate sheets of one pricing decision: regional copies, resellers' copies, dated aliases.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use super::hosts::Hosts;
use super::listed::Listed;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::decision::{Index, Prices};

/// The original sheet of a pricing decision.
#[derive(Debug, Clone)]
pub(crate) struct Original {
    pub(crate) sheet_id: Uuid,
    /// Name of the offer, `provider/model`.
    pub(crate) name: String,
    prices: Prices,
}

impl Original {
    pub(crate) fn new(sheet_id: Uuid, name: String, sheet: &PriceSheet) -> Self {
        Self {
            sheet_id,
            name,
            prices: Prices::of(sheet),
        }
    }
}

/// Originals by normalised model name.
pub(crate) type Originals = BTreeMap<String, Vec<Original>>;

/// Classification of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SheetKind {
    /// A pricing decision of its own.
    Original,
    /// A duplicate of the sheet with this id and name.
    Duplicate(Uuid, String),
}

impl SheetKind {
    /// The sheet that it follows.
    pub(crate) fn leader(&self) -> Option<Uuid> {
        match self {
            Self::Original => None,
            Self::Duplicate(leader, _) => Some(*leader),
        }
    }
}

/// Classifies sheets, given originals that stay. The original of a decision is its author's own sheet if there is
/// one, else the sheet with the most prices; of equal ones that of the host with the most offers.
///
/// # Errors
/// The import was cancelled.
pub(crate) fn classify(
    sheets: &[Listed],
    mut known: Originals,
    hosts: &Hosts,
    wanted: &CancelToken,
) -> Result<Vec<SheetKind>, Cancelled> {
    let mut by_model: BTreeMap<String, Vec<Ranked<'_>>> = BTreeMap::new();
    for (place, listed) in sheets.iter().enumerate() {
        wanted.check()?;
        let of_model = by_model.entry(listed.model_key()).or_default();
        of_model.push(Ranked {
            place,
            listed,
            prices: Prices::of(&listed.sheet),
            offers_of_host: hosts.offers(&listed.sheet.provider),
        });
    }
    let mut kinds = vec![SheetKind::Original; sheets.len()];
    for (model, mut of_model) in by_model {
        of_model.sort_by_cached_key(Ranked::rank);
        let originals = known.remove(&model).unwrap_or_default();
        classify_model(&of_model, &originals, wanted, &mut kinds)?;
    }
    Ok(kinds)
}

/// A sheet to classify.
struct Ranked<'s> {
    place: usize,
    listed: &'s Listed,
    prices: Prices,
    /// Number of offers of its provider.
    offers_of_host: usize,
}

impl Ranked<'_> {
    /// Rank as an original; the lowest comes first.
    fn rank(&self) -> impl Ord + use<> {
        let sheet = &self.listed.sheet;
        (
            !is_of_its_author(sheet),
            Reverse(self.prices.count()),
            Reverse(self.offers_of_host),
            sheet.region != PriceSheet::DEFAULT_REGION,
            Reverse(sheet.valid_from),
            sheet.model.len(),
            self.listed.name(),
            self.listed.sheet_id,
        )
    }
}

/// Classifies the sheets of one model in order of rank, after the known originals.
fn classify_model(
    sheets: &[Ranked<'_>],
    known: &[Original],
    wanted: &CancelToken,
    kinds: &mut [SheetKind],
) -> Result<(), Cancelled> {
    let of_known = known.iter().map(|original| &original.prices);
    let contents = of_known.chain(sheets.iter().map(|sheet| &sheet.prices));
    let index = Index::new(contents.collect(), wanted)?;
    let mut is_original = vec![true; known.len()];
    is_original.resize(known.len() + sheets.len(), false);
    let mut found: HashMap<usize, usize> = HashMap::new();
    let mut own: BTreeSet<Uuid> = BTreeSet::new();
    for (number, Ranked { place, listed, .. }) in sheets.iter().enumerate() {
        wanted.check()?;
        let number = known.len() + number;
        let content = index.first_equal(number);
        // Originals are only appended: the original of equal prices is the original of these too.
        let original = found.get(&content).copied();
        let original = original.or_else(|| index.first_leader(number, &is_original));
        let Some(original) = original else {
            is_original[number] = true;
            own.insert(listed.sheet_id);
            continue;
        };
        found.insert(content, original);
        let (sheet_id, name) = match original.checked_sub(known.len()) {
            None => (known[original].sheet_id, known[original].name.clone()),
            Some(original) => (
                sheets[original].listed.sheet_id,
                sheets[original].listed.name(),
            ),
        };
        // The same content may have two keys; it is then a duplicate of itself.
        if sheet_id != listed.sheet_id || own.contains(&sheet_id) {
            kinds[*place] = SheetKind::Duplicate(sheet_id, name);
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
        const OTHER_NAMES: [(&str, &str); 2] = [("amazon", "amazon-bedrock"), ("zhipuai", "zai")];
        author == sheet.provider || OTHER_NAMES.contains(&(author, sheet.provider.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::entry::entries::read;
    use unroof_base::units::Decimal;
    use unroof_price_sheet::sheet::{CacheWrite, ContextTier, Modifier, RateCell};

    /// Linear search over all originals: the expected result of the index.
    fn linear_search(sheets: &[Listed], mut known: Originals) -> Vec<SheetKind> {
        let mut order: Vec<Ranked<'_>> = sheets
            .iter()
            .enumerate()
            .map(|(place, listed)| Ranked {
                place,
                listed,
                prices: Prices::of(&listed.sheet),
                offers_of_host: sheets
                    .iter()
                    .filter(|other| other.sheet.provider == listed.sheet.provider)
                    .count(),
            })
            .collect();
        order.sort_by_cached_key(Ranked::rank);
        let mut kinds = vec![SheetKind::Original; sheets.len()];
        let mut own: BTreeSet<Uuid> = BTreeSet::new();
        for Ranked {
            place,
            listed,
            prices,
            ..
        } in order
        {
            let originals = known.entry(listed.model_key()).or_default();
            let mut all = originals.iter();
            match all.find(|original| original.prices.is_one_decision(&prices)) {
                Some(original)
                    if original.sheet_id != listed.sheet_id || own.contains(&original.sheet_id) =>
                {
                    kinds[place] = SheetKind::Duplicate(original.sheet_id, original.name.clone());
                }
                Some(_) => {}
                None => originals.push(Original {
                    sheet_id: listed.sheet_id,
                    name: listed.name(),
                    prices,
                }),
            }
            own.insert(listed.sheet_id);
        }
        kinds
    }

    fn originals_of(sheets: &[Listed]) -> Originals {
        let mut originals = Originals::new();
        for Listed {
            sheet_id, sheet, ..
        } in sheets
        {
            let original = Original::new(*sheet_id, sheet.provider.clone(), sheet);
            originals
                .entry(unroof_price_sheet::catalog::model_key(&sheet.model))
                .or_default()
                .push(original);
        }
        originals
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
        fn the_index_agrees_with_a_linear_search(
            known in vec(listed(), 0..20),
            sheets in vec(listed(), 1..60),
        ) {
            let sorted = classify(&sheets, originals_of(&known), &Hosts::of(&sheets), &CancelToken::default());
            let expected = linear_search(&sheets, originals_of(&known));
            prop_assert_eq!(sorted, Ok(expected));
        }
    }

    #[test]
    fn the_index_agrees_with_a_linear_search_on_published_catalogs() {
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
                    &CancelToken::default(),
                )
            {
                all.extend(contents.sheets);
            }
        }
        assert!(all.len() > 5_000);
        let (known, sheets) = all.split_at(all.len() / 3);
        let known: Vec<Listed> = known.to_vec();
        for known in [originals_of(&[]), originals_of(&known)] {
            let sorted = classify(
                sheets,
                known.clone(),
                &Hosts::of(sheets),
                &CancelToken::default(),
            )
            .unwrap();
            assert!(sorted == linear_search(sheets, known));
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
    fn of_two_copies_the_larger_host_leads_and_the_author_before_all() {
        let sheet = |provider: &str, model: &str, canonical: Option<&str>| {
            let mut cell = RateCell::new("standard", ContextTier::default(), None);
            cell.input = Some("1".parse().unwrap());
            let sheet = PriceSheet {
                canonical_model: canonical.map(str::to_owned),
                ..PriceSheet::new(provider, model, vec![cell])
            };
            Listed {
                entry: String::new(),
                sheet_id: sheet.id().0,
                sheet,
            }
        };
        let mut sheets = vec![
            sheet("a-small", "m-1", None),
            sheet("large", "m-1", None),
            sheet("large", "m-2", None),
        ];
        let kinds = classify(
            &sheets,
            Originals::new(),
            &Hosts::of(&sheets),
            &CancelToken::default(),
        )
        .unwrap();
        assert_eq!(
            kinds[0],
            SheetKind::Duplicate(sheets[1].sheet_id, "large/m-1".to_owned())
        );
        assert_eq!(kinds[1], SheetKind::Original);
        sheets.push(sheet("maker", "m-1", Some("maker/m-1")));
        let kinds = classify(
            &sheets,
            Originals::new(),
            &Hosts::of(&sheets),
            &CancelToken::default(),
        )
        .unwrap();
        assert_eq!(
            kinds[1],
            SheetKind::Duplicate(sheets[3].sheet_id, "maker/m-1".to_owned())
        );
    }

    #[test]
    fn classification_stops_when_it_is_cancelled() {
        let (wanted, waiting) = CancelToken::while_waiting();
        drop(waiting);
        let sheets = offers_of_one_model(1, |_| PriceSheet::new("acme", "m-1", Vec::new()));
        assert_eq!(
            classify(&sheets, Originals::new(), &Hosts::of(&sheets), &wanted),
            Err(Cancelled)
        );
    }
}
