-- The tables, by subject. Both databases have the same, each in its own types; lists are sorted by the bytes of their texts.

-- The store -----------------------------------------------------------------------------------------------------------

-- The version of the store: every transaction that writes raises it. The lock of its row puts writers in order, so that a
-- reader of version n sees everything that the versions up to n have written.
CREATE TABLE store_version (
    id        integer PRIMARY KEY CHECK (id = 1),
    version   integer NOT NULL,
    -- The newest migration, and the program that applied it: an older program, which does not know that migration, names
    -- this one when it refuses to write.
    migration integer NOT NULL,
    program   text NOT NULL
) STRICT;
INSERT INTO store_version (id, version, migration, program) VALUES (1, 0, 0, '');

-- One row, written to learn whether the database takes writes.
CREATE TABLE readiness (
    id     integer PRIMARY KEY CHECK (id = 1),
    probes integer NOT NULL,
    -- As large as an ordinary write, while writes are refused.
    filler text
) STRICT;
INSERT INTO readiness (id, probes) VALUES (1, 0);

-- Locks that outlive a transaction. One that is not renewed expires. A file, which one process serves, needs none.
CREATE TABLE locks (
    name       text PRIMARY KEY,
    holder     blob NOT NULL,
    expires_at text NOT NULL
) STRICT;

-- Price sheets --------------------------------------------------------------------------------------------------------

-- One row per pricing content. Prices are exact texts in the document; the columns beside it serve lists, filters and
-- comparisons, which do not read the document.
CREATE TABLE price_sheets (
    id               blob PRIMARY KEY,
    sequence         integer NOT NULL UNIQUE,
    -- An offer is a provider, a model and a region. Its id is made of the three names: short enough for an index.
    offer_id         blob NOT NULL,
    provider         text NOT NULL,
    model            text NOT NULL,
    -- Names that may mean one model have one key.
    model_key        text NOT NULL,
    canonical_model  text,
    region           text NOT NULL,
    currency         text NOT NULL,
    valid_from       text,
    valid_to         text,
    observed_at      text NOT NULL,
    -- Retirement of the offer, as the sheet states it.
    retires_at       text,
    status           text,
    input_price      real,
    output_price     real,
    cache_read_price real,
    -- Identity of the prices alone: without dates, limits and names.
    price_id        blob NOT NULL,
    -- The priced cells, each with its exact price, so that sheets are compared without their documents.
    cells            text NOT NULL,
    -- Whether the sheet states limits.
    states_limits    integer NOT NULL,
    -- Whether its estimate fits no machine.
    is_misfit        integer NOT NULL,
    -- Whether some source stated it; the sheet of a question is not listed.
    observed         integer NOT NULL,
    -- The first 16 bytes of the document's SHA-256.
    checksum         blob NOT NULL,
    document         text NOT NULL
) STRICT;
CREATE INDEX price_sheets_by_offer ON price_sheets (provider, model, sequence);
CREATE INDEX price_sheets_by_offer_id ON price_sheets (offer_id);
CREATE INDEX price_sheets_by_model_key ON price_sheets (model_key);
-- For each filter and each sort of the list an index in the order of the list.
CREATE INDEX price_sheets_by_provider ON price_sheets (provider, sequence);
CREATE INDEX price_sheets_by_model ON price_sheets (model, sequence);
CREATE INDEX price_sheets_by_canonical_model ON price_sheets (canonical_model, sequence);
CREATE INDEX price_sheets_by_region ON price_sheets (region, sequence);
CREATE INDEX price_sheets_by_currency ON price_sheets (currency, sequence);
CREATE INDEX price_sheets_by_time ON price_sheets (observed_at);
CREATE INDEX price_sheets_by_input_price ON price_sheets (input_price, sequence);
CREATE INDEX price_sheets_by_output_price ON price_sheets (output_price, sequence);
-- The prices in force of all models are read from this index and `price_periods_by_sheet`, without the rows of sheets.
CREATE INDEX price_sheets_in_market ON price_sheets (currency, canonical_model, id, provider, input_price, output_price);

-- The record ----------------------------------------------------------------------------------------------------------

-- What sources state: facts, from which the periods of prices are derived. Whatever the order in which facts arrive, the
-- same facts give the same periods.

-- Every time at which a whole catalog was read, or all that it lists of one provider.
CREATE TABLE snapshots (
    source text NOT NULL,
    -- The provider that it was restricted to; empty where it was not.
    scope  text NOT NULL,
    at     text NOT NULL,
    PRIMARY KEY (source, scope, at)
) STRICT;

