"""The forward model for many draws at once: the canonical model of a draw, its serving unit, and the times of a decode step
and of a prefill pass in seconds.

Follows `crates/infer/src/evidence/{canonical,kv_reading,serving_cost}` and `crates/roofline/src/forward/`.
"""

import numpy as np

import tables
from tables import COMPRESSED, HYBRID_LINEAR, SPARSE, WINDOWED

READ_CONTEXT_TOKENS = 8_192.0
WINDOW_TOKENS = 1_024.0
SLOPE_OVER_READ = {SPARSE: 0.45, COMPRESSED: 0.37}
EXPERT_SHARE = (0.05, 0.97)
PASS_TOKENS = 16_384.0
PROMPT_OVER_CONTEXT = 0.88 * (1.0 + 1.313 * 1.313)
LEAST_TOKENS_PER_SECOND = 5.0
VECTORS_PER_EXPERT_COPY = 10.0
SECONDS_PER_EXCHANGE, SECONDS_PER_HOP = 11.8e-6, 22.4e-6
HIDDEN_BYTES, EXCHANGED_BYTES = 2.0, 3.0
HEADROOM, MOST_SET_ASIDE, ACTIVATIONS_SET_ASIDE = 0.1, 0.1, 10.0 * 8_192.0


class Reading:
    """Bytes of cache that a step reads and that are stored, by context, at one byte per element."""

    def __init__(self, attention, read, stored):
        self.bounded = self.limit = self.windows = 0.0
        self.slope, self.stored = read, stored
        if attention == WINDOWED:
            self.slope = self.stored = np.minimum(stored, read)
            self.bounded = self.windows = (read - self.slope) * READ_CONTEXT_TOKENS / WINDOW_TOKENS
            self.limit = WINDOW_TOKENS
        elif attention in SLOPE_OVER_READ:
            self.stored = np.maximum(stored, read)
            self.slope = SLOPE_OVER_READ[attention] * read
            self.bounded = self.stored - self.slope
            self.limit = READ_CONTEXT_TOKENS * (read - self.slope) / self.bounded

    def bytes_at(self, context):
        return self.slope * context + self.bounded * np.minimum(context, self.limit)

    def stored_at(self, context):
        return self.stored * context + self.windows * np.minimum(context, self.limit)

    def read_up_to(self, context):
        within = np.minimum(context, self.limit)
        return 0.5 * self.slope * context * context + self.bounded * within * (0.5 * within + (context - within))


class Model:
    """Canonical models of draws of one class, by their six unknowns."""

    def __init__(self, is_dense, attention, values):
        log_active, log_total, log_read, log_stored, _, log_context = values
        log_total = np.maximum(log_total, log_active)
        self.is_dense = is_dense
        self.active, self.total = np.exp(log_active), np.exp(log_total)
        self.reading = Reading(attention, np.exp(log_read), np.exp(log_stored))
        self.context = np.exp(log_context)
        lines = tables.lines()[is_dense, attention]
        numbers = np.exp(lines @ tables.features(log_active, log_total, log_read))
        (self.layers, self.hidden, vocabulary, self.decode_macs, self.prefill_macs, state, odds, experts,
         self.expert_layers) = numbers
        self.state = state if attention == HYBRID_LINEAR else 0.0
        vocabulary = np.minimum(vocabulary * self.hidden, 0.2 * self.active)
        self.embedding = np.maximum(vocabulary, self.total - self.active) if is_dense else vocabulary
        self._experts(odds, experts)
        self.others = self.total - self.experts
        self.head = np.minimum(self.embedding, self.always_read)

    def _experts(self, odds, active_experts):
        self.experts = self.active_experts_parameters = self.routed = self.routed_over_active = 0.0
        if self.is_dense:
            self.always_read = self.total - self.embedding
            self.active_experts = self.expert_layers = 0.0
            return
        share = np.clip(odds / (1.0 + odds), *EXPERT_SHARE)
        self.routed_over_active = 1.0 + (self.total / self.active - 1.0) / share
        self.active_experts = np.maximum(active_experts, 1.0)
        self.routed = self.active_experts * self.routed_over_active
        self.active_experts_parameters = share * self.active
        self.experts = self.active_experts_parameters * self.routed_over_active
        self.always_read = np.maximum(self.total - self.experts - self.embedding, 0.0)
        self.expert_layers = np.minimum(self.expert_layers * self.layers, self.layers)


