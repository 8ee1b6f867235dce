-- The entries that an import refused, each with its reason, as JSON; of every source and catalog only those of the last import.
ALTER TABLE imports ADD COLUMN refusals text COLLATE "C";
