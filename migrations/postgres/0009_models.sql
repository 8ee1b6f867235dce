-- One estimate per model, from all of its sheets: every host and every period. Its document is a row of `estimates`, the
-- sheets that it read are those of `estimate_sheets`, and it is listed under the provider `model`.
CREATE TABLE model_estimates (
    sequence        bigint PRIMARY KEY,
    estimate_id     uuid NOT NULL REFERENCES estimates (id),
    canonical_model text COLLATE "C" NOT NULL,
    author          text COLLATE "C" NOT NULL,
    calibration_id  text COLLATE "C" NOT NULL,
    -- Sheets of the model, and separate pricing decisions among them.
    sheets          bigint NOT NULL,
    decisions       bigint NOT NULL,
    -- When the newest of its sheets was first seen.
    observed_at     timestamptz NOT NULL
);
CREATE INDEX model_estimates_by_model ON model_estimates (canonical_model, sequence);
CREATE INDEX model_estimates_by_author ON model_estimates (author, canonical_model);

-- Models whose sheets have changed since they were estimated, with the version of the store that changed them.
CREATE TABLE models_due (
    canonical_model text COLLATE "C" PRIMARY KEY,
    mark            bigint NOT NULL
);
INSERT INTO models_due (canonical_model, mark)
SELECT DISTINCT canonical_model, 0 FROM price_sheets WHERE canonical_model IS NOT NULL;

-- A period that is written or gone may be another set of sheets. The periods of a statement are looked at together.
CREATE FUNCTION mark_models_of_periods() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT DISTINCT canonical_model, version
    FROM changed JOIN price_sheets ON price_sheets.id = changed.sheet_id CROSS JOIN store_version
    WHERE canonical_model IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_models_of_new_periods AFTER INSERT ON price_periods REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_models_of_periods();
CREATE TRIGGER mark_models_of_gone_periods AFTER DELETE ON price_periods REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_models_of_periods();

CREATE FUNCTION mark_models_of_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT DISTINCT canonical_model, version FROM price_sheets CROSS JOIN store_version
    WHERE price_sheets.id IN (OLD.sheet_id, NEW.sheet_id) AND canonical_model IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_models_of_changed_periods AFTER UPDATE OF sheet_id, withdrawn_at ON price_periods
    FOR EACH ROW WHEN (OLD.sheet_id <> NEW.sheet_id OR OLD.withdrawn_at IS DISTINCT FROM NEW.withdrawn_at)
    EXECUTE FUNCTION mark_models_of_period();

CREATE FUNCTION mark_models_of_named_sheet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO models_due (canonical_model, mark)
    SELECT name, version FROM (SELECT OLD.canonical_model AS name UNION SELECT NEW.canonical_model) AS named
    CROSS JOIN store_version WHERE name IS NOT NULL
    ON CONFLICT (canonical_model) DO UPDATE SET mark = excluded.mark;
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_models_of_named_sheets AFTER UPDATE OF canonical_model ON price_sheets
    FOR EACH ROW WHEN (OLD.canonical_model IS DISTINCT FROM NEW.canonical_model)
    EXECUTE FUNCTION mark_models_of_named_sheet();
