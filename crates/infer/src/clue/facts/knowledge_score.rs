//! Knowledge score: the share of a benchmark's questions that a model answers right, evidence of its total parameters.

use crate::clue::{Clue, Readings, or_lacking};
use crate::evidence::builder::ReadingBuilder;
use crate::evidence::clue_table::{ClueKind, ReadingId};
use crate::evidence::likelihood::{Likelihood, Observed, student_t_over_peak, terms};
use crate::evidence::reading::{Kind, NotDefined, Reading, Specification};
use crate::evidence::release::{release, years};
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use statrs::distribution::{ContinuousCDF, StudentsT};
use unroof_price_sheet::sheet::{EvidenceItem, EvidenceKind, ReasoningEffort};
use unroof_roofline::reference::calibration::{Calibration, KnowledgeLaw};

pub(in crate::clue) static CLUE: Clue = Clue::new(&[&TOTAL], read).observed_by(observe);

static TOTAL: Specification = Specification {
    quantity: "total_parameters",
    equation: "log N_t/10⁹ = (log(a/(1−a)) − a₀ − c·years − e)/b",
    kind: Kind::Equal,
    needs: "a knowledge score; the release day, else the mean of open models",
    not_defined_when: "the sheet has no knowledge score",
    assumes: &[
        "knowledge grows with total parameters as on open models of other vendors",
        "the vendor trains as the average of open vendors: data, abstention and contamination move the score too",
    ],
    source: "D",
    ..Specification::of(ReadingId::KnowledgeScoreTotalParameters)
};

/// Shares of right answers beyond which log odds say nothing: the least and the most.
const ACCURACY: (f64, f64) = (0.01, 0.99);
/// log of a billion.
const LOG_BILLION: f64 = 20.723_265_836_946_41;
/// Total parameters in billions beyond which the law has no answer.
const MOST_BILLIONS: f64 = 1e6;

/// Log odds of a right answer, without what effort and release explain.
fn log_odds(score: &EvidenceItem, years: f64, law: &KnowledgeLaw) -> Option<f64> {
    let accuracy = score.accuracy?.clamp(ACCURACY.0, ACCURACY.1);
    let effort = score.effort.unwrap_or_default();
    let reasoning = if effort > ReasoningEffort::None {
        law.reasoning
    } else {
        0.0
    };
    Some((accuracy / (1.0 - accuracy)).ln() - law.intercept - law.per_year * years - reasoning)
}

