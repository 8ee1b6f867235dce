//! Names that sellers moved from one model to the next: which weights a name stood for, by date.

use jiff::Timestamp;

/// Weights that a name stood for from a day on, until the next row of the same name.
#[derive(Debug)]
struct Meaning {
    /// Seller, as catalogs spell it.
    provider: &'static str,
    /// Name as the provider spells it.
    name: &'static str,
    /// First day, in UTC.
    from: &'static str,
    /// The canonical model; none from the day on which the name was retired.
    model: Option<&'static str>,
}

const fn meaning(name: &'static str, from: &'static str, model: &'static str) -> Meaning {
    Meaning {
        provider: "deepseek",
        name,
        from,
        model: Some(model),
    }
}

const fn retired(name: &'static str, from: &'static str) -> Meaning {
    Meaning {
        provider: "deepseek",
        name,
        from,
        model: None,
    }
}

const CHAT: &str = "deepseek-chat";
const REASONER: &str = "deepseek-reasoner";

/// Every meaning, by name and day. Source of all days up to 2025-12-01: DeepSeek's change log,
/// <https://api-docs.deepseek.com/updates>; of the later two: DeepSeek's notice of 2026-04-24 that both names stand for
/// V4-Flash and end on 2026-07-24, <https://api-docs.deepseek.com/news/news260424>.
const MEANINGS: [Meaning; 17] = [
    meaning(CHAT, "2024-09-05", "deepseek/deepseek-v2.5"),
    meaning(CHAT, "2024-12-26", "deepseek/deepseek-v3"),
    meaning(CHAT, "2025-03-24", "deepseek/deepseek-v3-0324"),
    meaning(CHAT, "2025-08-21", "deepseek/deepseek-v3.1"),
    meaning(CHAT, "2025-09-22", "deepseek/deepseek-v3.1-terminus"),
    meaning(CHAT, "2025-09-29", "deepseek/deepseek-v3.2-exp"),
    meaning(CHAT, "2025-12-01", "deepseek/deepseek-v3.2"),
    meaning(CHAT, "2026-04-24", "deepseek/deepseek-v4-flash"),
    retired(CHAT, "2026-07-24"),
    meaning(REASONER, "2025-01-20", "deepseek/deepseek-r1"),
    meaning(REASONER, "2025-05-28", "deepseek/deepseek-r1-0528"),
    meaning(REASONER, "2025-08-21", "deepseek/deepseek-v3.1"),
    meaning(REASONER, "2025-09-22", "deepseek/deepseek-v3.1-terminus"),
    meaning(REASONER, "2025-09-29", "deepseek/deepseek-v3.2-exp"),
    meaning(REASONER, "2025-12-01", "deepseek/deepseek-v3.2"),
    meaning(REASONER, "2026-04-24", "deepseek/deepseek-v4-flash"),
    retired(REASONER, "2026-07-24"),
];

/// The canonical model that a seller's name stood for at a time; none for a name that was never moved, before its first
/// meaning, and after it was retired.
pub(crate) fn moved_model(provider: &str, name: &str, at: Timestamp) -> Option<&'static str> {
    let bare = name.rsplit('/').next().unwrap_or(name);
    let day = at.to_string();
    // Days of four-digit years are in the order of their texts.
    MEANINGS
        .iter()
        .filter(|row| row.provider == provider && row.name == bare && row.from <= day.as_str())
        .max_by_key(|row| row.from)?
        .model
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
        for row in &MEANINGS {
            assert_eq!(canonical_model(row.name), None, "{} is fixed", row.name);
            if let Some(model) = row.model {
                assert_eq!(canonical_model(model).as_deref(), Some(model));
            }
        }
    }
}
