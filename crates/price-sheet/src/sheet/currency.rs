//! The currency of a sheet in the API document.

use std::borrow::Cow;

use iso_currency::Currency;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use unroof_base::input::schema::one_of_texts;

/// Describes the code of a currency.
pub struct CurrencyCode;

impl PartialSchema for CurrencyCode {
    fn schema() -> RefOr<Schema> {
        one_of_texts(currency_codes())
            .description(Some("ISO 4217 code"))
            .examples(["USD"])
            .into()
    }
}

impl ToSchema for CurrencyCode {
    fn name() -> Cow<'static, str> {
        "CurrencyCode".into()
    }
}

/// The words of three capitals that are codes.
fn currency_codes() -> impl Iterator<Item = String> {
    let letters = || 'A'..='Z';
    let pairs = letters().flat_map(move |first| letters().map(move |second| (first, second)));
    let words = pairs.flat_map(move |(first, second)| {
        letters().map(move |third| String::from_iter([first, second, third]))
    });
    words.filter(|word| Currency::from_code(word).is_some())
}
