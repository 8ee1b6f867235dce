//! The canonical model of four sizes and a kind of attention: what the engine needs beyond `N_a`, `N_t`, `k_bw` and `k_st`,
//! by regression on the open-weight models.

use std::sync::LazyLock;

use nalgebra::{DMatrix, DVector};

use super::kv_reading::{KvReading, READ_CONTEXT_TOKENS};
use crate::reference::architecture::Architecture;
use crate::reference::{AttentionKind, open_models};
use crate::roofline::{AttentionKernels, KvCache, ModelShape, PromptTokens};
use crate::units::number::Number;

/// Numbers of sizes that a regression starts from.
const OF_SIZES: usize = 6;
/// The same with one number per kind of attention.
const FEATURES: usize = OF_SIZES + AttentionKind::COUNT;
/// Weight of the penalty on squares of coefficients, in models: it keeps those of features small that vary together.
const RIDGE: f64 = 0.1;
/// Deviation of a stated size up to which it is that of an open-weight model: published figures are rounded.
const ROUNDING: f64 = 0.03;
/// Least share of the active parameters that are experts, and the most.
const EXPERT_SHARE: (f64, f64) = (0.05, 0.97);

/// The sizes that a draw of the joint estimate has; natural logarithms, KV in elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes<N = f64> {
    /// log `N_a`
    pub log_active: N,
    /// log `N_t`, at least log `N_a`
    pub log_total: N,
    /// log `k_bw`, of a context of 8,192 tokens
    pub log_kv_read: N,
    /// log `k_st`
    pub log_kv_stored: N,
    /// Whether the model is dense.
    pub is_dense: bool,
    /// Kind of attention.
    pub attention: AttentionKind,
}

impl Sizes {
    /// The sizes of an architecture.
    #[must_use]
    pub(super) fn of(architecture: &Architecture) -> Self {
        let cache = KvCache::new(architecture);
        let stored = cache.stored_elements_per_token();
        Self {
            log_active: architecture.active_parameters.ln(),
            log_total: architecture.total_parameters.ln(),
            log_kv_read: (cache.read_elements(READ_CONTEXT_TOKENS) / READ_CONTEXT_TOKENS).ln(),
            log_kv_stored: stored.ln(),
            is_dense: architecture.experts.is_none(),
            attention: AttentionKind::of(&architecture.attention),
        }
    }

    fn features(&self) -> [f64; FEATURES] {
        let read = self.log_kv_read - 10.0;
        let of_sizes = [
            1.0,
            self.log_active - 23.0,
            self.log_total - self.log_active,
            read,
            read * read,
            if self.is_dense { 1.0 } else { 0.0 },
        ];
        let mut features = [0.0; FEATURES];
        features[..OF_SIZES].copy_from_slice(&of_sizes);
        features[OF_SIZES + self.attention as usize] = 1.0;
        features
    }

    /// Elements that a step reads, and those stored, by context.
    fn reading(&self) -> KvReading {
        KvReading::new(self.attention, self.log_kv_read, self.log_kv_stored)
    }
}

/// A linear function of the features.
type Line = [f64; FEATURES];

/// The regressions, of logarithms.
#[derive(Debug)]
struct Regressions {
    layers: Line,
    hidden_dimension: Line,
    /// The input embedding over the hidden dimension: the vocabulary.
    vocabulary: Line,
    /// Multiply-adds of attention per element that a generated token reads.
    decode_macs: Line,
    /// The same per element that a prompt token would read alone.
    prefill_macs: Line,
    /// Bytes of linear state per sequence, of models that have it.
    state_bytes: Line,
    /// log odds that an active parameter is one of an expert.
    expert_odds: Line,
    /// Routed experts per token.
    active_experts: Line,
    /// Layers with experts over layers.
    expert_layers: Line,
}

static REGRESSIONS: LazyLock<Regressions> = LazyLock::new(|| {
    let models: Vec<&Architecture> = open_models()
        .iter()
        .map(|model| &model.architecture)
        .collect();
    Regressions::new(&models)
});

/// Features that differ between draws of one class of models.
const VARYING: usize = 4;
/// Numbers of a model that follow from its sizes by a regression: of all models, of their experts, and of linear state.
const REGRESSED: usize = 9;

/// The regressions of one class of models: what no draw of it changes is part of the intercept.
#[derive(Debug, Clone, Copy)]
struct OfClass {
    intercepts: [f64; REGRESSED],
    slopes: [[f64; REGRESSED]; VARYING],
}

