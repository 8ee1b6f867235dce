-- Beside each document the first 16 bytes of its SHA-256. The program gives them to what is stored already.
ALTER TABLE estimates ADD COLUMN checksum blob;
ALTER TABLE price_sheets ADD COLUMN checksum blob;
CREATE INDEX estimates_without_checksum ON estimates (sequence) WHERE checksum IS NULL;
CREATE INDEX price_sheets_without_checksum ON price_sheets (sequence) WHERE checksum IS NULL;
