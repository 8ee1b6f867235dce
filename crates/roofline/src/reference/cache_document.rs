//! Documents of vendors about their caches: lifetime and medium.

use serde::{Deserialize, Deserializer};

use super::{StorageClass, StorageKind, words};

embedded_tables! {
    /// All documents of vendors about their caches, in the order of the file.
    cache_documents: CacheDocument = "cache_documents.csv";
}

/// Kind of a cache offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfferedAs {
    /// A price for writing a token, with a time to live.
    Write,
    /// Tokens are found in it without being asked for.
    Implicit,
    /// A cache that is made and named by the customer.
    Explicit,
}

/// Document of a vendor about one of its caches.
#[derive(Debug, Clone, Deserialize)]
pub struct CacheDocument {
    /// Provider that published the document.
    pub provider: String,
    /// The vendor's name of the offer.
    pub offer: String,
    /// The lifetime as it is written.
    pub lifetime_documented: String,
    /// The medium as it is written; empty where only the lifetime is.
    pub medium_documented: String,
    /// The name of the offer in an answer.
    pub name: String,
    /// Kind of the offer.
    pub offered_as: OfferedAs,
    /// Names under which the vendor sells.
    #[serde(deserialize_with = "words")]
    pub sellers: Vec<String>,
    /// Whether the lifetime is promised; else tokens may be evicted before.
    pub promised: bool,
    /// Shortest stay of a token, by promise or as it is usual, in seconds.
    pub at_least_seconds: Option<f64>,
    /// Longest stay of a token, in seconds.
    pub at_most_seconds: Option<f64>,
    /// The last model that it holds for, where it holds for older ones alone.
    pub latest_model: String,
    /// Storage that it names; empty where it names none.
    #[serde(deserialize_with = "kinds")]
    pub tiers: Vec<StorageKind>,
    /// Source of the document.
    pub source: String,
    /// Address of the document.
    pub address: String,
    /// Certainty of the row.
    pub confidence: String,
}

impl CacheDocument {
    /// The class of the medium, where one is documented.
    #[must_use]
    pub fn class(&self) -> Option<StorageClass> {
        self.tiers.first().map(|kind| kind.class())
    }

    /// Whether it is about a model of this author, sold by one of these sellers: its own vendor in both roles, and a model
    /// no newer than the last one named.
    #[must_use]
    pub fn covers(&self, sellers: &[&str], author: Option<&str>, model: &str) -> bool {
        let is_vendor = |name: &str| {
            let named = |seller: &String| seller.eq_ignore_ascii_case(name);
            self.sellers.iter().any(named)
        };
        let is_older = match (version(&self.latest_model), version(model)) {
            (Some(latest), Some(this)) => this <= latest,
            _ => true,
        };
        sellers.iter().any(|seller| is_vendor(seller)) && author.is_none_or(is_vendor) && is_older
    }
}

/// The address of a document by its name as a source; none where no row has it.
#[must_use]
pub fn address_of_document(source: &str) -> Option<&'static str> {
    let found = cache_documents().iter().find(|row| row.source == source);
    found.map(|row| row.address.as_str())
}

/// The number in a model's name: (5, 4) of `gpt-5.4-mini`.
fn version(model: &str) -> Option<(u32, u32)> {
    let start = model.find(|letter: char| letter.is_ascii_digit())?;
    let digits = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let major = digits(&model[start..]);
    let rest = &model[start + major.len()..];
    let minor = rest.strip_prefix('.').map(digits).unwrap_or_default();
    Some((major.parse().ok()?, minor.parse().unwrap_or(0)))
}

/// Kinds of storage, separated by blanks.
fn kinds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<StorageKind>, D::Error> {
    let names = words(deserializer)?;
    let kind = |name: String| {
        StorageKind::deserialize(serde::de::value::StringDeserializer::<D::Error>::new(name))
    };
    names.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_rows_of_four_vendors_name_a_medium_and_each_row_has_a_source() {
        let with_medium = |row: &&CacheDocument| !row.tiers.is_empty();
        let documented: Vec<_> = cache_documents().iter().filter(with_medium).collect();
        let mut vendors: Vec<&str> = documented.iter().map(|row| &*row.provider).collect();
        vendors.dedup();
        assert_eq!(documented.len(), 6);
        assert_eq!(vendors, ["anthropic", "openai", "google", "deepseek"]);
        for row in cache_documents() {
            assert!(!row.source.is_empty() && !row.confidence.is_empty());
            assert!(row.address.starts_with("https://"), "{}", row.address);
            assert_eq!(row.tiers.is_empty(), row.medium_documented.is_empty());
            assert!(row.at_least_seconds <= row.at_most_seconds, "{}", row.offer);
            let classes: Vec<_> = row.tiers.iter().map(|kind| kind.class()).collect();
            assert!(classes.iter().all(|class| *class == classes[0]));
        }
    }

    #[test]
    fn a_document_is_about_its_vendor_as_author_and_seller_and_about_models_up_to_the_last() {
        let in_memory = cache_documents()
            .iter()
            .find(|row| row.latest_model == "gpt-5.4")
            .unwrap();
        let covers = |seller: &str, author: Option<&str>, model: &str| {
            in_memory.covers(&[seller], author, model)
        };
        assert!(covers("openai", Some("openai"), "gpt-5.4-mini"));
        assert!(covers("OpenAI", None, "gpt-4o"));
        assert!(!covers("openai", Some("openai"), "gpt-5.6-sol"));
        assert!(!covers("openai", Some("openai"), "gpt-6"));
        assert!(!covers("azure", Some("openai"), "gpt-5.4"));
        assert!(!covers("openai", Some("meta"), "llama"));
    }
}
