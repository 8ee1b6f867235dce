-- An offer is a (provider, model, region). Its id is made of the three names: short enough for an index.
ALTER TABLE price_sheets ADD COLUMN offer_id uuid;
-- Names that may mean one model have one key.
ALTER TABLE price_sheets ADD COLUMN model_key text COLLATE "C";
CREATE INDEX price_sheets_by_offer_id ON price_sheets (offer_id);
CREATE INDEX price_sheets_by_model_key ON price_sheets (model_key);
CREATE INDEX price_sheets_by_canonical_model ON price_sheets (canonical_model);

-- A row of the lists of estimates. Copies of one pricing decision share the estimate of the sheet that they copy.
CREATE TABLE estimate_listings (
    sequence           bigint PRIMARY KEY,
    estimate_id        uuid NOT NULL REFERENCES estimates (id),
    offer_id           uuid,
    -- Null where several sheets are answered together.
    sheet_id           uuid REFERENCES price_sheets (id),
    -- The sheet whose estimate this is, where it is another one.
    duplicate_of       uuid REFERENCES price_sheets (id),
    provider           text COLLATE "C" NOT NULL,
    model              text COLLATE "C" NOT NULL,
    canonical_model    text COLLATE "C",
    region             text COLLATE "C" NOT NULL,
    currency           text COLLATE "C" NOT NULL,
    valid_from         timestamptz,
    valid_to           timestamptz,
    observed_at        timestamptz NOT NULL,
    stated_assumptions boolean NOT NULL
);
INSERT INTO estimate_listings
SELECT sequence, id, NULL,
       (SELECT min(sheet_id::text)::uuid FROM estimate_sheets WHERE estimate_id = id HAVING count(*) = 1), NULL,
       provider, model, canonical_model, region, currency, valid_from, valid_to, observed_at, stated_assumptions
FROM estimates;
CREATE INDEX estimate_listings_by_offer ON estimate_listings (provider, model, sequence);
CREATE INDEX estimate_listings_by_sheet ON estimate_listings (sheet_id, sequence);
CREATE INDEX estimate_listings_by_offer_id ON estimate_listings (offer_id, sequence);
CREATE INDEX estimate_listings_by_estimate ON estimate_listings (estimate_id);
CREATE INDEX estimate_listings_of_pools ON estimate_listings (provider, model, sequence) WHERE sheet_id IS NULL;
CREATE INDEX estimate_listings_by_time ON estimate_listings (observed_at);
DROP INDEX estimates_by_offer;
ALTER TABLE estimates DROP COLUMN provider;
ALTER TABLE estimates DROP COLUMN model;
ALTER TABLE estimates DROP COLUMN canonical_model;
ALTER TABLE estimates DROP COLUMN region;
ALTER TABLE estimates DROP COLUMN currency;
ALTER TABLE estimates DROP COLUMN valid_from;
ALTER TABLE estimates DROP COLUMN valid_to;
ALTER TABLE estimates DROP COLUMN observed_at;
ALTER TABLE estimates DROP COLUMN stated_assumptions;

-- What an offer costs when: intervals from their start to before their end. Within one offer those that were not
-- withdrawn do not overlap; one that was replaced the moment it began is empty.
CREATE TABLE price_periods (
    sequence          bigint NOT NULL,
    -- Of several periods that one sheet opened at once.
    part              bigint NOT NULL,
    offer_id          uuid NOT NULL,
    provider          text COLLATE "C" NOT NULL,
    model             text COLLATE "C" NOT NULL,
    region            text COLLATE "C" NOT NULL,
    sheet_id          uuid NOT NULL REFERENCES price_sheets (id),
    -- Who says so.
    catalog           text COLLATE "C" NOT NULL,
    starts_at         timestamptz NOT NULL,
    ends_at           timestamptz,
    observed_at       timestamptz NOT NULL,
    -- Whether its start and its end have been made known: a price that was announced comes into force later.
    has_begun         boolean NOT NULL,
    has_ended         boolean NOT NULL,
    withdrawn_at      timestamptz,
    withdrawn_because text COLLATE "C",
    PRIMARY KEY (sequence, part),
    CHECK (ends_at IS NULL OR ends_at >= starts_at)
);
CREATE INDEX price_periods_by_offer ON price_periods (offer_id, starts_at);
CREATE INDEX price_periods_by_name ON price_periods (provider, model, starts_at);
CREATE INDEX price_periods_by_sheet ON price_periods (sheet_id);
CREATE INDEX price_periods_to_begin ON price_periods (starts_at) WHERE has_begun = false;
CREATE INDEX price_periods_to_end ON price_periods (ends_at) WHERE has_ended = false;

