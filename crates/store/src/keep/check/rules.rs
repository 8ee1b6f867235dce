//! Rules between the rows of tables: each finds rows that do not follow from other ones, and most derive them again.

use sqlx::FromRow;

use crate::connect::query::Query;
use crate::connect::version::take_numbers;
use crate::{Store, StoreError};

/// Rows of a table that must follow from other tables, in windows of numbers: `$1 < number <= $2`.
#[derive(Debug)]
pub struct Rule {
    /// The table that a broken row is in.
    pub table: &'static str,
    /// The fault of a row, in words.
    pub detail: &'static str,
    /// Gives the numbers of broken rows.
    find: &'static str,
    /// Derives the rows again; none where they cannot be.
    mend: Option<&'static str>,
}

/// Rows of a table of names that nothing has: they are looked at once, with the first window.
macro_rules! surplus {
    ($table:literal, $columns:literal, $detail:literal) => {
        Rule {
            table: $table,
            detail: $detail,
            find: concat!(
                "SELECT CAST(0 AS bigint) FROM store_version WHERE $1 < 0 AND $2 > 0 AND EXISTS (SELECT ", $columns, " FROM ",
                $table, " EXCEPT SELECT ", $columns, " FROM spellings)"
            ),
            mend: Some(concat!(
                "DELETE FROM ", $table, " WHERE $1 < 0 AND $2 > 0 AND (", $columns, ") IN (SELECT ", $columns, " FROM ",
                $table, " EXCEPT SELECT ", $columns, " FROM spellings)"
            )),
        }
    };
}

/// Rows that were seen outside the times that are noted of their block of a list.
macro_rules! outside_times {
    ($table:literal, $list:literal, $detail:literal) => {
        Rule {
            table: $table,
            detail: $detail,
            find: concat!(
                "SELECT sequence FROM ", $table, " AS own
                 WHERE sequence > $1 AND sequence <= $2
                   AND NOT EXISTS (
                       SELECT 1 FROM stored_times AS noted
                       WHERE noted.list = '", $list, "' AND noted.block = own.sequence / 4096
                         AND earliest <= own.observed_at AND latest >= own.observed_at)"
            ),
            mend: Some(concat!(
                "INSERT INTO stored_times (list, block, earliest, latest)
                 SELECT '", $list, "', sequence / 4096, min(observed_at), max(observed_at) FROM ", $table, "
                 WHERE sequence / 4096 >= $1 / 4096 AND sequence / 4096 <= $2 / 4096 GROUP BY sequence / 4096
                 ON CONFLICT (list, block) DO UPDATE SET earliest = excluded.earliest, latest = excluded.latest"
            )),
        }
    };
}