/// Of dense models and of mixtures of experts, by [`AttentionKind`].
static OF_CLASSES: LazyLock<[[OfClass; AttentionKind::COUNT]; 2]> = LazyLock::new(|| {
    [false, true].map(|is_dense| {
        std::array::from_fn(|kind| REGRESSIONS.of_class(is_dense, AttentionKind::ALL[kind]))
    })
});

/// Numbers of a model that are not sums or shares of its sizes.
#[derive(Debug, Clone, Copy)]
struct Regressed<N> {
    layers: N,
    hidden_dimension: N,
    vocabulary: N,
    decode_macs: N,
    prefill_macs: N,
    state_bytes: N,
    expert_odds: N,
    active_experts: N,
    expert_layers: N,
}

impl<N: Number> Regressed<N> {
    #[expect(
        clippy::needless_range_loop,
        reason = "loops over indices of fixed length are unrolled; iterators are not"
    )]
    fn new(sizes: &Sizes<N>) -> Self {
        let of_class = &OF_CLASSES[usize::from(sizes.is_dense)][sizes.attention as usize];
        let read = sizes.log_kv_read - 10.0;
        let varying = [
            sizes.log_active - 23.0,
            sizes.log_total - sizes.log_active,
            read,
            read * read,
        ];
        let mut logs = of_class.intercepts.map(N::splat);
        for feature in 0..VARYING {
            for line in 0..REGRESSED {
                logs[line] += varying[feature] * of_class.slopes[feature][line];
            }
        }
        let [of_all @ .., state_bytes, odds, active, of_layers] = logs;
        let [
            layers,
            hidden_dimension,
            vocabulary,
            decode_macs,
            prefill_macs,
        ] = N::exp_each(&of_all);
        // Exponentials take most of the time, so that those that no model of the class needs are left out.
        let zero = N::splat(0.0);
        let has_state = sizes.attention == AttentionKind::HybridLinear;
        let [expert_odds, active_experts, expert_layers] = if sizes.is_dense {
            [zero; 3]
        } else {
            N::exp_each(&[odds, active, of_layers])
        };
        Self {
            layers,
            hidden_dimension,
            vocabulary,
            decode_macs,
            prefill_macs,
            state_bytes: if has_state { state_bytes.exp() } else { zero },
            expert_odds,
            active_experts,
            expert_layers,
        }
    }
}

impl Regressions {
    fn new(models: &[&Architecture]) -> Self {
        let line = |value: &dyn Fn(&Architecture) -> f64| {
            let rows = models
                .iter()
                .map(|model| (Sizes::of(model), value(model)))
                .filter(|(sizes, value)| sizes.log_kv_read.is_finite() && value.is_finite());
            fit(&rows.collect::<Vec<_>>())
        };
        let of_experts = |value: fn(&Architecture, f64) -> f64| {
            move |model: &Architecture| {
                let active = model.experts.map(|experts| f64::from(experts.active));
                active.map_or(f64::NAN, |active| value(model, active))
            }
        };
        Self {
            layers: line(&|model| f64::from(model.layers).ln()),
            hidden_dimension: line(&|model| f64::from(model.hidden_dimension).ln()),
            vocabulary: line(&|model| {
                (model.input_embedding_parameters / f64::from(model.hidden_dimension)).ln()
            }),
            decode_macs: line(&|model| {
                let read = Sizes::of(model).reading().bytes_at(READ_CONTEXT_TOKENS);
                (KvCache::new(model).decode_macs(READ_CONTEXT_TOKENS) / read).ln()
            }),
            prefill_macs: line(&|model| {
                let prompt = PromptTokens::fresh(READ_CONTEXT_TOKENS);
                let read = Sizes::of(model).reading().read_up_to(READ_CONTEXT_TOKENS);
                (KvCache::new(model).prefill_macs(prompt) / read).ln()
            }),
            state_bytes: line(&|model| KvCache::new(model).state_per_sequence().0.ln()),
            expert_odds: line(&of_experts(|model, _| {
                let share = model.active_expert_parameters() / model.active_parameters;
                let share = share.clamp(EXPERT_SHARE.0, EXPERT_SHARE.1);
                (share / (1.0 - share)).ln()
            })),
            active_experts: line(&of_experts(|_, active| active.ln())),
            expert_layers: line(&of_experts(|model, _| {
                (f64::from(model.expert_layers()) / f64::from(model.layers)).ln()
            })),
        }
    }

