-- The priced cells of a sheet, each with its exact price, so that sheets are compared without their documents; null in rows
-- that are older than this column.
ALTER TABLE price_sheets ADD COLUMN cells text COLLATE "C";
