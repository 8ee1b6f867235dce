//! Doubts about a sheet that can be read: its unit, its tiers, its context.

use std::collections::BTreeSet;

use unroof_base::units::{Decimal, readable};
use unroof_price_sheet::catalog::canonical::{Mode, canonical_model, mode_of};
use unroof_price_sheet::closed_weights::runs_the_weights;
use unroof_price_sheet::sheet::{PriceSheet, RateCell, ServiceTier};

/// Least price of text in published catalogs, USD per million tokens (Qwen2.5-Coder-3B at Nebius and nscale).
const CHEAPEST: f64 = 0.01;
/// Input price that one model asked for at most, USD per million tokens (o1-pro asked 150, gpt-4.5-preview 75).
const DEAREST: f64 = 100.0;
/// Service tiers that need no description.
const WELL_KNOWN: [&str; 6] = ["standard", "batch", "flex", "priority", "fast", "ultrafast"];
/// Tiers that are sold because they cost less.
const CHEAPER: [&str; 2] = ["batch", "flex"];

/// The doubts about sheets, each with what may be meant.
pub(super) fn doubts(contents: &[PriceSheet]) -> Vec<String> {
    let mut found: Vec<String> = Vec::from_iter(resold(contents));
    for sheet in contents {
        found.extend(unit(sheet));
        found.extend(dearer_batches(sheet));
        found.extend(undescribed_tiers(sheet));
        found.extend(beyond_the_context(sheet));
        found.extend(fast_offer(sheet));
    }
    let mut seen = BTreeSet::new();
    found.retain(|doubt| seen.insert(doubt.clone()));
    found
}

/// Closed weights of which only resellers' prices are known.
fn resold(contents: &[PriceSheet]) -> Option<String> {
    let first = contents.first()?;
    let is_resold = |sheet: &PriceSheet| {
        let canonical = sheet.canonical_model.clone();
        let name = canonical.or_else(|| canonical_model(&sheet.model))?;
        runs_the_weights(&name, &sheet.provider).map(|runs| !runs)
    };
    let are_resold = contents.iter().all(|sheet| is_resold(sheet) == Some(true));
    are_resold.then(|| {
        format!(
            "{} resells closed weights, as far as is known here: its prices say what it adds to those of the author, and the record \
             is of hosts that run the weights",
            first.provider
        )
    })
}

/// Prices per thousand tokens, or in cents.
fn unit(sheet: &PriceSheet) -> Option<String> {
    let base = sheet.base_rate().filter(|_| sheet.currency == "USD")?;
    let price = |price: &Option<Decimal>| price.as_ref().map(Decimal::to_f64);
    let stated: Vec<f64> = [price(&base.input), price(&base.output)]
        .into_iter()
        .flatten()
        .filter(|price| *price > 0.0)
        .collect();
    let dearest = stated.iter().copied().fold(0.0, f64::max);
    if dearest > 0.0 && dearest < CHEAPEST {
        return Some(format!(
            "the dearest price is {} USD per million tokens, and no catalog sells text below {CHEAPEST}: are these prices per \
             1,000 tokens (multiply them by 1,000) or per token (by 1,000,000)?",
            readable(dearest)
        ));
    }
    let input = price(&base.input).filter(|input| *input >= DEAREST)?;
    Some(format!(
        "the input price is {} USD per million tokens, as dear as the dearest known model: are these cents (divide them by \
         100)?",
        readable(input)
    ))
}

fn dearer_batches(sheet: &PriceSheet) -> Option<String> {
    let standard = |rate: &RateCell| {
        sheet.rates.iter().find(|other| {
            other.service_tier == RateCell::STANDARD
                && other.context_tier == rate.context_tier
                && other.schedule == rate.schedule
        })
    };
    let is_dearer = |rate: &&RateCell| {
        let own = standard(rate);
        let above = |own: Option<&Decimal>, of_standard: Option<&Decimal>| {
            own.zip(of_standard)
                .is_some_and(|(own, of_standard)| own > of_standard)
        };
        CHEAPER.contains(&rate.service_tier.as_str())
            && own.is_some_and(|own| {
                above(rate.input.as_ref(), own.input.as_ref())
                    || above(rate.output.as_ref(), own.output.as_ref())
            })
    };
    let rate = sheet.rates.iter().find(is_dearer)?;
    Some(format!(
        "the tier `{}` is dearer than the standard one, which is sold for less elsewhere: are the two exchanged?",
        rate.service_tier
    ))
}

