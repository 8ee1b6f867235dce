//! The architecture of a model: its parameters, its experts, its attention layers.
//!
//! ```
//! use unroof_roofline::forward::KvCache;
//! use unroof_roofline::reference::architecture::Architecture;
//!
//! let architecture = unroof_base::input::read(br#"{"total_parameters": 70e9, "layers": 80, "hidden_dimension": 8192,
//!     "attention": [{"kind": "grouped_query", "layers": 80, "query_heads": 64, "kv_heads": 8, "key_dimension": 128,
//!         "value_dimension": 128}]}"#, Architecture::read)?;
//! // Two bytes for each key and value of 8 heads in 80 layers.
//! assert_eq!(KvCache::new(&architecture).stored_per_token(2.0).0, 2.0 * 80.0 * 8.0 * (128.0 + 128.0));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

use std::ops::RangeInclusive;

use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{OneOfBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use unroof_base::input::body::{
    Body, List, Schemas, Source, Truth, body, by, count, number, object, optional, plain,
    schema_of, schemas_of, value,
};
use unroof_base::input::cursor::{Cursor, Fields};
use unroof_base::input::schema::one_of_texts;

/// Sizes of a dimension, numbers of heads or of layers.
pub const DIMENSION: RangeInclusive<u32> = 1..=1 << 24;
/// Sizes of a dimension, or numbers of heads or layers, of a part that a model may lack.
const OPTIONAL_DIMENSION: RangeInclusive<u32> = 0..=*DIMENSION.end();
/// Parameters of a part of a model.
pub const PARAMETERS: RangeInclusive<f64> = 1e3..=1e16;

body! {
    /// A model, as far as serving it goes.
    #[derive(PartialEq, Serialize)]
    #[check(parts_are_smaller(total_parameters, active_parameters, input_embedding_parameters, always_read_parameters))]
    #[check(layers_are_enough(layers, experts))]
    #[check(experts_make_up_the_model(
        total_parameters, active_parameters, input_embedding_parameters, always_read_parameters, experts
    ))]
    pub struct Architecture {
        /// `N_t`: parameters of the model.
        total_parameters: f64 = plain(number(PARAMETERS).hint("state how many parameters the model has")),
        /// `N_a`: parameters that one token is multiplied with; `N_t` where left out.
        active_parameters: f64 = plain(number(PARAMETERS).or_placeholder(0.0)),
        /// Transformer layers of the model.
        layers: u32 = plain(count(DIMENSION)),
        /// Size of a token's hidden state.
        hidden_dimension: u32 = plain(count(DIMENSION)),
        /// Parameters of an input embedding that is a matrix of its own: held, but not read by decoding.
        input_embedding_parameters: f64 = plain(number(0.0..=*PARAMETERS.end()).or(0.0)),
        /// `N_attn`: parameters that every token reads, without the input embedding; if left out, `N_t` without that embedding
        /// and the experts.
        #[serde(skip_serializing_if = "Option::is_none")]
        always_read_parameters: Option<f64> = optional(number(PARAMETERS)),
        /// Routed experts; none in a dense model.
        #[serde(skip_serializing_if = "Option::is_none")]
        experts: Option<Experts> = optional(value(object::<Experts>())),
        /// Layers with a cache or a state, by kind. Layers with neither are not listed.
        attention: Vec<AttentionGroup> =
            plain(value(List::of(by(AttentionGroup::read), 1..=64)).hint("list the attention layers by kind")),
    }

    /// Routed experts of a mixture. Shared experts are not counted: every token reads them.
    #[derive(Copy, PartialEq, Serialize)]
    #[check(some_experts_rest(routed, active))]
    pub struct Experts {
        /// Routed experts per layer.
        routed: u32 = plain(count(2..=*DIMENSION.end())),
        /// Routed experts per token and layer.
        active: u32 = plain(count(DIMENSION)),
        /// Layers that have them; all where left out.
        layers: u32 = plain(count(DIMENSION).or_placeholder(0)),
        /// `N_exp`: parameters of all routed experts; (`N_t` − `N_a`)·routed/(routed − active) where left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters: Option<f64> = optional(number(PARAMETERS)),
    }

    /// Multi-head, grouped-query or multi-query attention, within a window or not.
    #[derive(Copy, PartialEq, Eq, Serialize)]
    #[check(heads_are_shared_evenly(query_heads, kv_heads))]
    #[check(chunks_have_a_size(window, chunked))]
    pub struct GroupedQuery {
        /// Layers with a cache of their own.
        layers: u32 = plain(count(DIMENSION)),
        /// Query heads per layer.
        query_heads: u32 = plain(count(DIMENSION)),
        /// KV heads per layer.
        kv_heads: u32 = plain(count(DIMENSION)),
        /// Size of a key per head.
        key_dimension: u32 = plain(count(DIMENSION)),
        /// Size of a value per head.
        value_dimension: u32 = plain(count(DIMENSION)),
        /// Tokens that a sliding or chunked window keeps; all where left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        window: Option<u32> = optional(count(DIMENSION)),
        /// Whether windows are chunks: a token sees its own chunk alone, which is half a window in the mean. Not where left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        chunked: Option<bool> = optional(value(Truth)),
        /// Reads only the best tokens of the cache.
        #[serde(skip_serializing_if = "Option::is_none")]
        sparse: Option<Sparse> = optional(value(object::<Sparse>())),
    }

    /// Multi-head latent attention (MLA).
    #[derive(Copy, PartialEq, Eq, Serialize)]
    pub struct Latent {
        /// Layers with a cache of their own.
        layers: u32 = plain(count(DIMENSION)),
        /// Query heads per layer.
        query_heads: u32 = plain(count(DIMENSION)),
        /// Rank of the latent that all heads share.
        kv_lora_rank: u32 = plain(count(DIMENSION)),
        /// Size of the shared rotary key; 0 without one.
        rope_dimension: u32 = plain(count(OPTIONAL_DIMENSION)),
        /// Size of a head's key without the rotary part.
        nope_dimension: u32 = plain(count(DIMENSION)),
        /// Size of a head's value.
        value_dimension: u32 = plain(count(DIMENSION)),
        /// Reads only the best tokens of the cache.
        #[serde(skip_serializing_if = "Option::is_none")]
        sparse: Option<Sparse> = optional(value(object::<Sparse>())),
    }

    /// Compressed attention: one vector, key and value at once, per several tokens, beside a window of raw ones.
    #[derive(Copy, PartialEq, Eq, Serialize)]
    pub struct Compressed {
        /// Layers with a cache of their own.
        layers: u32 = plain(count(DIMENSION)),
        /// Query heads per layer.
        query_heads: u32 = plain(count(DIMENSION)),
        /// Size of the vector.
        head_dimension: u32 = plain(count(DIMENSION)),
        /// Tokens that share one entry; none are kept beyond the window where left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        compression: Option<u32> = optional(count(DIMENSION)),
        /// Latest tokens that are kept uncompressed.
        window: u32 = plain(count(DIMENSION)),
        /// Reads only the best compressed entries.
        #[serde(skip_serializing_if = "Option::is_none")]
        sparse: Option<Sparse> = optional(value(object::<Sparse>())),
    }

    /// Linear attention or a state-space layer: a state of constant size, no cache.
    #[derive(Copy, PartialEq, Serialize)]
    pub struct Linear {
        /// Layers with linear attention or a state space.
        layers: u32 = plain(count(DIMENSION)),
        /// Elements of state per layer and sequence.
        state_elements: f64 = plain(number(1.0..=1e12).hint("state the elements of state per layer")),
        /// Bytes per element of state; 4 where left out.
        state_bytes_per_element: f64 = plain(number(0.5..=8.0).or(4.0)),
    }

    /// An indexer that scores every entry of a cache, of which only the best are read.
    #[derive(Copy, PartialEq, Eq, Serialize)]
    pub struct Sparse {
        /// Entries that are read.
        top_k: u32 = plain(count(DIMENSION)),
        /// Heads of the indexer; 0 where the selection of another layer is used.
        index_heads: u32 = plain(count(OPTIONAL_DIMENSION)),
        /// Size of an index key, one per entry; 0 where the selection of another layer is used.
        index_dimension: u32 = plain(count(OPTIONAL_DIMENSION)),
    }
}

