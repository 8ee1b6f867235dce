-- Lists that take as long with many rows as with few. Both databases have the same.

-- The first and the last time of each 4,096 rows in the order of storing: a list between two times begins and ends there. The time
-- of a row does not follow from its number, since an older catalog may be imported later.
CREATE TABLE stored_times (
    list     text NOT NULL,
    block    integer NOT NULL,
    earliest text NOT NULL,
    latest   text NOT NULL,
    PRIMARY KEY (list, block)
) STRICT, WITHOUT ROWID;
INSERT INTO stored_times (list, block, earliest, latest)
SELECT 'estimates', sequence / 4096, min(observed_at), max(observed_at) FROM estimate_listings GROUP BY sequence / 4096
UNION ALL
SELECT 'price_sheets', sequence / 4096, min(observed_at), max(observed_at) FROM price_sheets GROUP BY sequence / 4096;

CREATE TRIGGER note_times_of_listings AFTER INSERT ON estimate_listings
BEGIN
    INSERT INTO stored_times (list, block, earliest, latest)
    VALUES ('estimates', NEW.sequence / 4096, NEW.observed_at, NEW.observed_at)
    ON CONFLICT (list, block) DO UPDATE
    SET earliest = min(earliest, excluded.earliest), latest = max(latest, excluded.latest);
END;
CREATE TRIGGER note_times_of_sheets AFTER INSERT ON price_sheets
BEGIN
    INSERT INTO stored_times (list, block, earliest, latest)
    VALUES ('price_sheets', NEW.sequence / 4096, NEW.observed_at, NEW.observed_at)
    ON CONFLICT (list, block) DO UPDATE
    SET earliest = min(earliest, excluded.earliest), latest = max(latest, excluded.latest);
END;

-- The latest estimates of a region, by name. Three whole names are more than an index of PostgreSQL takes.
DROP INDEX price_periods_by_region;
CREATE INDEX price_periods_by_region ON price_periods (substr(region, 1, 64), provider, model);

-- Estimates of several sheets have an index for each order. That of single sheets does not have them, so that it is not taken for
-- theirs.
DROP INDEX estimate_listings_by_sheet;
CREATE INDEX estimate_listings_by_sheet ON estimate_listings (sheet_id, sequence) WHERE sheet_id IS NOT NULL;
CREATE INDEX estimate_listings_of_pools_by_model ON estimate_listings (model, provider, sequence) WHERE sheet_id IS NULL;
