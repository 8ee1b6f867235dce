-- The tables. Both databases have the same, each in its own types; lists are sorted by the bytes of their texts.

-- The version of the store: every transaction that writes raises it. The lock of its row puts writers in order, so that a
-- reader of version n sees everything that the versions up to n have written.
CREATE TABLE store_version (
    id      integer PRIMARY KEY CHECK (id = 1),
    version bigint NOT NULL
);
INSERT INTO store_version (id, version) VALUES (1, 0);

-- One row, written to learn whether the database takes writes.
CREATE TABLE readiness (
    id     bigint PRIMARY KEY CHECK (id = 1),
    probes bigint NOT NULL,
    -- As large as an ordinary write, while writes are refused.
    filler text COLLATE "C"
);
INSERT INTO readiness (id, probes) VALUES (1, 0);

-- One row per pricing content. Prices are exact texts in the document; the numbers beside it serve lists and filters.
CREATE TABLE price_sheets (
    id               uuid PRIMARY KEY,
    sequence         bigint NOT NULL UNIQUE,
    -- An offer is a provider, a model and a region. Its id is made of the three names: short enough for an index.
    offer_id         uuid NOT NULL,
    provider         text COLLATE "C" NOT NULL,
    model            text COLLATE "C" NOT NULL,
    -- Names that may mean one model have one key.
    model_key        text COLLATE "C" NOT NULL,
    canonical_model  text COLLATE "C",
    region           text COLLATE "C" NOT NULL,
    currency         text COLLATE "C" NOT NULL,
    valid_from       timestamptz,
    valid_to         timestamptz,
    observed_at      timestamptz NOT NULL,
    input_price      double precision,
    output_price     double precision,
    cache_read_price double precision,
    document         text NOT NULL,
    -- The first 16 bytes of the document's SHA-256.
    checksum         bytea NOT NULL
);
-- Three names of 255 characters of four bytes each are more than an index of PostgreSQL takes.
CREATE INDEX price_sheets_by_offer ON price_sheets (provider, model, sequence);
CREATE INDEX price_sheets_by_offer_id ON price_sheets (offer_id);
CREATE INDEX price_sheets_by_model_key ON price_sheets (model_key);
-- For each filter of the list an index in the order of the list.
CREATE INDEX price_sheets_by_provider ON price_sheets (provider, sequence);
CREATE INDEX price_sheets_by_model ON price_sheets (model, sequence);
CREATE INDEX price_sheets_by_canonical_model ON price_sheets (canonical_model, sequence);
CREATE INDEX price_sheets_by_region ON price_sheets (region, sequence);
CREATE INDEX price_sheets_by_currency ON price_sheets (currency, sequence);
CREATE INDEX price_sheets_by_time ON price_sheets (observed_at);

CREATE TABLE estimates (
    id               uuid PRIMARY KEY,
    sequence         bigint NOT NULL UNIQUE,
    engine_version   text COLLATE "C" NOT NULL,
    readings_defined bigint NOT NULL,
    conflicts        bigint NOT NULL,
    -- JSON: a nullable number per column of a list.
    row_values       text NOT NULL,
    document         text NOT NULL,
    -- The first 16 bytes of the document's SHA-256.
    checksum         bytea NOT NULL
);

-- The sheets that an estimate was drawn from.
CREATE TABLE estimate_sheets (
    estimate_id uuid NOT NULL REFERENCES estimates (id),
    sheet_id    uuid NOT NULL REFERENCES price_sheets (id),
    PRIMARY KEY (estimate_id, sheet_id)
);
CREATE INDEX estimate_sheets_by_sheet ON estimate_sheets (sheet_id);

