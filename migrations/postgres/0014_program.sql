-- The program that applied the newest migration. An older one, which does not know that migration, names it when it refuses to
-- write.
CREATE TABLE program (
    id        bigint PRIMARY KEY CHECK (id = 1),
    migration bigint NOT NULL,
    version   text COLLATE "C" NOT NULL
);
INSERT INTO program (id, migration, version) VALUES (1, 0, '');
