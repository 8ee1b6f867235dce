//! Price sheets by name: files, built-in examples, and stored sheets.

use std::path::Path;

use anyhow::anyhow;
use serde::Deserialize;
use unroof_base::input::cursor::nearest_names;
use uuid::Uuid;

use crate::record::names;
use crate::record::source::{Page, Source, SourceArguments};
use crate::shell::input::read_input;
pub(crate) use crate::{Failure, Verbosity};
use unroof_server::examples::EXAMPLE_SHEETS;

/// The places in which sheets are looked for after the files.
pub(crate) struct Sheets<'a> {
    arguments: &'a SourceArguments,
    verbosity: Verbosity,
    /// The database or the service, once a name needs it.
    source: Option<Source>,
}

impl<'a> Sheets<'a> {
    /// Sheets of files, examples, and the database or service that these arguments name.
    pub(crate) fn new(arguments: &'a SourceArguments, verbosity: Verbosity) -> Self {
        Self {
            arguments,
            verbosity,
            source: None,
        }
    }

    /// The text of a file, of the built-in example of that name if there is no such file, or of the stored sheet.
    ///
    /// # Errors
    /// There is none of them, or several stored sheets have the name.
    pub(crate) fn read(&mut self, file: &Path) -> Result<Vec<u8>, Failure> {
        let name = file.to_str().filter(|_| !file.exists());
        let Some(name) = name.filter(|name| is_name(name)) else {
            return read_input(file);
        };
        if let Some(text) = example(name) {
            return Ok(text.as_bytes().to_vec());
        }
        let source = match &mut self.source {
            Some(source) => source,
            none => none.insert(self.arguments.open(self.verbosity).map_err(|failure| {
                let looked = anyhow!("there is no file or built-in example `{name}`");
                not_looked_up(name, looked, failure)
            })?),
        };
        Ok(stored(source, name)?.into_bytes())
    }
}

/// Whether a text may be a name rather than a file.
fn is_name(text: &str) -> bool {
    let is_path = text.starts_with(['.', '/']) || text.contains('\\');
    let is_file = Path::new(text)
        .extension()
        .is_some_and(|extension| extension == "json");
    text != "-" && !is_path && (!is_file || example(text).is_some())
}

/// The failure for a name that cannot be looked up among stored sheets.
fn not_looked_up(name: &str, looked: anyhow::Error, failure: Failure) -> Failure {
    let examples: Vec<String> = EXAMPLE_SHEETS
        .iter()
        .map(|(file, _)| file.trim_end_matches(".json").replacen('_', "/", 1))
        .collect();
    let examples: Vec<&str> = examples.iter().map(String::as_str).collect();
    let near = nearest_names(name, &examples);
    if !near.is_empty() {
        let near = names::quoted(near, " or ");
        return Failure::Usage(looked).with_hint(format!("did you mean {near}?"));
    }
    match failure {
        Failure::Hinted(failure, hint) => not_looked_up(name, looked, *failure).with_hint(hint),
        Failure::Other(error) => Failure::Usage(error.context(looked)),
        failure => failure,
    }
}

/// The example of a name: `provider/model`, or the name of its file.
pub(crate) fn example(name: &str) -> Option<&'static str> {
    let wanted = name.replace('/', "_").to_lowercase();
    let wanted = wanted.strip_suffix(".json").unwrap_or(&wanted);
    let found = EXAMPLE_SHEETS.iter().find(|(file, _)| {
        let stem = file.strip_suffix(".json");
        stem.is_some_and(|stem| stem == wanted)
    });
    found.map(|(_, text)| *text)
}

/// A sheet in force.
#[derive(Deserialize)]
struct Row {
    id: String,
    provider: String,
    model: String,
    region: String,
}

/// The stored sheet of an offer, of a model, or by its id.
fn stored(source: &Source, name: &str) -> Result<String, Failure> {
    let by_id = |id: &str| source.find(&["price-sheets", id], &[]);
    if Uuid::try_parse(name).is_ok() {
        let found = by_id(name)?;
        let missing = || Failure::Other(anyhow!("there is no price sheet `{name}`"));
        return found.map(|sheet| sheet.text).ok_or_else(missing);
    }
    let Some((provider, model)) = names::parts(source, name)? else {
        return Err(unknown(source, name)?);
    };
    let of_offer = [("provider", provider.as_str()), ("model", &model)];
    let mut rows = in_force(source, &of_offer)?;
    if rows.is_empty() {
        let canonical = format!("{provider}/{model}");
        rows = in_force(source, &[("canonical_model", &canonical)])?;
        if rows.iter().any(|row| row.provider == provider) {
            rows.retain(|row| row.provider == provider);
        }
    }
    if rows.iter().any(|row| row.region == "global") {
        rows.retain(|row| row.region == "global");
    }
    let mut offers: Vec<String> = rows
        .iter()
        .map(|row| format!("`{}/{}`", row.provider, row.model))
        .collect();
    offers.sort();
    offers.dedup();
    let Some(row) = rows.first() else {
        return Err(unknown(source, name)?);
    };
    if offers.len() > 1 {
        let error = anyhow!("several offers sell the model `{name}`");
        let hint = format!("name one: {}", offers.join(", "));
        return Err(Failure::Usage(error).with_hint(hint));
    }
    let missing = || Failure::Other(anyhow!("the price sheet of `{name}` is gone"));
    by_id(&row.id)?.map(|sheet| sheet.text).ok_or_else(missing)
}

fn unknown(source: &Source, name: &str) -> Result<Failure, Failure> {
    let error = anyhow!("there is no file, built-in example or stored price sheet `{name}`");
    Ok(Failure::Usage(error).with_hint(names::hint(source, name)?))
}

/// The sheets in force that a filter selects.
fn in_force(source: &Source, filter: &[(&str, &str)]) -> Result<Vec<Row>, Failure> {
    let query = [filter, &[("as_of", "now"), ("limit", "200")]].concat();
    let page: Page<Row> = source.get(&["price-sheets"], &query)?.read()?;
    Ok(page.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        for name in ["openai/gpt-5.4", "gpt-5.4", "openai_gpt-5.4.json"] {
            assert!(is_name(name), "{name}");
        }
        for path in [
            "-",
            "./sheet",
            "/tmp/sheet",
            "sheet.json",
            "folder/sheet.json",
        ] {
            assert!(!is_name(path), "{path}");
        }
    }

    #[test]
    fn an_example_is_found_by_its_names() {
        for name in [
            "openai/gpt-5.4",
            "openai_gpt-5.4",
            "OpenAI/GPT-5.4",
            "openai_gpt-5.4.json",
        ] {
            assert!(example(name).is_some(), "{name}");
        }
        assert!(example("openai/gpt").is_none());
    }
}
