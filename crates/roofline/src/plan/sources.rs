//! Sources of the numbers of a plan.

use super::answer::SourceItem;
use crate::calculator::scenario::Chip;
use crate::plan::question::request::Question;
use crate::reference::{
    PublishedRent, draft_acceptances, fitted_attainment, open_model, storage_tiers,
};

/// Sources of the model, the chips and their rent, the efficiencies, accepted drafts, storage tiers.
pub(super) fn sources(question: &Question) -> Vec<SourceItem> {
    let mut found = Vec::new();
    let mut of = |subject: String, source: String| found.push(SourceItem { subject, source });
    if let Some(model) = question.model.name.as_deref().and_then(open_model) {
        of(format!("sizes of {}", model.name), model.sources.join("; "));
    }
    let both = [&question.decode_chip, &question.prefill_chip];
    let chips = if question.has_two_chips() {
        &both[..]
    } else {
        &both[..1]
    };
    for chip in chips {
        let row = chip.row;
        let figures = if row.estimates.is_empty() {
            row.source.clone()
        } else {
            format!("{}; estimates: {}", row.source, row.estimates.join(", "))
        };
        of(format!("figures of {}", row.id), figures);
        if !row.tdp_source.is_empty() {
            of(format!("power of {}", row.id), row.tdp_source.clone());
        }
        of(format!("rent of {}", row.id), rent(chip));
    }
    if !question.is_peak() {
        let id = &question.decode_chip.row.id;
        let rows = fitted_attainment().rows_of(id);
        of(
            "efficiencies and intervals".to_owned(),
            format!(
                "{}; {rows} of the rows are of {id}",
                fitted_attainment().source
            ),
        );
    }
    if question.speculation.drafted > 0.0 || question.grid.drafted_tokens.is_some() {
        let rows = draft_acceptances();
        of(
            "accepted drafts".to_owned(),
            format!(
                "the load, else the median of {} published rows in draft_acceptance.csv",
                rows.len()
            ),
        );
    }
    for tier in storage_tiers() {
        of(format!("storage tier {}", tier.id), tier.source.clone());
    }
    found
}

fn rent(chip: &Chip) -> String {
    match &chip.published_rent {
        _ if chip.usd_per_hour.is_none() => "none is published".to_owned(),
        Some(rent) => of_providers(rent),
        None if chip.has_stated_rent => "as the request states it".to_owned(),
        None => format!("the typical one of the row: {}", chip.row.note),
    }
}

fn of_providers(rent: &PublishedRent) -> String {
    let PublishedRent {
        providers, latest, ..
    } = rent;
    format!(
        "median of {providers} published, the latest of {latest}: {}",
        rent.rows.join("; ")
    )
}
