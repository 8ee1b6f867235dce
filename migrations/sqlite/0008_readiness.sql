-- One row that is written only to learn whether the database takes writes.
CREATE TABLE readiness (
    id     integer PRIMARY KEY CHECK (id = 1),
    probes integer NOT NULL,
    -- As much as a write of ordinary size, while writes are refused.
    filler text
) STRICT;
INSERT INTO readiness (id, probes) VALUES (1, 0);