impl Architecture {
    /// Whether an indexer keeps keys in the cache.
    #[must_use]
    pub fn has_index_keys(&self) -> bool {
        self.attention.iter().any(AttentionGroup::has_index_keys)
    }

    /// Reads an architecture, and records its faults.
    #[must_use]
    pub fn read(cursor: &Cursor<'_>) -> Option<Self> {
        <Self as Body>::read(cursor).map(Self::completed)
    }

    /// Reads an architecture from an object that has other fields too.
    pub(super) fn read_among(fields: &Fields<'_>) -> Option<Self> {
        let object = Source {
            fields: Some(fields),
            bare: None,
            prefix: "",
        };
        Self::read_fields(object).map(Self::completed)
    }

    /// Fills in fields that are left out from the others.
    fn completed(mut self) -> Self {
        if self.active_parameters <= 0.0 {
            self.active_parameters = self.total_parameters;
        }
        if let Some(experts) = self.experts.as_mut().filter(|experts| experts.layers == 0) {
            experts.layers = self.layers;
        }
        self
    }
}

fn parts_are_smaller(
    object: Source<'_, '_>,
    total: Option<&f64>,
    active: Option<&f64>,
    embedding: Option<&f64>,
    always_read: Option<&Option<f64>>,
) {
    let Some(total) = total else { return };
    if active.is_some_and(|active| active > total) {
        object.fault_of(
            "active_parameters",
            "more active than total parameters",
            "state at most `total_parameters`",
        );
    }
    if embedding.is_some_and(|embedding| embedding >= total) {
        object.fault_of(
            "input_embedding_parameters",
            "the input embedding has as many parameters as the whole model",
            "state less than `total_parameters`",
        );
    }
    if always_read
        .copied()
        .flatten()
        .is_some_and(|part| part >= *total)
    {
        object.fault_of(
            "always_read_parameters",
            "a part has as many parameters as the whole model",
            "state less than `total_parameters`",
        );
    }
}

