//! Public facts about a model beside its prices: its release, what it offers, its architecture in words, what it knows.

pub(super) mod knowledge_score;
pub(super) mod model_kind;
