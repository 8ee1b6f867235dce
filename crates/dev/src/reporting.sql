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
{MEANINGS}
        ) AS shared (column_name, meaning) USING (column_name)
        WHERE table_schema = 'reporting'
    LOOP
        EXECUTE said.statement;
    END LOOP;
END
$$;
