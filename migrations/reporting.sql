-- Views for dashboards and notebooks: typed columns, no JSON, names that stay. They read with the rights of their owner, so
-- that a role needs no right on the tables. Generated from `crates/dev/src/reporting.sql` and the columns of lists (`just
-- bless`). After the migrations, the views are replaced where this file has changed; grants on them are kept. A
-- migration that drops one of them resets the comment on the schema, which says which file they were made by.

DROP VIEW IF EXISTS reporting.latest_estimates, reporting.estimates, reporting.price_sheets, reporting.price_history,
    reporting.changes, reporting.disagreements, reporting.imports;

CREATE VIEW reporting.estimates AS
SELECT estimates.id, listing.provider, listing.model, listing.canonical_model, listing.region, listing.currency,
       listing.valid_from, listing.valid_to, listing.observed_at, listing.duplicate_of, estimates.engine_version,
       estimates.readings_defined, estimates.conflicts, value.*, listing.stated_assumptions,
       listing.sheet_id AS price_sheet_id, listing.sequence
FROM estimate_listings AS listing
JOIN estimates ON estimates.id = listing.estimate_id
CROSS JOIN LATERAL jsonb_to_record(estimates.row_values::jsonb) AS value (
    active_parameters_median double precision,
    active_parameters_low_90 double precision,
    active_parameters_high_90 double precision,
    active_parameters_identified boolean,
    total_parameters_median double precision,
    total_parameters_low_90 double precision,
    total_parameters_high_90 double precision,
    total_parameters_identified boolean,
    kv_bytes_per_token_read_median double precision,
    kv_bytes_per_token_read_low_90 double precision,
    kv_bytes_per_token_read_high_90 double precision,
    kv_bytes_per_token_read_identified boolean,
    kv_bytes_per_token_stored_median double precision,
    kv_bytes_per_token_stored_low_90 double precision,
    kv_bytes_per_token_stored_high_90 double precision,
    kv_bytes_per_token_stored_identified boolean,
    memory_time_over_compute_time_median double precision,
    memory_time_over_compute_time_low_90 double precision,
    memory_time_over_compute_time_high_90 double precision,
    memory_time_over_compute_time_identified boolean,
    batch_over_optimal_batch_median double precision,
    batch_over_optimal_batch_low_90 double precision,
    batch_over_optimal_batch_high_90 double precision,
    batch_over_optimal_batch_identified boolean,
    crossover_context_tokens_median double precision,
    crossover_context_tokens_low_90 double precision,
    crossover_context_tokens_high_90 double precision,
    crossover_context_tokens_identified boolean,
    latency_floor_seconds_median double precision,
    latency_floor_seconds_low_90 double precision,
    latency_floor_seconds_high_90 double precision,
    latency_floor_seconds_identified boolean,
    cost_input_usd_per_mtok_median double precision,
    cost_input_usd_per_mtok_low_90 double precision,
    cost_input_usd_per_mtok_high_90 double precision,
    cost_input_usd_per_mtok_identified boolean,
    cost_output_usd_per_mtok_median double precision,
    cost_output_usd_per_mtok_low_90 double precision,
    cost_output_usd_per_mtok_high_90 double precision,
    cost_output_usd_per_mtok_identified boolean,
    context_tier_kv_bytes double precision,
    context_tier_kv_bytes_finite_batch double precision,
    context_tier_kv_bytes_full_hbm double precision,
    output_multiplier_cover double precision,
    input_multiplier_attention double precision,
    increments_gqa_group double precision,
    output_ratio_memory_boundness double precision,
    output_ratio_kv_bytes double precision,
    cache_read_load_path double precision,
    cache_write_hold_price double precision,
    cache_storage_kv_bytes double precision,
    recompute_or_hold double precision,
    fast_mode_batch_ratio double precision,
    fast_mode_kv_over_weights double precision,
    fast_mode_max_speedup double precision,
    batch_discount_utilisation double precision,
    output_speed_weight_bytes double precision,
    context_maximum_kv_bytes double precision,
    price_level_active_parameters double precision);
COMMENT ON VIEW reporting.estimates IS
    'Every estimate as GET /estimates lists it: one row per estimate, and per offer that has the price of another';

-- Which rows these are is found out before the numbers of any are read.
CREATE VIEW reporting.latest_estimates AS
SELECT * FROM reporting.estimates
WHERE sequence IN (
    SELECT max(listing.sequence) FROM estimate_listings AS listing
    WHERE NOT listing.stated_assumptions
      AND (listing.sheet_id IS NULL OR EXISTS (
          SELECT 1 FROM price_intervals AS period
          WHERE period.sheet_id = listing.sheet_id AND starts_at <= now() AND until > now()))
    GROUP BY listing.provider, listing.model, listing.region);