fn layers_are_enough(
    object: Source<'_, '_>,
    layers: Option<&u32>,
    experts: Option<&Option<Experts>>,
) {
    if let (Some(layers), Some(Some(experts))) = (layers, experts)
        && experts.layers > *layers
        && let Some(field) = object
            .get("experts")
            .and_then(|experts| experts.at("layers"))
    {
        field.fault(
            format!(
                "`{}` is not a whole number from 1 to {layers}",
                experts.layers
            ),
            format!("write a whole number from 1 to {layers}"),
        );
    }
}

fn some_experts_rest(object: Source<'_, '_>, routed: Option<&u32>, active: Option<&u32>) {
    if let (Some(routed), Some(active)) = (routed, active)
        && active >= routed
    {
        let most = routed - 1;
        object.fault_of(
            "active",
            &format!("`{active}` is not a whole number from 1 to {most}"),
            format!("write a whole number from 1 to {most}"),
        );
    }
}

fn heads_are_shared_evenly(
    object: Source<'_, '_>,
    query_heads: Option<&u32>,
    kv_heads: Option<&u32>,
) {
    if let (Some(query_heads), Some(kv_heads)) = (query_heads, kv_heads)
        && query_heads % kv_heads != 0
    {
        object.fault(
            format!("{query_heads} query heads cannot share {kv_heads} KV heads evenly"),
            "state `query_heads` as a multiple of `kv_heads`",
        );
    }
}

fn chunks_have_a_size(
    object: Source<'_, '_>,
    window: Option<&Option<u32>>,
    chunked: Option<&Option<bool>>,
) {
    if (window, chunked) == (Some(&None), Some(&Some(true))) {
        object.fault_of(
            "chunked",
            "chunks of no stated size",
            "state the tokens of a chunk as `window`",
        );
    }
}

/// Experts and other weights must add up to the total, those used by a token to the active parameters. Published
/// figures are rounded, so a part may be larger than the whole by a little.
fn experts_make_up_the_model(
    object: Source<'_, '_>,
    total: Option<&f64>,
    active: Option<&f64>,
    embedding: Option<&f64>,
    always_read: Option<&Option<f64>>,
    experts: Option<&Option<Experts>>,
) {
    const ROUNDING: f64 = 1.05;
    // At equality all that a token is multiplied with are experts.
    const EQUAL: f64 = 1.0 - 1e-9;
    let (Some(total), Some(active), Some(Some(experts))) = (total, active, experts) else {
        return;
    };
    if experts.active >= experts.routed {
        return;
    }
    let active = if *active > 0.0 { active } else { total };
    let share = 1.0 / experts.routed_over_active();
    if *active < total * share * EQUAL || active >= total {
        object.fault(
            format!(
                "{} of {} routed experts per token cannot make {active:e} of {total:e} parameters active",
                experts.active, experts.routed
            ),
            "state `active_parameters` between that share of `total_parameters` and all of them",
        );
    }
    if let Some(experts) = experts.parameters
        && (experts * share > active * ROUNDING || experts >= *total)
    {
        object.fault(
            format!("routed experts of {experts:e} parameters do not go with {active:e} active of {total:e}"),
            "state `experts.parameters` below `total_parameters`, and so that a token's share of them is below \
             `active_parameters`; or leave it out",
        );
    }
    if let Some(always_read) = always_read.copied().flatten() {
        let rest = experts.parameters.unwrap_or(0.0) + embedding.unwrap_or(&0.0);
        if always_read > active * ROUNDING || always_read + rest > total * ROUNDING {
            object.fault(
                format!("{always_read:e} parameters that every token reads do not go with {active:e} active of {total:e}"),
                "state `always_read_parameters` below `active_parameters`, and so that with the experts and the input \
                 embedding they are no more than `total_parameters`; or leave it out",
            );
        }
    }
}

