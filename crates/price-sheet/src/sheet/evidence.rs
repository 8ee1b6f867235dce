//! Public facts about a model beside its prices: what it knows, and what its authors say about its architecture.

use jiff::civil::Date;

use super::fields::{day, positive};
use unroof_base::input::body::document::{choice, choices, document, maybe, text};
use unroof_base::input::body::{Source, plain, value};

document! {
    /// A public fact about a model beside its prices. It is not a part of the pricing content.
    #[derive(PartialEq)]
    #[check(has_what_its_kind_needs(kind))]
    pub struct EvidenceItem {
        /// Kind of the fact.
        kind: EvidenceKind = plain(value(choice()).hint("write \"knowledge_score\" or \"architecture\"")),
        /// Benchmark of a knowledge score.
        benchmark: Option<Benchmark> = maybe(choice()),
        /// Share of the benchmark's questions that the model answers right.
        accuracy: Option<f64> = maybe(positive::<1>()),
        /// Effort of reasoning before the answers; `none` if left out.
        effort: Option<ReasoningEffort> = maybe(choice()),
        /// Architecture in the words of the model's authors.
        architecture: Option<ArchitectureWord> = maybe(choice()),
        /// Address of the publication.
        source: String = plain(value(text()).hint("write the address of the publication")),
        /// Day of the publication.
        date: Date = plain(value(day()).hint("write the day of the publication, such as \"2026-07-10\"")),
    }
}

choices! {
    /// Kind of a public fact.
    pub enum EvidenceKind {
        /// Accuracy on a benchmark of knowledge.
        KnowledgeScore = "knowledge_score",
        /// Architecture in the words of the model's authors.
        Architecture = "architecture",
    }

    /// Benchmark of knowledge whose relation to total parameters is fitted.
    pub enum Benchmark {
        /// Accuracy on AA-Omniscience, not its index, which subtracts wrong answers.
        AaOmniscience = "aa-omniscience",
    }

    /// Effort of reasoning before an answer.
    #[derive(PartialOrd, Ord, Default)]
    pub enum ReasoningEffort {
        /// The model answers at once.
        #[default]
        None = "none",
        /// Least effort.
        Low = "low",
        /// Middling effort, or one that is not named.
        Medium = "medium",
        /// High effort.
        High = "high",
        /// Most effort.
        Max = "max",
    }

    /// Architecture in words.
    pub enum ArchitectureWord {
        /// Every parameter is active.
        Dense = "dense",
        /// Mixture of experts.
        Mixture = "mixture_of_experts",
    }
}

/// Records the fields that the kind needs and the item does not have.
fn has_what_its_kind_needs(object: Source<'_, '_>, kind: Option<&EvidenceKind>) {
    let needed: &[(&'static str, &str)] = match kind {
        Some(EvidenceKind::KnowledgeScore) => &[
            ("benchmark", "write \"benchmark\": \"aa-omniscience\""),
            ("accuracy", "write the share of right answers, such as 0.31"),
        ],
        Some(EvidenceKind::Architecture) => {
            &[("architecture", "write \"dense\" or \"mixture_of_experts\"")]
        }
        None => &[],
    };
    for (field, hint) in needed {
        if object.get(field).is_none() {
            object.fault(format!("the field `{field}` is missing"), *hint);
        }
    }
}