class Engine:
    """A machine that serves models: every number is per draw, `chips` as well."""

    def __init__(self, machine):
        self.machine = machine
        self.reached = machine.reached
        self.below = np.cumsum(1.0 / machine.UNITS)

    def holding(self, model, batch):
        """Whether every size of units holds the weights and the caches of the batch: a row per draw."""
        machine, units = self.machine, self.machine.UNITS
        set_aside = np.minimum(ACTIVATIONS_SET_ASIDE * model.hidden * HIDDEN_BYTES, MOST_SET_ASIDE * machine.capacity)
        usable = machine.capacity - (HEADROOM * machine.capacity + set_aside)
        caches = batch * (model.reading.stored_at(model.context) * machine.element_bytes + model.state)
        if model.is_dense:
            needed = (model.experts + model.others + caches)[:, None]
        else:
            routed = model.routed[:, None]
            places = np.ceil(routed / units) * units / routed
            needed = model.experts[:, None] * places + model.others[:, None] * units + caches[:, None]
        return needed <= usable[:, None] * units

    def first_holding(self, holds):
        """Index of the first unit that holds a draw, from every size upwards; the number of sizes where none does."""
        count = len(self.machine.UNITS)
        indices = np.where(holds, np.arange(count), count)
        return np.minimum.accumulate(indices[:, ::-1], axis=1)[:, ::-1]

    def chosen(self, model, first, uniform):
        """Index of the unit that a uniform number chooses for every draw."""
        units = self.machine.UNITS
        most = self.machine.domain if model.is_dense else np.maximum(model.routed, 1.0)
        built = np.maximum(np.searchsorted(units, most, side="right"), 1)
        wanted = uniform * self.below[built - 1]
        start = np.minimum(np.searchsorted(self.below, wanted, side="right"), built - 1)
        return first[np.arange(len(uniform)), start]

    def step(self, model, batch, chips):
        """Seconds of a decode step."""
        read = model.reading.bytes_at(model.context)
        macs = batch * model.decode_macs * read
        kv_bytes = batch * (read * self.machine.element_bytes + 2.0 * model.state)
        return self._pass(model, chips, batch, batch, macs, kv_bytes, is_decode=True)

    def log_prompt_chip_seconds(self, model, chips, cached_share):
        """log of the seconds of one chip that a prompt token takes which is not found in a cache."""
        tokens = np.maximum(PROMPT_OVER_CONTEXT * model.context, 1.0)
        fresh, cached = tokens * (1.0 - cached_share), tokens * cached_share
        prompts = np.maximum((PASS_TOKENS if model.is_dense else PASS_TOKENS * chips) / fresh, 1.0)
        macs = model.prefill_macs * (model.reading.read_up_to(cached + fresh) - model.reading.read_up_to(cached))
        kv_bytes = model.reading.stored_at(cached + fresh) * self.machine.element_bytes + 2.0 * model.state
        seconds = self._pass(model, chips, prompts * fresh, prompts, prompts * macs, prompts * kv_bytes, is_decode=False)
        return np.log(seconds * chips / (prompts * fresh))

    def _pass(self, model, chips, tokens, headed, attention_macs, kv_bytes, is_decode):
        reached, machine = self.reached, self.machine
        rate = reached["compute"] * machine.multiply_rate * chips
        bandwidth = reached["bandwidth"] * machine.bandwidth * chips
        attention = np.maximum(kv_bytes / bandwidth, attention_macs / reached["attention_compute_ratio"] / rate)
        weights = np.maximum(self._weight_bytes(model, chips, tokens) / bandwidth,
                             self._weight_macs(model, chips, tokens, headed) / rate)
        vectors = reached["vectors_per_token_and_layer"] * model.layers
        vectors = vectors + VECTORS_PER_EXPERT_COPY * model.active_experts * model.expert_layers
        passing = tokens * model.hidden * HIDDEN_BYTES * vectors / bandwidth
        stages = 2.0 * np.maximum(model.layers - model.expert_layers, 0.0) + 10.0 * model.expert_layers
        on_chip = attention + weights + passing + reached["seconds_per_stage"] * stages
        if model.is_dense:
            return on_chip + self._all_reduce(model, chips, tokens)
        exchange = self._all_to_all(model, chips, tokens, is_decode)
        longer = np.maximum(on_chip, exchange)
        return longer + reached["exposed_exchange"] * np.minimum(on_chip, exchange) if is_decode else longer

    def _weight_macs(self, model, chips, tokens, headed):
        others = (model.always_read - model.head) * tokens + model.head * np.minimum(headed, tokens)
        if model.is_dense:
            return others
        copies = tokens * model.active_experts / chips
        by_chance = np.minimum(1.0 + np.sqrt(2.0 * np.log(chips) / copies), chips)
        slowness = np.where(chips > 1.0, by_chance, 1.0) / self.reached["expert_compute_ratio"]
        return others + tokens * model.active_experts_parameters * slowness

    def _weight_bytes(self, model, chips, tokens):
        if model.is_dense:
            return self.machine.weight_bytes * model.always_read
        with np.errstate(divide="ignore"):
            touched = 1.0 - np.exp(tokens * np.log(1.0 - 1.0 / model.routed_over_active))
        places = np.ceil(model.routed / chips) * chips / model.routed
        return self.machine.weight_bytes * (model.always_read * chips + touched * model.experts * places)

    def _domains(self, chips):
        return np.maximum(np.ceil(chips / self.machine.domain), 1.0)

    def _links(self, inside, outside):
        seconds = np.maximum(inside / self.machine.scale_up, outside / self.machine.scale_out)
        return seconds / self.reached["network"]

    def _all_reduce(self, model, chips, tokens):
        around = lambda parts: 2.0 * (parts - 1.0) / parts
        near, domains = np.minimum(chips, self.machine.domain), self._domains(chips)
        sent = 2.0 * model.layers * tokens * model.hidden * HIDDEN_BYTES
        latency = np.where(domains > 1.0, SECONDS_PER_EXCHANGE + SECONDS_PER_HOP, SECONDS_PER_EXCHANGE)
        latency = np.where(chips > 1.0, 2.0 * model.layers * latency, 0.0)
        return self._links(sent * around(near), sent * around(domains) / near) + latency

    def _all_to_all(self, model, chips, tokens, is_decode):
        sent = tokens / chips * model.hidden * EXCHANGED_BYTES * model.expert_layers
        domains = self._domains(chips)
        if is_decode:
            outside = model.active_experts * (domains - 1.0) / domains
            inside = model.active_experts * (chips - 1.0) / chips - outside
        else:
            inside, outside = self._met(chips, model.active_experts), self._met(domains, model.active_experts)
        return self._links(sent * inside, sent * outside)

    @staticmethod
    def _met(parts, active_experts):
        """Other parts that hold an expert of a token."""
        with np.errstate(divide="ignore"):
            met = parts * (1.0 - np.exp(active_experts * np.log(1.0 - 1.0 / parts)))
        return np.where(parts > 1.0, met * (parts - 1.0) / parts, 0.0)
