-- Views for dashboards and notebooks: typed columns, no JSON, names that stay. They read with the rights of their owner,
-- so that who may read them needs no right on the tables. A column that is new goes to the end of its view, by CREATE OR
-- REPLACE VIEW.
--
-- A role that may not make schemas finds one that somebody else has made for it, or hears how to have it made.
DO $$
BEGIN
    IF to_regnamespace('reporting') IS NOT NULL THEN
        RETURN;
    END IF;
    IF NOT has_database_privilege(current_database(), 'CREATE') THEN
        RAISE insufficient_privilege USING MESSAGE = format(
            'this role may not make the schema for dashboards; have it made: CREATE SCHEMA reporting AUTHORIZATION %I',
            current_user);
    END IF;
    CREATE SCHEMA reporting;
END
$$;
COMMENT ON SCHEMA reporting IS 'What unroof has stored, for dashboards: views that are only read';

CREATE VIEW reporting.estimates AS
SELECT estimates.id, listing.provider, listing.model, listing.canonical_model, listing.region, listing.currency,
       listing.valid_from, listing.valid_to, listing.observed_at, listing.duplicate_of, estimates.engine_version,
       estimates.readings_defined, estimates.conflicts, value.*, listing.stated_assumptions,
       listing.sheet_id AS price_sheet_id, listing.sequence
FROM estimate_listings AS listing
JOIN estimates ON estimates.id = listing.estimate_id
CROSS JOIN LATERAL jsonb_to_record(estimates.reading_numbers::jsonb) AS value (
    active_parameters_median                 double precision,
    active_parameters_low_90                 double precision,
    active_parameters_high_90                double precision,
    active_parameters_identified             boolean,
    total_parameters_median                  double precision,
    total_parameters_low_90                  double precision,
    total_parameters_high_90                 double precision,
    total_parameters_identified              boolean,
    kv_bytes_per_token_read_median           double precision,
    kv_bytes_per_token_read_low_90           double precision,
    kv_bytes_per_token_read_high_90          double precision,
    kv_bytes_per_token_read_identified       boolean,
    kv_bytes_per_token_stored_median         double precision,
    kv_bytes_per_token_stored_low_90         double precision,
    kv_bytes_per_token_stored_high_90        double precision,
    kv_bytes_per_token_stored_identified     boolean,
    memory_time_over_compute_time_median     double precision,
    memory_time_over_compute_time_low_90     double precision,
    memory_time_over_compute_time_high_90    double precision,
    memory_time_over_compute_time_identified boolean,
    batch_over_optimal_batch_median          double precision,
    batch_over_optimal_batch_low_90          double precision,
    batch_over_optimal_batch_high_90         double precision,
    batch_over_optimal_batch_identified      boolean,
    crossover_context_tokens_median          double precision,
    crossover_context_tokens_low_90          double precision,
    crossover_context_tokens_high_90         double precision,
    crossover_context_tokens_identified      boolean,
    latency_floor_seconds_median             double precision,
    latency_floor_seconds_low_90             double precision,
    latency_floor_seconds_high_90            double precision,
    latency_floor_seconds_identified         boolean,
    cost_input_usd_per_mtok_median           double precision,
    cost_input_usd_per_mtok_low_90           double precision,
    cost_input_usd_per_mtok_high_90          double precision,
    cost_input_usd_per_mtok_identified       boolean,
    cost_output_usd_per_mtok_median          double precision,
    cost_output_usd_per_mtok_low_90          double precision,
    cost_output_usd_per_mtok_high_90         double precision,
    cost_output_usd_per_mtok_identified      boolean,
    context_tier_kv_bytes                    double precision,
    context_tier_kv_bytes_finite_batch       double precision,
    context_tier_kv_bytes_full_hbm           double precision,
    output_multiplier_cover                  double precision,
    input_multiplier_attention               double precision,
    increments_gqa_group                     double precision,
    output_ratio_memory_boundness            double precision,
    output_ratio_kv_bytes                    double precision,
    cache_read_load_path                     double precision,
    cache_write_hold_price                   double precision,
    cache_storage_kv_bytes                   double precision,
    recompute_or_hold                        double precision,
    fast_mode_batch_ratio                    double precision,
    fast_mode_kv_over_weights                double precision,
    fast_mode_max_speedup                    double precision,
    batch_discount_utilisation               double precision,
    output_speed_weight_bytes                double precision,
    context_maximum_kv_bytes                 double precision,
    price_level_active_parameters            double precision);
COMMENT ON VIEW reporting.estimates IS
    'Every estimate as GET /estimates lists it: one row per estimate, and per offer that has the price of another';

-- Which rows these are is found out before the numbers of any are read.
CREATE VIEW reporting.latest_estimates AS
SELECT * FROM reporting.estimates
WHERE sequence IN (
    SELECT max(listing.sequence) FROM estimate_listings AS listing
    WHERE NOT listing.stated_assumptions
      AND (listing.sheet_id IS NULL OR EXISTS (
          SELECT 1 FROM price_periods AS period
          WHERE period.sheet_id = listing.sheet_id AND period.starts_at <= now()
            AND (period.ends_at IS NULL OR period.ends_at > now())))
    GROUP BY listing.provider, listing.model, listing.region);
COMMENT ON VIEW reporting.latest_estimates IS
    'As GET /estimates/latest: per provider, model and region the last estimate of a price in force, nothing stated';

CREATE VIEW reporting.price_sheets AS
SELECT id, provider, model, canonical_model, region, currency, valid_from, valid_to, observed_at,
       input_price AS input_per_mtok, output_price AS output_per_mtok, cache_read_price AS cache_read_per_mtok
