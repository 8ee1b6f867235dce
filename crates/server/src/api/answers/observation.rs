//! The `observe` member of an answer: the effect of a request on the record of prices, and the reason for it.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::model_link::ModelLink;
use super::storing::Storing;
use unroof_infer::estimate::Answer;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::{Effect, Other};

/// An answer with the effect of its request.
#[derive(Serialize, ToSchema)]
pub(crate) struct InferAnswer {
    /// Answer as it is stored.
    #[serde(flatten)]
    answer: Answer,
    /// Effect of the request on the record of prices; left out where the answer is not stored.
    #[schema(nullable = false)]
    observe: Option<Observation>,
    /// Whether the answer is stored.
    store: Storing,
    /// The estimate of the model, where there is one; left out with `store=false`.
    #[schema(nullable = false)]
    model_estimate: Option<ModelLink>,
}

/// Effect of a request on the record of prices
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Observation {
    /// Whether the request is an observation of a price; otherwise it is a question, which changes no price.
    observed: bool,
    /// Reason that the request is an observation, or a question.
    #[schema(example = "no assumptions are stated")]
    because: &'static str,
    /// Effects of the observed sheets, in their order; empty for a question.
    sheets: Vec<ObservedSheet>,
}

/// Effect of an observed sheet on the price of its offer
#[derive(Debug, Serialize, ToSchema)]
struct ObservedSheet {
    /// Id of the sheet.
    price_sheet_id: Uuid,
    /// Place of the sheet in the record.
    effect: EffectName,
    /// Effect of the sheet, in words.
    #[schema(example = "it is the price in force")]
    because: String,
    /// Id of the sheet in force now; null where no price is in force.
    in_force_id: Option<Uuid>,
    /// Catalog that states the sheet in force, or `posted`; null where the observed sheet is in force, or none is.
    source: Option<String>,
    /// Start of a price that begins later.
    starts_at: Option<Timestamp>,
}

/// Place of an observed sheet in the record
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum EffectName {
    /// The sheet is the price in force.
    InForce,
    /// The price in force is the same, by the sheet of another source.
    Confirms,
    /// The price begins later.
    Scheduled,
    /// Another source states another price, and counts more: `/disagreements` lists both.
    Outranked,
    /// The sheet is under quarantine while another source disagrees.
    Quarantined,
    /// The sheet was withdrawn.
    Withdrawn,
    /// The source has replaced the sheet since, or the price has expired.
    Past,
}

impl Observation {
    /// A question: the reason follows from the request.
    pub(crate) fn of_question(has_assumptions: bool, may_observe: bool) -> Self {
        let because = if has_assumptions {
            "the request states assumptions, so it is a question"
        } else if !may_observe {
            "the caller has the scope `ask`; prices enter the record with the scope `observe`"
        } else {
            "the request has `observe=false`"
        };
        Self {
            observed: false,
            because,
            sheets: Vec::new(),
        }
    }

    /// An observation with the effects of its sheets, which the request may have asked for.
    pub(crate) fn of_sheets(
        sheets: &[PriceSheet],
        effects: Vec<Effect>,
        is_asked_for: bool,
    ) -> Self {
        let because = if is_asked_for {
            "the request has `observe=true`"
        } else {
            "no assumptions are stated"
        };
        let sheets = sheets.iter().zip(effects);
        Self {
            observed: true,
            because,
            sheets: sheets
                .map(|(sheet, effect)| ObservedSheet::new(sheet.id().0, effect))
                .collect(),
        }
    }
}

impl ObservedSheet {
    fn new(price_sheet_id: Uuid, effect: Effect) -> Self {
        let plain = |effect, because: &str| Self {
            price_sheet_id,
            effect,
            because: because.to_owned(),
            in_force_id: None,
            source: None,
            starts_at: None,
        };
        let beside = |effect, other: Other, because: &str| Self {
            because: format!("{} {because}", other.source),
            in_force_id: Some(other.sheet_id),
            source: Some(other.source),
            ..plain(effect, "")
        };
        match effect {
            Effect::InForce => Self {
                in_force_id: Some(price_sheet_id),
                ..plain(EffectName::InForce, "it is the price in force")
            },
            Effect::Confirms(other) => beside(EffectName::Confirms, other, "states the same price"),
            Effect::Scheduled(starts_at) => Self {
                starts_at: Some(starts_at),
                ..plain(EffectName::Scheduled, "its price begins later")
            },
            Effect::Outranked(other) => beside(
                EffectName::Outranked,
                other,
                "states another price and counts more: see /disagreements",
            ),
            Effect::Quarantined(other) => beside(
                EffectName::Quarantined,
                other,
                "disagrees, and the observed price is far from it or fits no machine",
            ),
            Effect::Withdrawn => plain(EffectName::Withdrawn, "it was withdrawn"),
            Effect::Past => plain(
                EffectName::Past,
                "it was replaced or has expired: the history of the model has it",
            ),
        }
    }
}
