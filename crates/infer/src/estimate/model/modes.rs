//! Offers of a mode under a name of its own: the same weights at another speed or effort, at a price of its own.

use unroof_price_sheet::catalog::canonical::{Mode, mode_of};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};

/// The service tier as which a fast offer is read.
const FAST: &str = "fast";
/// Offers that a sentence names.
const NAMED: usize = 3;

/// The mode of each offer, by its name. An effort is none where its seller has no plain offer: its price is that of the model.
pub(super) fn of_each(contents: &[PriceSheet]) -> Vec<Option<Mode>> {
    let modes = contents.iter().map(|sheet| (sheet, mode_of(&sheet.model)));
    let named: Vec<(&PriceSheet, Option<Mode>)> = modes.collect();
    let is_sold_plain = |sheet: &PriceSheet| {
        let mut plain = named.iter().filter(|(_, mode)| mode.is_none());
        plain.any(|(other, _)| other.provider == sheet.provider)
    };
    let is_apart = |sheet, mode: &Mode| *mode == Mode::Speed || is_sold_plain(sheet);
    let each = named
        .iter()
        .map(|(sheet, mode)| mode.filter(|mode| is_apart(sheet, mode)));
    each.collect()
}

/// The offers without a mode; where there are none, those of modes.
pub(super) fn plain_offers(own: Vec<usize>, modes: &[Option<Mode>]) -> Vec<usize> {
    let is_plain = |place: &usize| modes[*place].is_none();
    let plain: Vec<usize> = own.iter().copied().filter(is_plain).collect();
    if plain.is_empty() { own } else { plain }
}

/// A sheet with the rates of its seller's newest fast offer as a tier, unless it is of a mode itself or has such a tier.
pub(super) fn with_fast_mode(
    place: usize,
    contents: &[PriceSheet],
    modes: &[Option<Mode>],
) -> PriceSheet {
    let mut sheet = contents[place].clone();
    let has_tier = |rate: &RateCell| rate.service_tier == FAST;
    if modes[place].is_some() || sheet.rates.iter().any(has_tier) {
        return sheet;
    }
    let is_alike = |other: &PriceSheet| {
        (&other.provider, &other.region, &other.currency)
            == (&sheet.provider, &sheet.region, &sheet.currency)
    };
    let both = contents.iter().zip(modes);
    let fast = both.filter(|(other, mode)| **mode == Some(Mode::Speed) && is_alike(other));
    let newest = fast.max_by_key(|(other, _)| (other.valid_from, other.id().0));
    if let Some((fast, _)) = newest {
        let standard = fast.rates.iter();
        let standard = standard.filter(|rate| rate.service_tier == RateCell::STANDARD);
        let as_fast = standard.map(|rate| RateCell {
            service_tier: FAST.to_owned(),
            ..rate.clone()
        });
        sheet.rates.extend(as_fast);
    }
    sheet
}

/// The offers that are not read since they are modes by their names, in a sentence; none where there are none.
pub(super) fn in_words(contents: &[PriceSheet], modes: &[Option<Mode>]) -> Option<String> {
    let of_modes = contents
        .iter()
        .zip(modes)
        .filter(|(_, mode)| mode.is_some());
    let mut offers: Vec<String> = of_modes
        .map(|(sheet, _)| format!("`{}` of {}", sheet.model, sheet.provider))
        .collect();
    offers.sort_unstable();
    offers.dedup();
    let others = match offers.len().saturating_sub(NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let is_one = offers.len() == 1;
    offers.truncate(NAMED);
    let named = offers.join(", ");
    let are_read = modes.iter().all(Option::is_some);
    (!offers.is_empty() && !are_read).then(|| {
        if is_one {
            format!(
                "by its name, {named} is a mode of these weights: its price is not read as one of the model"
            )
        } else {
            format!(
                "by their names, {named}{others} are modes of these weights: their prices are not read as those of the model"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::model::ModelPool;
    use unroof_price_sheet::sheet::ContextTier;

    fn offer(provider: &str, model: &str, output: &str) -> PriceSheet {
        let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
        cell.input = Some("1".parse().unwrap());
        cell.output = Some(output.parse().unwrap());
        PriceSheet::new(provider, model, vec![cell])
    }

    fn pool(sheets: &[PriceSheet]) -> ModelPool {
        ModelPool::new("minimax/minimax-m2.5", sheets)
    }

    #[test]
    fn an_offer_of_a_mode_is_no_price_of_the_model_and_a_fast_one_is_a_tier_of_its_seller() {
        let plain = offer("minimax", "MiniMax-M2.5", "4");
        let fast = offer("minimax", "MiniMax-M2.5-highspeed", "8");
        let elsewhere = offer("beta", "minimax-m2.5-lightning", "9");
        let pool = pool(&[fast, elsewhere, plain]);
        let used = pool.used();
        assert_eq!(used.len(), 1);
        assert_eq!(pool.decisions(), 1);
        let tiers = used[0].rates.iter();
        let tiers: Vec<_> = tiers
            .map(|rate| (rate.service_tier.as_str(), rate.output.clone().unwrap()))
            .collect();
        let expected = [("standard", "4"), ("fast", "8")];
        assert_eq!(
            tiers,
            expected.map(|(tier, price)| (tier, price.parse().unwrap()))
        );
        let said = in_words(&pool.contents, &pool.modes).unwrap();
        assert!(
            said.contains("`MiniMax-M2.5-highspeed` of minimax"),
            "{said}"
        );
    }

    #[test]
    fn an_effort_that_is_sold_alone_has_the_price_of_the_model() {
        let alone = offer("beta", "minimax-m3-thinking", "4");
        let both = ["minimax-m3", "minimax-m3:thinking"].map(|name| offer("acme", name, "5"));
        let [plain, thinking] = both;
        assert_eq!(
            of_each(&[alone, plain, thinking]),
            [None, None, Some(Mode::Effort)]
        );
    }

    #[test]
    fn modes_are_read_where_nothing_else_is_sold() {
        let pool = pool(&[offer("beta", "minimax-m2.5-lightning", "9")]);
        assert_eq!(pool.used().len(), 1);
        assert_eq!(in_words(&pool.contents, &pool.modes), None);
    }
}
