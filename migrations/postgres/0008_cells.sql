-- The priced cells of a sheet, each with its exact price, so that sheets are compared without their documents; null in rows
-- that are older than this column.
ALTER TABLE price_sheets ADD COLUMN cells text COLLATE "C";

-- The price that changed, by the names of rate cells; null where the change is not that of one price, and in older rows.
ALTER TABLE changes ADD COLUMN meter text COLLATE "C";
ALTER TABLE changes ADD COLUMN service_tier text COLLATE "C";
ALTER TABLE changes ADD COLUMN min_prompt_tokens bigint;
ALTER TABLE changes ADD COLUMN ttl_seconds bigint;
ALTER TABLE changes ADD COLUMN schedule text COLLATE "C";