/// The rules, in the order in which rows are derived from each other.
pub const RULES: &[Rule] = &[
    Rule {
        table: "price_sheets",
        detail: "a source states the sheet, which is kept as that of a question",
        find: "
            SELECT sequence FROM price_sheets AS sheet
            WHERE sequence > $1 AND sequence <= $2 AND observed = FALSE
              AND EXISTS (SELECT 1 FROM observations WHERE observations.sheet_id = sheet.id)",
        mend: Some(
            "UPDATE price_sheets SET observed = TRUE
             WHERE sequence > $1 AND sequence <= $2 AND observed = FALSE
               AND EXISTS (SELECT 1 FROM observations WHERE observations.sheet_id = price_sheets.id)",
        ),
    },
    Rule {
        table: "estimate_listings",
        detail: "it names another sheet than its estimate was drawn from",
        find: "
            SELECT listing.sequence FROM estimate_listings AS listing JOIN estimates ON estimates.id = listing.estimate_id
            WHERE listing.sequence > $1 AND listing.sequence <= $2 AND listing.sheet_id IS NOT NULL
              AND duplicate_of IS NULL AND estimates.sequence = listing.sequence
              AND NOT EXISTS (
                  SELECT 1 FROM estimate_sheets AS drawn
                  WHERE drawn.estimate_id = listing.estimate_id AND drawn.sheet_id = listing.sheet_id)",
        mend: Some(
            "UPDATE estimate_listings SET sheet_id = drawn.sheet_id
             FROM estimates, estimate_sheets AS drawn
             WHERE estimate_listings.sequence > $1 AND estimate_listings.sequence <= $2
               AND estimate_listings.sheet_id IS NOT NULL AND duplicate_of IS NULL
               AND estimates.id = estimate_listings.estimate_id AND estimates.sequence = estimate_listings.sequence
               AND drawn.estimate_id = estimates.id
               AND NOT EXISTS (
                   SELECT 1 FROM estimate_sheets AS other
                   WHERE other.estimate_id = estimates.id
                     AND (other.sheet_id <> drawn.sheet_id OR other.sheet_id = estimate_listings.sheet_id))",
        ),
    },
    Rule {
        table: "estimate_listings",
        detail: "its estimate is that of another sheet",
        find: "
            SELECT listing.sequence FROM estimate_listings AS listing
            WHERE listing.sequence > $1 AND listing.sequence <= $2 AND listing.sheet_id IS NOT NULL
              AND NOT EXISTS (
                  SELECT 1 FROM estimate_sheets AS drawn
                  WHERE drawn.estimate_id = listing.estimate_id
                    AND drawn.sheet_id = coalesce(listing.duplicate_of, listing.sheet_id))",
        // Of a copy, either link may be the broken one.
        mend: Some(
            "UPDATE estimate_listings SET estimate_id = estimates.id
             FROM estimates
             WHERE estimate_listings.sequence > $1 AND estimate_listings.sequence <= $2
               AND estimate_listings.sheet_id IS NOT NULL AND duplicate_of IS NULL
               AND estimates.sequence = estimate_listings.sequence
               AND EXISTS (
                   SELECT 1 FROM estimate_sheets AS drawn
                   WHERE drawn.estimate_id = estimates.id AND drawn.sheet_id = estimate_listings.sheet_id)
               AND NOT EXISTS (
                   SELECT 1 FROM estimate_sheets AS drawn
                   WHERE drawn.estimate_id = estimate_listings.estimate_id
                     AND drawn.sheet_id = estimate_listings.sheet_id)",
        ),
    },
    Rule {
        table: "estimate_listings",
        detail: "its estimate was stored with another listing",
        find: "
            SELECT listing.sequence
            FROM estimate_listings AS listing JOIN estimates AS own ON own.sequence = listing.sequence
            WHERE listing.sequence > $1 AND listing.sequence <= $2 AND listing.estimate_id <> own.id
              AND (listing.sheet_id IS NULL OR EXISTS (
                  SELECT 1 FROM estimate_sheets AS drawn
                  WHERE drawn.estimate_id = own.id AND drawn.sheet_id = listing.sheet_id))
              AND (listing.sheet_id IS NULL OR duplicate_of IS NULL)",
        mend: Some(
            "UPDATE estimate_listings SET estimate_id = own.id
             FROM estimates AS own
             WHERE estimate_listings.sequence > $1 AND estimate_listings.sequence <= $2
               AND own.sequence = estimate_listings.sequence AND estimate_listings.estimate_id <> own.id
               AND (estimate_listings.sheet_id IS NULL OR EXISTS (
                   SELECT 1 FROM estimate_sheets AS drawn
                   WHERE drawn.estimate_id = own.id AND drawn.sheet_id = estimate_listings.sheet_id))
               AND (estimate_listings.sheet_id IS NULL OR duplicate_of IS NULL)",
        ),
    },
    Rule {
        table: "estimates",
        detail: "its listing is missing",
        find: "
            SELECT sequence FROM estimates
            WHERE sequence > $1 AND sequence <= $2 AND substr(document, 1, 200) NOT LIKE '%\"of\":\"model\"%'
              AND NOT EXISTS (
                  SELECT 1 FROM estimate_listings AS listing WHERE listing.estimate_id = estimates.id)",
        // An estimate with assumptions is the answer to a question. The time of the sheet stands for that of the question, which is
        // lost, and the question expires from it.
        mend: Some(
            "INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, provider, model, canonical_model,
                                            region, currency, valid_from, valid_to, observed_at, stated_assumptions,
                                            observed, recorded_at)
             SELECT estimates.sequence, estimates.id, sheet.offer_id, sheet.id, sheet.provider, sheet.model,
                    sheet.canonical_model, sheet.region, sheet.currency, sheet.valid_from, sheet.valid_to,
                    sheet.observed_at, document.has_assumptions, sheet.observed AND NOT document.has_assumptions,
                    CASE WHEN document.has_assumptions OR NOT sheet.observed THEN sheet.observed_at END
             FROM estimates JOIN estimate_sheets AS drawn ON drawn.estimate_id = estimates.id
             JOIN price_sheets AS sheet ON sheet.id = drawn.sheet_id
             JOIN (SELECT id, document NOT LIKE '%\"assumptions\":{}%' AS has_assumptions FROM estimates
                   WHERE sequence > $1 AND sequence <= $2) AS document ON document.id = estimates.id
             WHERE estimates.sequence > $1 AND estimates.sequence <= $2
               AND (SELECT count(*) FROM estimate_sheets AS other WHERE other.estimate_id = estimates.id) = 1
               AND substr(estimates.document, 1, 200) NOT LIKE '%\"of\":\"model\"%'
               AND NOT EXISTS (
                   SELECT 1 FROM estimate_listings AS listing WHERE listing.estimate_id = estimates.id)",
        ),
    },
    Rule {
        table: "price_sheets",
        detail: "its listing is missing",
        find: "
            SELECT sequence FROM price_sheets AS sheet
            WHERE sequence > $1 AND sequence <= $2 AND observed = TRUE
              AND NOT EXISTS (SELECT 1 FROM estimate_listings AS listing WHERE listing.sheet_id = sheet.id)
              AND NOT EXISTS (SELECT 1 FROM estimate_sheets AS drawn WHERE drawn.sheet_id = sheet.id)",
        mend: None,
    },
    Rule {
        table: "estimate_listings",
        detail: "its estimate has other assumptions than it says",
        find: "
            SELECT listing.sequence FROM estimate_listings AS listing JOIN estimates ON estimates.id = listing.estimate_id
            WHERE listing.sequence > $1 AND listing.sequence <= $2
              AND substr(document, 1, 200) NOT LIKE '%\"of\":\"model\"%'
              AND stated_assumptions <> (document NOT LIKE '%\"assumptions\":{}%')",
        mend: Some(
            "UPDATE estimate_listings SET stated_assumptions = (document NOT LIKE '%\"assumptions\":{}%')
             FROM estimates
             WHERE estimate_listings.sequence > $1 AND estimate_listings.sequence <= $2
               AND estimates.id = estimate_listings.estimate_id
               AND substr(document, 1, 200) NOT LIKE '%\"of\":\"model\"%'",
        ),
    },
    Rule {
        table: "model_estimates",
        detail: "it names another estimate than was stored with it",
        find: "
            SELECT of_model.sequence
            FROM model_estimates AS of_model JOIN estimates AS own ON own.sequence = of_model.sequence
            WHERE of_model.sequence > $1 AND of_model.sequence <= $2 AND of_model.estimate_id <> own.id",
        mend: Some(
            "UPDATE model_estimates SET estimate_id = own.id FROM estimates AS own
             WHERE model_estimates.sequence > $1 AND model_estimates.sequence <= $2
               AND own.sequence = model_estimates.sequence",
        ),
    },
    Rule {
        table: "price_periods",
        detail: "other than in its sheet: provider, model, region, offer or identity of the prices",
        find: "
            SELECT period.sequence FROM price_periods AS period JOIN price_sheets AS sheet ON sheet.id = period.sheet_id
            WHERE period.sequence > $1 AND period.sequence <= $2
              AND (period.provider <> sheet.provider OR period.model <> sheet.model OR period.region <> sheet.region
                   OR period.offer_id <> sheet.offer_id OR period.price_id <> sheet.price_id)",
        mend: Some(
            "UPDATE price_periods
             SET provider = sheet.provider, model = sheet.model, region = sheet.region, offer_id = sheet.offer_id,
                 price_id = sheet.price_id
             FROM price_sheets AS sheet
             WHERE price_periods.sequence > $1 AND price_periods.sequence <= $2 AND sheet.id = price_periods.sheet_id
               AND (price_periods.provider <> sheet.provider OR price_periods.model <> sheet.model
                    OR price_periods.region <> sheet.region OR price_periods.offer_id <> sheet.offer_id
                    OR price_periods.price_id <> sheet.price_id)",
        ),
    },
    Rule {
        table: "estimate_listings",
        detail: "other than in the estimate of its model",
        find: "
            SELECT listing.sequence
            FROM estimate_listings AS listing JOIN model_estimates AS of_model ON of_model.sequence = listing.sequence
            WHERE listing.sequence > $1 AND listing.sequence <= $2
              AND (listing.estimate_id <> of_model.estimate_id OR listing.provider <> 'model'
                   OR listing.model <> of_model.canonical_model OR listing.region <> 'global'
                   OR listing.canonical_model IS DISTINCT FROM of_model.canonical_model OR listing.currency <> 'USD'
                   OR listing.observed_at <> of_model.observed_at OR listing.stated_assumptions = TRUE
                   OR listing.observed = FALSE)",
        mend: Some(
            "UPDATE estimate_listings
             SET estimate_id = of_model.estimate_id, provider = 'model', model = of_model.canonical_model,
                 region = 'global', canonical_model = of_model.canonical_model, currency = 'USD',
                 observed_at = of_model.observed_at, stated_assumptions = FALSE, observed = TRUE
             FROM model_estimates AS of_model
             WHERE estimate_listings.sequence > $1 AND estimate_listings.sequence <= $2
               AND of_model.sequence = estimate_listings.sequence",
        ),
    },
    Rule {
        table: "model_estimates",
        detail: "its listing is missing",
        find: "
            SELECT sequence FROM model_estimates AS of_model
            WHERE sequence > $1 AND sequence <= $2
              AND NOT EXISTS (SELECT 1 FROM estimate_listings AS listing WHERE listing.sequence = of_model.sequence)",
        mend: Some(
            "INSERT INTO estimate_listings (sequence, estimate_id, provider, model, canonical_model, region, currency,
                                            observed_at, stated_assumptions, observed)
             SELECT sequence, estimate_id, 'model', canonical_model, canonical_model, 'global', 'USD', observed_at, FALSE,
                    TRUE
             FROM model_estimates AS of_model
             WHERE sequence > $1 AND sequence <= $2
               AND NOT EXISTS (SELECT 1 FROM estimate_listings AS listing WHERE listing.sequence = of_model.sequence)",
        ),
    },
    Rule {
        table: "estimate_listings",
        detail: "the row of its model is missing",
        find: "
            SELECT listing.sequence FROM estimate_listings AS listing
            WHERE listing.sequence > $1 AND listing.sequence <= $2 AND sheet_id IS NULL AND provider = 'model'
              AND NOT EXISTS (SELECT 1 FROM model_estimates AS of_model WHERE of_model.sequence = listing.sequence)",
        mend: None,
    },
    Rule {
        table: "price_sheets",
        detail: "its names are not found by a search",
        find: "
            SELECT DISTINCT sequence FROM spellings AS said
            WHERE sequence > $1 AND sequence <= $2
              AND NOT EXISTS (
                  SELECT 1 FROM names AS known
                  WHERE known.kind = said.kind AND known.name_key = said.name_key AND known.name = said.name)",
        mend: Some(
            "INSERT INTO names (kind, name_key, name)
             SELECT DISTINCT kind, name_key, name FROM spellings WHERE sequence > $1 AND sequence <= $2
             ON CONFLICT DO NOTHING",
        ),
    },
    Rule {
        table: "price_sheets",
        detail: "its names are not found by a search",
        find: "
            SELECT DISTINCT sequence FROM spellings AS said
            WHERE sequence > $1 AND sequence <= $2
              AND NOT EXISTS (
                  SELECT 1 FROM offer_names AS known
                  WHERE known.provider = said.provider AND known.model = said.model AND known.name_key = said.name_key)",
        mend: Some(
            "INSERT INTO offer_names (name_key, provider, model)
             SELECT DISTINCT name_key, provider, model FROM spellings AS said
             WHERE sequence > $1 AND sequence <= $2
               AND NOT EXISTS (
                   SELECT 1 FROM offer_names AS known
                   WHERE known.provider = said.provider AND known.model = said.model
                     AND known.name_key = said.name_key)",
        ),
    },
    surplus!("names", "kind, name_key, name", "the search finds a name that no sheet and no estimate has"),
    surplus!(
        "offer_names", "name_key, provider, model", "the search finds an offer by a name that no sheet and no estimate has"
    ),
    outside_times!("price_sheets", "price_sheets", "it was seen outside the noted times of its part of the list"),
    outside_times!("estimate_listings", "estimates", "it was stored outside the noted times of its part of the list"),
    Rule {
        table: "disagreements",
        detail: "other than in its sheet: provider, model, region or offer",
        // Disagreements have no numbers: those of the sheets of the window.
        find: "
            SELECT sheet.sequence FROM disagreements AS open JOIN price_sheets AS sheet ON sheet.id = open.sheet_id
            WHERE sheet.sequence > $1 AND sheet.sequence <= $2
              AND (open.provider <> sheet.provider OR open.model <> sheet.model OR open.region <> sheet.region
                   OR open.offer_id <> sheet.offer_id)",
        mend: Some(
            "UPDATE disagreements
             SET provider = sheet.provider, model = sheet.model, region = sheet.region, offer_id = sheet.offer_id
             FROM price_sheets AS sheet
             WHERE sheet.sequence > $1 AND sheet.sequence <= $2 AND sheet.id = disagreements.sheet_id",
        ),
    },
];

