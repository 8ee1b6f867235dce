//! What the forward model must know of a model: its parameters, its experts, its attention layers.

use std::ops::RangeInclusive;

use serde::Serialize;
use utoipa::ToSchema;

use crate::input::cursor::{Cursor, Fields, Recorded};

/// Most attention groups of one architecture.
const MOST_GROUPS: usize = 64;
/// Largest size of a dimension, a number of heads or of layers.
const LARGEST_DIMENSION: u32 = 1 << 24;
const PARAMETERS: RangeInclusive<f64> = 1e3..=1e16;

/// A model, as far as serving it goes.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// `N_t`
    #[schema(minimum = 1e3, maximum = 1e16)]
    pub total_parameters: f64,
    /// `N_a`: parameters that one token is multiplied with; `N_t` where left out.
    #[schema(required = false, minimum = 1e3, maximum = 1e16)]
    pub active_parameters: f64,
    /// Transformer layers.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub layers: u32,
    /// Size of a token's hidden state.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub hidden_dimension: u32,
    /// Parameters of an input embedding that is a matrix of its own: held, but not read by decoding.
    #[schema(required = false, minimum = 0.0, maximum = 1e16, default = 0.0)]
    pub input_embedding_parameters: f64,
    /// `N_attn`: parameters that every token reads, without the input embedding; what the experts leave of `N_t` where
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1e3, maximum = 1e16, nullable = false)]
    pub always_read_parameters: Option<f64>,
    /// Routed experts; none in a dense model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub experts: Option<Experts>,
    /// Layers with a cache or a state, by kind. Layers with neither are not listed.
    #[schema(min_items = 1, max_items = 64)]
    pub attention: Vec<AttentionGroup>,
}

/// Routed experts of a mixture. Shared experts are not counted: every token reads them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Routed experts per layer.
    #[schema(minimum = 2, maximum = 16_777_216)]
    pub routed: u32,
    /// Routed experts per token and layer.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub active: u32,
    /// Layers that have them; all where left out.
    #[schema(required = false, minimum = 1, maximum = 16_777_216)]
    pub layers: u32,
    /// `N_exp`: parameters of all routed experts; (`N_t` − `N_a`)·routed/(routed − active) where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1e3, maximum = 1e16, nullable = false)]
    pub parameters: Option<f64>,
}

/// Layers with one kind of attention.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttentionGroup {
    /// Multi-head, grouped-query or multi-query attention, within a window or not.
    GroupedQuery(GroupedQuery),
    /// Multi-head latent attention (MLA).
    Latent(Latent),
    /// One shared key and value per several tokens, beside a window of raw ones.
    Compressed(Compressed),
    /// Linear attention or a state-space layer: a state of constant size, no cache.
    Linear(Linear),
}

/// Multi-head, grouped-query or multi-query attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct GroupedQuery {
    /// Layers with a cache of their own.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub layers: u32,
    /// Query heads per layer.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub query_heads: u32,
    /// KV heads per layer.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub kv_heads: u32,
    /// Size of a key per head.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub key_dimension: u32,
    /// Size of a value per head.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub value_dimension: u32,
    /// Tokens that a sliding or chunked window keeps; all where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216, nullable = false)]
    pub window: Option<u32>,
    /// Reads only the best tokens of the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sparse: Option<Sparse>,
}

/// Multi-head latent attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Latent {
    /// Layers with a cache of their own.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub layers: u32,
    /// Query heads per layer.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub query_heads: u32,
    /// Rank of the latent that all heads share.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub kv_lora_rank: u32,
    /// Size of the shared rotary key.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub rope_dimension: u32,
    /// Size of a head's key without the rotary part.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub nope_dimension: u32,
    /// Size of a head's value.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub value_dimension: u32,
    /// Reads only the best tokens of the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sparse: Option<Sparse>,
}