-- A row of the lists of estimates. Copies of one pricing decision share the estimate of the sheet that they copy.
CREATE TABLE estimate_listings (
    sequence           bigint PRIMARY KEY,
    estimate_id        uuid NOT NULL REFERENCES estimates (id),
    -- Null where several sheets are answered together, as is the sheet.
    offer_id           uuid,
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
CREATE INDEX estimate_listings_by_offer ON estimate_listings (provider, model, sequence);
CREATE INDEX estimate_listings_by_sheet ON estimate_listings (sheet_id, sequence);
CREATE INDEX estimate_listings_by_estimate ON estimate_listings (estimate_id);
CREATE INDEX estimate_listings_of_pools ON estimate_listings (provider, model, sequence) WHERE sheet_id IS NULL;
-- For each filter of the list an index in the order of the list.
CREATE INDEX estimate_listings_by_provider ON estimate_listings (provider, sequence);
CREATE INDEX estimate_listings_by_model ON estimate_listings (model, sequence);
CREATE INDEX estimate_listings_by_canonical_model ON estimate_listings (canonical_model, sequence);
CREATE INDEX estimate_listings_by_region ON estimate_listings (region, sequence);
CREATE INDEX estimate_listings_by_currency ON estimate_listings (currency, sequence);
CREATE INDEX estimate_listings_by_time ON estimate_listings (observed_at);

-- What an offer costs when: intervals from their start to before their end. Within one offer, those that were not
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
    -- The catalog that lists it.
    catalog           text COLLATE "C" NOT NULL,
    -- The year 1 where the start is not known.
    starts_at         timestamptz NOT NULL,
    ends_at           timestamptz,
    observed_at       timestamptz NOT NULL,
    -- Whether its start and its end were announced: an announced price comes into force later.
    has_begun         boolean NOT NULL,
    has_ended         boolean NOT NULL,
    withdrawn_at      timestamptz,
    withdrawn_because text COLLATE "C",
    -- Where it would have ended without its withdrawal, so that this can be undone.
    withdrawn_end     timestamptz,
    PRIMARY KEY (sequence, part),
    CHECK (ends_at IS NULL OR ends_at >= starts_at)
);
CREATE INDEX price_periods_by_offer ON price_periods (offer_id, starts_at);
CREATE INDEX price_periods_by_name ON price_periods (provider, model, starts_at);
CREATE INDEX price_periods_by_model ON price_periods (model, provider);
CREATE INDEX price_periods_by_region ON price_periods (region, provider);
CREATE INDEX price_periods_by_sheet ON price_periods (sheet_id);
-- Which sheets are in force at a time, read from the index alone.
CREATE INDEX price_periods_by_time ON price_periods (starts_at, ends_at, sheet_id);
CREATE INDEX price_periods_to_begin ON price_periods (starts_at) WHERE has_begun = false;
CREATE INDEX price_periods_to_end ON price_periods (ends_at) WHERE has_ended = false;
CREATE INDEX price_periods_withdrawn ON price_periods (offer_id) WHERE withdrawn_at IS NOT NULL;
-- For a replica whose clock is behind: whether something is recorded of a time that it has not reached.
CREATE INDEX price_periods_by_observation ON price_periods (observed_at);
CREATE INDEX price_periods_by_withdrawal ON price_periods (withdrawn_at) WHERE withdrawn_at IS NOT NULL;

-- Prices with an end: where none is known, a time after all others. `recorded_at` is the last time that is recorded of the
-- offer. A price is in force where starts_at <= time AND until > time.
CREATE VIEW price_intervals AS
SELECT sequence, part, offer_id, provider, model, region, sheet_id, catalog, starts_at, ends_at,
       coalesce(ends_at, '9999-12-31T23:59:59.999999Z') AS until, observed_at, withdrawn_at, withdrawn_because,
       withdrawn_end,
       (SELECT max(CASE WHEN seen.withdrawn_at > seen.observed_at THEN seen.withdrawn_at ELSE seen.observed_at END)
        FROM price_periods AS seen WHERE seen.offer_id = period.offer_id) AS recorded_at
FROM price_periods AS period;

-- Of every sheet, the last listing without stated assumptions.
CREATE VIEW latest_listings AS
SELECT sheet_id, sequence, estimate_id, duplicate_of, canonical_model, currency, valid_from, valid_to, observed_at
FROM estimate_listings AS listing
WHERE stated_assumptions = FALSE AND sequence >= (
    SELECT max(newer.sequence) FROM estimate_listings AS newer
    WHERE newer.sheet_id = listing.sheet_id AND newer.stated_assumptions = FALSE);

-- Of every sheet, the last listing with or without stated assumptions.
CREATE VIEW latest_listings_of_any AS
SELECT sheet_id, sequence, estimate_id, duplicate_of, canonical_model, currency, valid_from, valid_to, observed_at
FROM estimate_listings AS listing
WHERE sequence >= (
    SELECT max(newer.sequence) FROM estimate_listings AS newer WHERE newer.sheet_id = listing.sheet_id);

-- What each catalog says now, sheet by sheet. A start that is not known is the year 1.
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

-- Where a catalog prices an offer differently from the sheet in force.
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
CREATE INDEX disagreements_open ON disagreements (id) WHERE ended_at IS NULL;
CREATE INDEX disagreements_by_provider ON disagreements (provider, id);
CREATE INDEX disagreements_by_model ON disagreements (model, id);
CREATE INDEX disagreements_by_region ON disagreements (region, id);

