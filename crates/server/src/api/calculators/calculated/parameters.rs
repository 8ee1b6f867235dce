//! The parameters of the calculators: the name of each in an address, and its place in the body of the request.

/// The calculator that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calculator {
    /// `/simulate`: one machine at one operating point.
    Machine,
    /// `/plan`: as many machines as a load needs.
    Fleet,
    /// `/layout`: a mixture of experts on racks.
    Layout,
    /// `/training`: the compute of training and serving.
    Training,
    /// `/cost`: the exact price of one request.
    Cost,
}

impl Calculator {
    /// All calculators, in the order of the navigation.
    pub(crate) const ALL: [Self; 5] = [
        Self::Machine,
        Self::Fleet,
        Self::Layout,
        Self::Training,
        Self::Cost,
    ];

    /// Name of the calculator in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Fleet => "fleet",
            Self::Layout => "layout",
            Self::Training => "training",
            Self::Cost => "cost",
        }
    }

    /// Path of its route.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Machine => "/simulate",
            Self::Fleet => "/plan",
            Self::Layout => "/layout",
            Self::Training => "/training",
            Self::Cost => "/cost",
        }
    }

    /// Parameters of the calculator, in the order of the form.
    pub(crate) fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let all = [SCENARIO, LOADS, LAYOUT, TRAINING, COST];
        let all = all.into_iter().flatten();
        all.filter(move |parameter| parameter.of.contains(&self))
    }
}

/// Kind of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A number; a slider has these ends.
    Number(f64, f64),
    /// A whole number; a slider has these ends.
    Count(f64, f64),
    /// A price, which is sent as a decimal; a slider has these ends.
    Price(f64, f64),
    /// A name of one's own.
    Text,
    /// One of some names.
    Choice(Choices),
}

impl Kind {
    /// The ends of a slider; none of a name.
    pub(crate) fn ends(self) -> Option<(f64, f64)> {
        match self {
            Self::Number(least, most) | Self::Count(least, most) | Self::Price(least, most) => {
                Some((least, most))
            }
            Self::Text | Self::Choice(_) => None,
        }
    }
}

/// Names to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choices {
    /// Open-weight models, and sizes of one's own.
    Models,
    /// Accelerators.
    Accelerators,
    /// Accelerators, and all of them, to be ranked.
    AcceleratorsOrAll,
    /// Contracts of published rents.
    Contracts,
    /// Kinds of answers that tokens are drafted for.
    Domains,
    /// Serving engines whose flags are known.
    Engines,
    /// Ways of routing tokens to experts.
    Routings,
    /// Ways of serving that a plan searches.
    Servings,
}

/// A part of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Parameters that are shown unfolded.
    Main,
    /// All parameters but those of the main part and sizes.
    More,
    /// The sizes of a model, or prices of one's own.
    Own,
}

/// A parameter: a place in the body of each calculator that reads it.
pub(crate) struct Parameter {
    /// Name of the parameter in addresses.
    pub(crate) name: &'static str,
    /// Name for a reader.
    pub(crate) label: &'static str,
    /// Unit, empty for a name or a ratio.
    pub(crate) unit: &'static str,
    /// Kind of its field.
    pub(crate) kind: Kind,
    /// The part of the form that it is in.
    pub(crate) group: Group,
    /// Meaning of an empty field where the answer does not name the value used.
    pub(crate) unstated: &'static str,
    /// JSON pointer in the body.
    pub(crate) pointer: &'static str,
    /// The calculators that read it.
    of: &'static [Calculator],
}

impl Parameter {
    /// A parameter of a group and of some calculators that takes a text.
    const fn new(
        of: &'static [Calculator],
        group: Group,
        name: &'static str,
        label: &'static str,
        pointer: &'static str,
    ) -> Self {
        Self {
            name,
            label,
            unit: "",
            kind: Kind::Text,
            group,
            unstated: "not stated",
            pointer,
            of,
        }
    }

    const fn number(self, unit: &'static str, least: f64, most: f64) -> Self {
        let kind = Kind::Number(least, most);
        Self { unit, kind, ..self }
    }

    const fn count(self, unit: &'static str, least: f64, most: f64) -> Self {
        let kind = Kind::Count(least, most);
        Self { unit, kind, ..self }
    }

    const fn price(self, unit: &'static str, least: f64, most: f64) -> Self {
        let kind = Kind::Price(least, most);
        Self { unit, kind, ..self }
    }

    const fn one_of(self, choices: Choices) -> Self {
        let kind = Kind::Choice(choices);
        Self { kind, ..self }
    }

    const fn unstated(self, unstated: &'static str) -> Self {
        Self { unstated, ..self }
    }
}

