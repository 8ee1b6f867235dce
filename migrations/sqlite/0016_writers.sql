-- The newest migration, and the program that applied it, in the row that every transaction that writes reads or locks: an older
-- program, which does not know that migration, refuses to write.
ALTER TABLE store_version ADD COLUMN migration integer NOT NULL DEFAULT 0;
ALTER TABLE store_version ADD COLUMN program text;
DROP TABLE program;
