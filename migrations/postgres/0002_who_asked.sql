-- Limits of keys and their last use; in the audit log, addresses of callers and refused requests.

-- Lists as JSON texts; null where the key has no such limit.
ALTER TABLE api_keys ADD COLUMN networks text COLLATE "C";
ALTER TABLE api_keys ADD COLUMN providers text COLLATE "C";
-- Written once a minute at most.
ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz;
CREATE INDEX api_keys_by_time ON api_keys (created_at, id) WHERE made_from IS NULL;

ALTER TABLE audit ADD COLUMN address text COLLATE "C";
-- More than one only for refused requests, of which a row counts those of a minute.
ALTER TABLE audit ADD COLUMN requests bigint NOT NULL DEFAULT 1;
