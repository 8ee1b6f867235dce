-- Views for dashboards and notebooks: typed columns, no JSON, names that stay. They read with the rights of their owner, so
-- that a role needs no right on the tables. The columns of lists and the figures of open models are generated (`just
-- bless`). After the migrations, the views are replaced where this file has changed; grants on them are kept. A
-- migration that drops one of them resets the comment on the schema, which says which file they were made by.

DROP VIEW IF EXISTS reporting.latest_estimates, reporting.estimates, reporting.price_sheets, reporting.price_history,
    reporting.changes, reporting.disagreements, reporting.imports, reporting.rates, reporting.models, reporting.truth;

CREATE VIEW reporting.estimates AS
SELECT estimates.id, listing.provider, listing.model, listing.canonical_model, listing.region, listing.currency,
       listing.valid_from, listing.valid_to,
       (SELECT sheet.retires_at FROM price_sheets AS sheet WHERE sheet.id = listing.sheet_id) AS retires_at,
       listing.observed_at, listing.duplicate_of, estimates.engine_version,
       estimates.readings_defined, estimates.conflicts, value.*, listing.observed, listing.stated_assumptions,
       CASE WHEN listing.sheet_id IS NOT NULL THEN 'sheet' WHEN listing.provider = 'model' THEN 'model' ELSE 'pool' END AS "of",
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
    kv_bytes_per_token_read_slope_median double precision,
    kv_bytes_per_token_read_slope_low_90 double precision,
    kv_bytes_per_token_read_slope_high_90 double precision,
    kv_bytes_per_token_read_slope_identified boolean,
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
    context_bands_line double precision,
    context_bands_kv_bytes double precision,
    output_ratio_memory_boundness double precision,
    output_ratio_kv_bytes double precision,
    reasoning_context_ratio double precision,
    cache_read_load_path double precision,
    cache_write_hold_price double precision,
    cache_storage_kv_bytes double precision,
    recompute_or_hold double precision,
    fast_mode_batch_ratio double precision,
    fast_mode_kv_over_weights double precision,
    fast_mode_max_speedup double precision,
    batch_discount_utilisation double precision,
    peak_schedule_utilisation double precision,
    output_speed_weight_bytes double precision,
    context_maximum_kv_bytes double precision,
    price_level_active_parameters double precision,
    knowledge_score_total_parameters double precision,
    capacity_full_load_cost double precision,
    capacity_break_even_utilisation double precision);
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
       input_price AS input_per_mtok, output_price AS output_per_mtok, cache_read_price AS cache_read_per_mtok,
       retires_at, status,
       EXISTS (
           SELECT 1 FROM disagreements
           WHERE other_sheet_id = price_sheets.id AND is_flagged AND ended_at IS NULL)
       OR EXISTS (
           SELECT 1 FROM price_periods AS period
           WHERE period.sheet_id = price_sheets.id AND is_flagged AND ends_at IS NULL) AS flagged
FROM price_sheets
WHERE observed;
COMMENT ON VIEW reporting.price_sheets IS 'Every price sheet as GET /price-sheets lists it, with the prices of its base cell';

CREATE VIEW reporting.price_history AS
SELECT sheet.provider, sheet.model, sheet.canonical_model, sheet.region, sheet.currency,
       nullif(period.starts_at, '0001-01-01T00:00:00Z') AS starts_at,
       CASE WHEN period.starts_at > '0001-01-01T00:00:00Z' THEN period.start_basis END AS start_basis,
       nullif(period.not_before, '0001-01-01T00:00:00Z') AS not_before, period.ends_at, period.ending,
       nullif(coalesce(
           (SELECT max(snapshots.at)
            FROM observations AS seen
            JOIN price_sheets AS stated ON stated.id = seen.sheet_id
            JOIN snapshots ON snapshots.source = seen.source AND (snapshots.scope = '' OR snapshots.scope = sheet.provider)
            WHERE period.has_ended = FALSE AND seen.offer_id = period.offer_id AND seen.last_at IS NULL
              AND stated.price_id = period.price_id
              AND snapshots.at >= seen.first_at AND snapshots.at > period.last_seen_at
              AND (period.ends_at IS NULL OR period.ends_at > snapshots.at)),
           period.last_seen_at), '0001-01-01T00:00:00Z') AS last_seen_at,
       period.withdrawn_at IS NULL AND period.starts_at <= now()
       AND (period.ends_at IS NULL OR period.ends_at > now()) AS in_force,
       period.is_flagged AS flagged,
       sheet.input_price AS input_per_mtok, sheet.output_price AS output_per_mtok,
       sheet.cache_read_price AS cache_read_per_mtok, sheet.retires_at, sheet.status, period.catalog,
       period.observed_at, period.withdrawn_at, period.withdrawn_because, period.sheet_id AS price_sheet_id
FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id;
COMMENT ON VIEW reporting.price_history IS
    'What an offer costs when: those of its periods that were not withdrawn do not overlap';

CREATE VIEW reporting.changes AS
SELECT sequence, kind, observed_at, provider, model, canonical_model, region, summary, sheet_id AS price_sheet_id,
       previous_sheet_id AS previous_price_sheet_id, estimate_id, cell, old_value, new_value, factor, in_force, valid_from, meter, service_tier,
       min_prompt_tokens, ttl_seconds, schedule
FROM changes;
COMMENT ON VIEW reporting.changes IS 'What changed, in the order in which it was stored';

CREATE VIEW reporting.disagreements AS
SELECT said.provider, said.model, said.region, said.catalog, said.other_catalog, said.differences, said.largest_factor,
       said.is_flagged AS flagged,
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

