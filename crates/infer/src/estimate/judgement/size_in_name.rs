//! Sizes that models state in their names, as `qwen3-30b-a3b` does.
//!
//! ```
//! use unroof_infer::estimate::judgement::size_in_name::size_in_name;
//!
//! let size = size_in_name("qwen/qwen3-30b-a3b-instruct");
//! assert_eq!((size.total, size.active), (Some(30e9), Some(3e9)));
//! // Of Llama-4 the active parameters are stated, and the number of experts.
//! assert_eq!(size_in_name("meta/llama-4-scout-17b-16e").total, None);
//! // Numbers that are not sizes: tokens of context, bits, an effective size.
//! assert_eq!(size_in_name("gemma-3n-e4b-128k-4bit").total, None);
//! ```

use std::ops::RangeInclusive;

/// Parameters of models that are sold.
const SIZES: RangeInclusive<f64> = 5e7..=2e13;
/// Total parameters of `8x22b` over 8 times 22 billion: attention is shared. Mixtral's have 0.83 and 0.80.
const SHARED_BY_EXPERTS: f64 = 0.8;

/// Parameters that a name states.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SizeInName {
    /// `N_t`: total parameters.
    pub total: Option<f64>,
    /// `N_a`: active parameters.
    pub active: Option<f64>,
}

/// Reads the size in a name. Two different sizes are none: one of them is that of another model.
#[must_use]
pub fn size_in_name(name: &str) -> SizeInName {
    let name = name.to_ascii_lowercase();
    let model = name
        .rsplit_once('/')
        .map_or(name.as_str(), |(_, model)| model);
    let words: Vec<&str> = model
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '.')
        .collect();
    let one = |sizes: Vec<f64>| {
        let first = *sizes.first()?;
        sizes
            .iter()
            .all(|size| (size / first - 1.0).abs() < 1e-9)
            .then_some(first)
    };
    let read =
        |size: fn(&str) -> Option<f64>| one(words.iter().filter_map(|word| size(word)).collect());
    let (stated, active) = (read(total), read(active));
    if words.iter().any(|word| is_number_of_experts(word)) {
        return SizeInName {
            total: None,
            active: active.or(stated),
        };
    }
    SizeInName {
        total: stated,
        active: active.filter(|active| stated.is_none_or(|total| *active <= total)),
    }
}

/// `30b`, `1t`, `270m` or `8x22b`.
fn total(word: &str) -> Option<f64> {
    let Some((experts, each)) = word.split_once('x') else {
        return parameters(word);
    };
    let experts = number(experts).filter(|experts| experts.fract() == 0.0)?;
    within(experts * parameters(each)? * SHARED_BY_EXPERTS)
}

/// `a3b`.
fn active(word: &str) -> Option<f64> {
    parameters(word.strip_prefix('a')?)
}

/// `16e`, beside the active parameters.
fn is_number_of_experts(word: &str) -> bool {
    let experts = word.strip_suffix('e').and_then(number);
    experts.is_some_and(|experts| experts.fract() == 0.0 && experts >= 2.0)
}

fn parameters(word: &str) -> Option<f64> {
    const UNITS: [(char, f64); 3] = [('m', 1e6), ('b', 1e9), ('t', 1e12)];
    let (unit, each) = UNITS.into_iter().find(|(unit, _)| word.ends_with(*unit))?;
    within(number(word.strip_suffix(unit)?)? * each)
}

fn within(size: f64) -> Option<f64> {
    SIZES.contains(&size).then_some(size)
}

/// A number without sign or exponent.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.');
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_other_numbers_are_not() {
        let total = |name| size_in_name(name).total;
        for (name, size) in [
            ("qwen3.8-27b", 27e9),
            ("deepseek-r1-distill-llama-70b", 70e9),
            ("openai/gpt-oss-120b:free", 120e9),
            ("gemma-3-270m-it", 0.27e9),
            ("qwen2.5-0.5b", 0.5e9),
            ("acme-1t", 1e12),
            ("mixtral-8x22b-instruct", 0.8 * 8.0 * 22e9),
            ("meta-llama_Llama-3.1-8B-Instruct", 8e9),
        ] {
            assert_eq!(total(name), Some(size), "{name}");
        }
        for name in [
            "gpt-5.4",
            "qwen-turbo-1m",
            "kimi-k2-0905",
            "gemini-2.5-flash-preview-05-20",
            "acme-8b-distilled-from-70b",
            "gemma-3n-e4b-it",
            "model-4bit-128k",
            "o3",
            "",
        ] {
            assert_eq!(total(name), None, "{name}");
        }
        let llama = size_in_name("llama-4-maverick-17b-128e-instruct");
        assert_eq!((llama.total, llama.active), (None, Some(17e9)));
    }
}
