-- Lists that take as long with many rows as with few. Both databases have the same.

-- The first and the last time of each 4,096 rows in the order of storing: a list between two times begins and ends there. The time
-- of a row does not follow from its number, since an older catalog may be imported later.
CREATE TABLE stored_times (
    list     text COLLATE "C" NOT NULL,
    block    bigint NOT NULL,
    earliest timestamptz NOT NULL,
    latest   timestamptz NOT NULL,
    PRIMARY KEY (list, block)
);
INSERT INTO stored_times (list, block, earliest, latest)
SELECT 'estimates', sequence / 4096, min(observed_at), max(observed_at) FROM estimate_listings GROUP BY sequence / 4096
UNION ALL
SELECT 'price_sheets', sequence / 4096, min(observed_at), max(observed_at) FROM price_sheets GROUP BY sequence / 4096;

CREATE FUNCTION note_stored_times() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_times AS noted (list, block, earliest, latest)
    SELECT TG_ARGV[0], sequence / 4096, min(observed_at), max(observed_at) FROM added GROUP BY sequence / 4096
    ON CONFLICT (list, block) DO UPDATE
    SET earliest = least(noted.earliest, excluded.earliest), latest = greatest(noted.latest, excluded.latest);
    RETURN NULL;
END
$$;
CREATE TRIGGER note_times_of_listings AFTER INSERT ON estimate_listings REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_stored_times('estimates');
CREATE TRIGGER note_times_of_sheets AFTER INSERT ON price_sheets REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION note_stored_times('price_sheets');

-- The latest estimates of a region, by name. Three whole names are more than an index takes.
DROP INDEX price_periods_by_region;
CREATE INDEX price_periods_by_region ON price_periods (substr(region, 1, 64), provider, model);

-- Estimates of several sheets have an index for each order. That of single sheets does not have them, so that it is not taken for
-- theirs.
DROP INDEX estimate_listings_by_sheet;
CREATE INDEX estimate_listings_by_sheet ON estimate_listings (sheet_id, sequence) WHERE sheet_id IS NOT NULL;
CREATE INDEX estimate_listings_of_pools_by_model ON estimate_listings (model, provider, sequence) WHERE sheet_id IS NULL;
