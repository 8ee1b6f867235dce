//! Writes the rows of recorded sheets: the same statements on both databases, and one round trip on
//! PostgreSQL.

use std::collections::BTreeSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::announced::{Announced, Change, Disagreement};
use super::checksum::checksum;
use super::names::{ChangeKind, ending, standing, status_name};
use super::offers::{Cut, LookAt, Offer, Seen};
use super::plan::{OfferPlan, Plan, SheetStep, Step};
use super::recording::{EstimateRecord, Recording};
use super::rows::{Connected, Piece, Rows, Statement};
use super::value::Kind::{Bytes, Flag, Id, Number, Real, Text, Time};
use super::work::Work;
use super::{StoreError, known};
use unroof_core::catalog::model_key;
use unroof_core::history::StartBasis;
use unroof_core::sheet::compare::Cells;
use unroof_core::sheet::compare::difference::PriceDifference;
use unroof_core::sheet::{Limits, RateCell};
use unroof_core::units::Decimal;

/// Prepares all statements of a recording before the write lock is taken.
pub(super) async fn prepare(connection: &mut impl Connected) -> Result<(), StoreError> {
    known::prepare(connection).await?;
    connection.prepare_rows(&WRITE).await
}

/// Writes what was planned, numbered from the one after `base`.
pub(super) async fn write(
    connection: &mut impl Connected,
    work: &Work,
    plan: &Plan,
    announced: &Announced,
    base: i64,
) -> Result<(), StoreError> {
    let writing = Writing {
        work,
        recordings: &work.recordings,
        plan,
        announced,
        base,
    };
    connection.write_rows(&WRITE, &writing.rows()).await
}

/// Count of numbers that the rows of a plan take: each table has numbers of its own.
pub(super) fn numbers(work: &Work, plan: &Plan, announced: &Announced) -> i64 {
    let periods = plan.offers.iter().map(|offer| offer.derived.written.len());
    let counts = [
        work.recordings.len(),
        periods.sum(),
        announced.changes.len(),
        1,
    ];
    let most = counts.into_iter().max().unwrap_or_default();
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// The rows that are written.
struct Writing<'a> {
    work: &'a Work,
    recordings: &'a [Recording],
    plan: &'a Plan,
    announced: &'a Announced,
    base: i64,
}

