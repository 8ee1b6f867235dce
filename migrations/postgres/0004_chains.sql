-- Chains of hashes over the two logs: the link of a row is the SHA-256 of the link before it and of the row's contents.

-- The link of the newest row of each log, and the link before the oldest kept row. The lock of the version is that of the chains.
ALTER TABLE store_version ADD COLUMN changes_link bytea NOT NULL DEFAULT '';
ALTER TABLE store_version ADD COLUMN changes_begin bytea NOT NULL DEFAULT '';
ALTER TABLE store_version ADD COLUMN audit_link bytea NOT NULL DEFAULT '';
ALTER TABLE store_version ADD COLUMN audit_begin bytea NOT NULL DEFAULT '';
-- The number of the newest row of the audit log, which its link covers.
ALTER TABLE store_version ADD COLUMN audit_sequence bigint NOT NULL DEFAULT 0;
UPDATE store_version SET audit_sequence = (SELECT coalesce(max(sequence), 0) FROM audit);

-- Null in rows that are older than the chains.
ALTER TABLE changes ADD COLUMN link bytea;
ALTER TABLE audit ADD COLUMN link bytea;
-- The program numbers the rows of the audit log, since the link of a row covers its number.
ALTER TABLE audit ALTER COLUMN sequence DROP IDENTITY;