-- What each catalog says now, sheet by sheet; those without a start of validity stand under the year 1970.
CREATE TABLE statements (
    catalog     text COLLATE "C" NOT NULL,
    offer_id    uuid NOT NULL,
    starts_at   timestamptz NOT NULL,
    sheet_id    uuid NOT NULL REFERENCES price_sheets (id),
    observed_at timestamptz NOT NULL,
    PRIMARY KEY (offer_id, catalog, starts_at)
);
CREATE INDEX statements_by_catalog ON statements (catalog);
CREATE INDEX statements_by_sheet ON statements (sheet_id);

-- Where a catalog prices an offer otherwise than the sheet in force.
CREATE TABLE disagreements (
    id             uuid PRIMARY KEY,
    offer_id       uuid NOT NULL,
    provider       text COLLATE "C" NOT NULL,
    model          text COLLATE "C" NOT NULL,
    region         text COLLATE "C" NOT NULL,
    catalog        text COLLATE "C" NOT NULL,
    sheet_id       uuid NOT NULL REFERENCES price_sheets (id),
    other_catalog  text COLLATE "C" NOT NULL,
    other_sheet_id uuid NOT NULL REFERENCES price_sheets (id),
    -- In words.
    differences    text COLLATE "C" NOT NULL,
    -- The largest factor between two prices.
    largest_factor double precision,
    observed_at    timestamptz NOT NULL,
    ended_at       timestamptz
);
CREATE INDEX disagreements_by_offer ON disagreements (offer_id);

-- What changed, in the order in which it was committed.
CREATE TABLE changes (
    sequence        bigint PRIMARY KEY,
    kind            text COLLATE "C" NOT NULL,
    observed_at     timestamptz NOT NULL,
    provider        text COLLATE "C" NOT NULL,
    model           text COLLATE "C" NOT NULL,
    canonical_model text COLLATE "C",
    region          text COLLATE "C" NOT NULL,
    sheet_id        uuid,
    estimate_id     uuid,
    -- In words.
    summary         text COLLATE "C" NOT NULL
);

-- Every time a catalog was read.
CREATE TABLE imports (
    id               uuid PRIMARY KEY,
    -- Where from: an address, a file, or the body of a request.
    source           text COLLATE "C" NOT NULL,
    catalog          text COLLATE "C",
    started_at       timestamptz NOT NULL,
    ended_at         timestamptz,
    -- running, done, not_modified or failed
    outcome          text COLLATE "C" NOT NULL,
    error            text COLLATE "C",
    -- What the server wants to hear the next time it is asked.
    etag             text COLLATE "C",
    last_modified    text COLLATE "C",
    entries          bigint NOT NULL DEFAULT 0,
    estimated        bigint NOT NULL DEFAULT 0,
    unchanged        bigint NOT NULL DEFAULT 0,
    duplicates       bigint NOT NULL DEFAULT 0,
    not_identifiable bigint NOT NULL DEFAULT 0,
    refused          bigint NOT NULL DEFAULT 0
);
CREATE INDEX imports_by_source ON imports (source, started_at);

-- Tells every replica which version there is now.
CREATE FUNCTION announce_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('unroof_version', NEW.version::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_version AFTER UPDATE ON store_version
    FOR EACH ROW EXECUTE FUNCTION announce_version();

-- Answers are long texts. LZ4 takes a tenth of the time that PostgreSQL's own compression takes; servers before version 14,
-- and those built without it, go on with their own.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE estimates ALTER COLUMN document SET COMPRESSION lz4';
    EXECUTE 'ALTER TABLE price_sheets ALTER COLUMN document SET COMPRESSION lz4';
EXCEPTION
    WHEN syntax_error OR feature_not_supported THEN NULL;
END
$$;
