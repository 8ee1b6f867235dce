-- Three names of 255 characters of four bytes each are more than an index of PostgreSQL takes. Two tell offers apart
-- nearly as well.
DROP INDEX price_sheets_by_offer;
CREATE INDEX price_sheets_by_offer ON price_sheets (provider, model, sequence);
DROP INDEX estimates_by_offer;
CREATE INDEX estimates_by_offer ON estimates (provider, model, sequence);
