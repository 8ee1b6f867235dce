//! The setting of an estimate: whose sheets it is from, which decides on its track record.

use std::collections::BTreeSet;

use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::closed_weights::runs_the_weights;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::decision::decisions;
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::RecordSetting;

/// The settings that the sheets may be in: two where the seller cannot be classed.
pub(super) fn settings_of(contents: &[PriceSheet]) -> Vec<RecordSetting> {
    let sellers: BTreeSet<String> = contents
        .iter()
        .map(|sheet| vendor(&sheet.provider))
        .collect();
    if are_closed(contents) {
        return vec![RecordSetting::AuthorAlone];
    }
    if sellers.len() != 1 {
        return vec![if has_periods(contents) {
            RecordSetting::AllPeriods
        } else {
            RecordSetting::PooledHosts
        }];
    }
    let own: BTreeSet<bool> = contents.iter().filter_map(is_sold_by_author).collect();
    if own.is_empty() {
        vec![RecordSetting::AuthorAlone, RecordSetting::OtherHostAlone]
    } else if own.contains(&true) {
        vec![RecordSetting::AuthorAlone]
    } else {
        vec![RecordSetting::OtherHostAlone]
    }
}

/// Whether the sheets are of closed weights and the author's own is among them: clouds that run them repeat its prices.
fn are_closed(contents: &[PriceSheet]) -> bool {
    let runs = |sheet: &PriceSheet| {
        let model = sheet.canonical_model.as_deref()?;
        runs_the_weights(model, &sheet.provider)
    };
    contents.iter().all(|sheet| runs(sheet) == Some(true))
        && contents
            .iter()
            .any(|sheet| is_sold_by_author(sheet) == Some(true))
}

/// Pricing decisions that are not copies of one another.
pub(super) fn independent_decisions(contents: &[PriceSheet]) -> usize {
    let sheets: Vec<&PriceSheet> = contents.iter().collect();
    decisions(&sheets, |_| false).iter().map(Vec::len).sum()
}

/// Whether one seller's prices of two periods are among the sheets.
fn has_periods(contents: &[PriceSheet]) -> bool {
    let mut seen = BTreeSet::new();
    let mut periods = contents.iter().filter_map(|sheet| {
        let start = sheet.valid_from?;
        Some((&sheet.provider, &sheet.region, &sheet.model, start))
    });
    let firsts = periods.clone();
    seen.extend(firsts.map(|(provider, region, model, _)| (provider, region, model)));
    let all: BTreeSet<_> = periods.by_ref().collect();
    all.len() > seen.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use RecordSetting::{AllPeriods, AuthorAlone, OtherHostAlone, PooledHosts};
    use unroof_price_sheet::sheet::RateCell;

    fn sheet(provider: &str, model: &str) -> PriceSheet {
        PriceSheet::new(provider, model, vec![RateCell::default()])
    }

    fn dated(provider: &str, day: &str) -> PriceSheet {
        let valid_from = format!("{day}T00:00:00Z").parse().ok();
        PriceSheet {
            valid_from,
            ..sheet(provider, "glm-5")
        }
    }

    #[test]
    fn an_author_is_recognised_under_any_of_its_names() {
        let of = |provider: &str, model: &str| settings_of(&[sheet(provider, model)]);
        assert_eq!(of("z-ai", "glm-5"), [AuthorAlone]);
        assert_eq!(of("anthropic", "claude-opus-4-6"), [AuthorAlone]);
        assert_eq!(of("dashscope", "qwen3-32b"), [AuthorAlone]);
        assert_eq!(of("deepinfra", "glm-5"), [OtherHostAlone]);
        assert_eq!(of("acme", "m-1"), [AuthorAlone, OtherHostAlone]);
        let stated = PriceSheet {
            canonical_model: Some("acme/m-1".to_owned()),
            ..sheet("Acme", "m-1")
        };
        assert_eq!(settings_of(&[stated]), [AuthorAlone]);
    }

    #[test]
    fn several_hosts_are_a_pool_and_one_under_two_names_is_none() {
        let two = [sheet("zai", "glm-5"), sheet("deepinfra", "glm-5")];
        assert_eq!(settings_of(&two), [PooledHosts]);
        let one = [sheet("zai", "glm-5"), sheet("zhipuai-cn", "glm-5")];
        assert_eq!(settings_of(&one), [AuthorAlone]);
    }

    #[test]
    fn closed_weights_have_the_record_of_their_author_at_clouds_that_run_them() {
        let of = |provider: &str| PriceSheet {
            canonical_model: Some("anthropic/claude-opus-5".to_owned()),
            ..sheet(provider, "claude-opus-5")
        };
        let clouds = [of("anthropic"), of("amazon-bedrock"), of("google-vertex")];
        assert_eq!(settings_of(&clouds), [AuthorAlone]);
        assert_eq!(settings_of(&[of("anthropic"), of("acme")]), [PooledHosts]);
    }

    #[test]
    fn several_hosts_with_two_periods_of_one_are_a_pool_over_time() {
        let day = "2026-02-11";
        let once = [dated("zai", day), dated("deepinfra", "2026-03-01")];
        assert_eq!(settings_of(&once), [PooledHosts]);
        let twice = [
            dated("zai", day),
            dated("zai", "2026-05-01"),
            sheet("wandb", "glm-5"),
        ];
        assert_eq!(settings_of(&twice), [AllPeriods]);
    }
}
