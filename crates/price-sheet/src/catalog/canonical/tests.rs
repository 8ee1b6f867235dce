//! Names that are joined, names that are not, and how many names of real catalogs are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{canonical_model, of_stated};
use crate::catalog::recognize;
use crate::sheet::SheetId;
use unroof_base::input::cursor::{Cursor, Faults};
use unroof_base::input::json;

#[test]
fn the_spellings_of_one_model_have_one_name() {
    let cases: [(&str, &[&str]); 17] = [
        (
            "openai/gpt-oss-120b",
            &[
                "gpt-oss-120b",
                "openai.gpt-oss-120b-1:0",
                "@cf/openai/gpt-oss-120b",
                "databricks-gpt-oss-120b",
                "accounts/fireworks/models/gpt-oss-120b",
                "openai/gpt-oss-120b:free",
                "openai-gpt-oss-120b",
            ],
        ),
        (
            "anthropic/claude-sonnet-4-5",
            &[
                "claude-sonnet-4-5",
                "claude-sonnet-4.5",
                "claude-4.5-sonnet",
                "anthropic--claude-4.5-sonnet",
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "claude-sonnet-4-5@20250929",
                "databricks-claude-sonnet-4-5",
            ],
        ),
        (
            "anthropic/claude-opus-4",
            &["claude-opus-4-20250514", "claude-opus-4-0", "claude-4-opus"],
        ),
        (
            "anthropic/claude-3-7-sonnet",
            &[
                "claude-3.7-sonnet",
                "anthropic.claude-3-7-sonnet-20250219-v1:0",
            ],
        ),
        (
            "openai/gpt-5.4",
            &[
                "gpt-5.4",
                "gpt-5.4-2026-03-05",
                "openai-gpt-54",
                "azure/gpt-5.4",
            ],
        ),
        (
            "zhipuai/glm-4.6",
            &[
                "zai-org/GLM-4.6",
                "hf:zai-org/GLM-4.6",
                "accounts/fireworks/models/glm-4p6",
                "zai-org/GLM-4.6-FP8",
                "zai-glm-4-6",
            ],
        ),
        (
            "moonshotai/kimi-k2.5",
            &["kimi-k2p5", "moonshotai.kimi-k2.5", "moonshotai/Kimi-K2.5"],
        ),
        (
            "minimax/minimax-m2.5",
            &[
                "MiniMaxAI/MiniMax-M2.5",
                "minimax-m25",
                "minimax/minimax-m2.5:free",
            ],
        ),
        (
            "meta/llama-3.3-70b-instruct",
            &[
                "llama-3.3-70b",
                "meta-llama/Llama-3.3-70B-Instruct",
                "us.meta.llama3-3-70b-instruct-v1:0",
                "llama-3.3-70b-versatile",
                "databricks-meta-llama-3-3-70b-instruct",
                "llama-v3p3-70b-instruct",
            ],
        ),
        (
            "meta/llama-4-scout-17b-16e-instruct",
            &["llama-4-scout", "meta.llama4-scout-17b-instruct-v1:0"],
        ),
        (
            "alibaba/qwen3.5-0.8b",
            &["Qwen/Qwen3.5-0.8B", "qwen3p5-0p8b"],
        ),
        (
            "alibaba/qwen3-235b-a22b-instruct-2507",
            &["qwen/qwen3-235b-a22b-2507", "Qwen3-235B-A22B-Instruct-2507"],
        ),
        (
            "deepseek/deepseek-v3.1",
            &[
                "deepseek-ai/DeepSeek-V3.1-TEE",
                "deepseek-v3p1",
                "deepseek/deepseek-chat-v3.1",
            ],
        ),
        (
            "google/gemma-3-27b-it",
            &[
                "gemma-3-27b",
                "google/gemma-3-27b-it",
                "databricks-gemma-3-27b",
            ],
        ),
        (
            "xai/grok-4.20",
            &["grok-4.20", "grok-4-20", "x-ai/grok-4.20"],
        ),
        (
            "mistral/mistral-nemo",
            &[
                "mistral-nemo",
                "mistralai/Mistral-Nemo-Instruct-2407",
                "open-mistral-nemo",
            ],
        ),
        (
            "amazon/nova-lite",
            &[
                "amazon.nova-lite-v1:0",
                "amazon/nova-lite-v1",
                "us.amazon.nova-lite-v1:0",
            ],
        ),
    ];
    for (canonical, names) in cases {
        for name in names {
            assert_eq!(canonical_model(name).as_deref(), Some(canonical), "{name}");
        }
        assert_eq!(canonical_model(canonical).as_deref(), Some(canonical));
    }
}

