//! Recognition of a catalog, which proves itself: a document is of a format if most of its entries have its prices.

use std::fmt::Write;

use super::{CATALOGS, Catalog};
use unroof_base::input::cursor::shortened;
use unroof_base::input::json::Json;
use unroof_base::input::text::printable;

/// Most fields that the description of a document names.
const MOST_NAMED: usize = 4;

/// Form of a catalog: where a document has its entries, and by which fields their prices are known.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The entries of a document of this form, whatever they hold; none where it has another form.
    pub entries: fn(&Json) -> Vec<&Json>,
    /// Fields by their paths: a priced entry has at least one of each group.
    pub prices: &'static [&'static [&'static str]],
}

impl Form {
    /// Whether an entry has the fields of the format.
    fn is_priced(&self, entry: &Json) -> bool {
        let has_one = |group: &&[&str]| group.iter().any(|path| has_field(entry, path));
        self.prices.iter().all(has_one)
    }

    /// The fields in words.
    fn wanted(&self) -> String {
        let group = |group: &&[&str]| {
            let fields = group.iter().map(|path| format!("`{path}`"));
            fields.collect::<Vec<_>>().join(" or ")
        };
        let groups: Vec<String> = self.prices.iter().map(group).collect();
        groups.join(", and ")
    }
}

/// Whether an entry has the field of a path such as `pricing/prompt`.
pub(super) fn has_field(entry: &Json, path: &str) -> bool {
    let mut names = path.split('/');
    let found = names.try_fold(entry, |json, name| json.at(name));
    found.is_some_and(|field| *field != Json::Null)
}

/// Number of entries of a document that have the prices of a format.
struct Evidence {
    catalog: &'static Catalog,
    entries: usize,
    priced: usize,
    /// Entries with the mark of the format.
    marked: usize,
}

impl Evidence {
    fn of(catalog: &'static Catalog, document: &Json) -> Self {
        let entries = (catalog.form.entries)(document);
        let count =
            |holds: &dyn Fn(&Json) -> bool| entries.iter().filter(|entry| holds(entry)).count();
        Self {
            catalog,
            priced: count(&|entry| catalog.form.is_priced(entry)),
            marked: count(&|entry| entry.has(catalog.mark)),
            entries: entries.len(),
        }
    }

    fn is_proof(&self) -> bool {
        self.priced * 2 > self.entries
    }

    /// `2 of its 11 entries have …`
    fn in_words(&self) -> String {
        let wanted = self.catalog.form.wanted();
        match (self.entries, self.priced) {
            (0, _) => "it has no entries in that form".to_owned(),
            (entries, 0) => format!("none of its {entries} entries has {wanted}"),
            (entries, priced) => format!("only {priced} of its {entries} entries have {wanted}"),
        }
    }
}

impl Catalog {
    /// Whether a document is a whole catalog of this format.
    #[must_use]
    pub fn recognizes(&'static self, document: &Json) -> bool {
        Evidence::of(self, document).is_proof()
    }

    /// The reason that a document is no catalog of this format, and what it looks like.
    #[must_use]
    pub fn why_not(&'static self, document: &Json) -> Option<String> {
        let evidence = Evidence::of(self, document);
        if evidence.is_proof() {
            return None;
        }
        let name = self.name();
        let lack = evidence.in_words();
        let like = match recognize(document) {
            Some(other) => format!("it is a catalog of {}", other.name()),
            None => format!("it is {}", described(document)),
        };
        Some(format!(
            "the document is no catalog of {name}: {lack}; {like}"
        ))
    }
}

/// The format of a whole catalog.
#[must_use]
pub fn recognize(document: &Json) -> Option<&'static Catalog> {
    CATALOGS
        .into_iter()
        .find(|catalog| catalog.recognizes(document))
}

/// Describes a document that no format recognises: what it looks like, and what it lacks.
#[must_use]
pub fn resemblance(document: &Json) -> String {
    let evidence = CATALOGS.map(|catalog| Evidence::of(catalog, document));
    let most = |count: fn(&Evidence) -> usize| {
        let like = evidence.iter().max_by_key(|evidence| count(evidence));
        like.filter(|evidence| count(evidence) > 0)
    };
    let like = most(|evidence| evidence.priced).or_else(|| most(|evidence| evidence.marked));
    match like {
        Some(evidence) => {
            let name = evidence.catalog.name();
            format!("it looks like {name}, but {}", evidence.in_words())
        }
        None => format!("it is {}", described(document)),
    }
}

