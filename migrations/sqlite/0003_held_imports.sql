-- Imports that are held until they are accepted, and what an import did, so that it can be undone.

CREATE TABLE imports_with_held (
    id               blob PRIMARY KEY,
    -- An address, a file, or the body of a request.
    source           text NOT NULL,
    catalog          text,
    started_at       text NOT NULL,
    ended_at         text,
    outcome          text NOT NULL CHECK (outcome IN (
        'running', 'done', 'not_modified', 'failed', 'held', 'discarded', 'undone')),
    error            text,
    -- What the server is sent the next time, so that it can answer that nothing changed.
    etag             text,
    last_modified    text,
    entries          integer NOT NULL DEFAULT 0,
    estimated        integer NOT NULL DEFAULT 0,
    unchanged        integer NOT NULL DEFAULT 0,
    duplicates       integer NOT NULL DEFAULT 0,
    not_identifiable integer NOT NULL DEFAULT 0,
    refused          integer NOT NULL DEFAULT 0,
    -- The refused entries, each with its reason, as JSON; of every source and catalog only those of the last import.
    refusals         text,
    -- Sheets that hold again after they were withdrawn.
    reinstated       integer NOT NULL DEFAULT 0,
    -- Offers that are new, end and change, in words; null where a list of sheets was imported.
    difference       text
) STRICT;
INSERT INTO imports_with_held
SELECT id, source, catalog, started_at, ended_at, outcome, error, etag, last_modified, entries, estimated, unchanged,
       duplicates, not_identifiable, refused, refusals, reinstated, NULL
FROM imports;
DROP TABLE imports;
ALTER TABLE imports_with_held RENAME TO imports;
CREATE INDEX imports_by_source ON imports (source, started_at, id);
CREATE INDEX imports_by_time ON imports (started_at, id);
CREATE INDEX imports_by_catalog ON imports (catalog, started_at, id);
CREATE INDEX imports_by_outcome ON imports (outcome, started_at, id);
CREATE INDEX imports_running ON imports (id) WHERE outcome = 'running';
-- The metrics ask for the last whole import of each catalog, which may be followed by many that found nothing new.
CREATE INDEX imports_done ON imports (catalog, started_at, id) WHERE outcome = 'done';

-- Catalogs that are held: of every catalog the last one.
CREATE TABLE held_imports (
    import_id blob PRIMARY KEY REFERENCES imports (id) ON DELETE CASCADE,
    -- JSON: how it is imported.
    options   text NOT NULL,
    -- Compressed by gzip.
    document  blob NOT NULL
) STRICT;

-- Imports that wrote something and can be undone, in the order of writing.
CREATE TABLE recorded_imports (
    import_id blob PRIMARY KEY REFERENCES imports (id) ON DELETE CASCADE,
    number    integer NOT NULL UNIQUE,
    -- The source of its observations.
    source    text NOT NULL,
    -- JSON: the snapshot that it completed, with what was new of it; null where it completed none.
    snapshot  text
) STRICT;

-- The observations of an offer by the source of an import.
CREATE TABLE recorded_offers (
    import_id blob NOT NULL REFERENCES recorded_imports (import_id) ON DELETE CASCADE,
    offer_id  blob NOT NULL,
    -- JSON: those before the import.
    before    text NOT NULL,
    -- The first 16 bytes of the SHA-256 of those after it.
    after     blob NOT NULL,
    PRIMARY KEY (import_id, offer_id)
) STRICT;

-- The import that listed an estimate; null for all others.
ALTER TABLE estimate_listings ADD COLUMN import_id blob;
CREATE INDEX estimate_listings_by_import ON estimate_listings (import_id) WHERE import_id IS NOT NULL;
