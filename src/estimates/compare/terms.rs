//! Price terms of several sheets, aligned.

use unroof_base::units::{Decimal, readable};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};

/// A term of a sheet in words; none where the sheet does not state it.
type Term = fn(&PriceSheet) -> Option<String>;

const TERMS: [(&str, Term); 9] = [
    ("currency", |sheet| Some(sheet.currency.clone())),
    ("input", |sheet| price(sheet, |rate| rate.input.as_ref())),
    ("output", |sheet| price(sheet, |rate| rate.output.as_ref())),
    ("cached input", |sheet| {
        price(sheet, |rate| rate.cache_read.as_ref())
    }),
    ("output/input", |sheet| {
        let rate = sheet.base_rate()?;
        ratio(rate.output.as_ref(), rate.input.as_ref())
    }),
    ("cached/input", |sheet| {
        let rate = sheet.base_rate()?;
        ratio(rate.cache_read.as_ref(), rate.input.as_ref())
    }),
    ("batch/standard", |sheet| {
        let batch = sheet.rates.iter().find(|rate| rate.service_tier == "batch");
        ratio(batch?.output.as_ref(), sheet.base_rate()?.output.as_ref())
    }),
    ("long prompts", long_prompts),
    ("context", |sheet| {
        let tokens = sheet.limits.context.or(sheet.limits.max_input)?;
        Some(readable(f64::from(tokens)))
    }),
];

/// A row per term that any of the sheets states.
pub(super) fn rows(sheets: &[Option<&PriceSheet>]) -> Vec<Vec<String>> {
    let row = |(name, term): &(&str, Term)| {
        let stated: Vec<Option<String>> = sheets.iter().map(|sheet| term((*sheet)?)).collect();
        let is_stated = stated.iter().any(Option::is_some);
        let cells = stated
            .into_iter()
            .map(|text| text.unwrap_or_else(|| "–".to_owned()));
        is_stated.then(|| std::iter::once((*name).to_owned()).chain(cells).collect())
    };
    TERMS.iter().filter_map(row).collect()
}

fn price(sheet: &PriceSheet, of: fn(&RateCell) -> Option<&Decimal>) -> Option<String> {
    let price = of(sheet.base_rate()?)?;
    Some(price.normalized().to_string())
}

fn ratio(price: Option<&Decimal>, base: Option<&Decimal>) -> Option<String> {
    let ratio = price?.to_f64() / base?.to_f64();
    ratio
        .is_finite()
        .then(|| readable((1e3 * ratio).round() / 1e3))
}

/// The first threshold, and by how much input and output cost more above it.
fn long_prompts(sheet: &PriceSheet) -> Option<String> {
    let base = sheet.base_rate()?;
    let is_long = |rate: &&RateCell| {
        rate.service_tier == base.service_tier
            && rate.schedule == base.schedule
            && rate.context_tier.min_prompt_tokens > base.context_tier.min_prompt_tokens
    };
    let longer = sheet.rates.iter().filter(is_long);
    let first = longer.min_by_key(|rate| rate.context_tier.min_prompt_tokens)?;
    let input = ratio(first.input.as_ref(), base.input.as_ref())?;
    let output = ratio(first.output.as_ref(), base.output.as_ref())?;
    let from = readable(f64::from(first.context_tier.min_prompt_tokens));
    Some(format!("above {from}: input {input}×, output {output}×"))
}

#[cfg(test)]
mod tests {
    use unroof_price_sheet::sheet::ContextTier;

    use super::*;

    fn cell(tier: &str, from: u32, input: &str, output: &str) -> RateCell {
        RateCell {
            service_tier: tier.to_owned(),
            context_tier: ContextTier {
                min_prompt_tokens: from,
                inclusive: false,
            },
            input: Some(input.parse().unwrap()),
            output: Some(output.parse().unwrap()),
            ..RateCell::default()
        }
    }

    #[test]
    fn terms_are_aligned_and_those_without_a_value_are_left_out() {
        let rates = vec![
            cell("standard", 0, "2.50", "15"),
            cell("standard", 272_000, "5", "22.5"),
            cell("batch", 0, "1.25", "7.5"),
        ];
        let sheet = PriceSheet::new("openai", "gpt-5.4", rates);
        let plain = PriceSheet::new("acme", "m", vec![cell("standard", 0, "1", "3")]);
        let rows = rows(&[Some(&sheet), Some(&plain), None]);
        let row = |name: &str| {
            let found = rows.iter().find(|row| row[0] == name);
            found.map(|row| row[1..].join(" | "))
        };
        assert_eq!(row("input").unwrap(), "2.5 | 1 | –");
        assert_eq!(row("output/input").unwrap(), "6 | 3 | –");
        assert_eq!(row("batch/standard").unwrap(), "0.5 | – | –");
        let long = "above 272,000: input 2×, output 1.5× | – | –";
        assert_eq!(row("long prompts").unwrap(), long);
        assert_eq!(row("cached input"), None);
    }
}
