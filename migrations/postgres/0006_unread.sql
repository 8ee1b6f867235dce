-- Entries that a whole catalog listed and that could not be read: what they stated before is neither stated again nor gone.
CREATE TABLE unread_entries (
    source text COLLATE "C" NOT NULL,
    at     timestamptz NOT NULL,
    -- The key of the entry in the catalog.
    entry  text COLLATE "C" NOT NULL,
    PRIMARY KEY (source, entry, at)
);

-- The key of the entry that stated the sheet; null in rows that are older than this column, and for posted sheets.
ALTER TABLE sightings ADD COLUMN entry text COLLATE "C";
CREATE INDEX sightings_by_entry ON sightings (source, entry) WHERE last_at IS NOT NULL;