const FORWARD: &[Calculator] = &[
    Calculator::Machine,
    Calculator::Fleet,
    Calculator::Layout,
    Calculator::Training,
];
const ONE_KIND: &[Calculator] = &[
    Calculator::Machine,
    Calculator::Layout,
    Calculator::Training,
];
const SERVING: &[Calculator] = &[Calculator::Machine, Calculator::Fleet, Calculator::Layout];
const PRICED: &[Calculator] = &[Calculator::Machine, Calculator::Fleet, Calculator::Training];
const IN_CACHE: &[Calculator] = &[Calculator::Machine, Calculator::Layout];
const BOTH: &[Calculator] = &[Calculator::Machine, Calculator::Fleet];
const MACHINE: &[Calculator] = &[Calculator::Machine];
const FLEET: &[Calculator] = &[Calculator::Fleet];
const RACKS: &[Calculator] = &[Calculator::Layout];
const PHASES: &[Calculator] = &[Calculator::Training];
const USAGE: &[Calculator] = &[Calculator::Cost];

/// Declares tables of parameters, a row each: calculators, part of the form, name, label and place, then the kind.
macro_rules! tables {
    ($(#[$about:meta] $table:ident {
        $($of:ident $group:ident $name:literal $label:literal $pointer:literal $(.$method:ident($($argument:expr),*))*;)*
    })*) => {$(
        #[$about]
        const $table: &[Parameter] = &[
            $(Parameter::new($of, Group::$group, $name, $label, $pointer)$(.$method($($argument),*))*,)*
        ];
    )*};
}