#[test]
fn variants_have_names_of_their_own() {
    let apart = [
        ["grok-4", "grok-4-fast", "grok-code-fast-1"],
        ["gpt-4o", "gpt-4o-2024-05-13", "gpt-4o-2024-11-20"],
        [
            "claude-3-5-sonnet",
            "claude-3-5-sonnet-20240620",
            "claude-3-5-sonnet@20241022",
        ],
        [
            "gemini-3-flash",
            "gemini-3-flash-preview",
            "gemini-3.1-flash",
        ],
        [
            "deepseek-r1",
            "deepseek-r1-0528",
            "deepseek-r1-distill-llama-70b",
        ],
        [
            "deepseek-v3.2",
            "deepseek-v3.2-exp",
            "deepseek-v3.2-speciale",
        ],
        [
            "llama-3.1-8b-instruct",
            "llama-3.1-8b-instruct-awq",
            "llama-3.1-8b-instruct-nvfp4",
        ],
        [
            "qwen3-next-80b-a3b-instruct",
            "qwen3-next-80b-a3b-thinking",
            "qwen3-235b-a22b-thinking-2507",
        ],
        [
            "qwen3-vl-235b-a22b-instruct",
            "qwen3-235b-a22b",
            "qwen3-235b-a22b-instruct-2507",
        ],
        ["kimi-k2", "kimi-k2-0905", "kimi-k2-thinking"],
        [
            "phi-3-mini-128k-instruct",
            "phi-3-mini-4k-instruct",
            "phi-3.5-mini-instruct",
        ],
        [
            "mistral-large-2407",
            "mistral-large-2411",
            "mistral-large-2512",
        ],
        ["glm-4.5v", "glm-4.5", "glm-4.5-air"],
        ["qwen3.8-27b", "qwen3.8-27b-nvfp4", "qwen3.8-27b-base"],
    ];
    for names in apart {
        let found: BTreeSet<_> = names
            .into_iter()
            .map(|name| canonical_model(name).unwrap())
            .collect();
        assert_eq!(found.len(), names.len(), "{found:?}");
    }
}

#[test]
fn modes_have_the_name_of_their_weights() {
    use super::{Mode, mode_of};
    let of = [
        (
            "claude-opus-4.7-fast",
            "anthropic/claude-opus-4-7",
            Mode::Speed,
        ),
        (
            "claude-opus-4-1-20250805-thinking",
            "anthropic/claude-opus-4-1",
            Mode::Effort,
        ),
        ("gpt-5-mini-fast", "openai/gpt-5-mini", Mode::Speed),
        ("gpt-5.1-thinking-fast", "openai/gpt-5.1", Mode::Speed),
        ("o4-mini-high", "openai/o4-mini", Mode::Effort),
        (
            "MiniMax-M2.5-highspeed",
            "minimax/minimax-m2.5",
            Mode::Speed,
        ),
        (
            "grok-4.1-fast-non-reasoning",
            "xai/grok-4.1-fast",
            Mode::Effort,
        ),
        (
            "meta-llama/Llama-3.3-70B-Instruct-Turbo",
            "meta/llama-3.3-70b-instruct",
            Mode::Speed,
        ),
        (
            "deepseek-v3.2:thinking",
            "deepseek/deepseek-v3.2",
            Mode::Effort,
        ),
        (
            "accounts/fireworks/models/glm-5p3-fast",
            "zhipuai/glm-5.3",
            Mode::Speed,
        ),
    ];
    for (name, canonical, mode) in of {
        assert_eq!(canonical_model(name).as_deref(), Some(canonical), "{name}");
        assert_eq!(mode_of(name), Some(mode), "{name}");
        assert_eq!(mode_of(canonical), None, "{canonical}");
    }
    // A name that says too little says no more in a mode.
    assert_eq!(canonical_model("qwen2.5-7b-fast"), None);
    for name in [
        "gpt-4-turbo",
        "glm-5-turbo",
        "qwen-turbo",
        "kimi-k2-thinking",
        "phi-4-reasoning",
        "mistral-medium",
    ] {
        assert_eq!(mode_of(name), None, "{name}");
    }
}

