//! Settings of a validation: which sheets an estimate is from, and what its calibration must not have seen.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{Date, date};
use sha2::{Digest, Sha256};

use crate::prices::{PricedModel, count, with_history};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::decision::decisions;
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::RecordSetting;

/// Hosts per model of which each is taken alone, and pools per model of each small number of decisions: more of them
/// change no mean by more than its own error.
const MOST_HOSTS: usize = 3;
const MOST_POOLS: usize = 1;
/// Fewest earlier models that a calibration is fitted to.
const LEAST_EARLIER: usize = 20;

/// Estimates that share a calibration.
#[derive(Debug)]
pub(super) struct Fold {
    /// Models and sheets that the calibration may see.
    pub(super) training: Vec<PricedModel>,
    /// The vendor whose markup the calibration must not know.
    pub(super) hidden: Option<String>,
    /// The estimates to score.
    pub(super) cases: Vec<Case>,
}

/// A model with the sheets from which it is estimated.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The model with these sheets alone.
    pub(super) model: PricedModel,
    /// The family or vendor by which the score is resampled.
    pub(super) group: String,
    /// Weight of the case in the score of the model: a model counts once however many of its hosts are estimated from.
    pub(super) weight: f64,
}

/// The folds of a setting: its estimates, and what their calibrations may see.
pub(super) fn folds(models: &[&PricedModel], setting: RecordSetting) -> Vec<Fold> {
    match setting {
        RecordSetting::PooledHosts => by_family(models, |model| vec![model.clone()]),
        RecordSetting::AllPeriods => {
            let pooled = with_history(models);
            by_family(models, |model| {
                let found = pooled.iter().find(|pooled| pooled.name == model.name);
                found.cloned().into_iter().collect()
            })
        }
        RecordSetting::AuthorAlone => by_author(models),
        RecordSetting::OtherHostAlone => by_other_host(models),
    }
}

/// Pools of this number of independent decisions, drawn from the hosts of each model that has as many.
pub(super) fn folds_of_decisions(models: &[&PricedModel], number: usize) -> Vec<Fold> {
    by_family(models, |model| pools(model, number))
}

/// The folds of a rolling split in time: each estimate by what was released before the half-year of its own model, and by none
/// of the model's author.
pub(super) fn rolling(folds: &[Fold]) -> Vec<Fold> {
    folds.iter().flat_map(earlier_models).collect()
}

fn earlier_models(fold: &Fold) -> Vec<Fold> {
    let mut by_half_year: BTreeMap<(Date, &str), Vec<Case>> = BTreeMap::new();
    for case in &fold.cases {
        let Some(released) = case.model.truth.released else {
            continue;
        };
        let period = (half_year(released), case.model.author.as_str());
        by_half_year.entry(period).or_default().push(case.clone());
    }
    let before = |((begin, author), cases): ((Date, &str), Vec<Case>)| {
        let is_earlier = |model: &&PricedModel| {
            model.author != author && model.truth.released.is_some_and(|day| day < begin)
        };
        let training: Vec<PricedModel> = fold.training.iter().filter(is_earlier).cloned().collect();
        (training.len() >= LEAST_EARLIER).then(|| Fold {
            training,
            hidden: fold.hidden.clone(),
            cases,
        })
    };
    by_half_year.into_iter().filter_map(before).collect()
}

/// First day of the half-year of a day.
fn half_year(day: Date) -> Date {
    date(day.year(), if day.month() < 7 { 1 } else { 7 }, 1)
}

/// A fold per family, calibrated without it.
fn by_family(
    models: &[&PricedModel],
    estimated: impl Fn(&PricedModel) -> Vec<PricedModel>,
) -> Vec<Fold> {
    let families: BTreeSet<&str> = models.iter().map(|model| model.family.as_str()).collect();
    let fold = |family: &str| {
        let (own, others): (Vec<&PricedModel>, Vec<&PricedModel>) =
            models.iter().partition(|model| model.family == family);
        let cases = own
            .into_iter()
            .flat_map(|model| cases(estimated(model), family))
            .collect();
        Fold {
            training: others.into_iter().cloned().collect(),
            hidden: None,
            cases,
        }
    };
    with_cases(families.into_iter().map(fold))
}

