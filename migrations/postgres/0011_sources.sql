-- A source that states an offer for the first time changes no price, also where its sheet takes the place of another source's.
ALTER TABLE changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE changes ADD CONSTRAINT changes_kind_check CHECK (kind IN (
        'price.changed', 'price.scheduled', 'source.added', 'offer.added', 'offer.delisted', 'offer.relisted',
        'offer.retiring', 'limits.changed', 'identity.changed', 'history.backfilled', 'price.expired',
        'sheet.withdrawn', 'sheet.reinstated', 'estimate.updated'));

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
