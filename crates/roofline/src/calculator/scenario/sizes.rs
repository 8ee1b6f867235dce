//! A model by its sizes alone: what is left out is that of the open-weight model nearest in size, scaled.

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::reference::architecture::{
    Architecture, AttentionGroup, DIMENSION, Experts, GroupedQuery, PARAMETERS,
};
use crate::reference::{OpenModel, open_model, open_models};
use unroof_base::input::body::{Stated, body, count, number, section};

/// Model where none is stated.
pub(super) const DEFAULT_MODEL: &str = "DeepSeek-V3";
/// Elements of a token between layers are a multiple of this.
const WIDTH_STEP: f64 = 64.0;
/// Elements of a query head.
const HEAD: u32 = 128;
/// Largest share of the active parameters that a matrix of the vocabulary has.
const MOST_VOCABULARY: f64 = 0.2;
/// Experts over active experts exceed total over active parameters at least by this factor: not all parameters are experts.
const LEAST_EXPERTS: f64 = 1.1;

body! {
    /// A model by its sizes. What is left out is that of the open-weight model nearest in size, scaled with the active
    /// parameters; the answer names that model.
    #[at_least(1)]
    pub struct StatedSizes {
        /// `N_t`: parameters of the model; `N_a` if left out, and those of DeepSeek-V3 if that is left out too.
        total_parameters: Stated<f64> = number(PARAMETERS).unit("parameters").flag("total-parameters"),
        /// `N_a`: parameters that one token is multiplied with; `N_t` if left out.
        active_parameters: Stated<f64> = number(PARAMETERS).unit("parameters").flag("active-parameters"),
        /// Layers.
        layers: Stated<u32> = count(DIMENSION).unit("layers").flag("layers"),
        /// Elements of a token between layers.
        hidden_dimension: Stated<u32> = count(DIMENSION).unit("elements").flag("hidden-dimension"),
        /// Experts of a mixture.
        experts: StatedExperts = section::<StatedExperts>(),
        /// `k_st`: KV bytes stored per token, all layers, as served.
        kv_bytes_per_token_stored: Stated<f64> = number(1.0..=1e12).unit("B/token").flag("kv-bytes-per-token"),
    }

    /// Experts of a mixture, of which more parameters are stated than are active.
    pub struct StatedExperts {
        /// Routed experts per layer.
        routed: Stated<u32> = count(2..=1 << 24).unit("experts").flag("experts"),
        /// Routed experts per layer that a token goes to.
        active: Stated<u32> = count(DIMENSION).unit("experts").flag("active-experts"),
        /// Layers with experts.
        layers: Stated<u32> = count(DIMENSION).unit("layers"),
    }
}

/// A size from 1 on.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and 2^24"
)]
fn whole(number: f64) -> u32 {
    number.round().clamp(1.0, f64::from(*DIMENSION.end())) as u32
}

/// The open-weight model nearest in both sizes, with caches of every token and without linear layers.
fn nearest(total: f64, active: f64) -> Option<&'static OpenModel> {
    let is_usual = |model: &&OpenModel| {
        let architecture = &model.architecture;
        let is_dense = architecture.experts.is_none();
        let has_plain_cache = |group: &AttentionGroup| match group {
            AttentionGroup::GroupedQuery(group) => group.sparse.is_none(),
            AttentionGroup::Latent(group) => group.sparse.is_none(),
            AttentionGroup::Compressed(_) | AttentionGroup::Linear(_) => false,
        };
        is_dense == (active >= total) && architecture.attention.iter().all(has_plain_cache)
    };
    let distance = |model: &OpenModel| {
        let apart = |left: f64, right: f64| (left / right).ln().powi(2);
        apart(total, model.architecture.total_parameters)
            + apart(active, model.architecture.active_parameters)
    };
    let usual = open_models().iter().filter(is_usual);
    usual.min_by(|left, right| distance(left).total_cmp(&distance(right)))
}

impl StatedSizes {
    /// The architecture that follows from the sizes, with caches of this many bytes per element.
    pub(super) fn architecture(
        &self,
        inputs: &Inputs<'_>,
        bytes_per_element: f64,
    ) -> Option<Architecture> {
        let (total, active) = self.parameters(inputs)?;
        let like = nearest(total, active)?;
        inputs.name("model.like", &like.name, Origin::Derived);
        let of = &like.architecture;
        let ratio = (active / of.active_parameters).cbrt();
        let usual = whole(f64::from(of.layers) * ratio);
        let layers = inputs.or(&self.layers, usual, Origin::Derived)?;
        let steps = whole(f64::from(of.hidden_dimension) * ratio / WIDTH_STEP);
        let usual = steps.saturating_mul(whole(WIDTH_STEP));
        let hidden_dimension = inputs.or(&self.hidden_dimension, usual, Origin::Derived)?;
        let vocabulary = of.input_embedding_parameters / f64::from(of.hidden_dimension);
        let embedding = vocabulary * f64::from(hidden_dimension);
        Some(Architecture {
            total_parameters: total,
            active_parameters: active,
            layers,
            hidden_dimension,
            input_embedding_parameters: embedding.min(MOST_VOCABULARY * active).floor(),
            always_read_parameters: None,
            experts: self.experts(inputs, (total, active), of, layers)?,
            attention: self.attention(inputs, of, (layers, hidden_dimension), bytes_per_element)?,
        })
    }