COMMENT ON VIEW reporting.latest_estimates IS
    'As GET /estimates/latest: per provider, model and region the last estimate of a price in force, nothing stated';

CREATE VIEW reporting.price_sheets AS
SELECT id, provider, model, canonical_model, region, currency, valid_from, valid_to, observed_at,
       input_price AS input_per_mtok, output_price AS output_per_mtok, cache_read_price AS cache_read_per_mtok
FROM price_sheets;
COMMENT ON VIEW reporting.price_sheets IS 'Every price sheet as GET /price-sheets lists it, with the prices of its base cell';

CREATE VIEW reporting.price_history AS
SELECT sheet.provider, sheet.model, sheet.canonical_model, sheet.region, sheet.currency,
       nullif(period.starts_at, '0001-01-01T00:00:00Z') AS starts_at, period.ends_at,
       period.withdrawn_at IS NULL AND starts_at <= now() AND until > now() AS in_force,
       sheet.input_price AS input_per_mtok, sheet.output_price AS output_per_mtok,
       sheet.cache_read_price AS cache_read_per_mtok, period.catalog, period.observed_at, period.withdrawn_at,
       period.withdrawn_because, period.sheet_id AS price_sheet_id
FROM price_intervals AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id;
COMMENT ON VIEW reporting.price_history IS
    'What an offer costs when: those of its periods that were not withdrawn do not overlap';

CREATE VIEW reporting.changes AS
SELECT sequence, kind, observed_at, provider, model, canonical_model, region, summary, sheet_id AS price_sheet_id,
       estimate_id
FROM changes;
COMMENT ON VIEW reporting.changes IS 'What changed, in the order in which it was stored';

CREATE VIEW reporting.disagreements AS
SELECT said.provider, said.model, said.region, said.catalog, said.other_catalog, said.differences, said.largest_factor,
       sheet.input_price AS input_per_mtok, sheet.output_price AS output_per_mtok,
       other.input_price AS other_input_per_mtok, other.output_price AS other_output_per_mtok, said.observed_at,
       said.ended_at, said.sheet_id AS price_sheet_id, said.other_sheet_id AS other_price_sheet_id
FROM disagreements AS said
JOIN price_sheets AS sheet ON sheet.id = said.sheet_id
JOIN price_sheets AS other ON other.id = said.other_sheet_id;
COMMENT ON VIEW reporting.disagreements IS 'Where two catalogs price an offer differently; open while ended_at is null';

CREATE VIEW reporting.imports AS
SELECT id, source, catalog, started_at, ended_at, outcome, error, entries, estimated, unchanged, duplicates,
       not_identifiable, refused, reinstated
FROM imports;
COMMENT ON VIEW reporting.imports IS 'Every import of a catalog, with the outcomes of its entries';

