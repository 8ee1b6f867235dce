-- The record of what sources state: facts, from which the periods of prices are derived. Whatever the order in which facts
-- arrive, the same facts give the same periods.

-- Every time at which a whole catalog was read, or all that it lists of one provider.
CREATE TABLE looks (
    source text NOT NULL,
    -- The provider that it was restricted to; empty where it was not.
    scope  text NOT NULL,
    at     text NOT NULL,
    PRIMARY KEY (source, scope, at)
) STRICT;

-- A sheet that a source stated from a first to a last time, and did not drop between them.
CREATE TABLE sightings (
    offer_id blob NOT NULL,
    -- A catalog, an entry of one, or `posted`.
    source   text NOT NULL,
    sheet_id blob NOT NULL REFERENCES price_sheets (id),
    -- The catalog that the sheet names.
    catalog  text NOT NULL,
    first_at text NOT NULL,
    -- Null while the newest look of the source lists it.
    last_at  text,
    -- How it arrived: 1 a whole catalog, 2 an entry of a catalog, 3 a sheet.
    standing integer NOT NULL,
    PRIMARY KEY (offer_id, source, sheet_id, first_at)
) STRICT;
CREATE INDEX sightings_by_sheet ON sightings (sheet_id);
CREATE INDEX sightings_by_source ON sightings (source, offer_id);
CREATE INDEX sightings_open ON sightings (source, offer_id) WHERE last_at IS NULL;

-- Sheets that were withdrawn, until they are seen again.
CREATE TABLE withdrawals (
    offer_id  blob NOT NULL,
    sheet_id  blob NOT NULL REFERENCES price_sheets (id),
    at        text NOT NULL,
    because   text NOT NULL,
    undone_at text,
    PRIMARY KEY (offer_id, sheet_id, at)
) STRICT;
CREATE INDEX withdrawals_by_sheet ON withdrawals (sheet_id);
CREATE INDEX withdrawals_by_time ON withdrawals (at);

-- Identity of the prices alone: without dates, limits and names. Null in rows that are older than this column.
ALTER TABLE price_sheets ADD COLUMN tariff_id blob;
-- Whether its estimate fits no machine.
ALTER TABLE price_sheets ADD COLUMN is_misfit integer NOT NULL DEFAULT false;
-- Whether some source stated it; the sheet of a question is not listed.
ALTER TABLE price_sheets ADD COLUMN observed integer NOT NULL DEFAULT true;
-- Whether the listing is that of a price that was observed; a question is none.
ALTER TABLE estimate_listings ADD COLUMN observed integer NOT NULL DEFAULT true;

-- Null in rows that are older than these columns, until their offer changes.
ALTER TABLE price_periods ADD COLUMN tariff_id blob;
-- How the start is known: `stated` or `observed`.
ALTER TABLE price_periods ADD COLUMN start_basis text;
-- When the price before was last seen.
ALTER TABLE price_periods ADD COLUMN not_before text;
-- When the price was last seen, as far as its offer has changed since.
ALTER TABLE price_periods ADD COLUMN last_seen_at text;
-- Why it ended: `replaced`, `expired`, `delisted` or `withdrawn`.
ALTER TABLE price_periods ADD COLUMN ending text;
-- Whether it is in force only because no other source states a price.
ALTER TABLE price_periods ADD COLUMN is_flagged integer NOT NULL DEFAULT false;

-- Whether the other price is under quarantine.
ALTER TABLE disagreements ADD COLUMN is_flagged integer NOT NULL DEFAULT false;
CREATE INDEX disagreements_flagged ON disagreements (other_sheet_id) WHERE is_flagged AND ended_at IS NULL;

UPDATE estimate_listings SET observed = NOT stated_assumptions;

DROP VIEW latest_listings;
CREATE VIEW latest_listings AS
SELECT sheet_id, sequence, estimate_id, duplicate_of, canonical_model, currency, valid_from, valid_to, observed_at,
       observed
FROM estimate_listings AS listing
WHERE stated_assumptions = FALSE AND sequence >= (
    SELECT max(newer.sequence) FROM estimate_listings AS newer
    WHERE newer.sheet_id = listing.sheet_id AND newer.stated_assumptions = FALSE);