impl Architecture {
    /// Sparsity, `N_t`/`N_a`: total over active parameters.
    #[must_use]
    pub fn sparsity(&self) -> f64 {
        self.total_parameters / self.active_parameters
    }

    /// `N_exp`: parameters of the routed experts; 0 in a dense model.
    #[must_use]
    pub fn expert_parameters(&self) -> f64 {
        let from_totals = |experts: Experts| {
            let (routed, active) = (f64::from(experts.routed), f64::from(experts.active));
            (self.total_parameters - self.active_parameters) * routed / (routed - active)
        };
        self.experts.map_or(0.0, |experts| {
            experts.parameters.unwrap_or_else(|| from_totals(experts))
        })
    }

    /// Parameters of the routed experts that a token is multiplied with.
    #[must_use]
    pub fn active_expert_parameters(&self) -> f64 {
        let share = |experts: Experts| 1.0 / experts.routed_over_active();
        let experts = self.expert_parameters() * self.experts.map_or(0.0, share);
        experts.min(self.active_parameters)
    }

    /// `N_attn`: parameters that every token reads, without the input embedding.
    #[must_use]
    pub fn always_read(&self) -> f64 {
        let rest =
            self.total_parameters - self.expert_parameters() - self.input_embedding_parameters;
        self.always_read_parameters.unwrap_or(rest.max(0.0))
    }

    /// Layers with routed experts.
    #[must_use]
    pub fn expert_layers(&self) -> u32 {
        self.experts.map_or(0, |experts| experts.layers)
    }
}

impl Experts {
    /// s: routed experts per layer over active ones.
    #[must_use]
    pub fn routed_over_active(self) -> f64 {
        f64::from(self.routed) / f64::from(self.active)
    }
}

/// Declares the kinds of attention: name of the kind, variant, type.
macro_rules! attention {
    ($($kind:literal => $Variant:ident,)+) => {
        /// Layers with one kind of attention.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        #[serde(tag = "kind")]
        pub enum AttentionGroup {
            $(
                #[doc = concat!("`", $kind, "`")]
                #[serde(rename = $kind)]
                $Variant($Variant),
            )+
        }

        /// Reads the fields of one kind of attention.
        type ReadGroup = fn(Source<'_, '_>) -> Option<AttentionGroup>;

        const KINDS: &[(&str, ReadGroup)] = &[$((
            $kind,
            |object| $Variant::read_fields(object).map(AttentionGroup::$Variant),
        )),+];

        impl PartialSchema for AttentionGroup {
            fn schema() -> RefOr<Schema> {
                OneOfBuilder::new()
                    $(.item(with_kind(schema_of::<$Variant>(), $kind)))+
                    .description(Some("Layers with one kind of attention."))
                    .into()
            }
        }

        impl ToSchema for AttentionGroup {
            fn schemas(schemas: &mut Schemas) {
                $(schemas_of::<$Variant>(schemas);)+
            }
        }
    };
}

attention! {
    "grouped_query" => GroupedQuery,
    "latent" => Latent,
    "compressed" => Compressed,
    "linear" => Linear,
}

/// The schema of a group with the field `kind`, which has one value.
fn with_kind(mut schema: RefOr<Schema>, kind: &str) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(group)) = &mut schema {
        let only = one_of_texts([kind]);
        group.properties.insert("kind".to_owned(), only.into());
        group.required.push("kind".to_owned());
    }
    schema
}

impl AttentionGroup {
    /// Whether an indexer of its own keeps keys in the cache.
    #[must_use]
    pub fn has_index_keys(&self) -> bool {
        let sparse = match self {
            Self::GroupedQuery(group) => group.sparse,
            Self::Latent(group) => group.sparse,
            Self::Compressed(group) => group.sparse,
            Self::Linear(_) => None,
        };
        sparse.is_some_and(|sparse| sparse.index_dimension > 0)
    }

    fn read(cursor: &Cursor<'_>) -> Option<Self> {
        let fields = cursor.fields()?;
        let hint = "name one of grouped_query, latent, compressed, linear";
        let read = fields.required("kind", hint)?.one_of(KINDS)?;
        let group = read(Source {
            fields: Some(&fields),
            bare: None,
            prefix: "",
        });
        fields.refuse_unknown();
        group
    }
}
