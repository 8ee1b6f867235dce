//! The open-weight model behind a canonical name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::canonical::canonical_model;
use crate::reference::{OpenModel, open_models};

/// Open-weight models by canonical name.
static BY_NAME: LazyLock<HashMap<String, &'static OpenModel>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for model in open_models() {
        for name in canonical_names(model) {
            by_name.entry(name).or_insert(model);
        }
    }
    by_name
});

/// The canonical names of a model: some rows hold several models, and some the base and the tuned one.
fn canonical_names(model: &OpenModel) -> impl Iterator<Item = String> {
    let name = model.name.split([' ', '/']).next().unwrap_or_default();
    let spellings = ["", "-instruct", "-chat"].map(|tuned| format!("{name}{tuned}"));
    spellings.into_iter().filter_map(|name| canonical_model(&name))
}

/// The open-weight model of a canonical name.
#[must_use]
pub fn open_model_of(canonical_model: &str) -> Option<&'static OpenModel> {
    BY_NAME.get(canonical_model).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_weight_models_are_found_by_canonical_names() {
        let name = |canonical| open_model_of(canonical).map(|model| model.name.as_str());
        assert_eq!(name("deepseek/deepseek-v3.2"), Some("DeepSeek-V3.2"));
        assert_eq!(name("openai/gpt-oss-120b"), Some("gpt-oss-120b"));
        assert_eq!(name("openai/gpt-5.4"), None);
    }
}