impl<'a> Writing<'a> {
    /// Rows for each piece of [`WRITE`].
    fn rows(&self) -> Vec<Rows<'a>> {
        vec![
            self.sheets(),
            self.documents(),
            self.answered_questions(),
            self.estimates(),
            self.estimate_sheets(),
            self.listings(),
            self.lost_sightings(),
            self.sightings(),
            self.looks(),
            self.read_entries(),
            self.unread_entries(),
            self.withdrawals(),
            self.gone_periods(),
            self.periods(),
            self.settled(),
            self.disagreements(),
            self.changes(),
        ]
    }

    /// Recordings with the steps that do something.
    fn with(&self, does: fn(&Step) -> bool) -> impl Iterator<Item = (&'a Recording, i64)> {
        let steps = self.recordings.iter().zip(&self.plan.steps);
        let numbered = steps.zip(self.base + 1..);
        let found = numbered.filter(move |((_, step), _)| does(step));
        found.map(|((recording, _), number)| (recording, number))
    }

    fn sheets(&self) -> Rows<'a> {
        let row = |(recording, number): (&'a Recording, i64)| {
            let sheet = &recording.sheet;
            let base = sheet.base_rate();
            let price =
                |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
            let document = &self.plan.sheets[&recording.sheet_id];
            vec![
                recording.sheet_id.into(),
                number.into(),
                recording.offer_id().into(),
                model_key(&sheet.model).into(),
                (&sheet.provider).into(),
                (&sheet.model).into(),
                recording.canonical_model.as_deref().into(),
                (&sheet.region).into(),
                (&sheet.currency).into(),
                sheet.valid_from.into(),
                sheet.valid_to.into(),
                recording.observed_at.into(),
                price(|rate| rate.input.as_ref()).into(),
                price(|rate| rate.output.as_ref()).into(),
                price(|rate| rate.cache_read.as_ref()).into(),
                checksum(document).into(),
                document.into(),
                sheet.tariff_id().into(),
                self.plan.misfits.contains(&recording.sheet_id).into(),
                (!self.plan.questions.contains(&recording.sheet_id)).into(),
                sheet.retires_at.into(),
                sheet.status.as_ref().map(status_name).into(),
                (sheet.limits != Limits::default()).into(),
                Cells::of(sheet).to_text().into(),
            ]
        };
        self.with(|step| step.sheet == SheetStep::Insert)
            .map(row)
            .collect()
    }

    /// Documents of known sheets that have other sources or another fit now, as they are in the end.
    fn documents(&self) -> Rows<'a> {
        let ids = |does| self.with(does).map(|(recording, _)| recording.sheet_id);
        let new: BTreeSet<Uuid> = ids(|step| step.sheet == SheetStep::Insert).collect();
        let is_changed =
            |step: &Step| step.sheet == SheetStep::AddSources || step.reveals || step.is_other_fit;
        let changed: BTreeSet<Uuid> = ids(is_changed).collect();
        let row = |id: &Uuid| {
            let document = &self.plan.sheets[id];
            vec![
                (*id).into(),
                document.into(),
                checksum(document).into(),
                self.plan.misfits.contains(id).into(),
            ]
        };
        changed.difference(&new).map(row).collect()
    }

    /// Sheets of questions that a source states now: their listings are those of a price.
    fn answered_questions(&self) -> Rows<'a> {
        let ids = self.with(|step| step.reveals);
        let ids: BTreeSet<Uuid> = ids.map(|(recording, _)| recording.sheet_id).collect();
        ids.into_iter().map(|id| vec![id.into()]).collect()
    }

    fn new_estimates(&self) -> impl Iterator<Item = (i64, &'a EstimateRecord)> {
        self.with(|step| step.inserts_estimate)
            .filter_map(|(recording, number)| Some((number, recording.estimate.as_ref()?)))
    }

    fn estimates(&self) -> Rows<'a> {
        let row = |(number, estimate): (i64, &'a EstimateRecord)| {
            vec![
                estimate.id.into(),
                number.into(),
                estimate.engine_version.into(),
                estimate.readings_defined.into(),
                estimate.conflicts.into(),
                (&estimate.numbers).into(),
                checksum(&estimate.document).into(),
                (&estimate.document).into(),
            ]
        };
        self.new_estimates().map(row).collect()
    }

    fn estimate_sheets(&self) -> Rows<'a> {
        let mut drawn = BTreeSet::new();
        for (_, estimate) in self.new_estimates() {
            let of_it = |recording: &&Recording| recording.is_drawn_from(estimate.id);
            let sheets = self.recordings.iter().filter(of_it);
            drawn.extend(sheets.map(|recording| (estimate.id, recording.sheet_id)));
        }
        let row = |(estimate, sheet): (Uuid, Uuid)| vec![estimate.into(), sheet.into()];
        drawn.into_iter().map(row).collect()
    }

    fn listings(&self) -> Rows<'a> {
        let row = |(recording, number): (&'a Recording, i64)| {
            let place = recording.place();
            vec![
                number.into(),
                recording.estimate_id.into(),
                place.of.map(Recording::offer_id).into(),
                place.of.map(|of| of.sheet_id).into(),
                recording.listing.duplicate_of().into(),
                place.provider.into(),
                place.model.into(),
                recording.canonical_model.as_deref().into(),
                place.region.into(),
                (&recording.sheet.currency).into(),
                place.of.and_then(|of| of.sheet.valid_from).into(),
                place.of.and_then(|of| of.sheet.valid_to).into(),
                recording.observed_at.into(),
                recording.listing.is_stated().into(),
                recording.is_observed.into(),
            ]
        };
        self.with(|step| step.inserts_listing).map(row).collect()
    }

    /// Sightings with the offer of each that one set of facts has and another one has not, by a comparison.
    fn seen(
        &self,
        of: fn(&OfferPlan) -> (&Offer, &Offer),
        is_known: fn(&Seen, &Seen) -> bool,
    ) -> impl Iterator<Item = (Uuid, &'a Seen)> {
        self.plan.offers.iter().flat_map(move |offer| {
            let (these, others) = of(offer);
            let these = these.seen.iter();
            let these =
                these.filter(move |seen| !others.seen.iter().any(|one| is_known(seen, one)));
            these.map(|seen| (offer.id, seen))
        })
    }

    fn lost_sightings(&self) -> Rows<'a> {
        let row = |(offer, seen): (Uuid, &'a Seen)| {
            vec![
                offer.into(),
                (&seen.source).into(),
                seen.sheet.sheet_id.into(),
                seen.first_at.into(),
            ]
        };
        self.seen(|offer| (&offer.before, &offer.after), has_key)
            .map(row)
            .collect()
    }

    fn sightings(&self) -> Rows<'a> {
        let is_written =
            |seen: &Seen, one: &Seen| has_key(seen, one) && seen.last_at == one.last_at;
        let row = |(offer, seen): (Uuid, &'a Seen)| {
            vec![
                offer.into(),
                (&seen.source).into(),
                seen.sheet.sheet_id.into(),
                (&seen.sheet.catalog).into(),
                seen.sheet.entry.as_deref().into(),
                seen.first_at.into(),
                seen.last_at.into(),
                standing(seen.standing).into(),
            ]
        };
        self.seen(|offer| (&offer.after, &offer.before), is_written)
            .map(row)
            .collect()
    }

    fn looks(&self) -> Rows<'a> {
        let look = self.work.look.iter().filter(|_| self.work.completes);
        look.map(|look| vec![(&look.source).into(), (&look.scope).into(), look.at.into()])
            .collect()
    }

    fn read_entries(&self) -> Rows<'a> {
        let look = self.work.look.iter();
        let row = |look: &'a LookAt, entry: &'a String| {
            vec![(&look.source).into(), look.at.into(), entry.into()]
        };
        let rows =
            look.flat_map(|look| self.plan.now_read.iter().map(move |entry| row(look, entry)));
        rows.collect()
    }

    fn unread_entries(&self) -> Rows<'a> {
        let look = self.work.look.iter().filter(|_| self.work.completes);
        let row = |look: &'a LookAt, entry: &'a String| {
            vec![(&look.source).into(), look.at.into(), entry.into()]
        };
        let rows = look.flat_map(|look| look.unread.iter().map(move |entry| row(look, entry)));
        rows.collect()
    }

    fn withdrawals(&self) -> Rows<'a> {
        let now = self.work.now;
        let mut rows = Rows::new();
        for offer in &self.plan.offers {
            let (before, after) = (&offer.before.cuts, &offer.after.cuts);
            let is_in = |cut: &Cut, cuts: &[Cut]| {
                cuts.iter()
                    .any(|one| one.sheet_id == cut.sheet_id && one.at == cut.at)
            };
            let row = |cut: &'a Cut, undone_at: Option<Timestamp>| {
                vec![
                    offer.id.into(),
                    cut.sheet_id.into(),
                    cut.at.into(),
                    (&cut.because).into(),
                    undone_at.into(),
                ]
            };
            let undone = before.iter().filter(|cut| !is_in(cut, after));
            let made = after.iter().filter(|cut| !is_in(cut, before));
            rows.extend(undone.map(|cut| row(cut, Some(now))));
            rows.extend(made.map(|cut| row(cut, None)));
        }
        rows
    }

    fn gone_periods(&self) -> Rows<'a> {
        let gone = self
            .plan
            .offers
            .iter()
            .flat_map(|offer| &offer.derived.gone);
        gone.map(|(sequence, part)| vec![(*sequence).into(), (*part).into()])
            .collect()
    }

    fn periods(&self) -> Rows<'a> {
        let mut number = self.base;
        let mut rows = Rows::new();
        for offer in &self.plan.offers {
            let Some([provider, model, region]) = self.announced.names.get(&offer.id) else {
                continue;
            };
            for stored in &offer.derived.written {
                number += 1;
                let key = if stored.key == (0, 0) {
                    (number, 0)
                } else {
                    stored.key
                };
                let period = &stored.period;
                let basis = match period.start_basis {
                    StartBasis::Stated => "stated",
                    StartBasis::Observed => "observed",
                    StartBasis::SourceAdded => "source_added",
                };
                let withdrawn = stored.withdrawn.as_ref();
                rows.push(vec![
                    key.0.into(),
                    key.1.into(),
                    offer.id.into(),
                    provider.into(),
                    model.into(),
                    region.into(),
                    period.sheet_id.into(),
                    (&stored.catalog).into(),
                    period.starts_at.into(),
                    period.ends_at().into(),
                    stored.observed_at.into(),
                    stored.has_begun.into(),
                    stored.has_ended.into(),
                    withdrawn.map(|(at, _)| *at).into(),
                    withdrawn.map(|(_, because)| because.as_str()).into(),
                    period.tariff_id.into(),
                    basis.into(),
                    period.not_before.into(),
                    period.last_seen_at.into(),
                    period.end.map(|(_, why)| ending(why)).into(),
                    period.is_flagged.into(),
                ]);
            }
        }
        rows
    }

    fn settled(&self) -> Rows<'a> {
        let settled = self.announced.settled.iter();
        settled
            .map(|(id, at)| vec![(*id).into(), (*at).into()])
            .collect()
    }

    fn disagreements(&self) -> Rows<'a> {
        let row = |one: &'a Disagreement| {
            vec![
                one.id.into(),
                one.offer_id.into(),
                (&one.sheet.provider).into(),
                (&one.sheet.model).into(),
                (&one.sheet.region).into(),
                (&one.catalog).into(),
                one.sheet_id.into(),
                (&one.other_catalog).into(),
                one.other_sheet_id.into(),
                (&one.differences).into(),
                one.largest_factor.into(),
                one.observed_at.into(),
                one.is_flagged.into(),
            ]
        };
        self.announced.disagreements.iter().map(row).collect()
    }

    fn changes(&self) -> Rows<'a> {
        let row = |(change, number): (&'a Change, i64)| {
            let subject = &change.subject;
            let price = change.price.as_ref();
            let place = price.and_then(|price| price.place.as_ref());
            let value = |price: Option<&Decimal>| price.map(Decimal::to_f64);
            vec![
                number.into(),
                change.kind.name().into(),
                change.observed_at.into(),
                (&subject.provider).into(),
                (&subject.model).into(),
                subject.canonical_model.as_deref().into(),
                (&subject.region).into(),
                subject.sheet_id.into(),
                subject.estimate_id.into(),
                (&change.summary).into(),
                price.map(|price| price.price.as_str()).into(),
                value(price.and_then(|price| price.before.as_ref())).into(),
                value(price.and_then(|price| price.after.as_ref())).into(),
                price
                    .filter(|_| change.kind != ChangeKind::OfferRetiring)
                    .and_then(PriceDifference::factor)
                    .into(),
                change.in_force.into(),
                change.valid_from.into(),
                change.previous_sheet_id.into(),
                place.map(|place| place.meter).into(),
                place.map(|place| place.service_tier.as_str()).into(),
                place.map(|place| i64::from(place.min_prompt_tokens)).into(),
                place
                    .and_then(|place| place.ttl_seconds)
                    .map(i64::from)
                    .into(),
                place.and_then(|place| place.schedule.as_deref()).into(),
            ]
        };
        self.announced
            .changes
            .iter()
            .zip(self.base + 1..)
            .map(row)
            .collect()
    }
}

