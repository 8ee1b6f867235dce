//! Open-weight models by the canonical names of price sheets.
//!
//! ```
//! use unroof_infer::evidence::open_name::open_model_of;
//!
//! assert_eq!(open_model_of("zhipuai/glm-4.5").unwrap().name, "GLM-4.5");
//! assert_eq!(open_model_of("minimax/MiniMax-M2.7").unwrap().name, "MiniMax-M2.7");
//! assert!(open_model_of("openai/gpt-5.4").is_none());
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use unroof_price_sheet::catalog::canonical::canonical_model;
use unroof_roofline::reference::{OpenModel, open_models};

/// The open-weight models by their canonical names.
static BY_CANONICAL_NAME: LazyLock<HashMap<String, &'static OpenModel>> = LazyLock::new(|| {
    let mut named = HashMap::new();
    for model in open_models() {
        // Some rows hold several models, and some the base and the tuned one.
        let name = model.name.split([' ', '/']).next().unwrap_or(&model.name);
        let spellings = ["", "-instruct", "-chat"].map(|ending| format!("{name}{ending}"));
        for name in spellings.iter().filter_map(|name| canonical_model(name)) {
            named.entry(name).or_insert(model);
        }
    }
    named
});

/// The open-weight model of a canonical name, `author/model`, also of one that a sheet states in another spelling.
#[must_use]
pub fn open_model_of(canonical_name: &str) -> Option<&'static OpenModel> {
    let named = |name: &str| BY_CANONICAL_NAME.get(name).copied();
    named(canonical_name).or_else(|| named(&canonical_model(canonical_name)?))
}
