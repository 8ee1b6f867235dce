-- Views for dashboards and notebooks: typed columns, no JSON, names that stay. They read with the rights of their owner, so
-- that a role needs no right on the tables. Generated from `crates/dev/src/reporting.sql` and the columns of lists (`just
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
{COLUMNS});
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
{TRUTH}
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
{MEANINGS}
        ) AS shared (column_name, meaning) USING (column_name)
        WHERE table_schema = 'reporting'
    LOOP
        EXECUTE said.statement;
    END LOOP;
END
$$;