-- Entries that a whole catalog listed and that could not be read: what they stated before is neither stated again nor gone.
CREATE TABLE unparsed_entries (
    source text NOT NULL,
    at     text NOT NULL,
    -- The key of the entry in the catalog.
    entry  text NOT NULL,
    PRIMARY KEY (source, entry, at)
) STRICT;

-- A sheet that a source stated from a first to a last time, and did not drop between them.
CREATE TABLE observations (
    offer_id blob NOT NULL,
    -- A catalog, an entry of one, or `posted`.
    source   text NOT NULL,
    sheet_id blob NOT NULL REFERENCES price_sheets (id),
    -- The catalog that the sheet names.
    catalog  text NOT NULL,
    -- The key of the entry that stated the sheet; null for posted sheets.
    entry    text,
    first_at text NOT NULL,
    -- Null while the newest snapshot of the source lists it.
    last_at  text,
    -- How it arrived: 1 a whole catalog, 2 an entry of a catalog, 3 a sheet.
    source_rank integer NOT NULL,
    PRIMARY KEY (offer_id, source, sheet_id, first_at)
) STRICT;
CREATE INDEX observations_by_sheet ON observations (sheet_id);
CREATE INDEX observations_by_source ON observations (source, offer_id);
CREATE INDEX observations_open ON observations (source, offer_id) WHERE last_at IS NULL;
CREATE INDEX observations_by_entry ON observations (source, entry) WHERE last_at IS NOT NULL;

-- Sheets that were withdrawn, until they are seen again.
CREATE TABLE withdrawals (
    offer_id  blob NOT NULL,
    sheet_id  blob NOT NULL REFERENCES price_sheets (id),
    at        text NOT NULL,
    because   text NOT NULL,
    undone_at text,
    PRIMARY KEY (offer_id, sheet_id, at)
) STRICT;
CREATE INDEX withdrawals_by_sheet ON withdrawals (sheet_id);
CREATE INDEX withdrawals_by_time ON withdrawals (at);

-- Prices in force -----------------------------------------------------------------------------------------------------

-- What an offer costs when: intervals from their start to before their end. Within one offer, those that were not
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
    price_id         blob NOT NULL,
    -- The catalog that lists it.
    catalog           text NOT NULL,
    -- The year 1 where the start is not known.
    starts_at         text NOT NULL,
    -- How the start is known: `stated`, `observed`, or `source_added` where only the source is new.
    start_basis       text NOT NULL,
    -- When the price before was last seen.
    not_before        text,
    ends_at           text,
    -- Why it ended: `replaced`, `expired`, `delisted` or `withdrawn`.
    ending            text,
    observed_at       text NOT NULL,
    -- When the price was last seen, as far as its offer has changed since.
    last_seen_at      text NOT NULL,
    -- Whether its start and its end were announced: an announced price comes into force later.
    has_begun         integer NOT NULL,
    has_ended         integer NOT NULL,
    -- Whether it is in force only because no other source states a price.
    is_flagged        integer NOT NULL,
    withdrawn_at      text,
    withdrawn_because text,
    PRIMARY KEY (sequence, part),
    CHECK (ends_at IS NULL OR ends_at >= starts_at)
) STRICT;
CREATE INDEX price_periods_by_offer ON price_periods (offer_id, starts_at);
CREATE INDEX price_periods_by_name ON price_periods (provider, model, starts_at);
CREATE INDEX price_periods_by_model ON price_periods (model, provider);
-- The latest estimates of a region, by name. Three whole names are more than an index of PostgreSQL takes.
CREATE INDEX price_periods_by_region ON price_periods (substr(region, 1, 64), provider, model);
CREATE INDEX price_periods_by_sheet ON price_periods (sheet_id, starts_at, ends_at);
-- Which sheets are in force at a time, read from the index alone.
CREATE INDEX price_periods_by_time ON price_periods (starts_at, ends_at, sheet_id);
-- SQLite takes an index of some rows only for a query that states their condition in the same words.
CREATE INDEX price_periods_to_begin ON price_periods (starts_at) WHERE has_begun = FALSE;
CREATE INDEX price_periods_to_end ON price_periods (ends_at) WHERE has_ended = FALSE;
CREATE INDEX price_periods_withdrawn ON price_periods (offer_id) WHERE withdrawn_at IS NOT NULL;
-- For a replica whose clock is behind: whether something is recorded of a time that it has not reached.
CREATE INDEX price_periods_by_observation ON price_periods (observed_at);
CREATE INDEX price_periods_by_withdrawal ON price_periods (withdrawn_at) WHERE withdrawn_at IS NOT NULL;

