//! Names that sellers moved from one model to the next: which weights a name stood for, by date.

use jiff::Timestamp;

/// The seller whose names these are.
const PROVIDER: &str = "deepseek";
const CHAT: &[&str] = &["deepseek-chat"];
const REASONER: &[&str] = &["deepseek-reasoner"];
const BOTH: &[&str] = &["deepseek-chat", "deepseek-reasoner"];

/// Names, the first day in UTC on which they meant a model until their next row, and the canonical model; none from the day
/// on which the names were retired. Source of all days up to 2025-12-01: DeepSeek's change log,
/// <https://api-docs.deepseek.com/updates>; of the later two: DeepSeek's notice of 2026-04-24 that both names stand for
/// V4-Flash and end on 2026-07-24, <https://api-docs.deepseek.com/news/news260424>.
const MEANINGS: [(&[&str], &str, Option<&str>); 11] = [
    (CHAT, "2024-09-05", Some("deepseek/deepseek-v2.5")),
    (CHAT, "2024-12-26", Some("deepseek/deepseek-v3")),
    (REASONER, "2025-01-20", Some("deepseek/deepseek-r1")),
    (CHAT, "2025-03-24", Some("deepseek/deepseek-v3-0324")),
    (REASONER, "2025-05-28", Some("deepseek/deepseek-r1-0528")),
    (BOTH, "2025-08-21", Some("deepseek/deepseek-v3.1")),
    (BOTH, "2025-09-22", Some("deepseek/deepseek-v3.1-terminus")),
    (BOTH, "2025-09-29", Some("deepseek/deepseek-v3.2-exp")),
    (BOTH, "2025-12-01", Some("deepseek/deepseek-v3.2")),
    (BOTH, "2026-04-24", Some("deepseek/deepseek-v4-flash")),
    (BOTH, "2026-07-24", None),
];

/// The canonical model that a seller's name stood for at a time; none for a name that was never moved, before its first
/// meaning, and after it was retired.
pub(crate) fn moved_model(provider: &str, name: &str, at: Timestamp) -> Option<&'static str> {
    let bare = name.rsplit('/').next().unwrap_or(name);
    let day = at.to_string();
    // Days of four-digit years are in the order of their texts.
    let is_meant = |(names, from, _): &&(&[&str], &str, Option<&str>)| {
        provider == PROVIDER && names.contains(&bare) && *from <= day.as_str()
    };
    MEANINGS.iter().rfind(is_meant)?.2
}

#[cfg(test)]
mod tests {
    use super::super::canonical_model;
    use super::*;

    fn model_of(name: &str, at: &str) -> Option<&'static str> {
        moved_model("deepseek", name, at.parse().unwrap())
    }

    #[test]
    fn a_moved_name_is_the_model_of_its_day() {
        let at = |day| model_of("deepseek-chat", day);
        assert_eq!(at("2024-01-01T00:00:00Z"), None);
        assert_eq!(at("2024-12-25T23:59:59Z"), Some("deepseek/deepseek-v2.5"));
        assert_eq!(at("2024-12-26T00:00:00Z"), Some("deepseek/deepseek-v3"));
        assert_eq!(at("2025-09-05T16:00:00Z"), Some("deepseek/deepseek-v3.1"));
        assert_eq!(at("2026-01-01T00:00:00Z"), Some("deepseek/deepseek-v3.2"));
        assert_eq!(at("2026-11-21T00:00:00Z"), None);
        let reasoner = model_of("deepseek/deepseek-reasoner", "2025-02-01T00:00:00Z");
        assert_eq!(reasoner, Some("deepseek/deepseek-r1"));
    }

    #[test]
    fn another_sellers_name_of_the_same_spelling_is_not_moved() {
        let at = "2025-02-01T00:00:00Z".parse().unwrap();
        assert_eq!(moved_model("openrouter", "deepseek-chat", at), None);
        assert_eq!(moved_model("deepseek", "deepseek-v3.1", at), None);
    }

    #[test]
    fn every_meaning_is_spelled_as_hosts_of_the_same_weights_are() {
        for (names, _, model) in MEANINGS {
            for name in names {
                assert_eq!(canonical_model(name), None, "{name} is fixed");
            }
            if let Some(model) = model {
                assert_eq!(canonical_model(model).as_deref(), Some(model));
            }
        }
    }
}
