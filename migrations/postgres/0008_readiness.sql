-- One row that is written only to learn whether the database takes writes.
CREATE TABLE readiness (
    id     bigint PRIMARY KEY CHECK (id = 1),
    probes bigint NOT NULL,
    -- As much as a write of ordinary size, while writes are refused.
    filler text COLLATE "C"
);
-- Compressed, it would be small.
ALTER TABLE readiness ALTER COLUMN filler SET STORAGE EXTERNAL;
INSERT INTO readiness (id, probes) VALUES (1, 0);
