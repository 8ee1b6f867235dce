-- The feed of changes by kind, by canonical model and by time.
CREATE INDEX changes_by_kind ON changes (kind, sequence);
CREATE INDEX changes_by_canonical_model ON changes (canonical_model, sequence);
CREATE INDEX changes_by_time ON changes (observed_at, kind);

-- The changes that a webhook is sent, as JSON; null for all.
ALTER TABLE webhooks ADD COLUMN filter text COLLATE "C";