-- Prices with an end: where none is known, a time after all others. `recorded_at` is the last time that is recorded of the
-- offer. A price is in force where starts_at <= time AND until > time.
CREATE VIEW price_intervals AS
SELECT sequence, part, offer_id, provider, model, region, sheet_id, catalog, starts_at, ends_at,
       coalesce(ends_at, '9999-12-31T23:59:59.999999Z') AS until, observed_at, withdrawn_at, withdrawn_because,
       (SELECT max(CASE WHEN seen.withdrawn_at > seen.observed_at THEN seen.withdrawn_at ELSE seen.observed_at END)
        FROM price_periods AS seen WHERE seen.offer_id = period.offer_id) AS recorded_at
FROM price_periods AS period;

-- Where a catalog prices an offer differently from the sheet in force.
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
    -- Whether the other price is under quarantine.
    is_flagged     integer NOT NULL,
    -- In words.
    differences    text NOT NULL,
    -- The largest factor between two prices.
    largest_factor real,
    observed_at    text NOT NULL,
    ended_at       text
) STRICT;
CREATE INDEX disagreements_by_offer ON disagreements (offer_id);
CREATE INDEX disagreements_open ON disagreements (id) WHERE ended_at IS NULL;
CREATE INDEX disagreements_flagged ON disagreements (other_sheet_id) WHERE is_flagged AND ended_at IS NULL;
CREATE INDEX disagreements_by_provider ON disagreements (provider, id);
CREATE INDEX disagreements_by_model ON disagreements (model, id);
CREATE INDEX disagreements_by_region ON disagreements (region, id);

-- Estimates -----------------------------------------------------------------------------------------------------------

CREATE TABLE estimates (
    id               blob PRIMARY KEY,
    sequence         integer NOT NULL UNIQUE,
    engine_version   text NOT NULL,
    readings_defined integer NOT NULL,
    conflicts        integer NOT NULL,
    -- JSON: a nullable number per column of a list.
    row_values       text NOT NULL,
    -- The first 16 bytes of the document's SHA-256.
    checksum         blob NOT NULL,
    document         text NOT NULL
) STRICT;

-- The sheets that an estimate was drawn from.
CREATE TABLE estimate_sheets (
    estimate_id blob NOT NULL REFERENCES estimates (id),
    sheet_id    blob NOT NULL REFERENCES price_sheets (id),
    PRIMARY KEY (estimate_id, sheet_id)
) STRICT;
CREATE INDEX estimate_sheets_by_sheet ON estimate_sheets (sheet_id);

-- A row of the lists of estimates. Copies of one pricing decision share the estimate of the sheet that they copy.
CREATE TABLE estimate_listings (
    sequence           integer PRIMARY KEY,
    estimate_id        blob NOT NULL REFERENCES estimates (id),
    -- Null where several sheets are answered together, as is the sheet.
    offer_id           blob,
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
    stated_assumptions integer NOT NULL,
    -- Whether the listing is that of a price that was observed; a question is none.
    observed           integer NOT NULL
) STRICT;
CREATE INDEX estimate_listings_by_offer ON estimate_listings (provider, model, sequence);
CREATE INDEX estimate_listings_by_estimate ON estimate_listings (estimate_id);
-- Estimates of several sheets have an index for each order. That of single sheets does not have them, so that it is not
-- taken for theirs.
CREATE INDEX estimate_listings_by_sheet ON estimate_listings (sheet_id, sequence) WHERE sheet_id IS NOT NULL;
CREATE INDEX estimate_listings_of_pools ON estimate_listings (provider, model, sequence) WHERE sheet_id IS NULL;
CREATE INDEX estimate_listings_of_pools_by_model ON estimate_listings (model, provider, sequence) WHERE sheet_id IS NULL;
-- For each filter of the list an index in the order of the list.
CREATE INDEX estimate_listings_by_provider ON estimate_listings (provider, sequence);
CREATE INDEX estimate_listings_by_model ON estimate_listings (model, sequence);
CREATE INDEX estimate_listings_by_canonical_model ON estimate_listings (canonical_model, sequence);
CREATE INDEX estimate_listings_by_region ON estimate_listings (region, sequence);
CREATE INDEX estimate_listings_by_currency ON estimate_listings (currency, sequence);
CREATE INDEX estimate_listings_by_time ON estimate_listings (observed_at);