/// A fold per author: every row of its models and of their families, and every row that it sells, is left out.
fn by_author(models: &[&PricedModel]) -> Vec<Fold> {
    let authors: BTreeSet<&str> = models.iter().map(|model| model.author.as_str()).collect();
    let fold = |author: &str| {
        let own = models.iter().filter(|model| model.author == author);
        let families: BTreeSet<&str> = own.clone().map(|model| model.family.as_str()).collect();
        let is_other = |model: &&&PricedModel| {
            model.author != author && !families.contains(model.family.as_str())
        };
        let alone = |model: &&PricedModel| cases(own_sheet(model), author);
        Fold {
            training: without_seller(models.iter().filter(is_other), author),
            hidden: Some(author.to_owned()),
            cases: own.flat_map(alone).collect(),
        }
    };
    with_cases(authors.into_iter().map(fold))
}

/// The model with the sheet that its author sells: where it sells in two regions, the first of them, which is not China.
fn own_sheet(model: &PricedModel) -> Vec<PricedModel> {
    let mut own = each_sheet(&model.with_sheets(|_, is_author| is_author));
    own.truncate(1);
    own
}

/// A fold per family and host that is not the author: the family and all that the host sells are left out.
fn by_other_host(models: &[&PricedModel]) -> Vec<Fold> {
    let mut by_pair: BTreeMap<(String, String), Vec<Case>> = BTreeMap::new();
    for model in models {
        let others = model
            .with_sheets(|sheet, _| vendor(&sheet.provider) != model.author && has_price(sheet));
        let mut alone = each_sheet(&others);
        alone.sort_by_cached_key(|alone| lot(model, &alone.sheets[0].provider));
        alone.truncate(MOST_HOSTS);
        for case in cases(alone, &model.family) {
            let host = vendor(&case.model.sheets[0].provider);
            let pair = (model.family.clone(), host);
            by_pair.entry(pair).or_default().push(case);
        }
    }
    let fold = |((family, host), cases): ((String, String), Vec<Case>)| Fold {
        training: without_seller(models.iter().filter(|model| model.family != family), &host),
        hidden: Some(host),
        cases,
    };
    with_cases(by_pair.into_iter().map(fold))
}

/// Models without what a seller lists under any of its names.
fn without_seller<'m>(
    models: impl Iterator<Item = &'m &'m PricedModel>,
    seller: &str,
) -> Vec<PricedModel> {
    models
        .map(|model| model.with_sheets(|sheet, _| vendor(&sheet.provider) != seller))
        .collect()
}

/// The model with each of its sheets alone.
fn each_sheet(model: &PricedModel) -> Vec<PricedModel> {
    let alone = |wanted: &PriceSheet| model.with_sheets(|sheet, _| sheet == wanted);
    model.sheets.iter().map(alone).collect()
}

/// Pools of a number of independent decisions.
fn pools(model: &PricedModel, number: usize) -> Vec<PricedModel> {
    let sheets: Vec<&PriceSheet> = model.sheets.iter().collect();
    let decisions = decisions(&sheets, |_| false);
    let mut firsts: Vec<usize> = decisions
        .iter()
        .flatten()
        .map(|decision| decision.sheet)
        .collect();
    if firsts.len() < number {
        return Vec::new();
    }
    let pool = |round: usize| {
        firsts.sort_by_cached_key(|place| lot(model, &format!("{round} {place}")));
        let drawn: Vec<&PriceSheet> = firsts[..number]
            .iter()
            .map(|place| sheets[*place])
            .collect();
        model.with_sheets(|sheet, _| drawn.contains(&sheet))
    };
    (0..MOST_POOLS).map(pool).collect()
}

/// A place in a shuffled order that is the same on every machine.
fn lot(model: &PricedModel, of: &str) -> [u8; 32] {
    Sha256::digest(format!("{}\n{of}", model.name)).into()
}

fn has_price(sheet: &PriceSheet) -> bool {
    sheet.base_rate().is_some()
}

/// Estimates of one model, each with its share.
fn cases(estimated: Vec<PricedModel>, group: &str) -> Vec<Case> {
    let priced = estimated
        .into_iter()
        .filter(|model| !model.sheets.is_empty());
    let priced: Vec<PricedModel> = priced.collect();
    let weight = 1.0 / count(priced.len().max(1));
    let case = |model| Case {
        model,
        group: group.to_owned(),
        weight,
    };
    priced.into_iter().map(case).collect()
}