fn has_key(seen: &Seen, one: &Seen) -> bool {
    seen.source == one.source
        && seen.sheet.sheet_id == one.sheet.sheet_id
        && seen.first_at == one.first_at
}

static WRITE: Statement = Statement::new(&[
    Piece {
        sql: "
            INSERT INTO price_sheets (id, sequence, offer_id, model_key, provider, model, canonical_model, region,
                                      currency, valid_from, valid_to, observed_at, input_price, output_price,
                                      cache_read_price, checksum, document, tariff_id, is_misfit, observed,
                                      retires_at, status, states_limits, cells)
            SELECT * FROM given",
        columns: &[
            Id, Number, Id, Text, Text, Text, Text, Text, Text, Time, Time, Time, Real, Real, Real, Bytes, Text, Id,
            Flag, Flag, Time, Text, Flag, Text,
        ],
    },
    Piece {
        sql: "
            UPDATE price_sheets
            SET document = given.column2, checksum = given.column3, is_misfit = given.column4, observed = TRUE
            FROM given WHERE price_sheets.id = given.column1",
        columns: &[Id, Text, Bytes, Flag],
    },
    Piece {
        sql: "
            UPDATE estimate_listings SET observed = TRUE FROM given
            WHERE sheet_id = given.column1 AND stated_assumptions = FALSE",
        columns: &[Id],
    },
    Piece {
        sql: "
            INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, row_values,
                                   checksum, document)
            SELECT * FROM given",
        columns: &[Id, Number, Text, Number, Number, Text, Bytes, Text],
    },
    Piece {
        sql: "INSERT INTO estimate_sheets (estimate_id, sheet_id) SELECT * FROM given",
        columns: &[Id, Id],
    },
    Piece {
        sql: "
            INSERT INTO estimate_listings (sequence, estimate_id, offer_id, sheet_id, duplicate_of, provider, model,
                                           canonical_model, region, currency, valid_from, valid_to, observed_at,
                                           stated_assumptions, observed)
            SELECT * FROM given",
        columns: &[
            Number, Id, Id, Id, Id, Text, Text, Text, Text, Text, Time, Time, Time, Flag, Flag,
        ],
    },
    Piece {
        sql: "
            DELETE FROM sightings WHERE (offer_id, source, sheet_id, first_at) IN (
                SELECT given.column1, given.column2, given.column3, given.column4 FROM given)",
        columns: &[Id, Text, Id, Time],
    },
    Piece {
        sql: "
            INSERT INTO sightings (offer_id, source, sheet_id, catalog, entry, first_at, last_at, standing)
            SELECT * FROM given
            WHERE TRUE
            ON CONFLICT (offer_id, source, sheet_id, first_at) DO UPDATE SET last_at = excluded.last_at",
        columns: &[Id, Text, Id, Text, Text, Time, Time, Number],
    },
    Piece {
        sql: "
            INSERT INTO looks (source, scope, at) SELECT * FROM given
            WHERE TRUE
            ON CONFLICT (source, scope, at) DO NOTHING",
        columns: &[Text, Text, Time],
    },
    Piece {
        sql: "
            DELETE FROM unread_entries WHERE (source, at, entry) IN (
                SELECT given.column1, given.column2, given.column3 FROM given)",
        columns: &[Text, Time, Text],
    },
    Piece {
        sql: "
            INSERT INTO unread_entries (source, at, entry) SELECT * FROM given
            WHERE TRUE
            ON CONFLICT (source, entry, at) DO NOTHING",
        columns: &[Text, Time, Text],
    },
    Piece {
        sql: "
            INSERT INTO withdrawals (offer_id, sheet_id, at, because, undone_at) SELECT * FROM given
            WHERE TRUE
            ON CONFLICT (offer_id, sheet_id, at)
            DO UPDATE SET because = excluded.because, undone_at = excluded.undone_at",
        columns: &[Id, Id, Time, Text, Time],
    },
    Piece {
        sql: "
            DELETE FROM price_periods WHERE (sequence, part) IN (SELECT given.column1, given.column2 FROM given)",
        columns: &[Number, Number],
    },
    Piece {
        sql: "
            INSERT INTO price_periods (sequence, part, offer_id, provider, model, region, sheet_id, catalog,
                                       starts_at, ends_at, observed_at, has_begun, has_ended, withdrawn_at,
                                       withdrawn_because, tariff_id, start_basis, not_before, last_seen_at, ending,
                                       is_flagged)
            SELECT * FROM given
            WHERE TRUE
            ON CONFLICT (sequence, part)
            DO UPDATE SET sheet_id = excluded.sheet_id, catalog = excluded.catalog, ends_at = excluded.ends_at,
                          observed_at = excluded.observed_at, has_begun = excluded.has_begun,
                          has_ended = excluded.has_ended, withdrawn_at = excluded.withdrawn_at,
                          withdrawn_because = excluded.withdrawn_because, tariff_id = excluded.tariff_id,
                          start_basis = excluded.start_basis, not_before = excluded.not_before,
                          last_seen_at = excluded.last_seen_at, ending = excluded.ending,
                          is_flagged = excluded.is_flagged",
        columns: &[
            Number, Number, Id, Text, Text, Text, Id, Text, Time, Time, Time, Flag, Flag, Time, Text, Id, Text,
            Time, Time, Text, Flag,
        ],
    },
    Piece {
        sql: "UPDATE disagreements SET ended_at = given.column2 FROM given WHERE disagreements.id = given.column1",
        columns: &[Id, Time],
    },
    Piece {
        sql: "
            INSERT INTO disagreements (id, offer_id, provider, model, region, catalog, sheet_id, other_catalog,
                                       other_sheet_id, differences, largest_factor, observed_at, is_flagged)
            SELECT * FROM given",
        columns: &[
            Id, Id, Text, Text, Text, Text, Id, Text, Id, Text, Real, Time, Flag,
        ],
    },
    Piece {
        sql: "
            INSERT INTO changes (sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id,
                                 estimate_id, summary, cell, old_value, new_value, factor, in_force, valid_from,
                                 previous_sheet_id, meter, service_tier, min_prompt_tokens, ttl_seconds, schedule)
            SELECT * FROM given",
        columns: &[
            Number, Text, Time, Text, Text, Text, Text, Id, Id, Text, Text, Real, Real, Real, Flag, Time, Id, Text, Text,
            Number, Number, Text,
        ],
    },
]);
