//! A request for a cost: an offer or a sheet, a time and a usage.

use jiff::Timestamp;

use super::usage::Usage;
use crate::sheet::{PriceSheet, canonical, timestamp};
use unroof_base::input;
use unroof_base::input::RequestError;
use unroof_base::input::body::document::name;
use unroof_base::input::body::{Body, Source, body, by, object, optional, plain, value};

body! {
    /// A usage to price: by the stored price of an offer, or by a sheet.
    #[check(check_sheet(offer, price_sheet))]
    pub struct CostRequest {
        /// A name for the usage, which the answer repeats.
        id: Option<String> = optional(value(name())),
        /// The offer whose stored price applies; either this or `price_sheet`.
        offer: Option<OfferName> = optional(value(object::<OfferName>())),
        /// The sheet, in canonical form.
        price_sheet: Option<PriceSheet> = optional(value(by(canonical::read_sheet))),
        /// Time of the request: RFC 3339; now if left out.
        at: Option<Timestamp> = optional(value(timestamp()).flag("at")),
        /// The usage.
        usage: Usage = plain(value(object::<Usage>()).hint("state the tokens, such as {\"input_tokens\": 1000, \"output_tokens\": 200}")),
    }

    /// An offer by its names.
    #[derive(PartialEq, Eq)]
    pub struct OfferName {
        /// Provider that bills for the offer.
        provider: String = plain(value(name()).flag("provider").hint("name the provider, such as \"openai\"")),
        /// Model, as the provider spells it.
        model: String = plain(value(name()).flag("model").hint("name the model as the provider spells it")),
        /// Region; the only one with a price, or `global`, if left out.
        region: Option<String> = optional(value(name()).flag("region")),
    }
}

/// One of the two.
fn check_sheet(
    object: Source<'_, '_>,
    offer: Option<&Option<OfferName>>,
    sheet: Option<&Option<PriceSheet>>,
) {
    let hint = "state either `offer` with provider and model, or `price_sheet`";
    match (offer, sheet) {
        (Some(None), Some(None)) => object.fault("there is neither an offer nor a sheet", hint),
        (Some(Some(_)), Some(Some(_))) => object.fault("there are both an offer and a sheet", hint),
        _ => {}
    }
}

/// The request's own name for the usage, be the rest of it wrong; none where the text cannot be read.
#[must_use]
pub fn usage_id(text: &[u8]) -> Option<String> {
    /// Longest name that is repeated, in characters.
    const LONGEST: usize = 256;
    #[derive(serde::Deserialize)]
    struct Named {
        id: String,
    }
    let Named { id } = serde_json::from_slice(text).ok()?;
    (id.chars().count() <= LONGEST).then_some(id)
}

/// Reads the body of a request.
///
/// # Errors
/// [`RequestError`] with the place of the first fault of the text, or with every fault of its content.
pub fn read_cost(text: &[u8]) -> Result<CostRequest, RequestError> {
    input::read(text, CostRequest::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_that_is_hidden_in_texts_is_not_read_however_deep_it_is() {
        let (open, close) = ("[".repeat(120), "]".repeat(120));
        let mut hidden = "1".to_owned();
        for _ in 0..200 {
            let text = hidden.replace('\\', "\\u005c").replace('"', "\\u0022");
            hidden = format!("{open}{{\"$serde_json::private::RawValue\": \"{text}\"}}{close}");
        }
        let line = format!("{{\"id\": \"a\", \"usage\": {hidden}}}");
        assert_eq!(usage_id(line.as_bytes()).as_deref(), Some("a"));
    }
}