/// Compressed attention: one vector, key and value at once, per several tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Compressed {
    /// Layers with a cache of their own.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub layers: u32,
    /// Query heads per layer.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub query_heads: u32,
    /// Size of the vector.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub head_dimension: u32,
    /// Tokens that share one entry; none are kept beyond the window where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216, nullable = false)]
    pub compression: Option<u32>,
    /// Latest tokens that are kept uncompressed.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub window: u32,
    /// Reads only the best compressed entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sparse: Option<Sparse>,
}

/// Linear attention, or a state-space layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct Linear {
    /// Such layers.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub layers: u32,
    /// Elements of state per layer and sequence.
    #[schema(minimum = 1.0, maximum = 1e12)]
    pub state_elements: f64,
    /// Bytes per element of state; 4 where left out.
    #[schema(required = false, minimum = 0.5, maximum = 8.0, default = 4.0)]
    pub state_bytes_per_element: f64,
}

/// An indexer that scores every entry of a cache, of which only the best are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Sparse {
    /// Entries that are read.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub top_k: u32,
    /// Heads of the indexer.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub index_heads: u32,
    /// Size of an index key, one per entry.
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub index_dimension: u32,
}

impl Architecture {
    /// Reads an architecture, and records what is wrong with it.
    #[must_use]
    pub fn read(object: &Cursor<'_>) -> Option<Self> {
        let fields = object.fields()?;
        let architecture = Self::read_fields(&fields);
        fields.refuse_unknown();
        architecture
    }

    /// The same among fields of other meaning.
    pub(super) fn read_fields(fields: &Fields<'_>) -> Option<Self> {
        let total = fields
            .required(
                "total_parameters",
                "state how many parameters the model has",
            )
            .and_then(|field| field.number_within(PARAMETERS));
        let active = fields.get("active_parameters").map_or(total, |field| {
            let active = field.number_within(PARAMETERS)?;
            if total.is_some_and(|total| active > total) {
                field.fault(
                    "more parameters are active than there are",
                    "state at most `total_parameters`",
                );
            }
            Some(active)
        });
        let layers = dimension(fields, "layers");
        let hidden = dimension(fields, "hidden_dimension");
        let embedding = fields
            .get("input_embedding_parameters")
            .map_or(Some(0.0), |field| {
                let embedding = field.number_within(0.0..=*PARAMETERS.end())?;
                if total.is_some_and(|total| embedding >= total) {
                    field.fault(
                        "the input embedding is as large as the whole model",
                        "state less than `total_parameters`",
                    );
                }
                Some(embedding)
            });
        let always_read = fields.optional("always_read_parameters", |field| {
            let part = field.number_within(PARAMETERS)?;
            if total.is_some_and(|total| part >= total) {
                field.fault(
                    "a part is as large as the whole model",
                    "state less than `total_parameters`",
                );
            }
            Some(part)
        });
        let experts = fields.optional("experts", |field| Experts::read(field, layers));
        let attention = fields
            .required("attention", "list the attention layers by kind")
            .and_then(|field| read_groups(&field));
        if let (Ok(Some(experts)), Some(total), Some(active)) = (experts, total, active) {
            let parts = Parts {
                total,
                active,
                embedding: embedding.unwrap_or(0.0),
                always_read: always_read.ok().flatten(),
            };
            experts.check(fields, parts);
        }
        Some(Self {
            total_parameters: total?,
            active_parameters: active?,
            layers: layers?,
            hidden_dimension: hidden?,
            input_embedding_parameters: embedding?,
            always_read_parameters: always_read.ok()?,
            experts: experts.ok()?,
            attention: attention?,
        })
    }
}

impl Architecture {
    /// `N_t`/`N_a`, the sparsity.
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