/// Numbers of a window: as many as a block of times has.
const WINDOW: i64 = 4_096;

/// The largest number that any row has, and the version, which is no smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Numbers {
    /// The largest number of a row.
    pub largest: i64,
    /// The version of the store.
    pub version: i64,
}

const LARGEST: &str = "
    SELECT (SELECT max(number) FROM (
                SELECT coalesce(max(sequence), 0) AS number FROM price_sheets
                UNION ALL SELECT coalesce(max(sequence), 0) FROM estimates
                UNION ALL SELECT coalesce(max(sequence), 0) FROM estimate_listings
                UNION ALL SELECT coalesce(max(sequence), 0) FROM model_estimates
                UNION ALL SELECT coalesce(max(sequence), 0) FROM price_periods
                UNION ALL SELECT coalesce(max(sequence), 0) FROM changes) AS numbers) AS largest,
           (SELECT version FROM store_version WHERE id = 1) AS version";

/// The windows of numbers up to the largest one.
pub fn windows(largest: i64) -> impl Iterator<Item = (i64, i64)> {
    let starts = (0..=largest / WINDOW).map(|window| window * WINDOW);
    starts.map(|start| (start - 1, start + WINDOW - 1))
}

impl Rule {
    /// Whether broken rows can be derived again.
    #[must_use]
    pub fn is_derivable(&self) -> bool {
        self.mend.is_some()
    }
}

