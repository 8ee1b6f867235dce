//! Matches the names of one model across sellers and catalogs.

use std::collections::BTreeMap;

use unroof_price_sheet::catalog::{CATALOGS, model_key};
use unroof_price_sheet::sheet::PriceSheet;

/// Canonical models by normalised name; an ambiguous name has none.
#[derive(Debug, Default)]
pub(crate) struct CanonicalModels(BTreeMap<String, Option<String>>);

impl CanonicalModels {
    /// The canonical model that a sheet states. A sheet of a published catalog has it from its reader, or has none, whatever
    /// was imported before; a canonical sheet without it takes the known one that matches its model's name.
    pub(crate) fn of(&self, sheet: &PriceSheet) -> Option<String> {
        let is_published = |sheet: &PriceSheet| {
            let source = sheet.sources.first();
            source.is_some_and(|source| {
                CATALOGS
                    .iter()
                    .any(|catalog| catalog.format == source.format)
            })
        };
        match &sheet.canonical_model {
            None if !is_published(sheet) => self.find(&sheet.model).map(str::to_owned),
            stated => stated.clone(),
        }
    }

    /// Adds the author and model of `author/model`.
    pub(crate) fn add(&mut self, canonical_model: &str) {
        let known = self
            .0
            .entry(model_key(canonical_model))
            .or_insert_with(|| Some(canonical_model.to_owned()));
        // Different spellings by the same author are one model.
        let author = |name: &str| {
            name.split_once('/')
                .map(|(author, _)| author.to_lowercase())
        };
        if known
            .as_deref()
            .is_some_and(|known| author(known) != author(canonical_model))
        {
            *known = None;
        }
    }

    /// The canonical model of a seller's model name, if unambiguous.
    pub(crate) fn find(&self, model: &str) -> Option<&str> {
        self.0.get(&model_key(model))?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use unroof_base::input::cancel::CancelToken;

    use super::*;
    use crate::entry::entries::read;

    #[test]
    fn what_was_imported_before_names_no_sheet_of_a_catalog() {
        let mut models = CanonicalModels::default();
        models.add("acme/echo-1");
        let written = PriceSheet::new("other", "echo-1", Vec::new());
        assert_eq!(models.of(&written).as_deref(), Some("acme/echo-1"));
        let catalog = r#"{"echo-1": {"litellm_provider": "other", "input_cost_per_token": 1e-6}}"#;
        let wanted = CancelToken::default();
        let catalog = read(catalog, None, None, Timestamp::UNIX_EPOCH, &wanted).unwrap();
        let read = &catalog.sheets[0].sheet;
        assert_eq!(read.model, "echo-1");
        assert_eq!(models.of(read), None);
    }

    #[test]
    fn a_unique_name_is_matched_and_an_ambiguous_one_is_not() {
        let mut models = CanonicalModels::default();
        for name in [
            "anthropic/claude-sonnet-4-5",
            "anthropic/claude-sonnet-4.5",
            "acme/echo-1",
            "other/echo-1",
        ] {
            models.add(name);
        }
        let found = models.find("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
        assert_eq!(found, Some("anthropic/claude-sonnet-4-5"));
        assert_eq!(models.find("echo-1"), None);
        assert_eq!(models.find("claude-sonnet-4-6"), None);
    }
}