    /// The lines of a class, in the order of [`Regressed`].
    fn of_class(&self, is_dense: bool, attention: AttentionKind) -> OfClass {
        let lines = [
            &self.layers,
            &self.hidden_dimension,
            &self.vocabulary,
            &self.decode_macs,
            &self.prefill_macs,
            &self.state_bytes,
            &self.expert_odds,
            &self.active_experts,
            &self.expert_layers,
        ];
        let of_density = |line: &Line| if is_dense { line[OF_SIZES - 1] } else { 0.0 };
        OfClass {
            intercepts: lines
                .map(|line| line[0] + of_density(line) + line[OF_SIZES + attention as usize]),
            slopes: std::array::from_fn(|feature| lines.map(|line| line[1 + feature])),
        }
    }
}

impl<N: Number> Regressed<N> {
    fn shape(&self, sizes: &Sizes<N>, active: N, total: N) -> ModelShape<N> {
        let (layers, hidden_dimension) = (self.layers, self.hidden_dimension);
        let (zero, one) = (N::splat(0.0), N::splat(1.0));
        // A matrix of the vocabulary is no more than a fifth of what a token is multiplied with.
        let vocabulary = (self.vocabulary * hidden_dimension).min(active * 0.2);
        // What a token of a dense model is not multiplied with are tables that it looks up, as embeddings of every layer.
        let looked_up = if sizes.is_dense { total - active } else { zero };
        let embedding = vocabulary.max(looked_up);
        let dense = ModelShape {
            total_parameters: total,
            active_parameters: active,
            input_embedding_parameters: embedding,
            always_read_parameters: total - embedding,
            expert_parameters: zero,
            active_expert_parameters: zero,
            has_experts: false,
            layers,
            expert_layers: zero,
            hidden_dimension,
            routed_experts: zero,
            active_experts: zero,
        };
        if sizes.is_dense {
            return dense;
        }
        // N_t = X + N_exp and N_a = X + N_exp/s, of which N_exp/s is a share of N_a: s = 1 + (N_t/N_a − 1)/share.
        let odds = self.expert_odds;
        let (least, most) = EXPERT_SHARE;
        let share = (odds / (odds + 1.0))
            .max(N::splat(least))
            .min(N::splat(most));
        let routed_over_active = (total / active - 1.0) / share + 1.0;
        let active_experts = self.active_experts.max(one);
        let active_expert_parameters = share * active;
        let expert_parameters = active_expert_parameters * routed_over_active;
        ModelShape {
            always_read_parameters: (total - expert_parameters - embedding).max(zero),
            expert_parameters,
            active_expert_parameters,
            has_experts: true,
            expert_layers: (self.expert_layers * layers).min(layers),
            routed_experts: active_experts * routed_over_active,
            active_experts,
            ..dense
        }
    }
}

/// Ridge regression.
fn fit(rows: &[(Sizes, f64)]) -> Line {
    let mut moments = DMatrix::<f64>::identity(FEATURES, FEATURES) * RIDGE;
    let mut across = DVector::<f64>::zeros(FEATURES);
    // The intercept is free.
    moments[(0, 0)] = 1e-9;
    for (sizes, value) in rows {
        let features = DVector::from_row_slice(&sizes.features());
        moments += &features * features.transpose();
        across += features * *value;
    }
    let solved = moments.cholesky().map(|factor| factor.solve(&across));
    solved.map_or([0.0; FEATURES], |line| std::array::from_fn(|at| line[at]))
}

/// A model as the engine needs it.
#[derive(Debug, Clone, Copy)]
pub struct CanonicalModel<N = f64> {
    /// Its sizes.
    pub shape: ModelShape<N>,
    /// Its attention.
    pub attention: Attention<N>,
}

/// Attention of a model: what it reads and stores of a context, and its arithmetic.
#[derive(Debug, Clone, Copy)]
pub struct Attention<N = f64>(Kind<N>);