fn undescribed_tiers(sheet: &PriceSheet) -> Option<String> {
    let is_known = |tier: &str| {
        let described = sheet.service_tiers.get(tier);
        WELL_KNOWN.contains(&tier)
            || described.is_some_and(|described| *described != ServiceTier::default())
    };
    let tiers: BTreeSet<&str> = sheet
        .rates
        .iter()
        .map(|rate| rate.service_tier.as_str())
        .filter(|tier| !is_known(tier))
        .collect();
    let tier = tiers.first()?;
    Some(format!(
        "`service_tiers` does not describe the tier `{tier}`, so that its speed and its terms are unknown"
    ))
}

/// The price of a fast mode, which says more than the model costs.
fn fast_offer(sheet: &PriceSheet) -> Option<String> {
    let is_fast = mode_of(&sheet.model) == Some(Mode::Speed);
    is_fast.then(|| {
        format!(
            "by its name, `{}` of {} is a fast mode of its model: its price is read as if it were the plain one, which is lower",
            sheet.model, sheet.provider
        )
    })
}

fn beyond_the_context(sheet: &PriceSheet) -> Option<String> {
    let context = sheet.limits.context?;
    let thresholds = sheet
        .rates
        .iter()
        .map(|rate| rate.context_tier.min_prompt_tokens);
    let threshold = thresholds.max().filter(|threshold| *threshold >= context)?;
    Some(format!(
        "a context tier begins at {} tokens, and the context ends at {}: no prompt pays its price",
        readable(threshold.into()),
        readable(context.into())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_price_sheet::sheet::ContextTier;

    fn cell(tier: &str, tokens: u32, input: &str, output: &str) -> RateCell {
        let context_tier = ContextTier {
            min_prompt_tokens: tokens,
            ..ContextTier::default()
        };
        RateCell {
            input: input.parse().ok(),
            output: output.parse().ok(),
            ..RateCell::new(tier, context_tier, None)
        }
    }

    fn doubt(rates: Vec<RateCell>) -> Vec<String> {
        let mut sheet = PriceSheet::new("acme", "m-1", rates);
        sheet.limits.context = Some(128_000);
        doubts(&[sheet])
    }

    #[test]
    fn a_sheet_as_it_should_be_raises_no_doubt() {
        let rates = vec![
            cell("standard", 0, "1.2", "6"),
            cell("batch", 0, "0.6", "3"),
            cell("priority", 0, "2.4", "12"),
            cell("standard", 64_000, "2.4", "9"),
        ];
        assert_eq!(doubt(rates), [""; 0]);
        assert_eq!(doubt(vec![cell("standard", 0, "0", "0")]), [""; 0]);
    }

    #[test]
    fn another_unit_is_noticed() {
        let of = |input, output| doubt(vec![cell("standard", 0, input, output)]).join(" ");
        assert!(of("0.0012", "0.006").contains("per 1,000 tokens"));
        assert!(of("120", "600").contains("cents"));
        assert_eq!(of("0.01", "0.03"), "");
    }

    #[test]
    fn tiers_that_contradict_their_names_are_noticed() {
        let standard = || cell("standard", 0, "1.2", "6");
        let found = |other| doubt(vec![standard(), other]).join(" ");
        assert!(found(cell("batch", 0, "2", "9")).contains("exchanged"));
        assert!(found(cell("turbo", 0, "2", "9")).contains("`turbo`"));
        assert!(found(cell("standard", 200_000, "2", "9")).contains("no prompt"));
    }

    #[test]
    fn the_price_of_a_fast_mode_is_named() {
        let of = |model: &str| {
            let rates = vec![cell("standard", 0, "1.2", "6")];
            doubts(&[PriceSheet::new("acme", model, rates)]).join(" ")
        };
        assert!(of("zai-org/GLM-5.3-Fast").contains("is a fast mode"));
        assert_eq!(of("zai-org/GLM-5.3") + &of("glm-5.3-thinking"), "");
    }

    #[test]
    fn a_seller_that_only_resells_closed_weights_is_named() {
        let of = |provider: &str, model: &str| {
            let rates = vec![cell("standard", 0, "1.2", "6")];
            doubts(&[PriceSheet::new(provider, model, rates)]).join(" ")
        };
        assert!(of("acme", "claude-opus-5").starts_with("acme resells closed weights"));
        assert_eq!(of("amazon-bedrock", "anthropic.claude-opus-5"), "");
        assert_eq!(of("acme", "gpt-oss-120b"), "");
    }
}