FROM price_sheets;
COMMENT ON VIEW reporting.price_sheets IS 'Every price sheet as GET /price-sheets lists it, with the prices of its base cell';

CREATE VIEW reporting.price_history AS
SELECT sheet.provider, sheet.model, sheet.canonical_model, sheet.region, sheet.currency, period.starts_at,
       period.ends_at,
       period.withdrawn_at IS NULL AND period.starts_at <= now()
           AND (period.ends_at IS NULL OR period.ends_at > now()) AS in_force,
       sheet.input_price AS input_per_mtok, sheet.output_price AS output_per_mtok,
       sheet.cache_read_price AS cache_read_per_mtok, period.catalog, period.observed_at, period.withdrawn_at,
       period.withdrawn_because, period.sheet_id AS price_sheet_id
FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id;
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
       not_identifiable, refused
FROM imports;
COMMENT ON VIEW reporting.imports IS 'Every time a catalog was read, and what became of its entries';

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
            ('provider', 'Who bills; pooled where several hosts'' sheets are answered together'),
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
            ('starts_at', 'From when on it holds; 1970 where nobody knows'),
            ('ends_at', 'When it ends to hold; null while nobody knows'),
            ('in_force', 'Whether it holds now'),
            ('catalog', 'Who says so'),
            ('other_catalog', 'Who says otherwise'),
            ('withdrawn_at', 'When it was taken back'),
            ('withdrawn_because', 'Why'),
            ('kind', 'What happened, such as sheet.added, sheet.changed, sheet.withdrawn or estimate.updated'),
            ('summary', 'In words'),
            ('differences', 'In words'),
            ('largest_factor', 'The largest factor between two prices'),
            ('source', 'An address, a file, or the body of a request'),
            ('started_at', 'When reading began'),
            ('ended_at', 'When it ended; null while it goes on'),
            ('outcome', 'running, done, not_modified or failed'),
            ('error', 'Why it failed'),
            ('entries', 'Entries that were read'),
            ('estimated', 'Entries with a new estimate'),
            ('unchanged', 'Entries that were known'),
            ('duplicates', 'Entries that copy another one''s price'),
            ('not_identifiable', 'Entries that tell nothing'),
            ('refused', 'Entries that are wrong'),
            ('context_tier_kv_bytes', 'Reading: KV bytes per token read, bytes/token'),
            ('context_tier_kv_bytes_finite_batch', 'Reading: the same at a finite batch, bytes/token'),
            ('context_tier_kv_bytes_full_hbm', 'Reading: the same with memory full, bytes/token'),
            ('output_multiplier_cover', 'Reading: context at which KV reads cost as much as the rest, tokens'),
            ('input_multiplier_attention', 'Reading: multiply-adds of attention per token over active parameters, 1/token'),
            ('increments_gqa_group', 'Reading: multiply-adds of attention per byte of KV cache'),
            ('output_ratio_memory_boundness', 'Reading: memory time over compute time'),
            ('output_ratio_kv_bytes', 'Reading: KV bytes per token read, bytes/token'),
            ('cache_read_load_path', 'Reading, an upper bound: KV bytes per token stored, bytes/token'),
            ('cache_write_hold_price', 'Reading: price of holding, USD/Mtok-hour'),
            ('cache_storage_kv_bytes', 'Reading, an upper bound: KV bytes per token stored, bytes/token'),
            ('recompute_or_hold', 'Reading: time after which computing anew is cheaper than holding, s'),
            ('fast_mode_batch_ratio', 'Reading: standard batch over fast batch'),
            ('fast_mode_kv_over_weights', 'Reading: time that grows with the batch over time that does not'),
            ('fast_mode_max_speedup', 'Reading: greatest multiplier of speed'),
            ('batch_discount_utilisation', 'Reading: utilisation of the standard tier over that of batch'),
            ('output_speed_weight_bytes', 'Reading, an upper bound: bytes of weights'),
            ('context_maximum_kv_bytes', 'Reading, an upper bound: KV bytes per token stored, bytes/token'),
            ('price_level_active_parameters', 'Reading, an upper bound: active parameters')
        ) AS shared (column_name, meaning) USING (column_name)
        WHERE table_schema = 'reporting'
        UNION ALL
        SELECT format('COMMENT ON COLUMN reporting.%I.%I IS %L', view, quantity || ending, meaning || what)
        FROM (
            VALUES
            ('active_parameters', 'Parameters that work on a token'),
            ('total_parameters', 'Parameters'),
            ('kv_bytes_per_token_read', 'Bytes of KV cache read per token of context, at one byte per element'),
            ('kv_bytes_per_token_stored', 'Bytes of KV cache that a token takes, at one byte per element'),
            ('memory_time_over_compute_time', 'Time for memory over time for arithmetic'),
            ('batch_over_optimal_batch', 'Batch over the batch that balances weights and arithmetic'),
            ('crossover_context_tokens', 'Context from which decoding waits for the KV cache, tokens'),
            ('latency_floor_seconds', 'Shortest time of a step, s'),
            ('cost_input_usd_per_mtok', 'Cost of a million input tokens, USD'),
            ('cost_output_usd_per_mtok', 'Cost of a million output tokens, USD')
        ) AS quantities (quantity, meaning)
        CROSS JOIN (
            VALUES
            ('_median', ': median'),
            ('_low_90', ': lower end of the 90 % interval'),
            ('_high_90', ': upper end of the 90 % interval'),
            ('_identified', ': whether the sheet tells 0.3 bits or more about it')
        ) AS endings (ending, what)
        CROSS JOIN (VALUES ('estimates'), ('latest_estimates')) AS views (view)
    LOOP
        EXECUTE said.statement;
    END LOOP;
END
$$;
