//! Probabilities that one of two models has more of a quantity.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::drawn::Drawn;
use unroof_base::units::significant;
use unroof_edge::Problem;
use unroof_infer::estimate::model::ModelPool;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::samples::Sorted;
use unroof_infer::estimate::vendor::{SizeRatio, VendorModel, estimate};
use unroof_infer::estimate::{CancelToken, Estimator};

/// An ordered pair of models
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparedPair {
    /// Canonical name of the first model.
    pub(crate) model: String,
    /// Canonical name of the second model.
    pub(crate) than: String,
    /// Probabilities for every quantity.
    pub(crate) quantities: Vec<ProbabilityOfMore>,
}

/// The probability that the one model has more of a quantity than the other
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProbabilityOfMore {
    /// Name of the quantity.
    #[schema(example = "active_parameters")]
    pub(crate) quantity: &'static str,
    /// Probability that the first model has more.
    pub(crate) probability: f64,
    /// The draws that were compared.
    pub(crate) draws: ComparedDraws,
}

/// Relation of the draws of two models
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ComparedDraws {
    /// Draws of each model by itself, from all of its sheets.
    Independent,
    /// Draws of two models as their author sells them, with one markup and one accelerator in common.
    Vendor,
}

/// Every ordered pair of models.
pub(super) fn of(
    drawn: &[Drawn],
    estimator: &Estimator,
    wanted: &CancelToken,
) -> Result<Vec<ComparedPair>, Problem> {
    let ratios = common_ratios(drawn, estimator, wanted)?;
    let sorted =
        |model: &Drawn| JointQuantity::ALL.map(|quantity| model.samples(quantity).sorted(quantity));
    let sorted: Vec<[Sorted; JointQuantity::COUNT]> = drawn.iter().map(sorted).collect();
    let mut pairs = Vec::new();
    for (one, own) in drawn.iter().zip(&sorted) {
        for (other, others) in drawn.iter().zip(&sorted) {
            let (model, than) = (&one.row.canonical_model, &other.row.canonical_model);
            if model == than {
                continue;
            }
            let probability = |quantity: JointQuantity| {
                let common = more_in_common(&ratios, model, than, quantity);
                let place = quantity as usize;
                let alone = || own[place].probability_of_more_than(&others[place]);
                ProbabilityOfMore {
                    quantity: quantity.name(),
                    probability: significant(common.unwrap_or_else(alone)),
                    draws: match common {
                        Some(_) => ComparedDraws::Vendor,
                        None => ComparedDraws::Independent,
                    },
                }
            };
            pairs.push(ComparedPair {
                model: model.clone(),
                than: than.clone(),
                quantities: JointQuantity::ALL.into_iter().map(probability).collect(),
            });
        }
    }
    Ok(pairs)
}

/// The ratios of models that one author sells itself and whose architecture is not published.
fn common_ratios(
    drawn: &[Drawn],
    estimator: &Estimator,
    wanted: &CancelToken,
) -> Result<Vec<SizeRatio>, Problem> {
    let mut by_author: BTreeMap<&str, Vec<VendorModel>> = BTreeMap::new();
    let has_own = |model: &&Drawn| !model.own.is_empty() && !model.is_published();
    for model in drawn.iter().filter(has_own) {
        let name = &model.row.canonical_model;
        let sold = VendorModel {
            canonical_model: name.clone(),
            sheets: ModelPool::new(name, &model.own).used(),
        };
        by_author.entry(&model.row.author).or_default().push(sold);
    }
    let mut ratios = Vec::new();
    for (author, models) in by_author {
        if models.len() > 1 {
            let together = estimate(author, &models, estimator.calibration(), wanted)?;
            ratios.extend(together.into_iter().flat_map(|together| together.ratios));
        }
    }
    Ok(ratios)
}

/// The probability from the joint draws of a vendor's models; none where there are none of both.
fn more_in_common(
    ratios: &[SizeRatio],
    model: &str,
    than: &str,
    quantity: JointQuantity,
) -> Option<f64> {
    let more = |ratio: &SizeRatio| match quantity {
        JointQuantity::ActiveParameters => Some(ratio.more_active_parameters),
        JointQuantity::TotalParameters => Some(ratio.more_total_parameters),
        _ => None,
    };
    ratios.iter().find_map(|ratio| {
        if ratio.larger == model && ratio.smaller == than {
            more(ratio)
        } else if ratio.larger == than && ratio.smaller == model {
            Some(1.0 - more(ratio)?)
        } else {
            None
        }
    })
}