fn with_cases(folds: impl Iterator<Item = Fold>) -> Vec<Fold> {
    folds.filter(|fold| !fold.cases.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::built_in;
    use crate::validation::scored_models;

    fn built() -> Vec<PricedModel> {
        built_in()
            .into_iter()
            .filter(|model| !model.sheets.is_empty())
            .collect()
    }

    fn all_folds(setting: RecordSetting) -> Vec<Fold> {
        let models = built();
        folds(&models.iter().collect::<Vec<_>>(), setting)
    }

    #[test]
    fn no_calibration_has_seen_the_family_of_its_models() {
        for setting in RecordSetting::ALL {
            for fold in all_folds(setting) {
                assert!(!fold.training.is_empty());
                for case in &fold.cases {
                    let family = &case.model.family;
                    assert!(fold.training.iter().all(|model| model.family != *family));
                }
            }
        }
    }

    #[test]
    fn the_fold_of_an_author_holds_no_row_of_its_models_or_of_what_it_sells() {
        let folds = all_folds(RecordSetting::AuthorAlone);
        let names: BTreeSet<&str> = folds
            .iter()
            .flat_map(|fold| &fold.cases)
            .map(|case| case.model.name.as_str())
            .collect();
        // Models that were added later are estimated too.
        assert!(scored_models(RecordSetting::AuthorAlone).all(|name| names.contains(name)));
        for fold in &folds {
            let author = fold.hidden.as_deref().expect("the author is hidden");
            for model in &fold.training {
                assert_ne!(model.author, author);
                let sellers = model.sheets.iter().map(|sheet| vendor(&sheet.provider));
                assert!(
                    sellers.into_iter().all(|seller| seller != author),
                    "{author}"
                );
            }
            for case in &fold.cases {
                assert_eq!(case.group, author);
                assert_eq!(case.model.first_party, [true]);
                assert!((case.weight - 1.0).abs() < 1e-12);
            }
        }
        // Alibaba also sells models of others, under two names; none of these rows is left.
        let sold = built();
        let sold = sold.iter().filter(|model| model.author != "alibaba");
        let sold = sold.flat_map(|model| &model.sheets);
        assert!(sold.filter(|sheet| sheet.provider == "alibaba-cn").count() > 5);
    }

    #[test]
    fn another_host_alone_is_not_the_author_and_nothing_it_sells_is_seen() {
        let mut shares: BTreeMap<String, f64> = BTreeMap::new();
        for fold in all_folds(RecordSetting::OtherHostAlone) {
            let host = fold.hidden.expect("the host is hidden");
            for case in fold.cases {
                assert_eq!(case.model.sheets.len(), 1);
                assert_ne!(host, case.model.author);
                *shares.entry(case.model.name).or_default() += case.weight;
            }
            let seen = fold.training.iter().flat_map(|model| &model.sheets);
            assert!(
                seen.into_iter()
                    .all(|sheet| vendor(&sheet.provider) != host)
            );
        }
        assert!(shares.len() > 70);
        assert!(shares.values().all(|share| (share - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_rolling_split_knows_no_later_model_and_none_of_the_author() {
        let folds = rolling(&all_folds(RecordSetting::PooledHosts));
        let cases: usize = folds.iter().map(|fold| fold.cases.len()).sum();
        assert!(cases > 100, "{cases}");
        for fold in &folds {
            for case in &fold.cases {
                let released = case.model.truth.released.expect("it is dated");
                for model in &fold.training {
                    assert!(model.truth.released.expect("it is dated") < released);
                    assert_ne!(model.author, case.model.author);
                }
            }
        }
    }

    #[test]
    fn a_pool_has_as_many_independent_decisions_as_it_is_scored_for() {
        let models = built();
        let models: Vec<&PricedModel> = models.iter().collect();
        for number in 1..=4 {
            for case in folds_of_decisions(&models, number)
                .iter()
                .flat_map(|fold| &fold.cases)
            {
                assert_eq!(case.model.sheets.len(), number, "{}", case.model.name);
            }
        }
    }

    #[test]
    fn models_with_a_history_are_pooled_over_their_periods() {
        let models = built();
        for case in all_folds(RecordSetting::AllPeriods)
            .iter()
            .flat_map(|fold| &fold.cases)
        {
            let today = models.iter().find(|model| model.name == case.model.name);
            let today = today.expect("it has a price today");
            assert!(case.model.sheets.len() > today.sheets.len());
        }
    }
}
