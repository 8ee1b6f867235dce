-- Bumped once by every transaction that writes. Writers are in order, so whoever reads version n sees everything that
-- versions up to n have written.
CREATE TABLE store_version (
    id      integer PRIMARY KEY CHECK (id = 1),
    version integer NOT NULL
) STRICT;
INSERT INTO store_version (id, version) VALUES (1, 0);

-- One row per pricing content. Money is exact text inside the document; the numbers beside it serve lists and filters.
CREATE TABLE price_sheets (
    id               blob PRIMARY KEY,
    sequence         integer NOT NULL UNIQUE,
    provider         text NOT NULL,
    model            text NOT NULL,
    canonical_model  text,
    region           text NOT NULL,
    currency         text NOT NULL,
    valid_from       text,
    valid_to         text,
    observed_at      text NOT NULL,
    input_price      real,
    output_price     real,
    cache_read_price real,
    document         text NOT NULL
) STRICT;
CREATE INDEX price_sheets_by_offer ON price_sheets (provider, model, region, sequence);

CREATE TABLE estimates (
    id                 blob PRIMARY KEY,
    sequence           integer NOT NULL UNIQUE,
    engine_version     text NOT NULL,
    provider           text NOT NULL,
    model              text NOT NULL,
    canonical_model    text,
    region             text NOT NULL,
    currency           text NOT NULL,
    valid_from         text,
    valid_to           text,
    observed_at        text NOT NULL,
    stated_assumptions integer NOT NULL CHECK (stated_assumptions IN (0, 1)),
    readings_defined   integer NOT NULL,
    conflicts          integer NOT NULL,
    -- JSON: a nullable number per scalar reading.
    reading_numbers    text NOT NULL,
    document           text NOT NULL
) STRICT;
CREATE INDEX estimates_by_offer ON estimates (provider, model, region, sequence);

-- An estimate refers to a set of sheets.
CREATE TABLE estimate_sheets (
    estimate_id blob NOT NULL REFERENCES estimates (id),
    sheet_id    blob NOT NULL REFERENCES price_sheets (id),
    PRIMARY KEY (estimate_id, sheet_id)
) STRICT;
CREATE INDEX estimate_sheets_by_sheet ON estimate_sheets (sheet_id);
