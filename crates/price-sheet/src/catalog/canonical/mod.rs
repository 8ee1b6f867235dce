//! Canonical model names, `author/model`, from the spellings of sellers.
//!
//! A name depends on its own spelling alone: neither the catalog, nor the seller, nor what was read before changes it. It
//! is cut into words; the first ones name the family, which has an author; what does not change the weights (seller,
//! region, price group, FP8 storage, speed, effort of thinking) is left out, and all else stays in the name, so that a variant
//! has a name of its own. [`mode_of`] says what was left out of a mode's name.
//!
//! ```
//! use unroof_price_sheet::catalog::canonical::canonical_model;
//!
//! let spellings = ["claude-4.5-sonnet", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"];
//! for name in spellings {
//!     assert_eq!(canonical_model(name).as_deref(), Some("anthropic/claude-sonnet-4-5"));
//! }
//! ```

mod authors;
mod mode;
mod moved;
mod tables;
#[cfg(test)]
mod tests;

pub use self::mode::{Mode, mode_of};
pub(super) use self::moved::moved_model;

use self::authors::{ORGANISATIONS, family_of};
use self::mode::take_mode;
use self::tables::{
    ALIASES, AUTHORS_AS_WORDS, LLAMA_WORDS, MOVING_NAMES, MOVING_WORDS, NEUTRAL_ORGANISATIONS,
    REWORKED, SAME_WEIGHTS, SEVERAL_DATES, SPELLINGS,
};
use super::names::{has_word, without_prefixes, without_version};
use super::values::is_name;

/// The canonical name of a seller's model name; none where the author is unknown, or the name is not of fixed weights.
#[must_use]
pub fn canonical_model(name: &str) -> Option<String> {
    let (organisation, words) = take_apart(name)?;
    let mut words = without_author(words);
    take_mode(&mut words);
    let family = family_of(&words);
    let author = author_of(organisation.as_deref(), family.map(|family| family.author))?;
    let is_fixed = family.is_some_and(|family| !family.needs_digit)
        || words.iter().any(|word| has_digit(word));
    if !is_fixed
        || is_moving(&words)
        || is_ambiguous(&words)
        || (author == "meta" && !is_plain_llama(&words))
    {
        return None;
    }
    let model = spelled(author, settled(author, words));
    let canonical = format!("{author}/{model}");
    is_name(&canonical).then_some(canonical)
}

/// The author of a model by the name that a seller gives it; none where it is unknown.
#[must_use]
pub(super) fn author_of_model(name: &str) -> Option<&'static str> {
    let (organisation, words) = take_apart(name)?;
    let family = family_of(&without_author(words));
    author_of(organisation.as_deref(), family.map(|family| family.author))
}

