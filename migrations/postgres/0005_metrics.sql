-- The metrics ask for the last whole import of each catalog, which may be followed by many that found nothing new.
CREATE INDEX imports_done ON imports (catalog, started_at, id) WHERE outcome = 'done';
