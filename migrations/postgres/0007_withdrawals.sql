-- Where a period would have ended without its withdrawal, so that this can be undone.
ALTER TABLE price_periods ADD COLUMN withdrawn_end timestamptz;
UPDATE price_periods AS period
SET withdrawn_end = (
    SELECT min(at) FROM (
        SELECT valid_to AS at FROM price_sheets WHERE id = period.sheet_id
        UNION ALL
        SELECT next.starts_at FROM price_periods AS next
        WHERE next.offer_id = period.offer_id AND next.starts_at > period.starts_at AND next.starts_at >= period.ends_at
          AND (next.ends_at IS NULL OR next.ends_at > next.starts_at) AND next.observed_at <= period.withdrawn_at) AS ends)
WHERE withdrawn_at IS NOT NULL;
CREATE INDEX price_periods_withdrawn ON price_periods (offer_id) WHERE withdrawn_at IS NOT NULL;

-- Whether something is recorded of a time that is yet to come by the clock of whoever reads.
CREATE INDEX price_periods_by_observation ON price_periods (observed_at);
CREATE INDEX price_periods_by_withdrawal ON price_periods (withdrawn_at) WHERE withdrawn_at IS NOT NULL;

-- Sheets of a catalog that hold again after they were withdrawn.
ALTER TABLE imports ADD COLUMN reinstated bigint NOT NULL DEFAULT 0;
CREATE INDEX imports_running ON imports (id) WHERE outcome = 'running';

-- A start that is not known stands before all times that can be stated, which begin in 1970. It stood under 1970 itself.
UPDATE price_periods
SET starts_at = '0001-01-01T00:00:00Z'
WHERE starts_at = '1970-01-01T00:00:00Z' AND observed_at > starts_at
  AND sheet_id IN (SELECT id FROM price_sheets WHERE valid_from IS NULL);
UPDATE statements
SET starts_at = '0001-01-01T00:00:00Z'
WHERE starts_at = '1970-01-01T00:00:00Z'
  AND sheet_id IN (SELECT id FROM price_sheets WHERE valid_from IS NULL);

CREATE OR REPLACE VIEW reporting.price_history AS
SELECT sheet.provider, sheet.model, sheet.canonical_model, sheet.region, sheet.currency,
       nullif(period.starts_at, '0001-01-01T00:00:00Z') AS starts_at, period.ends_at,
       period.withdrawn_at IS NULL AND period.starts_at <= now()
           AND (period.ends_at IS NULL OR period.ends_at > now()) AS in_force,
       sheet.input_price AS input_per_mtok, sheet.output_price AS output_per_mtok,
       sheet.cache_read_price AS cache_read_per_mtok, period.catalog, period.observed_at, period.withdrawn_at,
       period.withdrawn_because, period.sheet_id AS price_sheet_id
FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id;
COMMENT ON COLUMN reporting.price_history.starts_at IS 'From when on it holds; null where nobody knows';

CREATE OR REPLACE VIEW reporting.imports AS
SELECT id, source, catalog, started_at, ended_at, outcome, error, entries, estimated, unchanged, duplicates,
       not_identifiable, refused, reinstated
FROM imports;
COMMENT ON COLUMN reporting.imports.reinstated IS 'Entries that hold again after they were withdrawn';
