//! The chains of hashes over the changes and the audit log, followed from the oldest kept row to the newest.

use sqlx::FromRow;
use uuid::Uuid;

use super::fault::{Fault, Subject};
use crate::connect::query::Query;
use crate::connect::rows::FromEitherRow;
use crate::connect::value::Value;
use crate::keep::chain::link;
use crate::{DbTime, Store, StoreError};

/// Rows that are followed at once.
const PAGE: i64 = 1_000;

/// Result of following both chains to their ends.
#[derive(Debug, Default)]
pub struct Chains {
    /// Links that were followed.
    pub links: usize,
    /// Links of the newest rows of the changes and of the audit log; empty before the first.
    pub heads: [Vec<u8>; 2],
    /// Whether the expected link is in one of the chains.
    pub has_expected: bool,
    /// Rows that do not follow from the row before, and ends that are missing.
    pub faults: Vec<Fault>,
}

/// A chain that is followed.
struct Chain<'a> {
    table: &'static str,
    /// The link before the next row.
    before: Vec<u8>,
    has_begun: bool,
    head: Vec<u8>,
    has_head: bool,
    expected: &'a [u8],
    found: Chains,
}

#[derive(Debug, FromRow)]
struct EndsRow {
    changes_begin: Vec<u8>,
    changes_link: Vec<u8>,
    audit_begin: Vec<u8>,
    audit_link: Vec<u8>,
}

/// A row of the changes, with all that its link covers. Its times are not among that: a clock that was ahead is put back.
#[derive(Debug, FromRow)]
struct ChangeRow {
    sequence: i64,
    kind: String,
    provider: String,
    model: String,
    canonical_model: Option<String>,
    region: String,
    sheet_id: Option<Uuid>,
    estimate_id: Option<Uuid>,
    summary: String,
    cell: Option<String>,
    old_value: Option<f64>,
    new_value: Option<f64>,
    factor: Option<f64>,
    in_force: bool,
    previous_sheet_id: Option<Uuid>,
    meter: Option<String>,
    service_tier: Option<String>,
    min_prompt_tokens: Option<i64>,
    ttl_seconds: Option<i64>,
    schedule: Option<String>,
    link: Option<Vec<u8>>,
}

/// A row of the audit log, likewise.
#[derive(Debug, FromRow)]
struct EntryRow {
    sequence: i64,
    at: DbTime,
    caller: String,
    key_id: Option<Uuid>,
    name: Option<String>,
    action: String,
    subject_id: Uuid,
    subject: String,
    request_id: Option<String>,
    address: Option<String>,
    requests: i64,
    link: Option<Vec<u8>>,
}

const ENDS: &str =
    "SELECT changes_begin, changes_link, audit_begin, audit_link FROM store_version WHERE id = 1";
const CHANGES: &str = "SELECT * FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2";
const ENTRIES: &str = "SELECT * FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2";

/// A row of a log: its number, its link, and the contents that the link covers in the order in which they were written.
type Linked<'a> = (i64, Option<&'a [u8]>, Vec<Value<'a>>);

impl ChangeRow {
    fn linked(&self) -> Linked<'_> {
        let contents = vec![
            self.sequence.into(),
            (&self.kind).into(),
            (&self.provider).into(),
            (&self.model).into(),
            self.canonical_model.as_deref().into(),
            (&self.region).into(),
            self.sheet_id.into(),
            self.estimate_id.into(),
            (&self.summary).into(),
            self.cell.as_deref().into(),
            self.old_value.into(),
            self.new_value.into(),
            self.factor.into(),
            self.in_force.into(),
            self.previous_sheet_id.into(),
            self.meter.as_deref().into(),
            self.service_tier.as_deref().into(),
            self.min_prompt_tokens.into(),
            self.ttl_seconds.into(),
            self.schedule.as_deref().into(),
        ];
        (self.sequence, self.link.as_deref(), contents)
    }
}

impl EntryRow {
    fn linked(&self) -> Linked<'_> {
        let contents = vec![
            self.sequence.into(),
            self.at.into(),
            (&self.caller).into(),
            self.key_id.into(),
            self.name.as_deref().into(),
            (&self.action).into(),
            self.subject_id.into(),
            (&self.subject).into(),
            self.request_id.as_deref().into(),
            self.address.as_deref().into(),
            self.requests.into(),
        ];
        (self.sequence, self.link.as_deref(), contents)
    }
}

impl<'a> Chain<'a> {
    fn new(table: &'static str, before: Vec<u8>, head: Vec<u8>, expected: &'a [u8]) -> Self {
        let is_expected = |link: &[u8]| !link.is_empty() && link == expected;
        Self {
            table,
            has_begun: !before.is_empty(),
            has_head: before == head,
            expected,
            found: Chains {
                has_expected: is_expected(&before),
                ..Chains::default()
            },
            before,
            head,
        }
    }

    fn follow(&mut self, (sequence, stored, contents): Linked<'_>) {
        // Rows that are older than the chain have no link.
        if stored.is_none() && !self.has_begun {
            return;
        }
        self.has_begun = true;
        let stored = stored.unwrap_or_default();
        if link(&self.before, &contents) != stored {
            self.found.faults.push(Fault {
                subject: Subject::Row(self.table, sequence),
                detail: "it was changed, or the row before it was removed or changed".to_owned(),
            });
        }
        self.found.links += 1;
        self.has_head |= stored == self.head;
        self.found.has_expected |= !stored.is_empty() && stored == self.expected;
        self.before = stored.to_vec();
    }

    /// Ends the chain: its newest row must have been met.
    fn end(mut self) -> Chains {
        if !self.has_head {
            self.found.faults.push(Fault {
                subject: Subject::Table(self.table),
                detail: "its newest row is missing, or another one than was noted".to_owned(),
            });
        }
        self.found
    }
}

impl Store {
    /// Follows the chains from the oldest kept rows to the newest ones, and looks for an expected link.
    ///
    /// # Errors
    /// The query fails.
    pub async fn check_chains(&self, expected: &[u8]) -> Result<Chains, StoreError> {
        let ends: EndsRow = self.one(Query::new(ENDS)).await?;
        let heads = [ends.changes_link.clone(), ends.audit_link.clone()];
        let changes = Chain::new("changes", ends.changes_begin, ends.changes_link, expected);
        let changes = self.follow(changes, CHANGES, ChangeRow::linked).await?;
        let audit = Chain::new("audit", ends.audit_begin, ends.audit_link, expected);
        let audit = self.follow(audit, ENTRIES, EntryRow::linked).await?;
        Ok(Chains {
            links: changes.links + audit.links,
            heads,
            has_expected: changes.has_expected || audit.has_expected,
            faults: changes.faults.into_iter().chain(audit.faults).collect(),
        })
    }

    async fn follow<R: FromEitherRow>(
        &self,
        mut chain: Chain<'_>,
        rows: &'static str,
        linked: impl Fn(&R) -> Linked<'_>,
    ) -> Result<Chains, StoreError> {
        let mut after = i64::MIN;
        loop {
            let page: Vec<R> = self.rows(Query::new(rows).bind(after).bind(PAGE)).await?;
            let Some(last) = page.last() else {
                return Ok(chain.end());
            };
            (after, ..) = linked(last);
            for row in &page {
                chain.follow(linked(row));
            }
        }
    }
}
