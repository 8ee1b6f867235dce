//! Names of models and offers on the command line, and what is near to one that is not there.

use std::fmt::Display;

use anyhow::anyhow;
use serde::Deserialize;

use super::source::{Page, Source};
use crate::Failure;
use crate::estimates::report::joined;
use crate::shell::terminal;

/// Names that a hint lists.
const MOST_NEAR: usize = 5;
/// Fewest letters by which a name is searched.
const LEAST_LETTERS: usize = 2;

/// A name that was found.
#[derive(Debug, Deserialize)]
pub(crate) struct FoundName {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// An offer for a person, with its region if it is bound to one.
pub(crate) fn offer_name(provider: &str, model: &str, region: &str) -> String {
    terminal::quoted(&match region {
        "global" | "" => format!("{provider}/{model}"),
        region => format!("{provider}/{model} {region}"),
    })
}

/// The author and the model of a canonical name, or the provider and the model of an offer. A name without them is that of
/// the one model that is called so; none where no model is.
///
/// # Errors
/// Several are.
pub(crate) fn parts(source: &Source, name: &str) -> Result<Option<(String, String)>, Failure> {
    if name.contains('/') {
        return Ok(Some(split(name)));
    }
    let named = search(source, name, "canonical_model", 100)?;
    let is_same = |full: &&String| split(full).1.eq_ignore_ascii_case(name);
    let same: Vec<&String> = named.iter().filter(is_same).collect();
    match same.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(split(one))),
        several => {
            let shown = quoted(several.iter().take(MOST_NEAR), " or ");
            let error = anyhow!("`{name}` is the name of several models");
            Err(Failure::Usage(error).with_hint(format!("write {shown}")))
        }
    }
}

/// Names between backticks, with a separator.
pub(crate) fn quoted(names: impl IntoIterator<Item: Display>, separator: &str) -> String {
    joined(names.into_iter().map(|name| format!("`{name}`")), separator)
}

fn split(name: &str) -> (String, String) {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    (first.to_owned(), rest.to_owned())
}

/// The failure for a name without stored rows, with similar names.
///
/// # Errors
/// These cannot be read.
pub(crate) fn unknown(source: &Source, name: &str) -> Result<Failure, Failure> {
    let error = anyhow!("there is no model, offer or estimate `{name}`");
    Ok(Failure::Other(error).with_hint(hint(source, name)?))
}

/// The names near to one that is not there.
///
/// # Errors
/// They cannot be read.
pub(crate) fn hint(source: &Source, name: &str) -> Result<String, Failure> {
    let near = near(source, name)?;
    if near.is_empty() {
        let hint = "`unroof search TEXT` finds names by their beginning, and `unroof models` lists the models";
        return Ok(hint.to_owned());
    }
    let near = quoted(near, ", ");
    Ok(format!(
        "did you mean {near}? `unroof search TEXT` finds more"
    ))
}

/// Names similar to one: those with the longest common beginning.
fn near(source: &Source, name: &str) -> Result<Vec<String>, Failure> {
    let model = name.rsplit('/').next().unwrap_or(name);
    for kind in ["canonical_model", "model"] {
        let mut beginning = model.to_owned();
        while beginning.chars().count() >= LEAST_LETTERS {
            let found = search(source, &beginning, kind, MOST_NEAR)?;
            if !found.is_empty() {
                return Ok(found);
            }
            beginning.pop();
        }
    }
    Ok(Vec::new())
}

fn search(source: &Source, text: &str, kind: &str, limit: usize) -> Result<Vec<String>, Failure> {
    let limit = limit.to_string();
    let query = [("q", text), ("kind", kind), ("limit", limit.as_str())];
    let found: Page<FoundName> = source.get(&["search"], &query)?.read()?;
    Ok(found.data.into_iter().map(|found| found.name).collect())
}
