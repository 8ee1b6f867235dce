-- The program that applied the newest migration. An older one, which does not know that migration, names it when it refuses to
-- write.
CREATE TABLE program (
    id        integer PRIMARY KEY CHECK (id = 1),
    migration integer NOT NULL,
    version   text NOT NULL
) STRICT;
INSERT INTO program (id, migration, version) VALUES (1, 0, '');
