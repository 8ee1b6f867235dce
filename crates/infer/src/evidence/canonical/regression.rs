//! Numbers of a canonical model beyond its sizes, by regression on the open-weight models.

use std::sync::LazyLock;

use nalgebra::{DMatrix, DVector};

use super::sizes::Sizes;
use unroof_base::units::number::Number;
use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::forward::{KvCache, ModelShape, PromptTokens};
use unroof_roofline::reference::architecture::Architecture;
use unroof_roofline::reference::{AttentionKind, open_models};

/// Numbers of sizes that a regression starts from.
const OF_SIZES: usize = 6;
/// Numbers that a regression starts from: sizes, and one per kind of attention.
const FEATURES: usize = OF_SIZES + AttentionKind::COUNT;
/// Weight of the penalty on squares of coefficients, in models: it keeps those of features small that vary together.
const RIDGE: f64 = 0.1;
/// Least share of the active parameters that are experts, and the most.
const EXPERT_SHARE: (f64, f64) = (0.05, 0.97);

/// A linear function of the features.
type Line = [f64; FEATURES];

/// The regressions of the logarithms of [`Regressed`], in its order; that of the experts is of log odds.
static REGRESSIONS: LazyLock<[Line; REGRESSED]> = LazyLock::new(|| {
    let models: Vec<&Architecture> = open_models()
        .iter()
        .map(|model| &model.architecture)
        .collect();
    regressions(&models)
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

/// Regressions of dense models and of mixtures of experts, by [`AttentionKind`].
static OF_CLASSES: LazyLock<[[OfClass; AttentionKind::COUNT]; 2]> = LazyLock::new(|| {
    [false, true].map(|is_dense| {
        std::array::from_fn(|kind| OfClass::new(&REGRESSIONS, is_dense, AttentionKind::ALL[kind]))
    })
});

/// Kernels of attention per layer, by [`AttentionKind`]: the mean of the open-weight models of that kind.
static ATTENTION_STAGES: LazyLock<[f64; AttentionKind::COUNT]> = LazyLock::new(|| {
    AttentionKind::ALL.map(|kind| {
        let models = open_models().iter().map(|model| &model.architecture);
        let of_kind = models.filter(|model| AttentionKind::of(&model.attention) == kind);
        let shapes = of_kind.map(ModelShape::from);
        let (stages, layers) = shapes.fold((0.0, 0.0), |(stages, layers), shape| {
            (stages + shape.attention_stages, layers + shape.layers)
        });
        stages / f64::max(layers, 1.0)
    })
});

/// Numbers of a model that are not sums or shares of its sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Regressed<N> {
    layers: N,
    hidden_dimension: N,
    /// The input embedding over the hidden dimension: the vocabulary.
    vocabulary: N,
    /// Multiply-adds of attention per element that a generated token reads.
    pub(super) decode_macs: N,
    /// Multiply-adds of attention per element that a prompt token would read alone.
    pub(super) prefill_macs: N,
    /// Bytes of linear state per sequence, of models that have it.
    pub(super) state_bytes: N,
    /// Odds that an active parameter is one of an expert.
    expert_odds: N,
    /// Routed experts per token.
    active_experts: N,
    /// Layers with experts over layers.
    expert_layers: N,
}

impl<N: Number> Regressed<N> {
    #[expect(
        clippy::needless_range_loop,
        reason = "loops over indices of fixed length are unrolled; iterators are not"
    )]
    pub(super) fn new(sizes: &Sizes<N>) -> Self {
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

/// Fits the regressions to models.
fn regressions(models: &[&Architecture]) -> [Line; REGRESSED] {
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
    [
        line(&|model| f64::from(model.layers).ln()),
        line(&|model| f64::from(model.hidden_dimension).ln()),
        line(&|model| (model.input_embedding_parameters / f64::from(model.hidden_dimension)).ln()),
        line(&|model| {
            let read = Sizes::of(model).reading().bytes_at(READ_CONTEXT_TOKENS);
            (KvCache::new(model).decode_macs(READ_CONTEXT_TOKENS) / read).ln()
        }),
        line(&|model| {
            let prompt = PromptTokens::fresh(READ_CONTEXT_TOKENS);
            let read = Sizes::of(model).reading().read_up_to(READ_CONTEXT_TOKENS);
            (KvCache::new(model).prefill_macs(prompt) / read).ln()
        }),
        line(&|model| KvCache::new(model).state_per_sequence().0.ln()),
        line(&of_experts(|model, _| {
            let share = model.active_expert_parameters() / model.active_parameters;
            let share = share.clamp(EXPERT_SHARE.0, EXPERT_SHARE.1);
            (share / (1.0 - share)).ln()
        })),
        line(&of_experts(|_, active| active.ln())),
        line(&of_experts(|model, _| {
            (f64::from(model.expert_layers()) / f64::from(model.layers)).ln()
        })),
    ]
}

impl OfClass {
    fn new(lines: &[Line; REGRESSED], is_dense: bool, attention: AttentionKind) -> Self {
        let of_density = |line: &Line| if is_dense { line[OF_SIZES - 1] } else { 0.0 };
        let at_zero =
            |line: &Line| line[0] + of_density(line) + line[OF_SIZES + attention as usize];
        Self {
            intercepts: lines.each_ref().map(at_zero),
            slopes: std::array::from_fn(|feature| lines.map(|line| line[1 + feature])),
        }
    }
}

impl<N: Number> Regressed<N> {
    pub(super) fn shape(&self, sizes: &Sizes<N>, active: N, total: N) -> ModelShape<N> {
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
            attention_stages: layers * ATTENTION_STAGES[sizes.attention as usize],
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

/// The features of a model, which every line is a sum of.
fn features(sizes: &Sizes) -> [f64; FEATURES] {
    let read = sizes.log_kv_read - 10.0;
    let of_sizes = [
        1.0,
        sizes.log_active - 23.0,
        sizes.log_total - sizes.log_active,
        read,
        read * read,
        if sizes.is_dense { 1.0 } else { 0.0 },
    ];
    let mut features = [0.0; FEATURES];
    features[..OF_SIZES].copy_from_slice(&of_sizes);
    features[OF_SIZES + sizes.attention as usize] = 1.0;
    features
}

/// Fits a line by ridge regression.
fn fit(rows: &[(Sizes, f64)]) -> Line {
    let mut moments = DMatrix::<f64>::identity(FEATURES, FEATURES) * RIDGE;
    let mut across = DVector::<f64>::zeros(FEATURES);
    // The intercept is free.
    moments[(0, 0)] = 1e-9;
    for (sizes, value) in rows {
        let features = DVector::from_row_slice(&features(sizes));
        moments += &features * features.transpose();
        across += features * *value;
    }
    let solved = moments.cholesky().map(|factor| factor.solve(&across));
    solved.map_or([0.0; FEATURES], |line| std::array::from_fn(|at| line[at]))
}
