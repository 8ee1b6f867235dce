-- An offer is a (provider, model, region). Its id is made of the three names: short enough for an index.
ALTER TABLE price_sheets ADD COLUMN offer_id blob;
-- Names that may mean one model have one key.
ALTER TABLE price_sheets ADD COLUMN model_key text;
CREATE INDEX price_sheets_by_offer_id ON price_sheets (offer_id);
CREATE INDEX price_sheets_by_model_key ON price_sheets (model_key);
CREATE INDEX price_sheets_by_canonical_model ON price_sheets (canonical_model);

-- A row of the lists of estimates. Copies of one pricing decision share the estimate of the sheet that they copy.
CREATE TABLE estimate_listings (
    sequence           integer PRIMARY KEY,
    estimate_id        blob NOT NULL REFERENCES estimates (id),
    offer_id           blob,
    -- Null where several sheets are answered together.
    sheet_id           blob REFERENCES price_sheets (id),
    -- The sheet whose estimate this is, where it is another one.
    duplicate_of       blob REFERENCES price_sheets (id),
    provider           text NOT NULL,
    model              text NOT NULL,
    canonical_model    text,
    region             text NOT NULL,
    currency           text NOT NULL,
    valid_from         text,
    valid_to           text,
    observed_at        text NOT NULL,
    stated_assumptions integer NOT NULL
) STRICT;
INSERT INTO estimate_listings
SELECT sequence, id, NULL,
       (SELECT min(sheet_id) FROM estimate_sheets WHERE estimate_id = id HAVING count(*) = 1), NULL,
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
    sequence          integer NOT NULL,
    -- Of several periods that one sheet opened at once.
    part              integer NOT NULL,
    offer_id          blob NOT NULL,
    provider          text NOT NULL,
    model             text NOT NULL,
    region            text NOT NULL,
    sheet_id          blob NOT NULL REFERENCES price_sheets (id),
    -- Who says so.
    catalog           text NOT NULL,
    starts_at         text NOT NULL,
    ends_at           text,
    observed_at       text NOT NULL,
    -- Whether its start and its end have been made known: a price that was announced comes into force later.
    has_begun         integer NOT NULL,
    has_ended         integer NOT NULL,
    withdrawn_at      text,
    withdrawn_because text,
    PRIMARY KEY (sequence, part),
    CHECK (ends_at IS NULL OR ends_at >= starts_at)
) STRICT;
CREATE INDEX price_periods_by_offer ON price_periods (offer_id, starts_at);
CREATE INDEX price_periods_by_name ON price_periods (provider, model, starts_at);
CREATE INDEX price_periods_by_sheet ON price_periods (sheet_id);
CREATE INDEX price_periods_to_begin ON price_periods (starts_at) WHERE has_begun = 0;
CREATE INDEX price_periods_to_end ON price_periods (ends_at) WHERE has_ended = 0;

-- What each catalog says now, sheet by sheet; those without a start of validity stand under the year 1970.
CREATE TABLE statements (
    catalog     text NOT NULL,
    offer_id    blob NOT NULL,
    starts_at   text NOT NULL,
    sheet_id    blob NOT NULL REFERENCES price_sheets (id),
    observed_at text NOT NULL,
    PRIMARY KEY (offer_id, catalog, starts_at)
) STRICT;
CREATE INDEX statements_by_catalog ON statements (catalog);
CREATE INDEX statements_by_sheet ON statements (sheet_id);

-- Where a catalog prices an offer otherwise than the sheet in force.
CREATE TABLE disagreements (
    id             blob PRIMARY KEY,
    offer_id       blob NOT NULL,
    provider       text NOT NULL,
    model          text NOT NULL,
    region         text NOT NULL,
    catalog        text NOT NULL,
    sheet_id       blob NOT NULL REFERENCES price_sheets (id),
    other_catalog  text NOT NULL,
    other_sheet_id blob NOT NULL REFERENCES price_sheets (id),
    -- In words.
    differences    text NOT NULL,
    -- The largest factor between two prices.
    largest_factor real,
    observed_at    text NOT NULL,
    ended_at       text
) STRICT;
CREATE INDEX disagreements_by_offer ON disagreements (offer_id);

-- What changed, in the order in which it was committed.
CREATE TABLE changes (
    sequence        integer PRIMARY KEY,
    kind            text NOT NULL,
    observed_at     text NOT NULL,
    provider        text NOT NULL,
    model           text NOT NULL,
    canonical_model text,
    region          text NOT NULL,
    sheet_id        blob,
    estimate_id     blob,
    -- In words.
    summary         text NOT NULL
) STRICT;

-- Every time a catalog was read.
CREATE TABLE imports (
    id               blob PRIMARY KEY,
    -- Where from: an address, a file, or the body of a request.
    source           text NOT NULL,
    catalog          text,
    started_at       text NOT NULL,
    ended_at         text,
    -- running, done, not_modified or failed
    outcome          text NOT NULL,
    error            text,
    -- What the server wants to hear the next time it is asked.
    etag             text,
    last_modified    text,
    entries          integer NOT NULL DEFAULT 0,
    estimated        integer NOT NULL DEFAULT 0,
    unchanged        integer NOT NULL DEFAULT 0,
    duplicates       integer NOT NULL DEFAULT 0,
    not_identifiable integer NOT NULL DEFAULT 0,
    refused          integer NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX imports_by_source ON imports (source, started_at);
