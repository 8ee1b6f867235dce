-- A source that states an offer for the first time changes no price, also where its sheet takes the place of another source's.
CREATE TABLE new_changes (
    sequence          integer PRIMARY KEY,
    kind              text NOT NULL CHECK (kind IN (
        'price.changed', 'price.scheduled', 'source.added', 'offer.added', 'offer.delisted', 'offer.relisted',
        'offer.retiring', 'limits.changed', 'identity.changed', 'history.backfilled', 'price.expired',
        'sheet.withdrawn', 'sheet.reinstated', 'estimate.updated')),
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
    previous_sheet_id blob,
    -- The price that changed, by the names of rate cells.
    meter             text,
    service_tier      text,
    min_prompt_tokens integer,
    ttl_seconds       integer,
    schedule          text
) STRICT;
INSERT INTO new_changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id,
                         summary, cell, old_value, new_value, factor, in_force, valid_from, previous_sheet_id, meter,
                         service_tier, min_prompt_tokens, ttl_seconds, schedule)
SELECT sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id, summary, cell,
       old_value, new_value, factor, in_force, valid_from, previous_sheet_id, meter, service_tier, min_prompt_tokens,
       ttl_seconds, schedule
FROM changes;
DROP TABLE changes;
ALTER TABLE new_changes RENAME TO changes;
CREATE INDEX changes_by_offer ON changes (provider, model, sequence);
CREATE INDEX changes_by_provider ON changes (provider, sequence);
CREATE INDEX changes_by_model ON changes (model, sequence);
CREATE INDEX changes_by_kind ON changes (kind, sequence);
CREATE INDEX changes_by_canonical_model ON changes (canonical_model, sequence);
CREATE INDEX changes_by_time ON changes (observed_at, kind);

-- What was recorded as a change of price at the first sighting of a source: one row for each offer, without a price. The last
-- one stays: no number of a change is given out again.
UPDATE changes
SET kind = 'source.added', cell = NULL, old_value = NULL, new_value = NULL, factor = NULL, meter = NULL,
    service_tier = NULL, min_prompt_tokens = NULL, ttl_seconds = NULL, schedule = NULL,
    summary = 'first look by ' || (
        SELECT min(seen.source) FROM sightings AS seen
        WHERE seen.sheet_id = changes.sheet_id AND seen.first_at = changes.observed_at) || ': ' || summary
WHERE kind = 'price.changed' AND in_force AND previous_sheet_id IS NOT NULL
  AND EXISTS (
    SELECT 1 FROM sightings AS seen
    WHERE seen.sheet_id = changes.sheet_id AND seen.first_at = changes.observed_at
      AND NOT EXISTS (
        SELECT 1 FROM sightings AS earlier
        WHERE earlier.offer_id = seen.offer_id AND earlier.source = seen.source AND earlier.first_at < seen.first_at))
  AND NOT EXISTS (
    SELECT 1 FROM sightings AS earlier
    WHERE earlier.sheet_id = changes.sheet_id AND earlier.first_at < changes.observed_at);
DELETE FROM changes
WHERE kind = 'source.added' AND sequence < (
    SELECT max(last.sequence) FROM changes AS last
    WHERE last.provider = changes.provider AND last.model = changes.model AND last.kind = 'source.added'
      AND last.sheet_id = changes.sheet_id AND last.observed_at = changes.observed_at);
UPDATE changes SET summary = replace(summary, ' → not stated tokens', ' tokens → not stated')
WHERE summary LIKE '% → not stated tokens%';