-- Of every sheet, the last listing without stated assumptions.
CREATE VIEW latest_listings AS
SELECT sheet_id, sequence, estimate_id, duplicate_of, canonical_model, currency, valid_from, valid_to, observed_at,
       observed
FROM estimate_listings AS listing
WHERE stated_assumptions = FALSE AND sequence >= (
    SELECT max(newer.sequence) FROM estimate_listings AS newer
    WHERE newer.sheet_id = listing.sheet_id AND newer.stated_assumptions = FALSE);

-- Of every sheet, the last listing with or without stated assumptions.
CREATE VIEW latest_listings_of_any AS
SELECT sheet_id, sequence, estimate_id, duplicate_of, canonical_model, currency, valid_from, valid_to, observed_at,
       observed
FROM estimate_listings AS listing
WHERE sequence >= (
    SELECT max(newer.sequence) FROM estimate_listings AS newer WHERE newer.sheet_id = listing.sheet_id);

-- One estimate per model, from all of its sheets: every host and every period. Its document is a row of `estimates`, the
-- sheets that it read are those of `estimate_sheets`, and it is listed under the provider `model`.
CREATE TABLE model_estimates (
    sequence        integer PRIMARY KEY,
    estimate_id     blob NOT NULL REFERENCES estimates (id),
    canonical_model text NOT NULL,
    author          text NOT NULL,
    calibration_id  text NOT NULL,
    -- Sheets of the model, and separate pricing decisions among them.
    sheets          integer NOT NULL,
    decisions       integer NOT NULL,
    -- When the newest of its sheets was first seen.
    observed_at     text NOT NULL
) STRICT;
CREATE INDEX model_estimates_by_model ON model_estimates (canonical_model, sequence);
CREATE INDEX model_estimates_by_author ON model_estimates (author, canonical_model);

-- Models whose sheets have changed since they were estimated, with the version of the store that changed them.
CREATE TABLE models_due (
    canonical_model text PRIMARY KEY,
    mark            integer NOT NULL
) STRICT;

-- A period that is written or gone may be another set of sheets.
CREATE TRIGGER mark_models_of_new_periods AFTER INSERT ON price_periods BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT canonical_model, version FROM price_sheets CROSS JOIN store_version
    WHERE price_sheets.id = NEW.sheet_id AND canonical_model IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER mark_models_of_changed_periods AFTER UPDATE OF sheet_id, withdrawn_at ON price_periods
WHEN OLD.sheet_id <> NEW.sheet_id OR OLD.withdrawn_at IS NOT NEW.withdrawn_at BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT DISTINCT canonical_model, version FROM price_sheets CROSS JOIN store_version
    WHERE price_sheets.id IN (OLD.sheet_id, NEW.sheet_id) AND canonical_model IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER mark_models_of_gone_periods AFTER DELETE ON price_periods BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT canonical_model, version FROM price_sheets CROSS JOIN store_version
    WHERE price_sheets.id = OLD.sheet_id AND canonical_model IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER mark_models_of_named_sheets AFTER UPDATE OF canonical_model ON price_sheets
WHEN OLD.canonical_model IS NOT NEW.canonical_model BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT name, version FROM (SELECT OLD.canonical_model AS name UNION SELECT NEW.canonical_model) AS named
    CROSS JOIN store_version WHERE name IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
END;

-- The feed ------------------------------------------------------------------------------------------------------------

-- What changed, in the order of its commits.
CREATE TABLE changes (
    sequence          integer PRIMARY KEY,
    kind              text NOT NULL CHECK (kind IN (
        'price.changed', 'price.scheduled', 'source.added', 'offer.added', 'offer.delisted', 'offer.relisted',
        'offer.retiring', 'limits.changed', 'identity.changed', 'history.backfilled', 'price.expired',
        'sheet.withdrawn', 'sheet.reinstated', 'estimate.updated')),
    observed_at       text NOT NULL,
    provider          text NOT NULL,
    model             text NOT NULL,
    canonical_model   text,
    region            text NOT NULL,
    sheet_id          blob,
    -- The sheet that was in force before.
    previous_sheet_id blob,
    estimate_id       blob,
    -- In words.
    summary           text NOT NULL,
    -- The price that changed, by the name of its cell; null where the change is not that of one price.
    cell              text,
    -- The cell by the names of rate cells.
    meter             text,
    service_tier      text,
    min_prompt_tokens integer,
    ttl_seconds       integer,
    schedule          text,
    old_value         real,
    new_value         real,
    -- The larger over the smaller.
    factor            real,
    -- Start of the price.
    valid_from        text,
    -- Whether the sheet is in force after the change.
    in_force          integer NOT NULL
) STRICT;
CREATE INDEX changes_by_offer ON changes (provider, model, sequence);
CREATE INDEX changes_by_provider ON changes (provider, sequence);
CREATE INDEX changes_by_model ON changes (model, sequence);
CREATE INDEX changes_by_kind ON changes (kind, sequence);
CREATE INDEX changes_by_canonical_model ON changes (canonical_model, sequence);
CREATE INDEX changes_by_time ON changes (observed_at, kind);

