-- Retirement of an offer as its sheet states it, and whether the sheet states limits.
ALTER TABLE price_sheets ADD COLUMN retires_at timestamptz;
ALTER TABLE price_sheets ADD COLUMN status text COLLATE "C";
ALTER TABLE price_sheets ADD COLUMN states_limits boolean NOT NULL DEFAULT false;
UPDATE price_sheets SET
    retires_at = CAST(CAST(document AS json) ->> 'retires_at' AS timestamptz),
    status = CAST(document AS json) ->> 'status',
    states_limits = CAST(document AS json) -> 'limits' IS NOT NULL;
