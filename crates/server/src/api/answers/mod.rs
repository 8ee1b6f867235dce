//! Estimates and models: asked, listed, compared, described.

pub(crate) mod badge;
pub(crate) mod compare;
pub(crate) mod density;
pub(crate) mod estimate_density;
pub(crate) mod estimates;
pub(crate) mod infer;
pub(crate) mod known_answers;
pub(crate) mod margins;
pub(crate) mod model_link;
pub(crate) mod models;
pub(crate) mod observation;
pub(crate) mod reference;
pub(crate) mod series;
pub(crate) mod some_of_answer;
pub(crate) mod storing;
pub(crate) mod track_record;
