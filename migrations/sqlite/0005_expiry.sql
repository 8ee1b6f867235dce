-- Questions expire: when each was stored, and what their deletion looks up.

-- When a question was stored, which may ask about an earlier price; null for a price.
ALTER TABLE estimate_listings ADD COLUMN recorded_at text;
-- Questions that are stored already are kept as long as one that is stored now.
UPDATE estimate_listings SET recorded_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' WHERE observed = FALSE;
CREATE INDEX estimate_listings_of_questions ON estimate_listings (recorded_at, sequence) WHERE observed = FALSE;

-- References to an estimate or a sheet that is to be deleted are looked for in these.
CREATE INDEX estimate_listings_by_original ON estimate_listings (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX model_estimates_by_estimate ON model_estimates (estimate_id);
CREATE INDEX disagreements_by_sheet ON disagreements (sheet_id);
CREATE INDEX disagreements_by_other_sheet ON disagreements (other_sheet_id);
