-- Bumped once by every transaction that writes. Its row lock puts writers in order, so that whoever reads version n
-- sees everything that versions up to n have written.
CREATE TABLE store_version (
    id      integer PRIMARY KEY CHECK (id = 1),
    version bigint NOT NULL
);
INSERT INTO store_version (id, version) VALUES (1, 0);

-- One row per pricing content. Money is exact text inside the document; the numbers beside it serve lists and filters.
CREATE TABLE price_sheets (
    id               uuid PRIMARY KEY,
    sequence         bigint NOT NULL UNIQUE,
    provider         text COLLATE "C" NOT NULL,
    model            text COLLATE "C" NOT NULL,
    canonical_model  text COLLATE "C",
    region           text COLLATE "C" NOT NULL,
    currency         text COLLATE "C" NOT NULL,
    valid_from       timestamptz,
    valid_to         timestamptz,
    observed_at      timestamptz NOT NULL,
    input_price      double precision,
    output_price     double precision,
    cache_read_price double precision,
    document         text NOT NULL
);
CREATE INDEX price_sheets_by_offer ON price_sheets (provider, model, region, sequence);

CREATE TABLE estimates (
    id                 uuid PRIMARY KEY,
    sequence           bigint NOT NULL UNIQUE,
    engine_version     text COLLATE "C" NOT NULL,
    provider           text COLLATE "C" NOT NULL,
    model              text COLLATE "C" NOT NULL,
    canonical_model    text COLLATE "C",
    region             text COLLATE "C" NOT NULL,
    currency           text COLLATE "C" NOT NULL,
    valid_from         timestamptz,
    valid_to           timestamptz,
    observed_at        timestamptz NOT NULL,
    stated_assumptions boolean NOT NULL,
    readings_defined   bigint NOT NULL,
    conflicts          bigint NOT NULL,
    -- JSON: a nullable number per scalar reading.
    reading_numbers    text NOT NULL,
    document           text NOT NULL
);
CREATE INDEX estimates_by_offer ON estimates (provider, model, region, sequence);

-- An estimate refers to a set of sheets.
CREATE TABLE estimate_sheets (
    estimate_id uuid NOT NULL REFERENCES estimates (id),
    sheet_id    uuid NOT NULL REFERENCES price_sheets (id),
    PRIMARY KEY (estimate_id, sheet_id)
);
CREATE INDEX estimate_sheets_by_sheet ON estimate_sheets (sheet_id);