DROP VIEW latest_listings_of_any;
CREATE VIEW latest_listings_of_any AS
SELECT sheet_id, sequence, estimate_id, duplicate_of, canonical_model, currency, valid_from, valid_to, observed_at,
       observed
FROM estimate_listings AS listing
WHERE sequence >= (
    SELECT max(newer.sequence) FROM estimate_listings AS newer WHERE newer.sheet_id = listing.sheet_id);

CREATE TABLE new_changes (
    sequence          integer PRIMARY KEY,
    kind              text NOT NULL CHECK (kind IN (
        'price.changed', 'price.scheduled', 'offer.added', 'offer.delisted', 'offer.relisted', 'offer.retiring',
        'limits.changed', 'identity.changed', 'history.backfilled', 'price.expired', 'sheet.withdrawn',
        'sheet.reinstated', 'estimate.updated')),
    observed_at       text NOT NULL,
    provider          text NOT NULL,
    model             text NOT NULL,
    canonical_model   text,
    region            text NOT NULL,
    sheet_id          blob,
    estimate_id       blob,
    -- In words.
    summary           text NOT NULL,
    -- The price that changed, by the name of its cell.
    cell              text,
    old_value         real,
    new_value         real,
    -- The larger over the smaller.
    factor            real,
    -- Whether the sheet is in force after the change.
    in_force          integer NOT NULL DEFAULT false,
    -- Start of the price.
    valid_from        text,
    -- The sheet that was in force before.
    previous_sheet_id blob
) STRICT;
INSERT INTO new_changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id,
                         summary, in_force)
SELECT sequence, CASE kind WHEN 'sheet.added' THEN 'offer.added' WHEN 'sheet.changed' THEN 'price.changed'
                      WHEN 'sheet.announced' THEN 'price.scheduled' WHEN 'sheet.in_force' THEN 'price.changed'
                      WHEN 'sheet.expired' THEN 'price.expired' ELSE kind END, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id, summary,
       kind IN ('sheet.added', 'sheet.changed', 'sheet.in_force', 'sheet.reinstated')
FROM changes;
DROP TABLE changes;
ALTER TABLE new_changes RENAME TO changes;
CREATE INDEX changes_by_offer ON changes (provider, model, sequence);
CREATE INDEX changes_by_provider ON changes (provider, sequence);
CREATE INDEX changes_by_model ON changes (model, sequence);

-- What was recorded before: the newest statements are listed still, the prices before them were seen once. A catalog counts
-- as read at the time of its newest import.
INSERT INTO looks (source, scope, at)
SELECT catalog, '', max(started_at) FROM imports
WHERE outcome IN ('done', 'not_modified') AND catalog IS NOT NULL AND catalog <> 'pricesheet/v1'
GROUP BY catalog;

INSERT INTO sightings (offer_id, source, sheet_id, catalog, first_at, last_at, standing)
SELECT offer_id, CASE WHEN is_listed THEN catalog ELSE 'posted' END, sheet_id, catalog, min(observed_at),
       CASE WHEN is_listed AND max(is_current) = 1 THEN NULL ELSE max(observed_at) END,
       CASE WHEN is_listed THEN 1 ELSE 3 END
FROM (SELECT offer_id, sheet_id, catalog, observed_at, 1 AS is_current,
             EXISTS (SELECT 1 FROM looks WHERE source = catalog) AS is_listed
      FROM statements
      UNION ALL
      SELECT offer_id, sheet_id, catalog, observed_at, 0,
             EXISTS (SELECT 1 FROM looks WHERE source = catalog)
      FROM price_periods) AS stated
GROUP BY offer_id, sheet_id, catalog, is_listed
ON CONFLICT DO NOTHING;
DROP TABLE statements;

INSERT INTO withdrawals (offer_id, sheet_id, at, because)
SELECT offer_id, sheet_id, withdrawn_at, max(coalesce(withdrawn_because, '')) FROM price_periods
WHERE withdrawn_at IS NOT NULL
GROUP BY offer_id, sheet_id, withdrawn_at;