impl Store {
    /// The largest number of a row, and the version, as of one moment.
    ///
    /// # Errors
    /// The query fails.
    pub async fn numbers(&self) -> Result<Numbers, StoreError> {
        self.one(Query::new(LARGEST)).await
    }

    /// Numbers of the rows of a window that break a rule.
    ///
    /// # Errors
    /// The query fails.
    pub async fn broken(&self, rule: &Rule, window: (i64, i64)) -> Result<Vec<i64>, StoreError> {
        let find = Query::new(rule.find).bind(window.0).bind(window.1);
        let rows: Vec<(i64,)> = self.rows(find).await?;
        Ok(rows.into_iter().map(|(number,)| number).collect())
    }

    /// Derives the rows of a window again, where that can be done.
    ///
    /// # Errors
    /// The query fails; then nothing is changed.
    pub async fn mend_rule(&self, rule: &Rule, window: (i64, i64)) -> Result<(), StoreError> {
        let Some(mend) = rule.mend else {
            return Ok(());
        };
        let mend = Query::new(mend).bind(window.0).bind(window.1);
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection_for_many().await?;
        let mut tx = loan.writing().await?;
        let version = take_numbers(&mut tx, 1).await?.last;
        tx.execute(mend).await?;
        tx.commit().await?;
        self.advance_version(version);
        Ok(())
    }

    /// Raises the version to more than a number.
    ///
    /// # Errors
    /// The query fails.
    pub async fn raise_version(&self, above: i64) -> Result<(), StoreError> {
        const RAISE: &str = "UPDATE store_version SET version = $1 WHERE id = 1 AND version < $1";
        self.write(Query::new(RAISE).bind(above + 1))
            .await
            .map(drop)
    }
}
