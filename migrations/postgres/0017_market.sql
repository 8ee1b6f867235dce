-- The prices in force of all models are read from two indexes, without the rows of sheets, which hold their documents.
CREATE INDEX price_sheets_in_market ON price_sheets (currency, canonical_model, id, provider, input_price, output_price);
DROP INDEX price_periods_by_sheet;
CREATE INDEX price_periods_by_sheet ON price_periods (sheet_id, starts_at, ends_at);