tables! {
    /// Parameters of the calculators that look forward: model, chips and widths.
    SCENARIO {
        FORWARD Main "model" "model" "/model".one_of(Choices::Models);
        ONE_KIND Main "accelerator" "accelerator" "/machine/accelerator".one_of(Choices::Accelerators);
        FLEET Main "accelerator" "accelerator" "/machine/accelerator".one_of(Choices::AcceleratorsOrAll);
        FORWARD More "chips" "chips" "/machine/chips".count("", 1.0, 1024.0);
        PRICED More "rent" "rent of a chip" "/machine/rental_usd_per_hour".number("USD/h", 0.5, 20.0);
        PRICED More "contract" "contract of the rent" "/machine/contract".one_of(Choices::Contracts).unstated("the typical rent");
        FORWARD More "weight_bytes" "bytes per weight" "/precision/weight_bytes_per_parameter".number("B", 0.5, 2.0);
        SERVING More "kv_bytes" "bytes per cache element" "/precision/kv_bytes_per_element".number("B", 0.5, 2.0);
        IN_CACHE Main "context" "tokens in the cache of a sequence" "/load/context_tokens".number("", 128.0, 1e6);
        FORWARD Own "total_parameters" "total parameters" "/model/total_parameters".number("", 1e9, 3e12);
        FORWARD Own "active_parameters" "active parameters" "/model/active_parameters".number("", 1e9, 3e12);
        FORWARD Own "layers" "layers" "/model/layers".count("", 16.0, 128.0);
        FORWARD Own "hidden" "hidden dimension" "/model/hidden_dimension".count("", 2048.0, 16384.0);
        FORWARD Own "experts" "experts of a layer" "/model/experts/routed".count("", 8.0, 1024.0);
        FORWARD Own "active_experts" "experts that a token goes to" "/model/experts/active".count("", 1.0, 64.0);
        SERVING Own "kv_per_token" "KV cache of a token" "/model/kv_bytes_per_token_stored".number("B", 1e3, 1e6);
    }

    /// Parameters of `/simulate` and `/plan`.
    LOADS {
        MACHINE Main "batch" "batch over all chips" "/load/batch".number("", 1.0, 2e4);
        BOTH Main "input" "tokens of a prompt" "/load/input_tokens".number("", 128.0, 1e5);
        FLEET Main "output" "tokens of an answer" "/load/output_tokens".number("", 16.0, 1e4);
        FLEET Main "requests" "requests per second" "/load/requests_per_second".number("", 0.1, 1e3);
        BOTH More "hits" "share of the prompt in a cache" "/load/cache_hit_rate".number("", 0.0, 0.99);
        BOTH More "drafted" "tokens drafted per step" "/load/drafted_tokens".number("", 0.0, 16.0);
        BOTH More "domain" "kind of answers that are drafted" "/load/domain".one_of(Choices::Domains).unstated("all kinds");
        MACHINE More "input_margin" "margin of the input price" "/price_sheet/input_margin".number("", 0.0, 0.95);
        MACHINE More "output_margin" "margin of the output price" "/price_sheet/output_margin".number("", 0.0, 0.95);
        FLEET More "first_token" "most time to the first token" "/limits/time_to_first_token_seconds".number("s", 0.1, 30.0);
        FLEET More "per_token" "most time per token" "/limits/time_per_output_token_seconds".number("s", 0.005, 0.2);
        FLEET More "serving" "prompts beside answers, or apart" "/layouts/serving".one_of(Choices::Servings).unstated("any");
        MACHINE More "tensor" "chips that share attention" "/tensor".count("", 1.0, 64.0);
        FLEET More "engine" "flags for an engine" "/engine".one_of(Choices::Engines).unstated("none");
    }

    /// Parameters of `/layout`.
    LAYOUT {
        RACKS Main "expert_chips" "chips that hold the experts of a layer" "/layout/expert_parallel_chips".count("", 1.0, 576.0);
        RACKS Main "stages" "pipeline stages" "/layout/pipeline_stages".count("", 1.0, 32.0);
        RACKS Main "sequences" "sequences of a micro-batch" "/layout/sequences_per_micro_batch".number("", 1.0, 65_536.0);
        RACKS More "stage_chips" "chips of a stage" "/layout/chips_per_stage".count("", 1.0, 576.0);
        RACKS More "micro_batches" "micro-batches of a training step" "/layout/micro_batches".count("", 1.0, 512.0);
        RACKS More "hop" "time of a transfer between stages" "/layout/hop_seconds".number("s", 1e-6, 1e-3);
        RACKS More "dispatch" "bytes per element to the experts" "/layout/dispatch_bytes_per_element".number("B", 0.5, 4.0);
        RACKS More "combine" "bytes per element back" "/layout/combine_bytes_per_element".number("B", 0.5, 4.0);
        RACKS More "domain" "chips of a rack" "/machine/domain_size".count("", 1.0, 576.0);
        RACKS More "scale_up" "bandwidth inside the rack, per chip" "/machine/scale_up_bytes_per_second".number("B/s", 1e11, 1e13);
        RACKS More "scale_out" "bandwidth out of the rack, per chip" "/machine/scale_out_bytes_per_second".number("B/s", 1e10, 1e12);
    }

    /// Parameters of `/training`.
    TRAINING {
        PHASES Main "traffic" "traffic of the family of models" "/load/tokens_per_second".number("tokens/s", 1e4, 1e9);
        PHASES Main "share" "share of this model" "/service/model_share".number("", 0.01, 1.0);
        PHASES Main "days" "time for which it is served" "/service/lifetime_days".number("days", 7.0, 1000.0);
        PHASES More "served" "chance that it is served at all" "/service/served_probability".number("", 0.1, 1.0);
        PHASES More "pretraining" "tokens of pretraining" "/tokens/pretraining".number("", 1e12, 1e15).unstated("as costly as inference");
        PHASES More "reinforcement" "tokens of reinforcement learning" "/tokens/reinforcement".number("", 1e11, 1e15).unstated("as costly as inference");
        PHASES More "reinforcement_flops" "arithmetic of reinforcement learning" "/costs/reinforcement_flops_per_parameter".number("FLOP/(parameter·token)", 2.0, 6.0);
        PHASES More "decode_utilisation" "utilisation of decoding over that of pretraining" "/costs/relative_decode_utilisation".number("", 0.05, 1.0);
        PHASES More "utilisation" "utilisation in pretraining" "/costs/utilisation".number("", 0.05, 0.8);
        PHASES More "sparsity" "experts over active experts" "/quality/experts_over_active".number("", 1.0, 512.0);
        PHASES More "routing" "routing of tokens to experts" "/quality/routing".one_of(Choices::Routings);
        PHASES More "micro_batch" "tokens in flight" "/activations/tokens_per_micro_batch".count("", 128.0, 65_536.0);
        PHASES More "kept" "values kept per layer and hidden element" "/activations/kept_per_layer".number("", 1.0, 40.0);
        PHASES More "element_bytes" "bytes of a kept value" "/activations/bytes_per_element".number("B", 0.5, 4.0);
    }

    /// Parameters of `/cost`.
    COST {
        USAGE Main "provider" "provider" "/offer/provider".unstated("none: the prices below count");
        USAGE Main "offer" "model, as the provider spells it" "/offer/model".unstated("none");
        USAGE Main "input" "tokens of the prompt, cached ones included" "/usage/input_tokens".count("", 1.0, 1e6);
        USAGE Main "cached" "of these, read from a cache" "/usage/cached_input_tokens".count("", 0.0, 1e5);
        USAGE Main "output" "tokens of the answer, reasoning included" "/usage/output_tokens".count("", 1.0, 1e5);
        USAGE More "reasoning" "of these, reasoning" "/usage/reasoning_tokens".count("", 0.0, 1e5).unstated("0");
        USAGE More "written" "tokens of the prompt written to a cache" "/usage/cache_writes/0/tokens".count("", 0.0, 1e5).unstated("0");
        USAGE More "lifetime" "lifetime of the written tokens" "/usage/cache_writes/0/ttl_seconds".count("s", 60.0, 86_400.0).unstated("the shortest that is priced");
        USAGE More "service_tier" "service tier" "/usage/service_tier".unstated("standard");
        USAGE More "region" "region" "/offer/region".unstated("global, or the only one");
        USAGE More "at" "time of the request" "/at".unstated("now");
        USAGE Own "input_price" "price of input" "/price_sheet/rates/0/input".price("USD/Mtok", 0.01, 30.0);
        USAGE Own "output_price" "price of output" "/price_sheet/rates/0/output".price("USD/Mtok", 0.01, 100.0);
        USAGE Own "read_price" "price of a cache read" "/price_sheet/rates/0/cache_read".price("USD/Mtok", 0.001, 10.0);
        USAGE Own "write_price" "price of a cache write" "/price_sheet/rates/0/cache_write/0/price".price("USD/Mtok", 0.01, 40.0);
    }
}