/// The scores of one model at its least effort: more effort moves the score without parameters.
fn scores<'a>(sheets: &'a [Evidence<'_>]) -> Vec<&'a EvidenceItem> {
    let items = sheets.iter().flat_map(|evidence| &evidence.sheet.evidence);
    let scores: Vec<&EvidenceItem> = items
        .filter(|item| item.kind == EvidenceKind::KnowledgeScore && item.accuracy.is_some())
        .collect();
    let effort = |item: &EvidenceItem| item.effort.unwrap_or_default();
    let least = scores.iter().map(|item| effort(item)).min();
    scores
        .into_iter()
        .filter(|item| Some(effort(item)) == least)
        .collect()
}

fn read(evidence: &Evidence<'_>) -> Readings {
    let calibration = Calibration::shipped();
    let stated = (evidence.assumptions.release_date()).or(evidence.sheet.released);
    let years = stated.map_or(calibration.population.dates.mean_years, years);
    let sheets = [*evidence];
    let drawn = scores(&sheets)
        .into_iter()
        .filter_map(|score| total_parameters(evidence, score, years, &calibration.knowledge));
    or_lacking(drawn.map(Ok), "the sheet has no knowledge score")
}

fn total_parameters(
    evidence: &Evidence<'_>,
    score: &EvidenceItem,
    years: f64,
    law: &KnowledgeLaw,
) -> Option<Reading> {
    let accuracy = score.accuracy?;
    let billions = (log_odds(score, years, law)? / law.total).exp();
    let builder = ReadingBuilder::new(&TOTAL, evidence)
        .sheet("knowledge_score", "a", accuracy, "")
        .solve(&[], |_| {
            if billions < MOST_BILLIONS {
                return Ok(1e9 * billions);
            }
            let beyond = "by the law of open models no model of 10¹⁵ parameters knows as much";
            Err(NotDefined::no_solution(beyond))
        });
    let exceeded = (beyond(accuracy, law) > 0.0).then_some(
        "the score is above that of every open model of the fit: the law is extrapolated, and the joint estimate trusts it less",
    );
    Some(builder.caveats(exceeded).build())
}

/// Log odds by which a score exceeds the best open model.
fn beyond(accuracy: f64, law: &KnowledgeLaw) -> f64 {
    let accuracy = accuracy.clamp(ACCURACY.0, ACCURACY.1);
    ((accuracy / (1.0 - accuracy)).ln() - law.highest).max(0.0)
}

/// Mean score of a model against the law.
#[derive(Debug, Clone)]
struct KnowledgeScore {
    /// Log odds without what release and effort explain.
    log_odds: f64,
    /// Log odds per log of total parameters.
    slope: f64,
    scale: f64,
    law: StudentsT,
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    terms(KnowledgeScore::of(sheets, calibration))
}

impl KnowledgeScore {
    fn of(sheets: &[Evidence<'_>], calibration: &Calibration) -> Option<Self> {
        let law = &calibration.knowledge;
        let released = release(sheets, calibration);
        let years = released.years + calibration.population.dates.mean_years;
        let scores = scores(sheets);
        let mut odds: Vec<f64> = scores
            .iter()
            .filter_map(|score| log_odds(score, years, law))
            .collect();
        odds.sort_by(f64::total_cmp);
        odds.dedup();
        let middle = *odds.get(odds.len().checked_sub(1)? / 2)?;
        let best = scores
            .iter()
            .filter_map(|score| score.accuracy)
            .fold(0.0, f64::max);
        let spreads = [
            law.vendor_sd,
            law.model_scale,
            law.per_year * released.sd,
            beyond(best, law),
        ];
        Some(Self {
            log_odds: middle,
            slope: law.total,
            scale: spreads.into_iter().fold(0.0, f64::hypot),
            law: StudentsT::new(0.0, 1.0, law.degrees_of_freedom).ok()?,
        })
    }

    /// Scales from the law.
    fn standardised(&self, unknowns: &Unknowns<'_>) -> f64 {
        let expected = self.slope * (unknowns.log_total_parameters - LOG_BILLION);
        (self.log_odds - expected) / self.scale
    }
}

impl Likelihood for KnowledgeScore {
    fn parts(&self) -> &[ClueKind] {
        &[ClueKind::KnowledgeScore]
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        student_t_over_peak(self.standardised(unknowns), self.law.freedom())
    }

    fn tail_probability(&self, _part: usize, unknowns: &Unknowns<'_>) -> f64 {
        2.0 * self.law.cdf(-self.standardised(unknowns).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Answer, Format, infer, read_request};
    use unroof_base::input::RequestError;

    /// The answer to a sheet with these facts.
    fn answer(evidence: &str) -> Answer {
        let body = format!(
            r#"{{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD", "unit": "per_1m_tokens",
                "released": "2026-01-01", "rates": [{{"input": "2", "output": "10"}}], "evidence": [{evidence}],
                "sources": [{{"url": "https://acme.example", "format": "official"}}]}}"#
        );
        let request = read_request(body.as_bytes(), &Format::Canonical).unwrap();
        infer(&request)
    }

    fn score(accuracy: f64, effort: &str) -> String {
        format!(
            r#"{{"kind": "knowledge_score", "benchmark": "aa-omniscience", "accuracy": {accuracy}, "effort": "{effort}",
                "source": "https://scores.example", "date": "2026-07-10"}}"#
        )
    }

    fn total(answer: &Answer) -> f64 {
        answer.joint.quantities.total_parameters.median
    }

    #[test]
    fn a_model_that_knows_more_has_more_parameters_and_the_answer_says_why() {
        let (without, little, much) = (
            answer(""),
            answer(&score(0.12, "none")),
            answer(&score(0.35, "none")),
        );
        assert!(total(&little) < total(&without) && total(&without) < total(&much));
        assert_ne!(without.id, much.id);
        let moved = &much.joint.quantities.total_parameters.moved_by;
        assert!(
            moved
                .iter()
                .any(|step| step.clue == ClueKind::KnowledgeScore)
        );
        let width = |answer: &Answer| {
            let interval = answer.joint.quantities.total_parameters.interval_90;
            interval.high / interval.low
        };
        assert!(width(&much) < width(&without));
        let readings = &much.textbook.readings;
        let reading = readings
            .iter()
            .find(|reading| reading.id == ReadingId::KnowledgeScoreTotalParameters);
        let law = Calibration::shipped().knowledge;
        let odds = (0.35_f64 / 0.65).ln() - law.intercept - law.per_year * (365.0 / 365.25);
        let expected = 1e9 * (odds / law.total).exp();
        assert!((reading.unwrap().number().unwrap() / expected - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_least_effort_counts_and_order_and_copies_do_not() {
        let (plain, high) = (score(0.3, "none"), score(0.5, "high"));
        let alone = total(&answer(&plain)).to_bits();
        for both in [
            format!("{plain},{high}"),
            format!("{high},{plain}"),
            format!("{plain},{plain}"),
        ] {
            assert_eq!(total(&answer(&both)).to_bits(), alone);
        }
    }

    #[test]
    fn a_score_beyond_every_open_model_does_not_explode() {
        let best = answer(&score(0.65, "none"));
        assert!((3e11..3e13).contains(&total(&best)), "{}", total(&best));
        let readings = &best.textbook.readings;
        let reading = readings
            .iter()
            .find(|reading| reading.id == ReadingId::KnowledgeScoreTotalParameters);
        assert!(reading.unwrap().caveats[0].contains("above that of every open model"));
    }

    #[test]
    fn a_fact_without_what_its_kind_needs_is_refused_at_its_place() {
        let body = r#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD", "unit": "per_1m_tokens",
            "rates": [{"input": "2"}], "sources": [{"url": "https://acme.example", "format": "official"}],
            "evidence": [{"kind": "knowledge_score", "accuracy": 2, "source": "x", "date": "2026-07-10"}]}"#;
        let error = format!(
            "{:?}",
            read_request(body.as_bytes(), &Format::Canonical).unwrap_err()
        );
        assert!(
            error.contains("/evidence/0/accuracy") && error.contains("aa-omniscience"),
            "{error}"
        );
        // One mistake is one fault.
        let unknown = body.replace(
            r#""accuracy": 2"#,
            r#""benchmark": "gpqa", "accuracy": 0.2"#,
        );
        let Err(RequestError::Wrong(faults)) = read_request(unknown.as_bytes(), &Format::Canonical)
        else {
            panic!("it was read")
        };
        assert_eq!(faults.len(), 1, "{faults:?}");
    }

    #[test]
    fn an_architecture_in_words_decides_between_dense_and_mixture() {
        let word = |word: &str| {
            let fact = format!(
                r#"{{"kind": "architecture", "architecture": "{word}", "source": "https://acme.example", "date": "2026-07-10"}}"#
            );
            let quantities = answer(&fact).joint.quantities;
            quantities.total_parameters.median / quantities.active_parameters.median
        };
        let (dense, mixture) = (word("dense"), word("mixture_of_experts"));
        assert!(2.0 * dense < mixture, "{dense} {mixture}");
    }
}