#[test]
fn a_name_that_moves_or_belongs_to_others_has_none() {
    for name in [
        "",
        "/",
        ":",
        "@",
        "~anthropic/claude-opus-latest",
        "gpt-5-chat-latest",
        "claude-sonnet-latest",
        "deepseek-chat",
        "deepseek-reasoner",
        "mistral-large",
        "gemini-flash-latest",
        "ft:gpt-4o-2024-08-06",
        "gpt-4o-mini-2024-07-18.ft",
        "openrouter/auto",
        "thedrummer/llama-3.3-70b-instruct",
        "neversleep/llama-3-lumimaid-70b",
        "llama-3.1-storm-8b",
        "gemma-3-27b-it-abliterated",
        "gpt-j-6b",
        "gpt-neox-20b",
        "llama-3.1-8b",
        "mixtral-8x7b",
        "some/unknown-7b",
        "amazon.titan:0:8k",
    ] {
        assert_eq!(canonical_model(name), None, "{name}");
    }
}

#[test]
fn a_catalog_names_only_models_of_families_that_are_unknown_here() {
    assert_eq!(
        of_stated("Vivgrid/Viv-Fast").as_deref(),
        Some("vivgrid/viv-fast")
    );
    assert_eq!(of_stated("anthropic/claude-opus-5-5"), None);
}

/// A name without seller prefix, case and punctuation.
fn bare(name: &str) -> String {
    let lower = name.to_lowercase();
    let last = lower
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or(&lower);
    let last = [":free", ":batch", ":0"]
        .iter()
        .find_map(|suffix| last.strip_suffix(suffix))
        .unwrap_or(last);
    last.chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect()
}

/// Prints 200 joins for a check by hand, `(canonical model, seller, offer)` of models with two sellers or more: those whose
/// text after the seed `15` has the lowest digest.
#[expect(clippy::print_stdout, reason = "shown by `--nocapture`")]
fn print_sample(named: Vec<(String, String, String)>) {
    let mut sellers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, seller, _) in &named {
        sellers
            .entry(name.clone())
            .or_default()
            .insert(seller.clone());
    }
    let joins = named
        .into_iter()
        .filter(|(name, ..)| sellers[name].len() > 1);
    let joins: BTreeSet<_> = joins
        .map(|(name, _, offer)| format!("{name} <- {offer}"))
        .collect();
    let mut joins: Vec<_> = joins.into_iter().collect();
    println!("{} joins", joins.len());
    joins.sort_by_cached_key(|join| SheetId::digest(format!("15 {join}").as_bytes()));
    joins.truncate(200);
    joins.sort();
    for join in joins {
        println!("{join}");
    }
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "says what was found, or that it was skipped"
)]
fn most_names_that_occur_at_two_sellers_are_joined() {
    let Some(folder) = std::env::var_os("UNROOF_TEST_CATALOGS") else {
        println!("skipped: UNROOF_TEST_CATALOGS names no folder with catalogs");
        return;
    };
    let files = [
        "genai-prices.json",
        "litellm.json",
        "models.dev.json",
        "openrouter-models.json",
        "portkey.json",
    ];
    let mut sellers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut entries, mut drawn) = (Vec::new(), Vec::new());
    for file in files {
        let document = json::parse(&std::fs::read(Path::new(&folder).join(file)).unwrap()).unwrap();
        let catalog = recognize(&document).unwrap();
        let faults = Faults::default();
        for entry in (catalog.entries)(&Cursor::root(&document, &faults)).unwrap() {
            let Some(sheet) = catalog
                .read(&entry.key, &entry.cursor)
                .and_then(|sheets| sheets.into_iter().next())
            else {
                continue;
            };
            let bare = bare(&sheet.model);
            let offer = format!("{} {} {}", catalog.name(), sheet.provider, sheet.model);
            let named = sheet.canonical_model.clone();
            drawn.extend(named.map(|name| (name, sheet.provider.clone(), offer)));
            sellers
                .entry(bare.clone())
                .or_default()
                .insert(sheet.provider);
            entries.push((bare, sheet.canonical_model));
        }
    }
    print_sample(drawn);
    entries.retain(|(bare, _)| sellers[bare].len() > 1);
    let joined = entries
        .iter()
        .filter(|(_, canonical)| canonical.is_some())
        .count();
    println!(
        "{joined} of {} entries have a canonical model",
        entries.len()
    );
    assert!(joined * 100 >= entries.len() * 85);
    let mut names: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (bare, canonical) in entries {
        names.entry(bare).or_default().extend(canonical);
    }
    let several: Vec<_> = names.iter().filter(|(_, names)| names.len() > 1).collect();
    assert!(several.is_empty(), "{several:?}");
}
