//! Values that all catalogs write: names, whole numbers, lengths.

use crate::sheet::MOST_COUNT;
use unroof_base::input::cursor::LONGEST_NAME;
use unroof_base::input::json::Json;

/// Whether a text is a valid name.
pub(super) fn is_name(text: &str) -> bool {
    !text.trim().is_empty()
        && text.chars().count() <= LONGEST_NAME
        && !text.chars().any(char::is_control)
}

/// Name of a provider in price sheets, from pairs of the catalog's name and that name.
pub(super) fn renamed<'n>(names: &[(&str, &'static str)], written: &'n str) -> &'n str {
    let known = names.iter().find(|(theirs, _)| *theirs == written);
    known.map_or(written, |(_, ours)| ours)
}

/// The catalog's name of a model as an alias, if it differs from ours.
pub(super) fn alias(model: &str, name: &str) -> Vec<String> {
    let names = [name].into_iter().filter(|name| *name != model);
    names.map(str::to_owned).collect()
}

/// A whole number up to 2³¹ − 1; `6144.0` is whole.
pub(super) fn whole_number(json: &Json) -> Option<u32> {
    let Json::Number(written) = json else {
        return None;
    };
    let number: f64 = written.parse().ok()?;
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2^31 - 1"
    )]
    is_whole.then_some(number as u32)
}

/// A whole number above 0, as [`whole_number`] reads it.
pub(super) fn count(json: &Json) -> Option<u32> {
    whole_number(json).filter(|number| *number > 0)
}

/// Number of tokens that `128k` means.
pub(super) fn thousands(text: &str) -> Option<u32> {
    let thousands = text.strip_suffix('k')?;
    let is_plain = thousands.bytes().all(|byte| byte.is_ascii_digit());
    let thousands = thousands.parse::<u32>().ok().filter(|_| is_plain)?;
    let tokens = thousands.checked_mul(1_000)?;
    (1..=MOST_COUNT).contains(&tokens).then_some(tokens)
}