-- What changed, in the order of its commits.
CREATE TABLE changes (
    sequence        bigint PRIMARY KEY,
    kind            text COLLATE "C" NOT NULL CHECK (kind IN (
        'sheet.added', 'sheet.changed', 'sheet.announced', 'sheet.in_force', 'sheet.withdrawn',
        'sheet.reinstated', 'sheet.expired', 'estimate.updated')),
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
CREATE INDEX changes_by_offer ON changes (provider, model, sequence);
CREATE INDEX changes_by_provider ON changes (provider, sequence);
CREATE INDEX changes_by_model ON changes (model, sequence);

-- Every time that a catalog was read.
CREATE TABLE imports (
    id               uuid PRIMARY KEY,
    -- An address, a file, or the body of a request.
    source           text COLLATE "C" NOT NULL,
    catalog          text COLLATE "C",
    started_at       timestamptz NOT NULL,
    ended_at         timestamptz,
    outcome          text COLLATE "C" NOT NULL CHECK (outcome IN ('running', 'done', 'not_modified', 'failed')),
    error            text COLLATE "C",
    -- What the server is sent the next time, so that it can answer that nothing changed.
    etag             text COLLATE "C",
    last_modified    text COLLATE "C",
    entries          bigint NOT NULL DEFAULT 0,
    estimated        bigint NOT NULL DEFAULT 0,
    unchanged        bigint NOT NULL DEFAULT 0,
    duplicates       bigint NOT NULL DEFAULT 0,
    not_identifiable bigint NOT NULL DEFAULT 0,
    refused          bigint NOT NULL DEFAULT 0,
    -- Sheets that hold again after they were withdrawn.
    reinstated       bigint NOT NULL DEFAULT 0
);
CREATE INDEX imports_by_source ON imports (source, started_at, id);
CREATE INDEX imports_by_time ON imports (started_at, id);
CREATE INDEX imports_running ON imports (id) WHERE outcome = 'running';

-- The receivers of changes.
CREATE TABLE webhooks (
    id           uuid PRIMARY KEY,
    url          text COLLATE "C" NOT NULL,
    -- The key that its deliveries are signed with.
    secret       text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    -- The last change that was delivered, or given up.
    since        bigint NOT NULL,
    -- Before this, nothing is sent.
    due_at       timestamptz NOT NULL,
    -- The replica that sends now, and until when no other one does.
    lease_id     uuid,
    leased_until timestamptz,
    -- When its receiver answered that it wants no more.
    disabled_at  timestamptz
);

-- What was sent, or is to be sent again: the changes after `since` up to `next_since`.
CREATE TABLE webhook_deliveries (
    id              uuid PRIMARY KEY,
    webhook_id      uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    since           bigint NOT NULL,
    next_since      bigint NOT NULL,
    changes         bigint NOT NULL,
    state           text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    attempted_at    timestamptz NOT NULL,
    next_attempt_at timestamptz,
    -- The last answer of the receiver.
    status          bigint,
    error           text COLLATE "C",
    UNIQUE (webhook_id, since)
);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (attempted_at);

-- Compressed, the filler would be small.
ALTER TABLE readiness ALTER COLUMN filler SET STORAGE EXTERNAL;

-- Documents are long texts. LZ4 takes a tenth of the time that PostgreSQL's own compression takes; servers before version
-- 14, and those built without it, keep their own.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE estimates ALTER COLUMN document SET COMPRESSION lz4';
    EXECUTE 'ALTER TABLE price_sheets ALTER COLUMN document SET COMPRESSION lz4';
EXCEPTION
    WHEN syntax_error OR feature_not_supported THEN NULL;
END
$$;

-- Notifies every replica of a new version.
CREATE FUNCTION announce_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('unroof_version', NEW.version::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_version AFTER UPDATE ON store_version
    FOR EACH ROW EXECUTE FUNCTION announce_version();

-- The schema of the views for dashboards and notebooks, which `migrations/reporting.sql` makes after the migrations.
--
-- A role that may not make schemas uses one that was made for it; where there is none, the error says how to make it.
DO $$
BEGIN
    IF to_regnamespace('reporting') IS NOT NULL THEN
        RETURN;
    END IF;
    IF NOT has_database_privilege(current_database(), 'CREATE') THEN
        RAISE insufficient_privilege USING MESSAGE = format(
            'this role may not make the schema for dashboards; have it made: CREATE SCHEMA reporting AUTHORIZATION %I',
            current_user);
    END IF;
    CREATE SCHEMA reporting;
END
$$;