-- Exact decimals, as the sheet has them.
CREATE VIEW reporting.rates AS
SELECT sheet.id AS price_sheet_id, cell.place::integer AS cell, sheet.provider, sheet.model, sheet.canonical_model,
       sheet.region, sheet.currency, cell.rate ->> 'service_tier' AS service_tier,
       (cell.rate #>> '{context_tier,min_prompt_tokens}')::bigint AS min_prompt_tokens,
       (cell.rate #>> '{context_tier,inclusive}')::boolean AS min_prompt_inclusive, cell.rate ->> 'schedule' AS schedule,
       (cell.rate ->> 'input')::numeric AS input_rate, (cell.rate ->> 'output')::numeric AS output_rate,
       (cell.rate ->> 'reasoning')::numeric AS reasoning_rate, (cell.rate ->> 'cache_read')::numeric AS cache_read_rate,
       (cell.rate ->> 'cache_read_explicit')::numeric AS cache_read_explicit_rate,
       writing.price AS cache_write_rate, writing.ttl_seconds AS cache_write_ttl_seconds,
       for_an_hour.price AS cache_write_1h_rate, (cell.rate ->> 'cache_storage_per_hour')::numeric AS cache_storage_rate,
       cell.rate ->> 'basis' AS basis, sheet.valid_from, sheet.valid_to, sheet.observed_at,
       EXISTS (
           SELECT 1 FROM price_intervals AS period
           WHERE period.sheet_id = sheet.id AND starts_at <= now() AND until > now()) AS in_force
FROM price_sheets AS sheet
CROSS JOIN LATERAL jsonb_array_elements(sheet.document::jsonb -> 'rates') WITH ORDINALITY AS cell (rate, place)
LEFT JOIN LATERAL (
    SELECT (write ->> 'price')::numeric AS price, (write ->> 'ttl_seconds')::bigint AS ttl_seconds
    FROM jsonb_array_elements(coalesce(cell.rate -> 'cache_write', '[]')) AS write
    ORDER BY ttl_seconds NULLS FIRST LIMIT 1) AS writing ON true
LEFT JOIN LATERAL (
    SELECT (write ->> 'price')::numeric AS price
    FROM jsonb_array_elements(coalesce(cell.rate -> 'cache_write', '[]')) AS write
    WHERE (write ->> 'ttl_seconds')::bigint = 3600 LIMIT 1) AS for_an_hour ON true
WHERE sheet.observed;
COMMENT ON VIEW reporting.rates IS
    'One row per rate cell of a price sheet: the prices of a service tier, a prompt length and a schedule; null where not stated';

CREATE VIEW reporting.truth AS
SELECT known.model, known.model_key, known.family, known.total_parameters::double precision,
       known.active_parameters::double precision, known.sparsity::double precision,
       known.kv_bytes_per_token_stored::double precision, known.kv_bytes_per_token_read::double precision,
       known.kv_bytes_per_token_read_slope::double precision,
       known.attention_macs_per_token_decode::double precision, known.attention_macs_per_token_prefill::double precision,
       known.state_bytes_per_sequence::double precision, known.max_context::bigint,
       known.weight_bytes_per_parameter::double precision, known.native_precision, known.confidence
FROM (
    VALUES
        ('Llama-2-13B (MythoMax-L2)', 'llama-2-13b-mythomax-l2', 'llama', 13000000000, 13000000000, 1, 409600, 409600, 409600, 409600, 409600, 0, 4096, 2, 'bf16', 'config'),
        ('Llama-2-70B', 'llama-2-70b', 'llama', 69000000000, 69000000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 4096, 2, 'bf16', 'config'),
        ('Llama-3-8B', 'llama-3-8b', 'llama', 8030000000, 8030000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 8192, 2, 'bf16', 'config'),
        ('Llama-3-70B', 'llama-3-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 8192, 2, 'bf16', 'config'),
        ('Llama-3.1-8B', 'llama-3-1-8b', 'llama', 8030000000, 8030000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-3.1-70B', 'llama-3-1-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-3.3-70B', 'llama-3-3-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-3.1-405B', 'llama-3-1-405b', 'llama', 405900000000, 405900000000, 1, 258048, 258048, 258048, 4128768, 4128768, 0, 131072, 2, 'bf16 (fp8 release)', 'config'),
        ('Llama-3.2-1B', 'llama-3-2-1b', 'llama', 1240000000, 1240000000, 1, 16384, 16384, 16384, 65536, 65536, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-3.2-3B', 'llama-3-2-3b', 'llama', 3210000000, 3210000000, 1, 57344, 57344, 57344, 172032, 172032, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-4-Scout', 'llama-4-scout', 'llama', 109000000000, 17000000000, 6.411764705882353, 24576, 98304, 24576, 122880, 122880, 0, 10485760, 2, 'bf16', 'config'),
        ('Llama-4-Maverick', 'llama-4-maverick', 'llama', 400000000000, 17000000000, 23.529411764705884, 24576, 98304, 24576, 122880, 122880, 0, 1048576, 2, 'bf16 (fp8 release)', 'config'),
        ('Llama-3.3-Nemotron-Super-49B', 'llama-3-3-nemotron-super-49b', 'nemotron', 49900000000, 49900000000, 1, 100352, 100352, 100352, 802816, 802816, 0, 131072, 2, 'bf16', 'config'),
        ('Mistral-7B-v0.3', 'mistral-7b-v0-3', 'mistral', 7250000000, 7250000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 32768, 2, 'bf16', 'config'),
        ('Mixtral-8x7B', 'mixtral-8x7b', 'mistral', 46700000000, 12900000000, 3.62015503875969, 65536, 65536, 65536, 262144, 262144, 0, 32768, 2, 'bf16', 'config'),
        ('Mixtral-8x22B', 'mixtral-8x22b', 'mistral', 140600000000, 39100000000, 3.5959079283887467, 114688, 114688, 114688, 688128, 688128, 0, 65536, 2, 'bf16', 'config'),
        ('Mistral-Nemo-12B', 'mistral-nemo-12b', 'mistral', 12200000000, 12200000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16', 'config'),
        ('Mistral-Small-3.x-24B', 'mistral-small-3-x-24b', 'mistral', 23600000000, 23600000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Devstral-Small-24B', 'devstral-small-24b', 'mistral', 23600000000, 23600000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16/fp8', 'config'),
        ('Mistral-Large-2-123B', 'mistral-large-2-123b', 'mistral', 123000000000, 123000000000, 1, 180224, 180224, 180224, 2162688, 2162688, 0, 131072, 2, 'bf16', 'config'),
        ('Devstral-2-123B', 'devstral-2-123b', 'mistral', 123000000000, 123000000000, 1, 180224, 180224, 180224, 2162688, 2162688, 0, 262144, 1, 'fp8', 'config'),
        ('DeepSeek-V2/V2.5-236B', 'v2-5-236b', 'deepseek', 236000000000, 21000000000, 11.238095238095237, 34560, 34560, 34560, 8355840, 2457600, 0, 163840, 2, 'bf16', 'config'),
        ('DeepSeek-V3', 'deepseek-v3', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config'),
        ('DeepSeek-R1', 'deepseek-r1', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config'),
        ('DeepSeek-V3.1', 'deepseek-v3-1', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config'),
        ('DeepSeek-V3.2', 'deepseek-v3-2', 'deepseek', 685000000000, 37000000000, 18.513513513513512, 42944, 16592, 7808, 499712, 499712, 0, 163840, 1, 'fp8', 'config'),
        ('DeepSeek-V4-Flash', 'deepseek-v4-flash', 'deepseek', 284000000000, 13000000000, 21.846153846153847, 3440, 1768, 752, 53248, 53248, 0, 1048576, 0.5, 'fp4 experts + fp8', 'config'),
        ('DeepSeek-V4-Pro', 'deepseek-v4-pro', 'deepseek', 1600000000000, 49000000000, 32.6530612244898, 4924, 3492, 1084, 93184, 93184, 0, 1048576, 0.5, 'fp4 experts + fp8', 'config'),
        ('Qwen2.5-7B', 'qwen2-5-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2.5-32B', 'qwen2-5-32b', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 655360, 655360, 0, 131072, 2, 'bf16', 'config'),
        ('QwQ-32B', 'qwq-32b', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 655360, 655360, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2.5-72B', 'qwen2-5-72b', 'qwen', 72700000000, 72700000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2.5-VL-72B', 'qwen2-5-vl-72b', 'qwen', 72700000000, 72700000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Qwen3-8B', 'qwen3-8b', 'qwen', 8190000000, 8190000000, 1, 73728, 73728, 73728, 294912, 294912, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen3-14B', 'qwen3-14b', 'qwen', 14800000000, 14800000000, 1, 81920, 81920, 81920, 409600, 409600, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen3-32B', 'qwen3-32b', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 1048576, 1048576, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen3-30B-A3B', 'qwen3-30b-a3b', 'qwen', 30500000000, 3300000000, 9.242424242424242, 49152, 49152, 49152, 393216, 393216, 0, 262144, 2, 'bf16', 'config'),
        ('Qwen3-235B-A22B', 'qwen3-235b-a22b', 'qwen', 235000000000, 22000000000, 10.681818181818182, 96256, 96256, 96256, 1540096, 1540096, 0, 262144, 2, 'bf16 (fp8 release)', 'config'),
        ('Qwen3-VL-235B-A22B', 'qwen3-vl-235b-a22b', 'qwen', 235000000000, 22000000000, 10.681818181818182, 96256, 96256, 96256, 1540096, 1540096, 0, 262144, 2, 'bf16 (fp8 release)', 'config'),
        ('Qwen3-Coder-480B-A35B', 'qwen3-coder-480b-a35b', 'qwen', 480000000000, 35000000000, 13.714285714285714, 126976, 126976, 126976, 1523712, 1523712, 0, 262144, 2, 'bf16 (fp8 release)', 'config'),
        ('Qwen3-Next-80B-A3B', 'qwen3-next-80b-a3b', 'qwen', 80000000000, 3000000000, 26.666666666666668, 12288, 12288, 12288, 98304, 98304, 75497472, 262144, 2, 'bf16', 'config'),
        ('Qwen3-Coder-Next-80B-A3B', 'qwen3-coder-next-80b-a3b', 'qwen', 80000000000, 3000000000, 26.666666666666668, 12288, 12288, 12288, 98304, 98304, 75497472, 262144, 2, 'bf16', 'config-of-sibling'),
        ('Qwen3.5-27B', 'qwen3-5-27b', 'qwen', 27000000000, 27000000000, 1, 32768, 32768, 32768, 196608, 196608, 150994944, 262144, 2, 'bf16', 'config'),
        ('Qwen3.6-27B', 'qwen3-6-27b', 'qwen', 27000000000, 27000000000, 1, 32768, 32768, 32768, 196608, 196608, 150994944, 262144, 2, 'bf16', 'config'),
        ('Qwen3.5-35B-A3B', 'qwen3-5-35b-a3b', 'qwen', 35000000000, 3000000000, 11.666666666666666, 10240, 10240, 10240, 81920, 81920, 62914560, 262144, 2, 'bf16', 'config'),
        ('Qwen3.6-35B-A3B', 'qwen3-6-35b-a3b', 'qwen', 35000000000, 3000000000, 11.666666666666666, 10240, 10240, 10240, 81920, 81920, 62914560, 262144, 2, 'bf16', 'config'),
        ('Qwen3.5-397B-A17B', 'qwen3-5-397b-a17b', 'qwen', 397000000000, 17000000000, 23.352941176470587, 15360, 15360, 15360, 245760, 245760, 188743680, 262144, 2, 'bf16', 'config'),
        ('Kimi-K2-Instruct (0711/0905)', '0905', 'kimi', 1040000000000, 32000000000, 32.5, 35136, 35136, 35136, 4247552, 1249280, 0, 262144, 1, 'fp8', 'config'),
        ('Kimi-K2-Thinking', 'kimi-k2-thinking', 'kimi', 1040000000000, 32000000000, 32.5, 35136, 35136, 35136, 4247552, 1249280, 0, 262144, 0.5, 'int4 experts', 'config-of-sibling'),
        ('Kimi-K2.5', 'kimi-k2-5', 'kimi', 1040000000000, 32000000000, 32.5, 35136, 35136, 35136, 4247552, 1249280, 0, 262144, 0.5, 'int4 experts', 'config'),
        ('Kimi-K2.6', 'kimi-k2-6', 'kimi', 1040000000000, 32000000000, 32.5, 35136, 35136, 35136, 4247552, 1249280, 0, 262144, 0.5, 'int4 experts', 'config'),
        ('Kimi-K2.7-Code', 'kimi-k2-7-code', 'kimi', 1040000000000, 32000000000, 32.5, 35136, 35136, 35136, 4247552, 1249280, 0, 262144, 0.5, 'int4 experts', 'config'),
        ('GLM-4.5', 'glm-4-5', 'glm', 355000000000, 32000000000, 11.09375, 188416, 188416, 188416, 2260992, 2260992, 0, 131072, 2, 'bf16 (fp8 release)', 'config'),
        ('GLM-4.6', 'glm-4-6', 'glm', 355000000000, 32000000000, 11.09375, 188416, 188416, 188416, 2260992, 2260992, 0, 202752, 2, 'bf16 (fp8 release)', 'config'),
        ('GLM-4.7', 'glm-4-7', 'glm', 355000000000, 32000000000, 11.09375, 188416, 188416, 188416, 2260992, 2260992, 0, 202752, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('GLM-4.5-Air', 'glm-4-5-air', 'glm', 106000000000, 12000000000, 8.833333333333334, 94208, 94208, 94208, 1130496, 1130496, 0, 131072, 2, 'bf16 (fp8 release)', 'config'),
        ('GLM-4.7-Flash', 'glm-4-7-flash', 'glm', 30000000000, 3000000000, 10, NULL, NULL, NULL, NULL, NULL, NULL, 202752, 2, 'bf16', 'estimate'),
        ('GLM-5', 'glm-5', 'glm', 744000000000, 40000000000, 18.6, 54912, 21216, 9984, 319488, 319488, 0, 202752, 2, 'bf16 (fp8 release)', 'config'),
        ('GLM-5.1', 'glm-5-1', 'glm', 744000000000, 40000000000, 18.6, 54912, 21216, 9984, 319488, 319488, 0, 202752, 2, 'bf16 (fp8 release)', 'config'),
        ('MiniMax-M2', 'minimax-m2', 'minimax', 229000000000, 10000000000, 22.9, 126976, 126976, 126976, 761856, 761856, 0, 204800, 1, 'fp8', 'config-of-sibling'),
        ('MiniMax-M2.1', 'minimax-m2-1', 'minimax', 229000000000, 10000000000, 22.9, 126976, 126976, 126976, 761856, 761856, 0, 204800, 1, 'fp8', 'config-of-sibling'),
        ('MiniMax-M2.5', 'minimax-m2-5', 'minimax', 229000000000, 10000000000, 22.9, 126976, 126976, 126976, 761856, 761856, 0, 204800, 1, 'fp8', 'config'),
        ('MiniMax-M2.7', 'minimax-m2-7', 'minimax', 229000000000, 10000000000, 22.9, 126976, 126976, 126976, 761856, 761856, 0, 204800, 1, 'fp8', 'config'),
        ('MiniMax-M3', 'minimax-m3', 'minimax', 428000000000, 23000000000, 18.608695652173914, 68736, 24960, 10368, 78336, 78336, 0, 1048576, 2, 'bf16 (mxfp8 release)', 'config'),
        ('gpt-oss-120b', 'gpt-oss-120b', 'gpt-oss', 116800000000, 5100000000, 22.901960784313726, 18432, 18720, 18432, 147456, 147456, 0, 131072, 0.5, 'mxfp4 experts', 'config'),
        ('gpt-oss-20b', 'gpt-oss-20b', 'gpt-oss', 20900000000, 3600000000, 5.805555555555555, 12288, 12480, 12288, 98304, 98304, 0, 131072, 0.5, 'mxfp4 experts', 'config'),
        ('Gemma-2-9B', 'gemma-2-9b', 'gemma', 9240000000, 9240000000, 1, 86016, 129024, 86016, 172032, 172032, 0, 8192, 2, 'bf16', 'config'),
        ('Gemma-2-27B', 'gemma-2-27b', 'gemma', 27200000000, 27200000000, 1, 94208, 141312, 94208, 188416, 188416, 0, 8192, 2, 'bf16', 'config'),
        ('Gemma-3-4B', 'gemma-3-4b', 'gemma', 4300000000, 4300000000, 1, 10240, 17664, 10240, 20480, 20480, 0, 131072, 2, 'bf16', 'config'),
        ('Gemma-3-12B', 'gemma-3-12b', 'gemma', 12200000000, 12200000000, 1, 32768, 53248, 32768, 65536, 65536, 0, 131072, 2, 'bf16', 'config'),
        ('Gemma-3-27B', 'gemma-3-27b', 'gemma', 27400000000, 27400000000, 1, 40960, 67584, 40960, 81920, 81920, 0, 131072, 2, 'bf16', 'config'),
        ('Gemma-4-31B', 'gemma-4-31b', 'gemma', 31000000000, 31000000000, 1, 40960, 92160, 40960, 327680, 327680, 0, 262144, 2, 'bf16', 'config'),
        ('Gemma-4-26B-A4B', 'gemma-4-26b-a4b', 'gemma', 26000000000, 4000000000, 6.5, 10240, 23040, 10240, 81920, 81920, 0, 262144, 2, 'bf16', 'config'),
        ('Phi-4-14B', 'phi-4-14b', 'phi', 14700000000, 14700000000, 1, 102400, 102400, 102400, 409600, 409600, 0, 16384, 2, 'bf16', 'config'),
        ('Nemotron-3-Nano-30B-A3B', 'nemotron-3-nano-30b-a3b', 'nemotron', 31600000000, 3500000000, 9.028571428571428, 3072, 3072, 3072, 49152, 49152, 48234496, 262144, 0.5, 'bf16 (fp8/nvfp4)', 'config'),
        ('Nemotron-3.5-Lightning-30B-A3B', 'nemotron-3-5-lightning-30b-a3b', 'nemotron', 31600000000, 3500000000, 9.028571428571428, 3072, 3072, 3072, 49152, 49152, 48234496, 1048576, 0.5, 'nvfp4', 'config'),
        ('Nemotron-3-Super-120B-A12B', 'nemotron-3-super-120b-a12b', 'nemotron', 120000000000, 12000000000, 10, 4096, 4096, 4096, 65536, 65536, 167772160, 1048576, 0.5, 'nvfp4', 'config'),
        ('Step-3-321B', 'step-3-321b', 'step', 321000000000, 38000000000, 8.447368421052632, 31232, 31232, 31232, 1998848, 1998848, 0, 65536, 2, 'bf16/fp8', 'config'),
        ('LongCat-Flash-560B', 'longcat-flash-560b', 'longcat', 560000000000, 27000000000, 20.74074074074074, NULL, NULL, NULL, NULL, NULL, NULL, 131072, 2, 'bf16/fp8', 'estimate'),
        ('OLMo-2-32B', 'olmo-2-32b', 'olmo', 32000000000, 32000000000, 1, 131072, 131072, 131072, 655360, 655360, 0, 4096, 2, 'bf16', 'config'),
        ('Mistral-Small-4-119B', 'mistral-small-4-119b', 'mistral', 119000000000, 6613368832, 17.99385502653302, NULL, NULL, NULL, NULL, NULL, NULL, 1048576, 1, 'fp8', 'estimate'),
        ('Mistral-Large-4-1T-A52B', 'mistral-large-4-1t-a52b', 'mistral', 1000000000000, 52000000000, 19.23076923076923, NULL, NULL, NULL, NULL, NULL, NULL, 1048576, 1, 'fp8', 'estimate'),
        ('Qwen3-Coder-30B-A3B', 'qwen3-coder-30b-a3b', 'qwen', 30500000000, 3300000000, 9.242424242424242, 49152, 49152, 49152, 393216, 393216, 0, 262144, 2, 'bf16', 'config-of-sibling'),
        ('Qwen3.8-27B', 'qwen3-8-27b', 'qwen', 27000000000, 27000000000, 1, 32768, 32768, 32768, 196608, 196608, 150994944, 262144, 2, 'bf16', 'config-of-sibling'),
        ('Qwen3.5-122B-A10B', 'qwen3-5-122b-a10b', 'qwen', 122000000000, 10000000000, 12.2, 12288, 12288, 12288, 196608, 196608, 150994944, 262144, 2, 'bf16', 'config'),
        ('Kimi-K3', 'kimi-k3', 'kimi', 2800000000000, 96346832896, 29.06167142019514, 13824, 13824, 13824, 2506752, 737280, 434110464, 1048576, 0.5, 'mxfp4 experts', 'config'),
        ('GLM-4.5V', 'glm-4-5v', 'glm', 106000000000, 12000000000, 8.833333333333334, 94208, 94208, 94208, 1130496, 1130496, 0, 65536, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('GLM-5.2', 'glm-5-2', 'glm', 744000000000, 40000000000, 18.6, 47616, 13920, 2688, 86016, 86016, 0, 1048576, 2, 'bf16 (fp8 release)', 'config'),
        ('GLM-5.3-Flash', 'glm-5-3-flash', 'glm', 320000000000, 18000000000, 17.77777777777778, NULL, NULL, NULL, NULL, NULL, NULL, 1048576, 2, 'bf16/fp8', 'estimate'),
        ('MiniMax-M1', 'minimax-m1', 'minimax', 456000000000, 45900000000, 9.934640522875817, 20480, 20480, 20480, 163840, 163840, 293601280, 1000000, 2, 'bf16', 'config'),
        ('Nemotron-3-Ultra-550B-A55B', 'nemotron-3-ultra-550b-a55b', 'nemotron', 550000000000, 55000000000, 10, 6144, 6144, 6144, 196608, 196608, 402653184, 1048576, 0.5, 'nvfp4', 'config'),
        ('DBRX-132B', 'dbrx-132b', 'dbrx', 132000000000, 36000000000, 3.6666666666666665, 81920, 81920, 81920, 491520, 491520, 0, 32768, 2, 'bf16', 'config'),
        ('Llama-3.1-Nemotron-70B', 'llama-3-1-nemotron-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config'),
        ('DeepSeek-R1-Distill-Llama-70B', 'deepseek-r1-distill-llama-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config'),
        ('DeepSeek-R1-Distill-Llama-8B', 'deepseek-r1-distill-llama-8b', 'llama', 8030000000, 8030000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 131072, 2, 'bf16', 'config'),
        ('DeepSeek-R1-Distill-Qwen-32B', 'deepseek-r1-distill-qwen-32b', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 655360, 655360, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('DeepSeek-R1-Distill-Qwen-14B', 'deepseek-r1-distill-qwen-14b', 'qwen', 14800000000, 14800000000, 1, 98304, 98304, 98304, 491520, 491520, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('DeepSeek-R1-Distill-Qwen-7B', 'deepseek-r1-distill-qwen-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('DeepSeek-R1-Distill-Qwen-1.5B', 'deepseek-r1-distill-qwen-1-5b', 'qwen', 1780000000, 1780000000, 1, 14336, 14336, 14336, 86016, 86016, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('DeepSeek-R1-0528-Qwen3-8B', 'deepseek-r1-0528-qwen3-8b', 'qwen', 8190000000, 8190000000, 1, 73728, 73728, 73728, 294912, 294912, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Qwen2.5-14B', 'qwen2-5-14b', 'qwen', 14800000000, 14800000000, 1, 98304, 98304, 98304, 491520, 491520, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2.5-Coder-7B', 'qwen2-5-coder-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2.5-Coder-3B', 'qwen2-5-coder-3b', 'qwen', 3090000000, 3090000000, 1, 18432, 18432, 18432, 147456, 147456, 0, 32768, 2, 'bf16', 'config'),
        ('Qwen2.5-Math-72B', 'qwen2-5-math-72b', 'qwen', 72700000000, 72700000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 4096, 2, 'bf16', 'config'),
        ('Qwen2.5-Math-7B', 'qwen2-5-math-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 4096, 2, 'bf16', 'config'),
        ('Qwen2.5-VL-7B', 'qwen2-5-vl-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2.5-VL-32B', 'qwen2-5-vl-32b', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 655360, 655360, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Qwen2.5-Omni-7B', 'qwen2-5-omni-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 32768, 2, 'bf16', 'config-of-sibling'),
        ('Qwen2-72B', 'qwen2-72b', 'qwen', 72700000000, 72700000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Qwen2-VL-72B', 'qwen2-vl-72b', 'qwen', 72700000000, 72700000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 32768, 2, 'bf16', 'config-of-sibling'),
        ('Qwen2-7B', 'qwen2-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 131072, 2, 'bf16', 'config'),
        ('Qwen2-VL-7B', 'qwen2-vl-7b', 'qwen', 7620000000, 7620000000, 1, 28672, 28672, 28672, 200704, 200704, 0, 32768, 2, 'bf16', 'config-of-sibling'),
        ('QwQ-32B-Preview', 'qwq-32b-preview', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 655360, 655360, 0, 32768, 2, 'bf16', 'config'),
        ('Qwen1.5-72B', 'qwen1-5-72b', 'qwen', 72300000000, 72300000000, 1, 1310720, 1310720, 1310720, 1310720, 1310720, 0, 32768, 2, 'bf16', 'config'),
        ('Qwen1.5-14B', 'qwen1-5-14b', 'qwen', 14200000000, 14200000000, 1, 409600, 409600, 409600, 409600, 409600, 0, 32768, 2, 'bf16', 'config'),
        ('Qwen1.5-7B', 'qwen1-5-7b', 'qwen', 7720000000, 7720000000, 1, 262144, 262144, 262144, 262144, 262144, 0, 32768, 2, 'bf16', 'config'),
        ('Qwen3-4B', 'qwen3-4b', 'qwen', 4020000000, 4020000000, 1, 73728, 73728, 73728, 294912, 294912, 0, 262144, 2, 'bf16', 'config'),
        ('Qwen3-VL-32B', 'qwen3-vl-32b', 'qwen', 32800000000, 32800000000, 1, 131072, 131072, 131072, 1048576, 1048576, 0, 262144, 2, 'bf16', 'config'),
        ('Qwen3-VL-8B', 'qwen3-vl-8b', 'qwen', 8190000000, 8190000000, 1, 73728, 73728, 73728, 294912, 294912, 0, 262144, 2, 'bf16', 'config'),
        ('Qwen3-VL-30B-A3B', 'qwen3-vl-30b-a3b', 'qwen', 30500000000, 3300000000, 9.242424242424242, 49152, 49152, 49152, 393216, 393216, 0, 262144, 2, 'bf16', 'config'),
        ('Qwen3-Omni-30B-A3B', 'qwen3-omni-30b-a3b', 'qwen', 30500000000, 3300000000, 9.242424242424242, 49152, 49152, 49152, 393216, 393216, 0, 65536, 2, 'bf16', 'config'),
        ('Qwen3.5-9B', 'qwen3-5-9b', 'qwen', 9000000000, 9000000000, 1, 16384, 16384, 16384, 65536, 65536, 50331648, 262144, 2, 'bf16', 'config'),
        ('Phi-3-mini-3.8B', 'phi-3-mini-3-8b', 'phi', 3820000000, 3820000000, 1, 196608, 196608, 196608, 196608, 196608, 0, 131072, 2, 'bf16', 'config'),
        ('Phi-3.5-mini-3.8B', 'phi-3-5-mini-3-8b', 'phi', 3820000000, 3820000000, 1, 196608, 196608, 196608, 196608, 196608, 0, 131072, 2, 'bf16', 'config'),
        ('Phi-3-medium-14B', 'phi-3-medium-14b', 'phi', 13960000000, 13960000000, 1, 102400, 102400, 102400, 409600, 409600, 0, 131072, 2, 'bf16', 'config'),
        ('Phi-3.5-MoE-42B', 'phi-3-5-moe-42b', 'phi', 41900000000, 6600000000, 6.348484848484849, 65536, 65536, 65536, 262144, 262144, 0, 131072, 2, 'bf16', 'config'),
        ('Phi-4-mini-3.8B', 'phi-4-mini-3-8b', 'phi', 3840000000, 3840000000, 1, 65536, 65536, 65536, 196608, 196608, 0, 131072, 2, 'bf16', 'config'),
        ('Phi-4-mini-reasoning', 'phi-4-mini-reasoning', 'phi', 3840000000, 3840000000, 1, 65536, 65536, 65536, 196608, 196608, 0, 131072, 2, 'bf16', 'config'),
        ('Phi-4-multimodal', 'phi-4-multimodal', 'phi', 3840000000, 3840000000, 1, 65536, 65536, 65536, 196608, 196608, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Phi-4-reasoning', 'phi-4-reasoning', 'phi', 14700000000, 14700000000, 1, 102400, 102400, 102400, 409600, 409600, 0, 32768, 2, 'bf16', 'config'),
        ('Phi-4-reasoning-plus', 'phi-4-reasoning-plus', 'phi', 14700000000, 14700000000, 1, 102400, 102400, 102400, 409600, 409600, 0, 32768, 2, 'bf16', 'config'),
        ('Gemma-7B', 'gemma-7b', 'gemma', 8540000000, 8540000000, 1, 229376, 229376, 229376, 229376, 229376, 0, 8192, 2, 'bf16', 'config'),
        ('Gemma-SEA-LION-v4-27B', 'gemma-sea-lion-v4-27b', 'gemma', 27400000000, 27400000000, 1, 40960, 67584, 40960, 81920, 81920, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Gemma-4-E4B', 'gemma-4-e4b', 'gemma', 8000000000, 4500000000, 1.7777777777777777, 8192, 9472, 8192, 32768, 32768, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-3.2-11B-Vision', 'llama-3-2-11b-vision', 'llama', 10700000000, 10700000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 131072, 2, 'bf16', 'config'),
        ('Llama-Guard-3-8B', 'llama-guard-3-8b', 'llama', 8030000000, 8030000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('CodeLlama-70B', 'codellama-70b', 'llama', 69000000000, 69000000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 16384, 2, 'bf16', 'config'),
        ('Hermes-3-70B', 'hermes-3-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Hermes-3-405B', 'hermes-3-405b', 'llama', 405900000000, 405900000000, 1, 258048, 258048, 258048, 4128768, 4128768, 0, 131072, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('Hermes-3-8B', 'hermes-3-8b', 'llama', 8030000000, 8030000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Hermes-2-Pro-Llama-3-8B', 'hermes-2-pro-llama-3-8b', 'llama', 8030000000, 8030000000, 1, 65536, 65536, 65536, 262144, 262144, 0, 8192, 2, 'bf16', 'config-of-sibling'),
        ('Hermes-4-70B', 'hermes-4-70b', 'llama', 70600000000, 70600000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Hermes-4-405B', 'hermes-4-405b', 'llama', 405900000000, 405900000000, 1, 258048, 258048, 258048, 4128768, 4128768, 0, 131072, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('Ministral-3-3B', 'ministral-3-3b', 'mistral', 3430000000, 3430000000, 1, 53248, 53248, 53248, 212992, 212992, 0, 262144, 1, 'fp8', 'config'),
        ('Ministral-3-8B', 'ministral-3-8b', 'mistral', 8500000000, 8500000000, 1, 69632, 69632, 69632, 278528, 278528, 0, 262144, 1, 'fp8', 'config'),
        ('Ministral-3-14B', 'ministral-3-14b', 'mistral', 13500000000, 13500000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 262144, 1, 'fp8', 'config'),
        ('Magistral-Small-24B', 'magistral-small-24b', 'mistral', 23600000000, 23600000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Devstral-Small-2-24B', 'devstral-small-2-24b', 'mistral', 23600000000, 23600000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 393216, 1, 'fp8', 'config'),
        ('Voxtral-Small-24B', 'voxtral-small-24b', 'mistral', 23600000000, 23600000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 32768, 2, 'bf16', 'config-of-sibling'),
        ('Pixtral-12B', 'pixtral-12b', 'mistral', 12200000000, 12200000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Pixtral-Large-124B', 'pixtral-large-124b', 'mistral', 123000000000, 123000000000, 1, 180224, 180224, 180224, 2162688, 2162688, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Trinity-Mini-26B-A3B', 'trinity-mini-26b-a3b', 'trinity', 26000000000, 3000000000, 8.666666666666666, 8192, 14336, 8192, 65536, 65536, 0, 131072, 2, 'bf16', 'config'),
        ('MiniMax-Text-01', 'minimax-text-01', 'minimax', 456000000000, 45900000000, 9.934640522875817, 20480, 20480, 20480, 163840, 163840, 293601280, 4000000, 2, 'bf16', 'config'),
        ('Ling-3.0-Flash', 'ling-3-0-flash', 'ling', 124000000000, 5100000000, 24.313725490196077, NULL, NULL, NULL, NULL, NULL, NULL, 262144, 2, 'bf16', 'estimate'),
        ('Laguna-XS-2.1', 'laguna-xs-2-1', 'laguna', 33000000000, 3000000000, 11, 20480, 24320, 20480, 122880, 122880, 0, 262144, 2, 'bf16', 'config'),
        ('gpt-oss-safeguard-20b', 'gpt-oss-safeguard-20b', 'gpt-oss', 20900000000, 3600000000, 5.805555555555555, 12288, 12480, 12288, 98304, 98304, 0, 131072, 0.5, 'mxfp4 experts', 'config-of-sibling'),
        ('gpt-oss-safeguard-120b', 'gpt-oss-safeguard-120b', 'gpt-oss', 116800000000, 5100000000, 22.901960784313726, 18432, 18720, 18432, 147456, 147456, 0, 131072, 0.5, 'mxfp4 experts', 'config-of-sibling'),
        ('GLM-4.6V-106B', 'glm-4-6v-106b', 'glm', 106000000000, 12000000000, 8.833333333333334, 94208, 94208, 94208, 1130496, 1130496, 0, 131072, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('DeepSeek-Coder-V2-236B', 'deepseek-coder-v2-236b', 'deepseek', 236000000000, 21000000000, 11.238095238095237, 34560, 34560, 34560, 8355840, 2457600, 0, 163840, 2, 'bf16', 'config-of-sibling'),
        ('DeepSeek-Prover-V2-671B', 'deepseek-prover-v2-671b', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config-of-sibling'),
        ('DeepSeek-V3.1-Terminus', 'deepseek-v3-1-terminus', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config-of-sibling'),
        ('DeepSeek-V3.2-Exp', 'deepseek-v3-2-exp', 'deepseek', 685000000000, 37000000000, 18.513513513513512, 42944, 16592, 7808, 499712, 499712, 0, 163840, 1, 'fp8', 'config-of-sibling'),
        ('Cogito-v2.1-671B', 'cogito-v2-1-671b', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 131072, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('MAI-DS-R1', 'mai-ds-r1', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config-of-sibling'),
        ('R1-1776', 'r1-1776', 'deepseek', 671000000000, 37000000000, 18.135135135135137, 35136, 35136, 35136, 8495104, 2498560, 0, 163840, 1, 'fp8', 'config-of-sibling'),
        ('Kimi-Dev-72B', 'kimi-dev-72b', 'qwen', 72700000000, 72700000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Nemotron-3-Nano-Omni-30B-A3B', 'nemotron-3-nano-omni-30b-a3b', 'nemotron', 31600000000, 3500000000, 9.028571428571428, 3072, 3072, 3072, 49152, 49152, 48234496, 262144, 0.5, 'bf16 (fp8/nvfp4)', 'config-of-sibling'),
        ('Trinity-Large-400B-A13B', 'trinity-large-400b-a13b', 'trinity', 400000000000, 13000000000, 30.76923076923077, 30720, 76800, 30720, 184320, 184320, 0, 262144, 2, 'bf16', 'config'),
        ('Nemotron-Nano-9B-v2', 'nemotron-nano-9b', 'nemotron', 8890000000, 8890000000, 1, 8192, 8192, 8192, 40960, 40960, 141557760, 131072, 2, 'bf16', 'config'),
        ('Granite-3-8B', 'granite-3-8b', 'granite', 8170000000, 8170000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16', 'config'),
        ('Granite-3.3-8B', 'granite-3-3-8b', 'granite', 8170000000, 8170000000, 1, 81920, 81920, 81920, 327680, 327680, 0, 131072, 2, 'bf16', 'config-of-sibling'),
        ('Llama-3.2-90B-Vision', 'llama-3-2-90b-vision', 'llama', 88800000000, 88800000000, 1, 163840, 163840, 163840, 1310720, 1310720, 0, 131072, 2, 'bf16', 'config'),
        ('GLM-5.3', 'glm-5-3', 'glm', 744000000000, 40000000000, 18.6, 47616, 13920, 2688, 86016, 86016, 0, 1048576, 2, 'bf16 (fp8 release)', 'config-of-sibling'),
        ('DeepSeek-V4-Flash-0731', 'deepseek-v4-flash-0731', 'deepseek', 284000000000, 13000000000, 21.846153846153847, 3440, 1768, 752, 53248, 53248, 0, 1048576, 0.5, 'fp4 experts + fp8', 'config-of-sibling'),
        ('DeepSeek-V4-Pro-0813', 'deepseek-v4-pro-0813', 'deepseek', 1600000000000, 49000000000, 32.6530612244898, 4924, 3492, 1084, 93184, 93184, 0, 1048576, 0.5, 'fp4 experts + fp8', 'config-of-sibling'),
        ('Gemma-3n-E4B', 'gemma-3n-e4b', 'gemma', 8000000000, 4000000000, 2, NULL, NULL, NULL, NULL, NULL, NULL, 32768, 2, 'bf16', 'estimate'),
        ('Ministral-8B-2410', 'ministral-8b-2410', 'mistral', 8020000000, 8020000000, 1, 73728, 73728, 73728, 294912, 294912, 0, 32768, 2, 'bf16', 'config'),
        ('Codestral-22B', 'codestral-22b', 'mistral', 22200000000, 22200000000, 1, 114688, 114688, 114688, 688128, 688128, 0, 32768, 2, 'bf16', 'config'),
        ('Mistral-Large-3-675B-A41B', 'mistral-large-3-675b-a41b', 'mistral', 675000000000, 41000000000, 16.463414634146343, 35136, 35136, 35136, 8495104, 2498560, 0, 262144, 1, 'fp8', 'partial'),
        ('Mistral-Medium-3.5-128B', 'mistral-medium-3-5-128b', 'mistral', 128000000000, 128000000000, 1, 180224, 180224, 180224, 2162688, 2162688, 0, 262144, 1, 'fp8', 'config-of-sibling'),
        ('GLM-4-32B-0414', 'glm-4-32b-0414', 'glm', 32600000000, 32600000000, 1, 31232, 31232, 31232, 749568, 749568, 0, 131072, 2, 'bf16', 'partial'),
        ('Granite-4.0-H-Small', 'granite-4-0-h-small', 'granite', 32200000000, 9000000000, 3.577777777777778, 8192, 8192, 8192, 32768, 32768, 150994944, 131072, 2, 'bf16', 'partial'),
        ('LFM2-24B-A2B', 'lfm2-24b-a2b', 'lfm', 23800000000, 2300000000, 10.347826086956522, 10240, 10240, 10240, 40960, 40960, 368640, 128000, 2, 'bf16', 'config')
) AS known (
    model, model_key, family, total_parameters, active_parameters, sparsity, kv_bytes_per_token_stored,
    kv_bytes_per_token_read, kv_bytes_per_token_read_slope, attention_macs_per_token_decode, attention_macs_per_token_prefill,
    state_bytes_per_sequence, max_context, weight_bytes_per_parameter, native_precision, confidence);
COMMENT ON VIEW reporting.truth IS
    'Published figures of open-weight models, as GET /reference/open-models lists them; null where they are not published';

-- Prices are compared in one currency.
CREATE VIEW reporting.models AS
SELECT offer.model_key, max(offer.canonical_model) AS canonical_model, count(*) AS offers,
       count(DISTINCT offer.provider) AS providers, count(*) FILTER (WHERE offer.is_priced) AS offers_in_force,
       min(offer.input_price) AS least_input_per_mtok, max(offer.input_price) AS greatest_input_per_mtok,
       min(offer.output_price) AS least_output_per_mtok, max(offer.output_price) AS greatest_output_per_mtok,
       min(offer.observed_at) AS first_observed_at, max(known.total_parameters) AS total_parameters,
       max(known.active_parameters) AS active_parameters
FROM (
    SELECT sheet.model_key, sheet.provider, max(sheet.canonical_model) AS canonical_model,
           min(sheet.observed_at) AS observed_at, bool_or(period.sheet_id IS NOT NULL) AS is_priced,
           min(sheet.input_price) FILTER (WHERE period.sheet_id IS NOT NULL AND sheet.currency = 'USD') AS input_price,
           min(sheet.output_price) FILTER (WHERE period.sheet_id IS NOT NULL AND sheet.currency = 'USD') AS output_price
    FROM price_sheets AS sheet
    LEFT JOIN price_intervals AS period
        ON period.sheet_id = sheet.id AND period.starts_at <= now() AND period.until > now()
    WHERE sheet.observed
    GROUP BY sheet.model_key, sheet.provider, sheet.offer_id) AS offer
LEFT JOIN (
    SELECT model_key, max(total_parameters) AS total_parameters, max(active_parameters) AS active_parameters
    FROM reporting.truth GROUP BY model_key) AS known ON known.model_key = offer.model_key
GROUP BY offer.model_key;
COMMENT ON VIEW reporting.models IS
    'One row per model over all its sellers: offers, range of the prices in force in USD, published figures where known';

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
            ('provider', 'Provider, as it bills; pooled where several hosts'' sheets are answered together, model where all of a model are'),
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
            ('observed', 'Whether it is the estimate of an observed price; false for a question'),
            ('of', 'What the estimate is drawn from: sheet, pool (the sheets of one request) or model (all sheets of it)'),
            ('retires_at', 'Time from which the offer is no longer sold, as announced'),
            ('status', 'deprecated where the offer is to be retired, at retires_at or at a time that is not stated'),
            ('flagged', 'Whether the price is under quarantine: far from that of other sources, or of no machine'),
            ('cell', 'The price that changed, by the name of its cell'),
            ('old_value', 'The price before'),
            ('new_value', 'The price after'),
            ('factor', 'The larger over the smaller'),
            ('stated_assumptions', 'Whether something was stated about the machine'),
            ('price_sheet_id', 'The sheet'),
            ('previous_price_sheet_id', 'The sheet that was in force before'),
            ('other_price_sheet_id', 'The sheet of the other catalog'),
            ('estimate_id', 'The estimate that is listed for it'),
            ('input_per_mtok', 'Price of a million fresh prompt tokens, in the currency of the sheet'),
            ('output_per_mtok', 'Price of a million generated tokens, in the currency of the sheet'),
            ('cache_read_per_mtok', 'Price of a million tokens found in the cache, in the currency of the sheet'),
            ('other_input_per_mtok', 'The same in the other catalog'),
            ('other_output_per_mtok', 'The same in the other catalog'),
            ('starts_at', 'Inclusive start; null where unknown'),
            ('start_basis', 'stated where a source states the start, observed where it is the first observation, source_added where another source states the offer for the first time'),
            ('not_before', 'When the price before was last seen'),
            ('ends_at', 'Exclusive end; null while unknown'),
            ('ending', 'Why it ended: replaced, expired, delisted or withdrawn'),
            ('last_seen_at', 'When a source last stated the price'),
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
            ('cell', 'Place of the rate cell in its sheet, from 1'),
            ('meter', 'The price that changed, by the field of its rate cell, such as input or cache_write'),
            ('ttl_seconds', 'Time to live of a cache write in seconds; null where none is stated, and for other prices'),
            ('service_tier', 'Service tier, such as standard, batch or priority'),
            ('min_prompt_tokens', 'Prompt length in tokens from which the prices apply'),
            ('min_prompt_inclusive', 'Whether a prompt of exactly that length is included'),
            ('schedule', 'Name of the schedule; null for all times'),
            ('input_rate', 'Exact price of a million fresh prompt tokens, in the currency of the sheet'),
            ('output_rate', 'Exact price of a million generated tokens, in the currency of the sheet'),
            ('reasoning_rate', 'Exact price of a million reasoning tokens; null where not priced separately'),
            ('cache_read_rate', 'Exact price of a million tokens found in the cache'),
            ('cache_read_explicit_rate', 'Exact price of a million tokens found in an explicit cache'),
            ('cache_write_rate', 'Exact full price of a million tokens written to the cache, for the shortest time to live'),
            ('cache_write_ttl_seconds', 'That time to live in seconds; null where not published'),
            ('cache_write_1h_rate', 'Exact full price of a million tokens written to the cache for one hour'),
            ('cache_storage_rate', 'Exact price of holding a million tokens in the cache for one hour'),
            ('basis', 'Whether the source states the prices or they were computed from others'),
            ('model_key', 'The name without seller prefix, case and punctuation: equal for one model at all sellers'),
            ('family', 'Models of one author with a common design'),
            ('total_parameters', 'Published number of parameters'),
            ('active_parameters', 'Published number of parameters used per token'),
            ('sparsity', 'Total over active parameters'),
            ('kv_bytes_per_token_stored', 'KV cache stored per token of context, in bytes at one byte per element'),
            ('kv_bytes_per_token_read', 'KV cache that decoding reads per token of a context of 8,192, in bytes at one byte per element'),
            ('kv_bytes_per_token_read_slope', 'KV cache that decoding reads per further token of a very long context, in bytes at one byte per element'),
            ('attention_macs_per_token_decode', 'Multiply-adds of attention per generated token and context token'),
            ('attention_macs_per_token_prefill', 'Multiply-adds of attention per prompt token and context token'),
            ('state_bytes_per_sequence', 'State of linear-attention layers per sequence, in bytes'),
            ('max_context', 'Longest context in tokens'),
            ('weight_bytes_per_parameter', 'Bytes per parameter of the published weights'),
            ('native_precision', 'Format in which the weights are published'),
            ('confidence', 'Basis of the figures: config for a published configuration, else a description'),
            ('offers', 'Offers, with and without a price in force'),
            ('providers', 'Providers that sell it, or have sold it'),
            ('offers_in_force', 'Offers with a price in force'),
            ('least_input_per_mtok', 'Least price in force of a million fresh prompt tokens, in USD'),
            ('greatest_input_per_mtok', 'Greatest price in force of a million fresh prompt tokens, in USD'),
            ('least_output_per_mtok', 'Least price in force of a million generated tokens, in USD'),
            ('greatest_output_per_mtok', 'Greatest price in force of a million generated tokens, in USD'),
            ('first_observed_at', 'When its first price was stored'),
            ('active_parameters_median', 'Parameters used per token: median, parameters'),
            ('active_parameters_low_90', 'Parameters used per token: lower end of the 90 % interval, parameters'),
            ('active_parameters_high_90', 'Parameters used per token: upper end of the 90 % interval, parameters'),
            ('active_parameters_identified', 'Parameters used per token: whether the quantity is identified'),
            ('total_parameters_median', 'Parameters: median, parameters'),
            ('total_parameters_low_90', 'Parameters: lower end of the 90 % interval, parameters'),
            ('total_parameters_high_90', 'Parameters: upper end of the 90 % interval, parameters'),
            ('total_parameters_identified', 'Parameters: whether the quantity is identified'),
            ('kv_bytes_per_token_read_median', 'KV cache that decoding reads per token of a context of 8,192, at one byte per element: median, bytes/token'),
            ('kv_bytes_per_token_read_low_90', 'KV cache that decoding reads per token of a context of 8,192, at one byte per element: lower end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_read_high_90', 'KV cache that decoding reads per token of a context of 8,192, at one byte per element: upper end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_read_identified', 'KV cache that decoding reads per token of a context of 8,192, at one byte per element: whether the quantity is identified'),
            ('kv_bytes_per_token_read_slope_median', 'KV cache that decoding reads per further token of a very long context, at one byte per element: median, bytes/token'),
            ('kv_bytes_per_token_read_slope_low_90', 'KV cache that decoding reads per further token of a very long context, at one byte per element: lower end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_read_slope_high_90', 'KV cache that decoding reads per further token of a very long context, at one byte per element: upper end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_read_slope_identified', 'KV cache that decoding reads per further token of a very long context, at one byte per element: whether the quantity is identified'),
            ('kv_bytes_per_token_stored_median', 'KV cache stored per token of context, at one byte per element: median, bytes/token'),
            ('kv_bytes_per_token_stored_low_90', 'KV cache stored per token of context, at one byte per element: lower end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_stored_high_90', 'KV cache stored per token of context, at one byte per element: upper end of the 90 % interval, bytes/token'),
            ('kv_bytes_per_token_stored_identified', 'KV cache stored per token of context, at one byte per element: whether the quantity is identified'),
            ('memory_time_over_compute_time_median', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: median'),
            ('memory_time_over_compute_time_low_90', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: lower end of the 90 % interval'),
            ('memory_time_over_compute_time_high_90', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: upper end of the 90 % interval'),
            ('memory_time_over_compute_time_identified', 'Time for memory over time for arithmetic; above 1 decoding is memory-bound: whether the quantity is identified'),
            ('batch_over_optimal_batch_median', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: median'),
            ('batch_over_optimal_batch_low_90', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: lower end of the 90 % interval'),
            ('batch_over_optimal_batch_high_90', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: upper end of the 90 % interval'),
            ('batch_over_optimal_batch_identified', 'Decode batch over the batch at which reading the weights takes as long as multiplying with them: whether the quantity is identified'),
            ('crossover_context_tokens_median', 'Context at which reading the KV cache takes as long as computing: median, tokens'),
            ('crossover_context_tokens_low_90', 'Context at which reading the KV cache takes as long as computing: lower end of the 90 % interval, tokens'),
            ('crossover_context_tokens_high_90', 'Context at which reading the KV cache takes as long as computing: upper end of the 90 % interval, tokens'),
            ('crossover_context_tokens_identified', 'Context at which reading the KV cache takes as long as computing: whether the quantity is identified'),
            ('latency_floor_seconds_median', 'Shortest time of a step: all weights read once: median, s'),
            ('latency_floor_seconds_low_90', 'Shortest time of a step: all weights read once: lower end of the 90 % interval, s'),
            ('latency_floor_seconds_high_90', 'Shortest time of a step: all weights read once: upper end of the 90 % interval, s'),
            ('latency_floor_seconds_identified', 'Shortest time of a step: all weights read once: whether the quantity is identified'),
            ('cost_input_usd_per_mtok_median', 'Cost of input tokens: median, USD/Mtok'),
            ('cost_input_usd_per_mtok_low_90', 'Cost of input tokens: lower end of the 90 % interval, USD/Mtok'),
            ('cost_input_usd_per_mtok_high_90', 'Cost of input tokens: upper end of the 90 % interval, USD/Mtok'),
            ('cost_input_usd_per_mtok_identified', 'Cost of input tokens: whether the quantity is identified'),
            ('cost_output_usd_per_mtok_median', 'Cost of output tokens: median, USD/Mtok'),
            ('cost_output_usd_per_mtok_low_90', 'Cost of output tokens: lower end of the 90 % interval, USD/Mtok'),
            ('cost_output_usd_per_mtok_high_90', 'Cost of output tokens: upper end of the 90 % interval, USD/Mtok'),
            ('cost_output_usd_per_mtok_identified', 'Cost of output tokens: whether the quantity is identified'),
            ('context_tier_kv_bytes', 'Reading of kv_bytes_per_token_read_slope: k_bw = (η_m/η_c)·w·N_a/(ρ·L_1), bytes/token'),
            ('context_tier_kv_bytes_finite_batch', 'Reading of kv_bytes_per_token_read_slope: k_bw = (η_m/η_c − 1/β)·w·N_a/(ρ·L_1), bytes/token'),
            ('context_tier_kv_bytes_full_hbm', 'Reading of kv_bytes_per_token_read_slope: k_bw = (η_m/η_c)·w·N_a/(ρ·L_1)·(1 − w·N_t/C), bytes/token'),
            ('output_multiplier_cover', 'Reading of context_at_which_kv_reads_cost_as_much_as_the_fixed_part: x = (L_max − m_out·L_1)/(m_out − 1), tokens'),
            ('input_multiplier_attention', 'Reading of attention_macs_per_token_over_active_parameters: a_pre/N_a = 2·(m_in − 1)/(S_2 − m_in·S_1), 1/token'),
            ('increments_gqa_group', 'Reading of attention_macs_per_kv_byte: a_pre/k_bw = 2·(ρ/w)·(η_pre/η_m)/(Δp_out/Δp_in), MAC/B'),
            ('context_bands_line', 'Reading of context_at_which_kv_reads_cost_as_much_as_the_fixed_part: x = p_fix/p_ctx, tokens'),
            ('context_bands_kv_bytes', 'Reading of kv_bytes_per_token_read_slope: k_bw = (p_ctx/p_fix)·w·N_a/(β·ρ), bytes/token'),
            ('output_ratio_memory_boundness', 'Reading of memory_time_over_compute_time: r = (p_out/p_in)·(η_m/η_pre)·(1 − μ_out)/(1 − μ_in)'),
            ('output_ratio_kv_bytes', 'Reading of kv_bytes_per_token_read: k_bw = ((p_out/p_in)·(η_m/η_pre)·(1 − μ_out)/(1 − μ_in) − 1/β)·w·N_a/(ρ·L_mean), bytes/token'),
            ('reasoning_context_ratio', 'Reading of thinking_context_over_plain_context, a lower bound: L_think/L_mean ≥ p_think/p_out'),
            ('cache_read_load_path', 'Reading of kv_bytes_per_token_stored, an upper bound: k_st ≤ (p_hit/p_in − h_0)·N_a·BW_path/(η_pre·M), bytes/token'),
            ('cache_write_hold_price', 'Reading of cache_holding_price: s_1 = fx·(p_2 − p_1)·3600/(TTL_2 − TTL_1), USD/Mtok-hour'),
            ('cache_storage_kv_bytes', 'Reading of kv_bytes_per_token_stored, an upper bound: k_st ≤ fx·fee/(1e6·hold), bytes/token'),
            ('recompute_or_hold', 'Reading of break_even_hold: t = N_a·Cap/(η_pre·M·k_st), s'),
            ('fast_mode_batch_ratio', 'Reading of standard_batch_over_fast_batch: B_std/B_fast = m_p·m_s'),
            ('fast_mode_kv_over_weights', 'Reading of batch_time_over_fixed_time: y = (m_s − 1)/(1 − 1/m_p)'),
            ('fast_mode_max_speedup', 'Reading of greatest_speed_multiplier: 1 + y = 1 + (m_s − 1)/(1 − 1/m_p)'),
            ('batch_discount_utilisation', 'Reading of standard_utilisation_over_batch_utilisation: U_std/U_batch = d_in'),
            ('peak_schedule_utilisation', 'Reading of peak_utilisation_over_off_peak_utilisation: U_peak/U_off = p_off/p_peak'),
            ('output_speed_weight_bytes', 'Reading of weight_bytes, an upper bound: w·N_t ≤ η_m·W·V/v, B'),
            ('context_maximum_kv_bytes', 'Reading of kv_bytes_per_token_stored, an upper bound: k_st ≤ (C − w·N_t)/(B_min·L_limit), bytes/token'),
            ('price_level_active_parameters', 'Reading of active_parameters, an upper bound: N_a ≤ fx·p_in·1e-6·(1 − μ_in)·η_pre·U·M·3600/R, parameters'),
            ('knowledge_score_total_parameters', 'Reading of total_parameters: log N_t/10⁹ = (log(a/(1−a)) − a₀ − c·years − e)/b'),
            ('capacity_full_load_cost', 'Reading of capacity_cost_at_full_load: c = 1e6·fx·f/(3600·v_unit), USD/Mtok'),
            ('capacity_break_even_utilisation', 'Reading of break_even_utilisation_of_capacity: U = 1e6·f/(3600·v_unit·p_mix)')
        ) AS shared (column_name, meaning) USING (column_name)
        WHERE table_schema = 'reporting'
    LOOP
        EXECUTE said.statement;
    END LOOP;
END
$$;