#[derive(Debug, Clone, Copy)]
enum Kind<N> {
    /// In proportion to the elements that are read.
    Proportional {
        reading: KvReading<N>,
        decode_macs: N,
        prefill_macs: N,
        state_bytes: N,
    },
    /// That of an open-weight model.
    Known(&'static KvCache),
}

/// An open-weight model that stated sizes belong to.
#[derive(Debug)]
pub struct KnownModel {
    sizes: Sizes,
    /// log of the slope at infinite context, which older statements of `k_bw` mean
    log_kv_slope: f64,
    shape: ModelShape,
    cache: KvCache,
}

static KNOWN: LazyLock<Vec<KnownModel>> = LazyLock::new(|| {
    open_models()
        .iter()
        .map(|model| KnownModel::of(&model.architecture))
        .collect()
});

impl KnownModel {
    /// A model of this architecture.
    #[must_use]
    pub(super) fn of(architecture: &Architecture) -> Self {
        let cache = KvCache::new(architecture);
        Self {
            sizes: Sizes::of(architecture),
            log_kv_slope: cache.read_elements_per_token().ln(),
            shape: architecture.into(),
            cache,
        }
    }

    /// The open-weight model with these sizes, up to rounding.
    #[must_use]
    pub fn find(sizes: &Sizes) -> Option<&'static Self> {
        let distance = |known: &Self| {
            let of = &known.sizes;
            let read = (of.log_kv_read - sizes.log_kv_read)
                .abs()
                .min((known.log_kv_slope - sizes.log_kv_read).abs());
            [
                of.log_active - sizes.log_active,
                of.log_total - sizes.log_total,
                read,
                of.log_kv_stored - sizes.log_kv_stored,
            ]
            .into_iter()
            .fold(0.0, |most: f64, apart| most.max(apart.abs()))
        };
        KNOWN
            .iter()
            .filter(|known| known.sizes.log_kv_read.is_finite())
            .map(|known| (distance(known), known))
            .filter(|(distance, _)| *distance < ROUNDING)
            .min_by(|(left, _), (right, _)| left.total_cmp(right))
            .map(|(_, known)| known)
    }

    /// The model with exactly these sizes.
    #[must_use]
    pub fn with<N: Number>(&'static self, sizes: &Sizes<N>) -> CanonicalModel<N> {
        let shape = ModelShape::splat(&self.shape);
        let stretch = (sizes.log_total - self.sizes.log_total).exp();
        let slimmer = (sizes.log_active - self.sizes.log_active).exp();
        CanonicalModel {
            shape: ModelShape {
                total_parameters: sizes.log_total.exp(),
                active_parameters: sizes.log_active.exp(),
                expert_parameters: shape.expert_parameters * stretch,
                active_expert_parameters: shape.active_expert_parameters * slimmer,
                ..shape
            },
            attention: Attention(Kind::Known(&self.cache)),
        }
    }
}

/// Arithmetic of kernels over chips that cut a cache by heads.
fn kernels(chips: f64) -> AttentionKernels {
    AttentionKernels {
        chips,
        fill_selections: true,
    }
}

impl<N: Number> CanonicalModel<N> {
    /// The canonical model of these sizes.
    #[must_use]
    pub fn of(sizes: &Sizes<N>) -> Self {
        let regressed = Regressed::new(sizes);
        let [active, total, read, stored] = N::exp_each(&[
            sizes.log_active,
            sizes.log_total,
            sizes.log_kv_read,
            sizes.log_kv_stored,
        ]);
        Self {
            shape: regressed.shape(sizes, active, total),
            attention: Attention(Kind::Proportional {
                reading: KvReading::of_bytes(sizes.attention, read, stored),
                decode_macs: regressed.decode_macs,
                prefill_macs: regressed.prefill_macs,
                state_bytes: regressed.state_bytes,
            }),
        }
    }
}

impl<N: Number> Attention<N> {
    /// Elements that a step reads of a sequence, and its multiply-adds with them; over chips that cut a cache by heads.
    #[must_use]
    pub fn decode(&self, context_tokens: N, chips: N) -> (N, N) {
        match self.0 {
            Kind::Proportional {
                reading,
                decode_macs,
                ..
            } => {
                let read = reading.bytes_at(context_tokens);
                (read, decode_macs * read)
            }
            Kind::Known(cache) => {
                let read =
                    |lane| cache.read_elements_cut(context_tokens.lane(lane), chips.lane(lane));
                let macs = |lane| {
                    cache.decode_macs_of(context_tokens.lane(lane), kernels(chips.lane(lane)))
                };
                (N::of_lanes(read), N::of_lanes(macs))
            }
        }
    }

