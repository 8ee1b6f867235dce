-- Imports that are held until they are accepted, and what an import did, so that it can be undone.

ALTER TABLE imports DROP CONSTRAINT imports_outcome_check;
ALTER TABLE imports ADD CONSTRAINT imports_outcome_check CHECK (outcome IN (
    'running', 'done', 'not_modified', 'failed', 'held', 'discarded', 'undone'));
-- Offers that are new, end and change, in words; null where a list of sheets was imported.
ALTER TABLE imports ADD COLUMN difference text COLLATE "C";

-- Catalogs that are held: of every catalog the last one.
CREATE TABLE held_imports (
    import_id uuid PRIMARY KEY REFERENCES imports (id) ON DELETE CASCADE,
    -- JSON: how it is imported.
    options   text COLLATE "C" NOT NULL,
    -- Compressed by gzip.
    document  bytea NOT NULL
);

-- Imports that wrote something and can be undone, in the order of writing.
CREATE TABLE recorded_imports (
    import_id uuid PRIMARY KEY REFERENCES imports (id) ON DELETE CASCADE,
    number    bigint NOT NULL UNIQUE,
    -- The source of its observations.
    source    text COLLATE "C" NOT NULL,
    -- JSON: the snapshot that it completed, with what was new of it; null where it completed none.
    snapshot  text COLLATE "C"
);

-- The observations of an offer by the source of an import.
CREATE TABLE recorded_offers (
    import_id uuid NOT NULL REFERENCES recorded_imports (import_id) ON DELETE CASCADE,
    offer_id  uuid NOT NULL,
    -- JSON: those before the import.
    before    text COLLATE "C" NOT NULL,
    -- The first 16 bytes of the SHA-256 of those after it.
    after     bytea NOT NULL,
    PRIMARY KEY (import_id, offer_id)
);

-- The import that listed an estimate; null for all others.
ALTER TABLE estimate_listings ADD COLUMN import_id uuid;
CREATE INDEX estimate_listings_by_import ON estimate_listings (import_id) WHERE import_id IS NOT NULL;