-- The receivers of changes.
CREATE TABLE webhooks (
    id           blob PRIMARY KEY,
    url          text NOT NULL,
    -- The key that its deliveries are signed with.
    secret       text NOT NULL,
    created_at   text NOT NULL,
    -- The changes that it is sent, as JSON; null for all.
    filter       text,
    -- The last change that was delivered, or given up.
    since        integer NOT NULL,
    -- Before this, nothing is sent.
    due_at       text NOT NULL,
    -- The replica that sends now, and until when no other one does.
    lease_id     blob,
    leased_until text,
    -- When its receiver answered that it wants no more.
    disabled_at  text
) STRICT;

-- What was sent, or is to be sent again: the changes after `since` up to `next_since`.
CREATE TABLE webhook_deliveries (
    id              blob PRIMARY KEY,
    webhook_id      blob NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    since           integer NOT NULL,
    next_since      integer NOT NULL,
    changes         integer NOT NULL,
    state           text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts        integer NOT NULL,
    created_at      text NOT NULL,
    attempted_at    text NOT NULL,
    next_attempt_at text,
    -- The last answer of the receiver.
    status          integer,
    error           text,
    UNIQUE (webhook_id, since)
) STRICT;
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (attempted_at);

-- Imports -------------------------------------------------------------------------------------------------------------

