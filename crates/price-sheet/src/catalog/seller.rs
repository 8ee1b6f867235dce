//! Whether a seller is the author of the model that it sells.

use super::canonical::author_of_model;
use super::names::has_word;
use crate::sheet::PriceSheet;
use crate::vendors::{is_known_vendor, vendor};

/// Vendors that also sell models of others under their own name.
const RESELLERS: &str = "alibaba amazon databricks google ibm microsoft nvidia together";

/// The vendor that made the model of a sheet: by its canonical name `author/model`, else by the name under which it is sold.
#[must_use]
pub fn author_of_sheet(sheet: &PriceSheet) -> Option<String> {
    let stated = sheet.canonical_model.as_ref();
    let stated = stated.and_then(|name| Some(name.split_once('/')?.0));
    stated.or_else(|| author_of_model(&sheet.model)).map(vendor)
}

/// Whether the seller of a sheet made the model; none where neither the model's name nor the seller's shows it. Unknown
/// models of a vendor that sells only its own are its own.
#[must_use]
pub fn is_sold_by_author(sheet: &PriceSheet) -> Option<bool> {
    let seller = vendor(&sheet.provider);
    match author_of_sheet(sheet) {
        Some(author) => Some(author == seller),
        None if is_known_vendor(&seller) && !has_word(RESELLERS, &seller) => Some(true),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::RateCell;

    fn sold(provider: &str, model: &str, canonical: Option<&str>) -> Option<bool> {
        is_sold_by_author(&PriceSheet {
            canonical_model: canonical.map(str::to_owned),
            ..PriceSheet::new(provider, model, vec![RateCell::default()])
        })
    }

    #[test]
    fn a_seller_is_the_author_of_a_model_with_its_name() {
        assert_eq!(sold("dashscope", "m-1", Some("qwen/qwen3-8b")), Some(true));
        assert_eq!(
            sold("alibaba", "m-1", Some("deepseek/deepseek-v3")),
            Some(false)
        );
        assert_eq!(sold("dashscope", "qwen3-32b", None), Some(true));
        assert_eq!(sold("deepinfra", "glm-5", None), Some(false));
    }

    #[test]
    fn an_unknown_model_is_that_of_a_vendor_that_sells_only_its_own() {
        assert_eq!(sold("anthropic", "m-1", None), Some(true));
        assert_eq!(sold("google-vertex", "m-1", None), None);
        assert_eq!(sold("acme", "m-1", None), None);
    }
}
