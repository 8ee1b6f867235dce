//! Invariants for any input: one module per kind of input, and a file in `fuzz_targets` per target. `tests/it/corpus.rs` checks
//! the committed inputs without a fuzzer.

pub mod calculator;
pub mod finite;
pub mod refusal;
pub mod request;
pub mod sheet;

/// Check of an input: `None` where the target does not take the text. Panics where an invariant is broken.
pub type Check = fn(&[u8]) -> Option<()>;

/// Check of each target, by the target's name.
pub const CHECKS: [(&str, Check); 10] = [
    ("calculator", calculator::check_question),
    ("genai_prices", |text| {
        sheet::check_catalog("genai-prices", text)
    }),
    ("litellm", |text| sheet::check_catalog("litellm", text)),
    ("llm_prices", |text| {
        sheet::check_catalog("llm-prices", text)
    }),
    ("models_dev", |text| {
        sheet::check_catalog("models.dev", text)
    }),
    ("openrouter", |text| {
        sheet::check_catalog("openrouter", text)
    }),
    ("portkey", |text| sheet::check_catalog("portkey", text)),
    ("query", |text| request::SERVICE.check_head(text)),
    ("sheet", |text| {
        sheet::check_canonical(text);
        Some(())
    }),
    ("vercel", |text| sheet::check_catalog("vercel", text)),
];
