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
INSERT INTO models_due (canonical_model, mark)
SELECT DISTINCT canonical_model, 0 FROM price_sheets WHERE canonical_model IS NOT NULL;

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