/// `an object of 7 fields, such as a, b`
fn described(document: &Json) -> String {
    let (mut words, fields) = match document {
        Json::Object(fields) => (
            format!("an object of {} fields", fields.len()),
            Some(fields),
        ),
        Json::Array(items) => {
            let first = match items.first() {
                Some(Json::Object(fields)) => Some(fields),
                _ => None,
            };
            (format!("a list of {} items", items.len()), first)
        }
        other => (other.kind().to_owned(), None),
    };
    let names = fields.into_iter().flatten();
    let names = names.take(MOST_NAMED).map(|(name, _)| {
        let name = shortened(name);
        format!("`{}`", printable(&name))
    });
    let names = names.collect::<Vec<_>>().join(", ");
    if !names.is_empty() {
        let _ = write!(words, " with {names}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_base::input::json;

    /// A small catalog of each format.
    const CATALOGS_OF_ONE: [(&str, &str); 7] = [
        (
            "genai-prices",
            r#"[{"id": "openai", "models": [{"id": "gpt-5.4", "prices": {"input_mtok": 1}}]}]"#,
        ),
        (
            "litellm",
            r#"{"sample_spec": {"mode": "one of many"}, "gpt-5.4": {"litellm_provider": "openai", "input_cost_per_token": 1e-6}}"#,
        ),
        (
            "llm-prices",
            r#"{"prices": [{"vendor": "openai", "id": "o3", "input": 2}]}"#,
        ),
        (
            "models.dev",
            r#"{"deepseek": {"id": "deepseek", "models": {"t": {"cost": {"input": 0.66, "tiers": [{"tier": {"type": "time"}}]}}}}}"#,
        ),
        (
            "openrouter",
            r#"{"data": [{"id": "a/m", "pricing": {"prompt": "0.1", "completion": "0.2"}}]}"#,
        ),
        (
            "portkey",
            r#"{"openai": {"gpt-5.4": {"pricing_config": {"pay_as_you_go": {}}}}}"#,
        ),
        (
            "vercel",
            r#"{"data": [{"id": "a/m", "type": "language", "pricing": {"input": "0.1", "output": "0.2"}}]}"#,
        ),
    ];

    fn tree(document: &str) -> Json {
        json::parse(document.as_bytes()).unwrap()
    }

    #[test]
    fn a_catalog_is_recognised_as_its_own_format_and_refused_under_every_other() {
        let names = CATALOGS.map(Catalog::name);
        assert_eq!(CATALOGS_OF_ONE.map(|(name, _)| name), names);
        for (name, document) in CATALOGS_OF_ONE {
            let document = tree(document);
            assert_eq!(recognize(&document).map(Catalog::name), Some(name));
            for catalog in CATALOGS {
                let reason = catalog.why_not(&document);
                if catalog.name() == name {
                    assert_eq!(reason, None);
                } else {
                    let like = format!("it is a catalog of {name}");
                    assert!(
                        reason.is_some_and(|reason| reason.ends_with(&like)),
                        "{name}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_format_is_refused_where_half_of_the_entries_lack_its_prices_with_what_they_lack() {
        let half = tree(
            r#"{"a": {"litellm_provider": "x", "input_cost_per_token": 1}, "b": {"litellm_provider": "x"}}"#,
        );
        assert_eq!(recognize(&half).map(Catalog::name), None);
        assert_eq!(
            resemblance(&half),
            "it looks like litellm, but only 1 of its 2 entries have `litellm_provider`, and `input_cost_per_token` or `output_cost_per_token` or `tiered_pricing`"
        );
        let unpriced = tree(r#"{"data": [{"id": "a/m", "pricing": {"image": "0.1"}}]}"#);
        assert_eq!(
            resemblance(&unpriced),
            "it looks like vercel, but none of its 1 entries has `pricing/input` or `pricing/output`"
        );
        let openrouter: &Catalog = "openrouter".parse().unwrap();
        assert_eq!(
            openrouter.why_not(&tree("[]")).unwrap(),
            "the document is no catalog of openrouter: it has no entries in that form; it is a list of 0 items"
        );
        assert_eq!(
            resemblance(&tree(r#"{"error": 1, "reason": "x"}"#)),
            "it is an object of 2 fields with `error`, `reason`"
        );
        assert_eq!(resemblance(&tree("7")), "it is a number");
    }
}