    fn read(object: &Cursor<'_>, model_layers: Option<u32>) -> Option<Self> {
        let fields = object.fields()?;
        let routed = fields
            .required("routed", "state the routed experts per layer")
            .and_then(|field| field.whole_number(2..=LARGEST_DIMENSION));
        let active = fields
            .required("active", "state the routed experts per token")
            .and_then(|field| {
                let most = routed.map_or(LARGEST_DIMENSION, |routed| routed - 1);
                field.whole_number(1..=most)
            });
        let layers = fields.get("layers").map_or(model_layers, |field| {
            field.whole_number(1..=model_layers.unwrap_or(LARGEST_DIMENSION))
        });
        let parameters = fields.optional("parameters", |field| field.number_within(PARAMETERS));
        fields.refuse_unknown();
        Some(Self {
            routed: routed?,
            active: active?,
            layers: layers?,
            parameters: parameters.ok()?,
        })
    }

    /// The experts and every other weight must make up the whole, those of a token what is active. Published figures are
    /// rounded, so a part may be larger than the whole by a little.
    fn check(self, fields: &Fields<'_>, parts: Parts) {
        const ROUNDING: f64 = 1.05;
        let Parts { total, active, .. } = parts;
        let share = 1.0 / self.routed_over_active();
        if active <= total * share || active >= total {
            fields.cursor.fault(
                format!(
                    "{} of {} routed experts per token cannot make {active:e} of {total:e} parameters active",
                    self.active, self.routed
                ),
                "state `active_parameters` between that share of `total_parameters` and all of them",
            );
        }
        if let Some(experts) = self.parameters
            && (experts * share > active * ROUNDING || experts >= total)
        {
            fields.cursor.fault(
                format!("routed experts of {experts:e} parameters do not go with {active:e} active of {total:e}"),
                "state `experts.parameters` below `total_parameters`, and so that a token's share of them is below \
                 `active_parameters`; or leave it out",
            );
        }
        if let Some(always_read) = parts.always_read {
            let rest = self.parameters.unwrap_or(0.0);
            if always_read > active * ROUNDING
                || always_read + rest + parts.embedding > total * ROUNDING
            {
                fields.cursor.fault(
                    format!("{always_read:e} parameters that every token reads do not go with {active:e} active of {total:e}"),
                    "state `always_read_parameters` below `active_parameters`, and so that with the experts and the input \
                     embedding they are no more than `total_parameters`; or leave it out",
                );
            }
        }
    }
}

/// What an architecture says of its parameters.
#[derive(Clone, Copy)]
struct Parts {
    total: f64,
    active: f64,
    embedding: f64,
    always_read: Option<f64>,
}

fn dimension(fields: &Fields<'_>, name: &'static str) -> Option<u32> {
    fields
        .required(name, &format!("state `{name}`, a whole number"))?
        .whole_number(1..=LARGEST_DIMENSION)
}

/// Every fault is recorded, not the first alone.
fn dimensions<const N: usize>(fields: &Fields<'_>, names: [&'static str; N]) -> [Option<u32>; N] {
    names.map(|name| dimension(fields, name))
}

/// A dimension that may be left out.
fn optional_dimension(fields: &Fields<'_>, name: &'static str) -> Result<Option<u32>, Recorded> {
    fields.optional(name, |field| field.whole_number(1..=LARGEST_DIMENSION))
}

fn read_groups(list: &Cursor<'_>) -> Option<Vec<AttentionGroup>> {
    let count = list.items()?.len();
    if count == 0 || count > MOST_GROUPS {
        list.fault(
            format!("a list of {count} kinds of attention layers"),
            format!("list 1 to {MOST_GROUPS}"),
        );
        return None;
    }
    let groups = list.list_of(AttentionGroup::read)?;
    (groups.len() == count).then_some(groups)
}