    /// Elements that a prompt reads and writes, and its multiply-adds with them.
    #[must_use]
    pub fn prefill(&self, prompt: PromptTokens<N>, chips: N) -> (N, N) {
        match self.0 {
            Kind::Proportional {
                reading,
                prefill_macs,
                ..
            } => {
                let tokens = prompt.cached + prompt.fresh;
                let read = reading.read_up_to(tokens) - reading.read_up_to(prompt.cached);
                (self.stored(tokens, chips), prefill_macs * read)
            }
            Kind::Known(cache) => {
                let macs = |lane| {
                    let prompt = PromptTokens {
                        fresh: prompt.fresh.lane(lane),
                        cached: prompt.cached.lane(lane),
                    };
                    cache.prefill_macs_of(prompt, kernels(chips.lane(lane)))
                };
                let stored = self.stored(prompt.cached + prompt.fresh, chips);
                (stored, N::of_lanes(macs))
            }
        }
    }

    /// Elements stored for a context.
    #[must_use]
    pub fn stored(&self, context_tokens: N, chips: N) -> N {
        match self.0 {
            Kind::Proportional { reading, .. } => reading.stored_at(context_tokens),
            Kind::Known(cache) => N::of_lanes(|lane| {
                cache.stored_elements_cut(context_tokens.lane(lane), chips.lane(lane))
            }),
        }
    }

    /// The same where it does not depend on the chips.
    #[must_use]
    pub(super) fn stored_on_any_chips(&self, context_tokens: N) -> Option<N> {
        match self.0 {
            Kind::Proportional { reading, .. } => Some(reading.stored_at(context_tokens)),
            Kind::Known(_) => None,
        }
    }

    /// Bytes of linear state per sequence.
    #[must_use]
    pub fn state_bytes(&self) -> N {
        match self.0 {
            Kind::Proportional { state_bytes, .. } => state_bytes,
            Kind::Known(cache) => N::splat(cache.state_per_sequence().0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::open_model;

    #[test]
    fn a_canonical_model_has_the_sizes_it_is_made_of() {
        for model in open_models() {
            let sizes = Sizes::of(&model.architecture);
            if !sizes.log_kv_read.is_finite() {
                continue;
            }
            let shape = CanonicalModel::of(&sizes).shape;
            let parts = shape.expert_parameters
                + shape.always_read_parameters
                + shape.input_embedding_parameters;
            assert!(
                (parts / shape.total_parameters - 1.0).abs() < 0.1,
                "{}: {shape:?}",
                model.name
            );
            if sizes.is_dense {
                let read = shape.always_read_parameters / shape.active_parameters;
                assert!(
                    (0.8 - 1e-9..=1.0 + 1e-9).contains(&read),
                    "{}: {shape:?}",
                    model.name
                );
                continue;
            }
            let of_token =
                shape.total_parameters - shape.expert_parameters + shape.active_expert_parameters;
            assert!(
                (of_token / shape.active_parameters - 1.0).abs() < 1e-9,
                "{}: {shape:?}",
                model.name
            );
        }
    }

    #[test]
    fn a_known_model_is_found_by_its_sizes_and_no_other_is() {
        let sizes = Sizes::of(&open_model("DeepSeek-V3").unwrap().architecture);
        let near = Sizes {
            log_active: sizes.log_active + 0.01,
            ..sizes
        };
        let known = KnownModel::find(&near).unwrap().with(&near);
        assert!((known.shape.layers - 61.0).abs() < 1e-9);
        let far = Sizes {
            log_active: sizes.log_active + 2.0 * ROUNDING,
            ..sizes
        };
        assert!(KnownModel::find(&far).is_none());
    }

    #[test]
    fn layers_and_widths_are_near_those_of_open_weight_models() {
        let mut layers = Vec::new();
        let mut widths = Vec::new();
        for model in open_models() {
            let sizes = Sizes::of(&model.architecture);
            if sizes.log_kv_read.is_finite() {
                let shape = CanonicalModel::of(&sizes).shape;
                layers.push(
                    (shape.layers / f64::from(model.architecture.layers))
                        .ln()
                        .abs(),
                );
                let width = f64::from(model.architecture.hidden_dimension);
                widths.push((shape.hidden_dimension / width).ln().abs());
            }
        }
        for errors in [&mut layers, &mut widths] {
            errors.sort_by(f64::total_cmp);
            let median = errors[errors.len() / 2];
            assert!(median < 0.25, "{median}");
        }
    }
}
