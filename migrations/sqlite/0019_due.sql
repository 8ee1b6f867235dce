-- SQLite takes an index of some rows only for a query that states their condition in the same words. Without it, every write was
-- followed by two reads of all prices, for those that come into force or end next.
DROP INDEX price_periods_to_begin;
DROP INDEX price_periods_to_end;
CREATE INDEX price_periods_to_begin ON price_periods (starts_at) WHERE has_begun = FALSE;
CREATE INDEX price_periods_to_end ON price_periods (ends_at) WHERE has_ended = FALSE;