/// Reads the fields of one kind of attention.
type ReadGroup = fn(&Fields<'_>) -> Option<AttentionGroup>;

impl AttentionGroup {
    fn read(object: &Cursor<'_>) -> Option<Self> {
        let fields = object.fields()?;
        let kinds: &[(&str, ReadGroup)] = &[
            ("grouped_query", |fields| {
                GroupedQuery::read(fields).map(Self::GroupedQuery)
            }),
            ("latent", |fields| Latent::read(fields).map(Self::Latent)),
            ("compressed", |fields| {
                Compressed::read(fields).map(Self::Compressed)
            }),
            ("linear", |fields| Linear::read(fields).map(Self::Linear)),
        ];
        let read = fields
            .required(
                "kind",
                "name one of grouped_query, latent, compressed, linear",
            )?
            .one_of(kinds)?;
        let group = read(&fields);
        fields.refuse_unknown();
        group
    }
}

impl GroupedQuery {
    fn read(fields: &Fields<'_>) -> Option<Self> {
        let [
            layers,
            query_heads,
            kv_heads,
            key_dimension,
            value_dimension,
        ] = dimensions(
            fields,
            [
                "layers",
                "query_heads",
                "kv_heads",
                "key_dimension",
                "value_dimension",
            ],
        );
        let (window, sparse) = (
            optional_dimension(fields, "window"),
            Sparse::read_of(fields),
        );
        if let (Some(query_heads), Some(kv_heads)) = (query_heads, kv_heads)
            && query_heads % kv_heads != 0
        {
            fields.cursor.fault(
                format!("{query_heads} query heads cannot share {kv_heads} KV heads evenly"),
                "state `query_heads` as a multiple of `kv_heads`",
            );
        }
        Some(Self {
            layers: layers?,
            query_heads: query_heads?,
            kv_heads: kv_heads?,
            key_dimension: key_dimension?,
            value_dimension: value_dimension?,
            window: window.ok()?,
            sparse: sparse.ok()?,
        })
    }
}

impl Latent {
    fn read(fields: &Fields<'_>) -> Option<Self> {
        let [
            layers,
            query_heads,
            kv_lora_rank,
            rope_dimension,
            nope_dimension,
            value_dimension,
        ] = dimensions(
            fields,
            [
                "layers",
                "query_heads",
                "kv_lora_rank",
                "rope_dimension",
                "nope_dimension",
                "value_dimension",
            ],
        );
        let sparse = Sparse::read_of(fields);
        Some(Self {
            layers: layers?,
            query_heads: query_heads?,
            kv_lora_rank: kv_lora_rank?,
            rope_dimension: rope_dimension?,
            nope_dimension: nope_dimension?,
            value_dimension: value_dimension?,
            sparse: sparse.ok()?,
        })
    }
}

impl Compressed {
    fn read(fields: &Fields<'_>) -> Option<Self> {
        let [layers, query_heads, head_dimension, window] = dimensions(
            fields,
            ["layers", "query_heads", "head_dimension", "window"],
        );
        let compression = optional_dimension(fields, "compression");
        let sparse = Sparse::read_of(fields);
        Some(Self {
            layers: layers?,
            query_heads: query_heads?,
            head_dimension: head_dimension?,
            compression: compression.ok()?,
            window: window?,
            sparse: sparse.ok()?,
        })
    }
}

impl Linear {
    fn read(fields: &Fields<'_>) -> Option<Self> {
        let layers = dimension(fields, "layers");
        let elements = fields
            .required("state_elements", "state the elements of state per layer")
            .and_then(|field| field.number_within(1.0..=1e12));
        let bytes = fields
            .get("state_bytes_per_element")
            .map_or(Some(4.0), |field| field.number_within(0.5..=8.0));
        Some(Self {
            layers: layers?,
            state_elements: elements?,
            state_bytes_per_element: bytes?,
        })
    }
}

impl Sparse {
    /// The indexer of a group, if it has one.
    fn read_of(group: &Fields<'_>) -> Result<Option<Self>, Recorded> {
        group.optional("sparse", Self::read)
    }

    fn read(object: &Cursor<'_>) -> Option<Self> {
        let fields = object.fields()?;
        let [top_k, index_heads, index_dimension] =
            dimensions(&fields, ["top_k", "index_heads", "index_dimension"]);
        fields.refuse_unknown();
        Some(Self {
            top_k: top_k?,
            index_heads: index_heads?,
            index_dimension: index_dimension?,
        })
    }
}