-- Every time that a catalog was read.
CREATE TABLE imports (
    id               blob PRIMARY KEY,
    -- An address, a file, or the body of a request.
    source           text NOT NULL,
    catalog          text,
    started_at       text NOT NULL,
    ended_at         text,
    outcome          text NOT NULL CHECK (outcome IN ('running', 'done', 'not_modified', 'failed')),
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
    reinstated       integer NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX imports_by_source ON imports (source, started_at, id);
CREATE INDEX imports_by_time ON imports (started_at, id);
CREATE INDEX imports_by_catalog ON imports (catalog, started_at, id);
CREATE INDEX imports_by_outcome ON imports (outcome, started_at, id);
CREATE INDEX imports_running ON imports (id) WHERE outcome = 'running';
-- The metrics ask for the last whole import of each catalog, which may be followed by many that found nothing new.
CREATE INDEX imports_done ON imports (catalog, started_at, id) WHERE outcome = 'done';

-- Access --------------------------------------------------------------------------------------------------------------

-- Keys of clients. A key is stored as the SHA-256 of its text; a session of the pages is a key that was made from another
-- one, and ends with it.
CREATE TABLE api_keys (
    id         blob PRIMARY KEY,
    name       text NOT NULL,
    scope      text NOT NULL,
    hash       blob NOT NULL UNIQUE,
    made_from  blob REFERENCES api_keys (id),
    created_at text NOT NULL,
    expires_at text,
    revoked_at text
) STRICT;
-- A revoked key gives its name back.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL AND made_from IS NULL;
CREATE INDEX api_keys_by_origin ON api_keys (made_from) WHERE made_from IS NOT NULL;

-- Who changed what, in the order of writing. A row is written in the transaction of the change that it records.
CREATE TABLE audit (
    sequence   integer PRIMARY KEY,
    at         text NOT NULL,
    -- Kind of the caller: key, user, anonymous, command_line or service.
    caller     text NOT NULL,
    key_id     blob,
    name       text,
    action     text NOT NULL,
    -- The id of the changed thing, and its name for people.
    subject_id blob NOT NULL,
    subject    text NOT NULL,
    request_id text
) STRICT;

-- Names ---------------------------------------------------------------------------------------------------------------

-- Names of offers for search: `q` of the lists, and `GET /search`. Keys are names in small letters (of the letters of
-- ASCII), whole and without the seller before the last `/`.

-- The keys of every offer: which offers have a name that begins in some way.
CREATE TABLE offer_names (
    name_key text NOT NULL,
    provider text NOT NULL,
    model    text NOT NULL
) STRICT;
CREATE INDEX offer_names_by_key ON offer_names (name_key);
CREATE INDEX offer_names_by_model ON offer_names (provider, model);

-- The names themselves, each once, for suggestions.
CREATE TABLE names (
    kind     text NOT NULL CHECK (kind IN ('provider', 'canonical_model', 'model')),
    name_key text NOT NULL,
    name     text NOT NULL,
    PRIMARY KEY (kind, name_key, name)
) STRICT;

-- Every key of every sheet and of every pooled estimate, by the number under which it was stored. An alias is another
-- spelling of its model.
CREATE VIEW spellings AS
SELECT sequence, provider, model, kind, name,
       lower(CASE WHEN is_whole = 1 THEN spelling
                  ELSE substr(spelling, length(rtrim(spelling, replace(spelling, '/', ''))) + 1) END) AS name_key
FROM (
    SELECT sequence, provider, model, 'provider' AS kind, provider AS name, provider AS spelling FROM price_sheets
    UNION ALL
    SELECT sequence, provider, model, 'canonical_model', canonical_model, canonical_model FROM price_sheets
    UNION ALL
    SELECT sequence, provider, model, 'model', model, model FROM price_sheets
    UNION ALL
    SELECT sequence, provider, model, 'model', model, alias.value FROM price_sheets, json_each(document, '$.aliases') AS alias
    UNION ALL
    SELECT sequence, provider, model, 'provider', provider, provider FROM estimate_listings WHERE sheet_id IS NULL
    UNION ALL
    SELECT sequence, provider, model, 'canonical_model', canonical_model, canonical_model
    FROM estimate_listings WHERE sheet_id IS NULL
    UNION ALL
    SELECT sequence, provider, model, 'model', model, model FROM estimate_listings WHERE sheet_id IS NULL) AS named
CROSS JOIN (SELECT 1 AS is_whole UNION ALL SELECT 0) AS forms
WHERE name IS NOT NULL;

CREATE TRIGGER add_names_of_sheets AFTER INSERT ON price_sheets BEGIN
    INSERT INTO offer_names (name_key, provider, model)
    SELECT DISTINCT name_key, provider, model FROM spellings AS said
    WHERE sequence = NEW.sequence AND NOT EXISTS (
        SELECT 1 FROM offer_names AS known
        WHERE known.provider = said.provider AND known.model = said.model AND known.name_key = said.name_key);
    INSERT INTO names (kind, name_key, name)
    SELECT DISTINCT kind, name_key, name FROM spellings WHERE sequence = NEW.sequence
    ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER add_canonical_names AFTER UPDATE OF canonical_model ON price_sheets BEGIN
    INSERT INTO offer_names (name_key, provider, model)
    SELECT DISTINCT name_key, provider, model FROM spellings AS said
    WHERE sequence = NEW.sequence AND NOT EXISTS (
        SELECT 1 FROM offer_names AS known
        WHERE known.provider = said.provider AND known.model = said.model AND known.name_key = said.name_key);
    INSERT INTO names (kind, name_key, name)
    SELECT DISTINCT kind, name_key, name FROM spellings WHERE sequence = NEW.sequence
    ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER add_names_of_pools AFTER INSERT ON estimate_listings WHEN NEW.sheet_id IS NULL BEGIN
    INSERT INTO offer_names (name_key, provider, model)
    SELECT DISTINCT name_key, provider, model FROM spellings AS said
    WHERE sequence = NEW.sequence AND NOT EXISTS (
        SELECT 1 FROM offer_names AS known
        WHERE known.provider = said.provider AND known.model = said.model AND known.name_key = said.name_key);
    INSERT INTO names (kind, name_key, name)
    SELECT DISTINCT kind, name_key, name FROM spellings WHERE sequence = NEW.sequence
    ON CONFLICT DO NOTHING;
END;

-- Times of storing ----------------------------------------------------------------------------------------------------

-- The first and the last time of each 4,096 rows in the order of storing: a list between two times begins and ends there.
-- The time of a row does not follow from its number, since an older catalog may be imported later.
CREATE TABLE stored_times (
    list     text NOT NULL,
    block    integer NOT NULL,
    earliest text NOT NULL,
    latest   text NOT NULL,
    PRIMARY KEY (list, block)
) STRICT, WITHOUT ROWID;

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
