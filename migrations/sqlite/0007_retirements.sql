-- Retirement of an offer as its sheet states it, and whether the sheet states limits.
ALTER TABLE price_sheets ADD COLUMN retires_at text;
ALTER TABLE price_sheets ADD COLUMN status text;
ALTER TABLE price_sheets ADD COLUMN states_limits integer NOT NULL DEFAULT false;
UPDATE price_sheets SET
    retires_at = strftime('%Y-%m-%dT%H:%M:%S.000000Z', json_extract(document, '$.retires_at')),
    status = json_extract(document, '$.status'),
    states_limits = json_extract(document, '$.limits') IS NOT NULL;