    /// `N_t` and `N_a`.
    fn parameters(&self, inputs: &Inputs<'_>) -> Option<(f64, f64)> {
        let stated = |field: &Stated<f64>| field.value.ok();
        let (total, active) = (
            stated(&self.total_parameters)?,
            stated(&self.active_parameters)?,
        );
        let of_default = &open_model(DEFAULT_MODEL)?.architecture;
        let usual = |of_default: f64| match total.or(active) {
            Some(usual) => (usual, Origin::Derived),
            None => (of_default, Origin::Default),
        };
        let total = usual(of_default.total_parameters);
        let total = inputs.or_else(&self.total_parameters, Some(total))?;
        let active = usual(of_default.active_parameters);
        let active = inputs.or_else(&self.active_parameters, Some(active))?;
        if active > total {
            inputs.fault(
                &self.active_parameters,
                "more active than total parameters",
                "state at most `total_parameters`",
            );
            return None;
        }
        Some((total, active))
    }

    /// The experts of a model of which not all parameters are active.
    #[expect(
        clippy::option_option,
        reason = "the outer one is a recorded fault, the inner one a model without experts"
    )]
    fn experts(
        &self,
        inputs: &Inputs<'_>,
        (total, active): (f64, f64),
        like: &Architecture,
        layers: u32,
    ) -> Option<Option<Experts>> {
        let stated = &self.experts;
        let fields = [&stated.routed, &stated.active, &stated.layers];
        if active >= total {
            if let Some(field) = fields.into_iter().find(|field| field.is_stated()) {
                inputs.fault(
                    field,
                    "all parameters are active, so that there are no experts",
                    "state `active_parameters` below `total_parameters`",
                );
                return None;
            }
            return Some(None);
        }
        let of = like.experts?;
        let of_token = inputs.or(&stated.active, of.active, Origin::Derived)?;
        let least = f64::from(of_token) * total / active;
        let usual = of.routed.max(whole((least * LEAST_EXPERTS).ceil()));
        let routed = inputs.or(&stated.routed, usual, Origin::Derived)?;
        if f64::from(routed) < least {
            let detail = format!(
                "{of_token} of {routed} experts per token cannot make {active:e} of {total:e} parameters active"
            );
            let hint = "state more experts, fewer of them active, or more `active_parameters`";
            if stated.routed.is_stated() {
                inputs.fault(&stated.routed, detail, hint);
            } else {
                inputs.fault(&self.active_parameters, detail, hint);
            }
            return None;
        }
        let share = f64::from(of.layers) / f64::from(like.layers);
        let usual = whole(share * f64::from(layers));
        let with_experts = inputs.or(&stated.layers, usual, Origin::Derived)?;
        if with_experts > layers {
            inputs.fault(
                &stated.layers,
                format!("{with_experts} layers have experts and the model has {layers}"),
                format!("write a whole number from 1 to {layers}"),
            );
            return None;
        }
        Some(Some(Experts {
            routed,
            active: of_token,
            layers: with_experts,
            parameters: None,
        }))
    }

    /// Attention with the stated bytes per token, or like that of the model nearest in size.
    fn attention(
        &self,
        inputs: &Inputs<'_>,
        like: &Architecture,
        (layers, hidden_dimension): (u32, u32),
        bytes_per_element: f64,
    ) -> Option<Vec<AttentionGroup>> {
        if self.kv_bytes_per_token_stored.is_stated() {
            let bytes = inputs.or_else(&self.kv_bytes_per_token_stored, None)?;
            let elements = whole(bytes / bytes_per_element / f64::from(layers)).max(2);
            return Some(vec![AttentionGroup::GroupedQuery(GroupedQuery {
                layers,
                query_heads: (hidden_dimension / HEAD).max(1),
                kv_heads: 1,
                key_dimension: elements - elements / 2,
                value_dimension: elements / 2,
                window: None,
                chunked: None,
                sparse: None,
            })]);
        }
        let scale = f64::from(layers) / f64::from(like.layers);
        let scaled = |group: &AttentionGroup| {
            let mut group = *group;
            match &mut group {
                AttentionGroup::GroupedQuery(group) => {
                    group.layers = whole(f64::from(group.layers) * scale);
                }
                AttentionGroup::Latent(group) => {
                    group.layers = whole(f64::from(group.layers) * scale);
                }
                AttentionGroup::Compressed(_) | AttentionGroup::Linear(_) => {}
            }
            group
        };
        Some(like.attention.iter().map(scaled).collect())
    }
}
