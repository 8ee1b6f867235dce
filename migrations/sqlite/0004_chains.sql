-- Chains of hashes over the two logs: the link of a row is the SHA-256 of the link before it and of the row's contents.

-- The link of the newest row of each log, and the link before the oldest kept row. The lock of the version is that of the chains.
ALTER TABLE store_version ADD COLUMN changes_link blob NOT NULL DEFAULT x'';
ALTER TABLE store_version ADD COLUMN changes_begin blob NOT NULL DEFAULT x'';
ALTER TABLE store_version ADD COLUMN audit_link blob NOT NULL DEFAULT x'';
ALTER TABLE store_version ADD COLUMN audit_begin blob NOT NULL DEFAULT x'';
-- The number of the newest row of the audit log, which its link covers.
ALTER TABLE store_version ADD COLUMN audit_sequence integer NOT NULL DEFAULT 0;
UPDATE store_version SET audit_sequence = (SELECT coalesce(max(sequence), 0) FROM audit);

-- Null in rows that are older than the chains.
ALTER TABLE changes ADD COLUMN link blob;
ALTER TABLE audit ADD COLUMN link blob;