/// The canonical form of a name that a catalog states as `author/model`. Of a family that is known here, only a model's
/// own name counts: a catalog states the base model for its variants, and the newest one for an alias that moves.
pub(super) fn of_stated(stated: &str) -> Option<String> {
    let (_, words) = take_apart(stated)?;
    let is_known = family_of(&without_author(words)).is_some();
    (!is_known).then(|| stated.to_lowercase())
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

fn has_digit(word: &str) -> bool {
    word.contains(is_digit)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Organisation and words of a name in any spelling; none for a model that a customer has tuned.
fn take_apart(name: &str) -> Option<(Option<String>, Vec<String>)> {
    let lower = name.to_lowercase();
    let lower = lower.strip_prefix("hf:").unwrap_or(&lower);
    if lower.starts_with("ft:") || lower.rsplit('.').next() == Some("ft") || lower.starts_with('~')
    {
        return None;
    }
    let lower = &without_host(lower);
    let mut segments = lower.rsplit('/').filter(|part| !part.is_empty());
    let last = segments.next()?;
    let organisation = segments.next().map(str::to_owned);
    let last = without_price_group(without_prefixes(last))?;
    let words = last
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .flat_map(split_decimal);
    Some((organisation, words.collect()))
}

/// The name without the version or host after an `@`, but for a version of digits or `latest`, which becomes a word.
fn without_host(name: &str) -> String {
    let bare = without_version(name);
    let version = name.get(bare.len() + 1..).unwrap_or_default();
    let is_date = is_number(version) && [4, 8].contains(&version.len());
    if is_date || version == "latest" {
        format!("{bare}-{version}")
    } else {
        bare.to_owned()
    }
}

/// The name without `:free` and the like, or Bedrock's `-v1:0`; any other suffix becomes words.
fn without_price_group(name: &str) -> Option<String> {
    let Some((model, suffix)) = name.split_once(':') else {
        return Some(name.to_owned());
    };
    if ["batch", "free"].contains(&suffix) {
        return Some(model.to_owned());
    }
    if !is_number(suffix) || suffix.len() > 2 {
        // Bedrock's `:0:18k` has another context.
        return (!suffix.contains(':')).then(|| format!("{model}-{suffix}"));
    }
    if model.ends_with("-v0") {
        return Some(format!("{model}.{suffix}"));
    }
    let bare = ["-v1", "-1"]
        .iter()
        .find_map(|version| model.strip_suffix(version));
    Some(bare.unwrap_or(model).to_owned())
}

/// `k2p5` is `k2` and `5`: some hosts write no dots.
fn split_decimal(word: &str) -> Vec<String> {
    if let Some((left, right)) = word.split_once('p')
        && left.ends_with(is_digit)
        && right.starts_with(is_digit)
    {
        return vec![left.to_owned(), right.to_owned()];
    }
    vec![word.to_owned()]
}

/// The words without authors and sellers in front, in the spelling of the family.
fn without_author(mut words: Vec<String>) -> Vec<String> {
    let is_known = |words: &[String]| family_of(words).is_some();
    while words.len() > 1 && has_word(AUTHORS_AS_WORDS, &words[0]) {
        let rest = spelled_alike(words[1..].to_vec());
        let is_second = rest.len() > 1
            && has_word(AUTHORS_AS_WORDS, &rest[0])
            && is_known(&spelled_alike(rest[1..].to_vec()));
        if !is_known(&rest) && !is_second {
            break;
        }
        words = rest;
    }
    spelled_alike(words)
}

/// `llama3` as `llama` and `3`, `qwen` and `3` as `qwen3`.
fn spelled_alike(mut words: Vec<String>) -> Vec<String> {
    let Some(first) = words.first().cloned() else {
        return words;
    };
    let apart = ["claude", "gemma", "glm", "grok", "llama", "phi", "gpt"];
    let split = apart.iter().find_map(|family| {
        let number = first.strip_prefix(family)?;
        number
            .starts_with(is_digit)
            .then(|| [(*family).to_owned(), number.to_owned()])
    });
    if let Some(split) = split {
        words.splice(..1, split);
    } else if first == "qwen"
        && words
            .get(1)
            .is_some_and(|word| is_number(word) && word.len() == 1)
    {
        words.splice(..2, [format!("qwen{}", words[1])]);
    }
    if ["llama", "qwen"].contains(&words[0].as_str())
        && let Some(version) = words.get(1).and_then(|word| word.strip_prefix('v'))
        && has_digit(version)
    {
        let version = version.to_owned();
        words[1] = version;
        return spelled_alike(words);
    }
    split_version(&mut words);
    words
}

/// `gpt` and `54` as `gpt`, `5` and `4`, `m27` as `m2` and `7`: some sellers leave the dot out.
fn split_version(words: &mut Vec<String>) {
    const FAMILIES: [&str; 13] = [
        "claude", "deepseek", "ernie", "gemini", "glm", "gpt", "grok", "kimi", "llama", "mimo",
        "minimax", "phi", "qwen",
    ];
    let is_meant = FAMILIES.iter().any(|family| words[0].starts_with(family));
    let Some(place) = words
        .iter()
        .position(|word| has_digit(word))
        .filter(|_| is_meant)
    else {
        return;
    };
    let digits = words[place].trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let prefix = words[place].len() - digits.len();
    let is_alone = !words
        .get(place + 1)
        .is_some_and(|next| is_number(next) && next.len() <= 2);
    if digits.len() == 2 && is_number(digits) && is_alone {
        let (left, right) = words[place].split_at(prefix + 1);
        let (left, right) = (left.to_owned(), right.to_owned());
        words.splice(place..=place, [left, right]);
    }
}

/// The author by organisation and family; none where they disagree, as at a model that others have tuned.
fn author_of(organisation: Option<&str>, of_family: Option<&'static str>) -> Option<&'static str> {
    let Some(organisation) = organisation else {
        return of_family;
    };
    let organisation = organisation.strip_prefix("hf:").unwrap_or(organisation);
    match ORGANISATIONS.get(organisation) {
        Some(author) if of_family.is_none_or(|family| family == *author) => Some(author),
        _ if has_word(NEUTRAL_ORGANISATIONS, organisation) => of_family,
        _ => None,
    }
}

/// Whether the weights behind a name change, or are no longer the author's.
fn is_moving(words: &[String]) -> bool {
    let has = |list: &str| words.iter().any(|word| has_word(list, word));
    has(MOVING_WORDS) || has(REWORKED) || has_word(MOVING_NAMES, &words.join("-"))
}

/// Whether the name ends in a size under which a base and a tuned model are sold, or one that thinks and one that does not.
fn is_ambiguous(words: &[String]) -> bool {
    const WITH_BASE: [&str; 6] = ["codellama", "llama", "mistral", "mixtral", "qwen1", "qwen2"];
    const TUNED_ONLY: [&str; 5] = ["guard", "maverick", "nemo", "scout", "small"];
    let is_size = |word: &String| {
        let count = word
            .trim_start_matches('a')
            .strip_suffix('b')
            .unwrap_or_default();
        count.starts_with(is_digit) && count.ends_with(is_digit)
    };
    let is_tuned = words.iter().take(3).eq(["llama", "3", "3"])
        || words.iter().any(|word| TUNED_ONLY.contains(&word.as_str()));
    let has_base = WITH_BASE.contains(&words[0].as_str()) && words.len() <= 5 && !is_tuned;
    let has_thinking = words[0] == "qwen3"
        && words
            .get(1)
            .is_some_and(|word| ["next", "vl"].contains(&word.as_str()));
    (has_base || has_thinking) && words.last().is_some_and(is_size)
}

/// Whether a Llama is Meta's own: many others carry the name.
fn is_plain_llama(words: &[String]) -> bool {
    let is_size = |word: &str| {
        let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        is_number(digits) && word.len() - digits.len() <= 1
    };
    words[0] != "llama"
        || words
            .iter()
            .all(|word| is_size(word) || has_word(LLAMA_WORDS, word))
}

/// The words in one order, without what does not change the weights.
fn settled(author: &str, mut words: Vec<String>) -> String {
    let place = words.iter().position(|word| word == "fp8");
    if let Some(place) = place
        && words.get(place + 1).is_some_and(|word| word == "dynamic")
    {
        words.remove(place + 1);
    }
    while words.len() > 1
        && words
            .last()
            .is_some_and(|word| has_word(SAME_WEIGHTS, word))
    {
        words.pop();
    }
    for (written, ours) in SPELLINGS {
        let written: Vec<&str> = written.split('-').collect();
        if words.len() >= written.len()
            && words.iter().zip(&written).all(|(word, part)| word == part)
        {
            words.splice(..written.len(), ours.split('-').map(str::to_owned));
        }
    }
    match author {
        "anthropic" => words = ordered_claude(words),
        "google" => add_tuning(&mut words),
        _ => {}
    }
    let is_bedrock = ["nova", "titan", "llama", "claude"].contains(&words[0].as_str());
    if is_bedrock && words.len() > 2 {
        words.pop_if(|word| word == "v1");
    }
    let name = if ["anthropic", "openai"].contains(&author) {
        without_date(words).join("-")
    } else {
        words.join("-")
    };
    match ALIASES.get(name.as_str()) {
        Some(ours) => (*ours).to_owned(),
        None => name,
    }
}

/// `claude-4.5-sonnet` as `claude-sonnet-4-5`, and `claude-sonnet-3.5` as `claude-3-5-sonnet`.
fn ordered_claude(words: Vec<String>) -> Vec<String> {
    const TIERS: [&str; 6] = ["fable", "haiku", "instant", "mythos", "opus", "sonnet"];
    let is_version = |word: &String| is_number(word) && word.len() <= 2;
    let words = without_glue(words, &TIERS);
    let Some(tier) = words.iter().position(|word| TIERS.contains(&word.as_str())) else {
        return words;
    };
    let Some(first) = words.iter().position(is_version) else {
        return words;
    };
    let count = words[first..]
        .iter()
        .take_while(|word| is_version(word))
        .count()
        .min(2);
    let mut version: Vec<String> = words[first..first + count].to_vec();
    // The first of a generation is also written with `.0`.
    if version.len() == 2 && version[1] == "0" {
        version.pop();
    }
    let is_old = version[0].len() == 1 && version[0].as_str() < "4";
    let head = [words[tier].clone()];
    let mut ordered = vec![words[0].clone()];
    if is_old {
        ordered.extend(version.into_iter().chain(head));
    } else {
        ordered.extend(head.into_iter().chain(version));
    }
    let used =
        |place: usize| place == 0 || place == tier || (first..first + count).contains(&place);
    let rest = words.iter().enumerate().filter(|(place, _)| !used(*place));
    ordered.extend(rest.map(|(_, word)| word.clone()));
    ordered
}

/// `opus4` as `opus` and `4`.
fn without_glue(words: Vec<String>, tiers: &[&str]) -> Vec<String> {
    let split = |word: String| {
        let number = tiers
            .iter()
            .find_map(|tier| Some((tier, word.strip_prefix(tier)?)));
        match number {
            Some((tier, number)) if is_number(number) => {
                vec![(*tier).to_owned(), number.to_owned()]
            }
            _ => vec![word],
        }
    };
    words.into_iter().flat_map(split).collect()
}

/// Hosts sell the tuned Gemma of the second and later generations, with or without `-it`.
fn add_tuning(words: &mut Vec<String>) {
    let is_size = |word: &String| word.ends_with('b') && word.contains(is_digit);
    let is_new = words
        .get(1)
        .is_some_and(|word| ["2", "3", "3n", "4"].contains(&word.as_str()));
    if words[0] == "gemma" && is_new && words.last().is_some_and(is_size) {
        words.push("it".to_owned());
    }
}

/// The words without a date, unless several dated versions have the name.
fn without_date(words: Vec<String>) -> Vec<String> {
    let is_year = |word: &String| is_number(word) && word.len() == 4 && word.starts_with("20");
    let dated = match words.as_slice() {
        [.., day] if is_number(day) && day.len() == 8 && day.starts_with("20") => 1,
        [.., year, month, day]
            if is_year(year)
                && [month, day]
                    .iter()
                    .all(|part| is_number(part) && part.len() == 2) =>
        {
            3
        }
        _ => return words,
    };
    let bare = &words[..words.len() - dated];
    if has_word(SEVERAL_DATES, &bare.join("-")) {
        return words;
    }
    bare.to_vec()
}

/// The name with its decimal points: `qwen3-5-0-8b` as `qwen3.5-0.8b`. Anthropic writes none.
fn spelled(author: &str, name: String) -> String {
    if author == "anthropic" {
        return name;
    }
    let words: Vec<&str> = name.split('-').collect();
    let is_part = |word: &str| {
        is_number(word) && word.len() <= 2 && (word.len() == 1 || !word.starts_with('0'))
    };
    let ends_in_part =
        |word: &str| is_part(word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()));
    let is_size =
        |word: &str| word.len() == 2 && word.ends_with(['b', 't']) && word.starts_with(is_digit);
    let is_year = |word: &str| is_number(word) && word.len() == 4;
    let mut text = words[0].to_owned();
    let mut in_version = false;
    for place in 1..words.len() {
        let (before, word) = (words[place - 1], words[place]);
        let earlier = place.checked_sub(2).map(|place| words[place]);
        let is_whole_of_size = |place: usize| {
            let is_small =
                ["0", "1"].contains(&words[place]) && ["alibaba", "deepseek"].contains(&author);
            is_small && words.get(place + 1).is_some_and(|next| is_size(next))
        };
        let starts_name = place == 1 && before == "v0";
        let right = word.strip_suffix('v').filter(|_| author == "zhipuai");
        let is_decimal_of_version = !in_version
            && !starts_name
            && ends_in_part(before)
            && is_part(right.unwrap_or(word))
            && !is_whole_of_size(place)
            && earlier.is_none_or(|earlier| !is_year(earlier));
        let is_decimal = is_size(word)
            && !in_version
            && (is_whole_of_size(place - 1) || (is_part(before) && earlier.is_some_and(is_part)));
        text.push(if is_decimal_of_version || is_decimal {
            '.'
        } else {
            '-'
        });
        text.push_str(word);
        in_version = is_decimal_of_version;
    }
    text
}
