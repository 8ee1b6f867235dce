-- Names of offers for search: `q` of the lists, and `GET /search`. Both databases have the same. Keys are names in small
-- letters (of the letters of ASCII), whole and without the seller before the last `/`.

-- The keys of every offer: which offers have a name that begins in some way.
CREATE TABLE offer_names (
    name_key text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    model    text COLLATE "C" NOT NULL
);
CREATE INDEX offer_names_by_key ON offer_names (name_key);
CREATE INDEX offer_names_by_model ON offer_names (provider, model);

-- The names themselves, each once, for suggestions.
CREATE TABLE names (
    kind     text COLLATE "C" NOT NULL CHECK (kind IN ('provider', 'canonical_model', 'model')),
    name_key text COLLATE "C" NOT NULL,
    name     text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, name_key, name)
);

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
    SELECT sequence, provider, model, 'model', model, alias FROM price_sheets
    CROSS JOIN LATERAL json_array_elements_text(document::json -> 'aliases') AS alias
    UNION ALL
    SELECT sequence, provider, model, 'provider', provider, provider FROM estimate_listings WHERE sheet_id IS NULL
    UNION ALL
    SELECT sequence, provider, model, 'canonical_model', canonical_model, canonical_model
    FROM estimate_listings WHERE sheet_id IS NULL
    UNION ALL
    SELECT sequence, provider, model, 'model', model, model FROM estimate_listings WHERE sheet_id IS NULL) AS named
CROSS JOIN (SELECT 1 AS is_whole UNION ALL SELECT 0) AS forms
WHERE name IS NOT NULL;

INSERT INTO offer_names (name_key, provider, model)
SELECT DISTINCT name_key, provider, model FROM spellings;
INSERT INTO names (kind, name_key, name)
SELECT DISTINCT kind, name_key, name FROM spellings;

-- The names of the sheets of one statement. Planned each time: a plan from when the tables were small would read all of
-- them.
CREATE FUNCTION add_names_of_sheets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE $names$
        INSERT INTO offer_names (name_key, provider, model)
        SELECT DISTINCT name_key, provider, model
        FROM added
        CROSS JOIN LATERAL (
            VALUES (provider), (canonical_model), (model)
            UNION ALL
            SELECT json_array_elements_text(document::json -> 'aliases')) AS said (name)
        CROSS JOIN LATERAL (
            VALUES (lower(name)), (lower(substr(name, length(rtrim(name, replace(name, '/', ''))) + 1)))) AS keys (name_key)
        WHERE name IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM offer_names AS known
            WHERE known.provider = added.provider AND known.model = added.model AND known.name_key = keys.name_key)
    $names$;
    INSERT INTO names (kind, name_key, name)
    SELECT DISTINCT kind, name_key, name
    FROM added
    CROSS JOIN LATERAL (
        VALUES ('provider', provider, provider), ('canonical_model', canonical_model, canonical_model),
               ('model', model, model)
        UNION ALL
        SELECT 'model', model, json_array_elements_text(document::json -> 'aliases')) AS said (kind, name, spelling)
    CROSS JOIN LATERAL (
        VALUES (lower(spelling)),
               (lower(substr(spelling, length(rtrim(spelling, replace(spelling, '/', ''))) + 1)))) AS keys (name_key)
    WHERE name IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER add_names_of_sheets AFTER INSERT ON price_sheets REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_names_of_sheets();

-- The names of one sheet or pooled estimate, which is rare.
CREATE FUNCTION add_names_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO offer_names (name_key, provider, model)
    SELECT DISTINCT name_key, provider, model FROM spellings AS said
    WHERE sequence = NEW.sequence AND NOT EXISTS (
        SELECT 1 FROM offer_names AS known
        WHERE known.provider = said.provider AND known.model = said.model AND known.name_key = said.name_key);
    INSERT INTO names (kind, name_key, name)
    SELECT DISTINCT kind, name_key, name FROM spellings WHERE sequence = NEW.sequence
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER add_canonical_names AFTER UPDATE OF canonical_model ON price_sheets
    FOR EACH ROW WHEN (OLD.canonical_model IS DISTINCT FROM NEW.canonical_model) EXECUTE FUNCTION add_names_of_row();
CREATE TRIGGER add_names_of_pools AFTER INSERT ON estimate_listings
    FOR EACH ROW WHEN (NEW.sheet_id IS NULL) EXECUTE FUNCTION add_names_of_row();

-- For each sort of the lists an index in its order.
CREATE INDEX price_sheets_by_input_price ON price_sheets (input_price, sequence);
CREATE INDEX price_sheets_by_output_price ON price_sheets (output_price, sequence);

-- For each filter of the imports an index in the order of the list.
CREATE INDEX imports_by_catalog ON imports (catalog, started_at, id);
CREATE INDEX imports_by_outcome ON imports (outcome, started_at, id);