-- A column means the same in every view that has it.
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT format('COMMENT ON COLUMN reporting.%I.%I IS %L', table_name, column_name, meaning) AS statement
        FROM information_schema.columns
        JOIN (
            VALUES
            ('id', 'The id that the API has for it'),
            ('sequence', 'Place in the order of storing'),
            ('provider', 'Provider, as it bills; pooled where several hosts'' sheets are answered together'),
            ('model', 'The model as the provider spells it'),
            ('canonical_model', 'author/model'),
            ('region', 'Where it is served'),
            ('currency', 'ISO 4217 code'),
            ('valid_from', 'Inclusive start of validity, as the sheet states it'),
            ('valid_to', 'Exclusive end of validity, as the sheet states it'),
            ('observed_at', 'When it was stored'),
            ('duplicate_of', 'The sheet whose estimate this is, where the listed one is a copy of it'),
            ('engine_version', 'Version of the engine'),
            ('readings_defined', 'Readings that have a value'),
            ('conflicts', 'Pairs of readings that contradict each other'),
            ('stated_assumptions', 'Whether something was stated about the machine'),
            ('price_sheet_id', 'The sheet'),
            ('other_price_sheet_id', 'The sheet of the other catalog'),
            ('estimate_id', 'The estimate that is listed for it'),
            ('input_per_mtok', 'Price of a million fresh prompt tokens, in the currency of the sheet'),
            ('output_per_mtok', 'Price of a million generated tokens, in the currency of the sheet'),
            ('cache_read_per_mtok', 'Price of a million tokens found in the cache, in the currency of the sheet'),
            ('other_input_per_mtok', 'The same in the other catalog'),
            ('other_output_per_mtok', 'The same in the other catalog'),
            ('starts_at', 'Inclusive start; null where unknown'),
            ('ends_at', 'Exclusive end; null while unknown'),
            ('in_force', 'Whether it holds now'),
            ('catalog', 'The catalog that states it'),
            ('other_catalog', 'The catalog that disagrees'),
            ('withdrawn_at', 'When it was withdrawn'),
            ('withdrawn_because', 'Why it was withdrawn'),
            ('kind', 'What happened, such as offer.added, price.changed, offer.delisted or estimate.updated'),
            ('summary', 'In words'),
            ('differences', 'In words'),
            ('largest_factor', 'The largest factor between two prices'),
            ('source', 'An address, a file, or the body of a request'),
            ('started_at', 'When reading began'),
            ('ended_at', 'When it ended; null while it runs or is open'),
            ('outcome', 'running, done, not_modified or failed'),
            ('error', 'Why it failed'),
            ('entries', 'Entries that were read'),
            ('estimated', 'Entries with a new estimate'),
            ('unchanged', 'Entries that were known'),
            ('duplicates', 'Entries that copy another one''s price'),
            ('not_identifiable', 'Entries that identify nothing'),
            ('refused', 'Entries that are wrong'),
            ('reinstated', 'Entries that hold again after they were withdrawn'),
            ('active_parameters_median', 'Parameters used per token: median, parameters'),
            ('active_parameters_low_90', 'Parameters used per token: lower end of the 90 % interval, parameters'),
            ('active_parameters_high_90', 'Parameters used per token: upper end of the 90 % interval, parameters'),
            ('active_parameters_identified', 'Parameters used per token: whether the sheet adds 0.3 bits of information or more'),
            ('total_parameters_median', 'Parameters: median, parameters'),
            ('total_parameters_low_90', 'Parameters: lower end of the 90 % interval, parameters'),
            ('total_parameters_high_90', 'Parameters: upper end of the 90 % interval, parameters'),
            ('total_parameters_identified', 'Parameters: whether the sheet adds 0.3 bits of information or more'),
            ('kv_bytes_per_token_read_median', 'KV cache that decoding reads per token of context, at one byte per element: median, bytes/token'),
            ('kv_bytes_per_token_read_low_90', 'KV cache that decoding reads per token of context, at one byte per element: lower end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_read_high_90', 'KV cache that decoding reads per token of context, at one byte per element: upper end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_read_identified', 'KV cache that decoding reads per token of context, at one byte per element: whether the sheet adds 0.3 bits of information or more'),
            ('kv_bytes_per_token_stored_median', 'KV cache stored per token of context, at one byte per element: median, bytes/token'),
            ('kv_bytes_per_token_stored_low_90', 'KV cache stored per token of context, at one byte per element: lower end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_stored_high_90', 'KV cache stored per token of context, at one byte per element: upper end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_stored_identified', 'KV cache stored per token of context, at one byte per element: whether the sheet adds 0.3 bits of information or more'),
            ('memory_time_over_compute_time_median', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: median'),
            ('memory_time_over_compute_time_low_90', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: lower end of the 90 % interval'),
            ('memory_time_over_compute_time_high_90', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: upper end of the 90 % interval'),
            ('memory_time_over_compute_time_identified', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: whether the sheet adds 0.3 bits of information or more'),
            ('batch_over_optimal_batch_median', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: median'),
            ('batch_over_optimal_batch_low_90', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: lower end of the 90 % interval'),
            ('batch_over_optimal_batch_high_90', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: upper end of the 90 % interval'),
            ('batch_over_optimal_batch_identified', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: whether the sheet adds 0.3 bits of information or more'),
            ('crossover_context_tokens_median', 'Context at which reading the KV cache takes as long as computing: median, tokens'),
            ('crossover_context_tokens_low_90', 'Context at which reading the KV cache takes as long as computing: lower end of the 90 % interval, tokens'),
            ('crossover_context_tokens_high_90', 'Context at which reading the KV cache takes as long as computing: upper end of the 90 % interval, tokens'),
            ('crossover_context_tokens_identified', 'Context at which reading the KV cache takes as long as computing: whether the sheet adds 0.3 bits of information or more'),
            ('latency_floor_seconds_median', 'Shortest time of a step: all weights read once: median, s'),
            ('latency_floor_seconds_low_90', 'Shortest time of a step: all weights read once: lower end of the 90 % interval, s'),
            ('latency_floor_seconds_high_90', 'Shortest time of a step: all weights read once: upper end of the 90 % interval, s'),
            ('latency_floor_seconds_identified', 'Shortest time of a step: all weights read once: whether the sheet adds 0.3 bits of information or more'),
            ('cost_input_usd_per_mtok_median', 'Cost of input tokens: median, USD/Mtok'),
            ('cost_input_usd_per_mtok_low_90', 'Cost of input tokens: lower end of the 90 % interval, USD/Mtok'),
            ('cost_input_usd_per_mtok_high_90', 'Cost of input tokens: upper end of the 90 % interval, USD/Mtok'),
            ('cost_input_usd_per_mtok_identified', 'Cost of input tokens: whether the sheet adds 0.3 bits of information or more'),
            ('cost_output_usd_per_mtok_median', 'Cost of output tokens: median, USD/Mtok'),
            ('cost_output_usd_per_mtok_low_90', 'Cost of output tokens: lower end of the 90 % interval, USD/Mtok'),
            ('cost_output_usd_per_mtok_high_90', 'Cost of output tokens: upper end of the 90 % interval, USD/Mtok'),
            ('cost_output_usd_per_mtok_identified', 'Cost of output tokens: whether the sheet adds 0.3 bits of information or more'),
            ('context_tier_kv_bytes', 'Reading of kv_bytes_per_token_read: k_bw = (η_m/η_c)·w·N_a/(ρ·L_1), bytes/token'),
            ('context_tier_kv_bytes_finite_batch', 'Reading of kv_bytes_per_token_read: k_bw = (η_m/η_c − 1/β)·w·N_a/(ρ·L_1), bytes/token'),
            ('context_tier_kv_bytes_full_hbm', 'Reading of kv_bytes_per_token_read: k_bw = (η_m/η_c)·w·N_a/(ρ·L_1)·(1 − w·N_t/C), bytes/token'),
            ('output_multiplier_cover', 'Reading of context_at_which_kv_reads_cost_as_much_as_the_fixed_part: x = (L_max − m_out·L_1)/(m_out − 1), tokens'),
            ('input_multiplier_attention', 'Reading of attention_macs_per_token_over_active_parameters: a_pre/N_a = 2·(m_in − 1)/(S_2 − m_in·S_1), 1/token'),
            ('increments_gqa_group', 'Reading of attention_macs_per_kv_byte: a_pre/k_bw = 2·(ρ/w)·(η_pre/η_m)/(Δp_out/Δp_in), MAC/B'),
            ('output_ratio_memory_boundness', 'Reading of memory_time_over_compute_time: r = (p_out/p_in)·(η_m/η_pre)·(1 − μ_out)/(1 − μ_in)'),
            ('output_ratio_kv_bytes', 'Reading of kv_bytes_per_token_read: k_bw = ((p_out/p_in)·(η_m/η_pre)·(1 − μ_out)/(1 − μ_in) − 1/β)·w·N_a/(ρ·L_mean), bytes/token'),
            ('cache_read_load_path', 'Reading of kv_bytes_per_token_stored, an upper bound: k_st ≤ (p_hit/p_in − h_0)·N_a·BW_path/(η_pre·M), bytes/token'),
            ('cache_write_hold_price', 'Reading of cache_holding_price: s_1 = fx·(p_2 − p_1)·3600/(TTL_2 − TTL_1), USD/Mtok-hour'),
            ('cache_storage_kv_bytes', 'Reading of kv_bytes_per_token_stored, an upper bound: k_st ≤ fx·fee/(1e6·hold), bytes/token'),
            ('recompute_or_hold', 'Reading of break_even_hold: t = N_a·Cap/(η_pre·M·k_st), s'),
            ('fast_mode_batch_ratio', 'Reading of standard_batch_over_fast_batch: B_std/B_fast = m_p·m_s'),
            ('fast_mode_kv_over_weights', 'Reading of batch_time_over_fixed_time: y = (m_s − 1)/(1 − 1/m_p)'),
            ('fast_mode_max_speedup', 'Reading of greatest_speed_multiplier: 1 + y = 1 + (m_s − 1)/(1 − 1/m_p)'),
            ('batch_discount_utilisation', 'Reading of standard_utilisation_over_batch_utilisation: U_std/U_batch = d_in'),
            ('output_speed_weight_bytes', 'Reading of weight_bytes, an upper bound: w·N_t ≤ η_m·W·V/v, B'),
            ('context_maximum_kv_bytes', 'Reading of kv_bytes_per_token_stored, an upper bound: k_st ≤ (C − w·N_t)/(B_min·L_limit), bytes/token'),
            ('price_level_active_parameters', 'Reading of active_parameters, an upper bound: N_a ≤ fx·p_in·1e-6·(1 − μ_in)·η_pre·U·M·3600/R, parameters')
        ) AS shared (column_name, meaning) USING (column_name)
        WHERE table_schema = 'reporting'
    LOOP
        EXECUTE said.statement;
    END LOOP;
END
$$;
