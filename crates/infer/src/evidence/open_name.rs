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
use unroof_roofline::reference::{OpenModel, open_model, open_models};

/// Names under which sellers leave the size out, or have a spelling of their own, and the open-weight model.
const SOLD_AS: [(&str, &str); 34] = [
    ("mistral/codestral-2405", "Codestral-22B"),
    ("deepseek/deepseek-3.2", "DeepSeek-V3.2"),
    ("deepseek/deepseek-4-flash", "DeepSeek-V4-Flash"),
    ("deepseek/deepseek-coder-v2", "DeepSeek-Coder-V2-236B"),
    ("deepseek/deepseek-prover-v2", "DeepSeek-Prover-V2-671B"),
    ("deepseek/deepseek-v2.5", "DeepSeek-V2/V2.5-236B"),
    ("mistral/devstral-small", "Devstral-Small-24B"),
    ("mistral/devstral-small-2", "Devstral-Small-2-24B"),
    ("zhipuai/glm-4.6v", "GLM-4.6V-106B"),
    ("ibm/granite-4-h-small", "Granite-4.0-H-Small"),
    ("moonshotai/kimi-k2", "Kimi-K2-Instruct (0711/0905)"),
    ("mistral/magistral-small", "Magistral-Small-24B"),
    ("minimax/minimax-m1-80k", "MiniMax-M1"),
    ("mistral/mistral-large-2407", "Mistral-Large-2-123B"),
    ("mistral/mistral-large-2411", "Mistral-Large-2-123B"),
    ("mistral/mistral-large-2512", "Mistral-Large-3-675B-A41B"),
    ("mistral/mistral-large-4", "Mistral-Large-4-1T-A52B"),
    ("mistral/mistral-large-4.0", "Mistral-Large-4-1T-A52B"),
    (
        "mistral/mistral-large-instruct-2407",
        "Mistral-Large-2-123B",
    ),
    (
        "mistral/mistral-large-instruct-2411",
        "Mistral-Large-2-123B",
    ),
    ("mistral/mistral-medium-2604", "Mistral-Medium-3.5-128B"),
    ("mistral/mistral-medium-3.5", "Mistral-Medium-3.5-128B"),
    ("mistral/mistral-nemo", "Mistral-Nemo-12B"),
    (
        "nvidia/nemotron-3-nano-omni",
        "Nemotron-3-Nano-Omni-30B-A3B",
    ),
    ("microsoft/phi-3-medium-128k", "Phi-3-medium-14B"),
    ("microsoft/phi-3-medium-4k", "Phi-3-medium-14B"),
    ("microsoft/phi-3-mini-128k", "Phi-3-mini-3.8B"),
    ("microsoft/phi-3-mini-4k", "Phi-3-mini-3.8B"),
    ("microsoft/phi-3.5-mini", "Phi-3.5-mini-3.8B"),
    ("microsoft/phi-3.5-moe", "Phi-3.5-MoE-42B"),
    ("microsoft/phi-4", "Phi-4-14B"),
    ("microsoft/phi-4-mini", "Phi-4-mini-3.8B"),
    ("mistral/pixtral-large", "Pixtral-Large-124B"),
    ("mistral/voxtral-small", "Voxtral-Small-24B"),
];
/// Words at the end of a name that change the service, the width or the training of a model, and not its architecture. So do
/// the days of snapshots.
const OF_ONE_ARCHITECTURE: [&str; 9] = [
    "base", "flex", "fp4", "fp8", "instruct", "maas", "nvfp4", "original", "us",
];

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
    for (name, model) in SOLD_AS {
        let model = open_model(model).expect("it is a model of the data");
        named.insert(name.to_owned(), model);
    }
    named
});

/// The open-weight model of a canonical name, `author/model`, also of one that a sheet states in another spelling.
#[must_use]
pub fn open_model_of(canonical_name: &str) -> Option<&'static OpenModel> {
    let named = |name: &str| BY_CANONICAL_NAME.get(name).copied();
    named(canonical_name)
        .or_else(|| named(&canonical_model(canonical_name)?))
        .or_else(|| open_model_of(of_the_same_architecture(canonical_name)?))
}

/// A name without the day, or the word of [`OF_ONE_ARCHITECTURE`], at its end; none of a name without one.
fn of_the_same_architecture(name: &str) -> Option<&str> {
    let (plain, ending) = name.rsplit_once('-')?;
    let is_day =
        matches!(ending.len(), 4 | 6 | 8) && ending.bytes().all(|byte| byte.is_ascii_digit());
    (is_day || OF_ONE_ARCHITECTURE.contains(&ending)).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sellers_spellings_and_snapshots_are_those_of_the_open_model() {
        for (name, model) in SOLD_AS {
            assert_eq!(open_model_of(name).unwrap().name, model, "{name}");
        }
        for (name, model) in [
            ("deepseek/deepseek-r1-0528", "DeepSeek-R1"),
            ("deepseek/deepseek-v3.2-maas", "DeepSeek-V3.2"),
            ("deepseek/deepseek-v4-flash-0731", "DeepSeek-V4-Flash-0731"),
            ("microsoft/phi-3-medium-4k-instruct", "Phi-3-medium-14B"),
            ("mistral/devstral-small-2507", "Devstral-Small-24B"),
            ("moonshotai/kimi-k2-0905", "Kimi-K2-Instruct (0711/0905)"),
            ("zhipuai/glm-5.2-260617", "GLM-5.2"),
        ] {
            assert_eq!(open_model_of(name).unwrap().name, model, "{name}");
        }
    }

    #[test]
    fn other_weights_of_a_family_are_not() {
        for name in [
            "alibaba/qwen3-max",
            "deepseek/deepseek-v2-lite-chat",
            "minimax/minimax-m2-her",
            "mistral/codestral-2501",
            "mistral/mistral-large-2402",
            "mistral/mistral-medium-3.1",
            "moonshotai/kimi-k3.1-pro",
            "openai/gpt-5.4-2026-03-05",
            "zhipuai/glm-5-turbo",
        ] {
            assert!(open_model_of(name).is_none(), "{name}");
        }
    }
}
