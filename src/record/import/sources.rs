//! Sources of `unroof import`: files and addresses, those of one published catalog as one snapshot.

use std::path::Path;

use anyhow::anyhow;

use super::ImportArguments;
use super::progress::Progress;
use crate::Failure;
use crate::shell::input::read_input;
use unroof_import::{DOCUMENT_SEPARATOR, Version, published_format};
use unroof_jobs::egress::{FetchError, Fetched, fetch};
use unroof_telemetry::secrets::without_secrets;

/// One or several documents that are imported as one.
pub(super) struct Snapshot {
    /// Names of their sources in messages, without secrets.
    pub(super) name: String,
    pub(super) text: Vec<u8>,
    pub(super) version: Version,
}

impl Snapshot {
    /// Adds a document of the same catalog.
    fn add(&mut self, other: Self) {
        self.name = format!("{}, {}", self.name, other.name);
        self.text.push(DOCUMENT_SEPARATOR);
        self.text.extend(other.text);
        // No server has sent them together.
        self.version = Version::default();
    }
}

/// Reads all sources, in the order of the first of each catalog.
pub(super) fn read_all(
    arguments: &ImportArguments,
    progress: &Progress,
) -> Result<Vec<Snapshot>, Failure> {
    let mut snapshots: Vec<(Option<&'static str>, Snapshot)> = Vec::new();
    for source in &arguments.sources {
        let snapshot = read(source, arguments.allow_private, progress)?;
        let format = match arguments.sources.len() {
            1 => None,
            _ => published_format(arguments.format, &snapshot.text),
        };
        let mut same = snapshots.iter_mut();
        let same = same.find(|(other, _)| format.is_some() && *other == format);
        match same {
            Some((_, first)) => first.add(snapshot),
            None => snapshots.push((format, snapshot)),
        }
    }
    Ok(snapshots
        .into_iter()
        .map(|(_, snapshot)| snapshot)
        .collect())
}

/// Reads a file or fetches an address.
fn read(source: &str, allows_private: bool, progress: &Progress) -> Result<Snapshot, Failure> {
    let name = name_of(source);
    progress.wait(format!("reading {name}"));
    let (text, version) = read_source(source, &name, allows_private)?;
    Ok(Snapshot {
        name,
        text,
        version,
    })
}

/// Name of a source in messages, without secrets.
fn name_of(source: &str) -> String {
    if source.contains("://") {
        without_secrets(source)
    } else {
        source.to_owned()
    }
}

fn read_source(
    source: &str,
    name: &str,
    allows_private: bool,
) -> Result<(Vec<u8>, Version), Failure> {
    let Some((scheme, _)) = source.split_once("://") else {
        return Ok((read_input(Path::new(source))?, Version::default()));
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        let refusal = anyhow!(
            "{name} is neither a file nor an http or https address: download it, and import the file"
        );
        return Err(Failure::Usage(refusal));
    }
    match fetch(source, &Version::default(), allows_private).map_err(not_fetched)? {
        Fetched::Catalog(text, version) => Ok((text, version)),
        Fetched::NotModified => Err(Failure::Other(anyhow!("{name} sent no catalog"))),
    }
}

fn not_fetched(error: FetchError) -> Failure {
    let is_not_public = error.is_not_public();
    let failure = Failure::Other(error.into());
    if is_not_public {
        return failure.with_hint("allow private addresses with `--allow-private`");
    }
    failure
}
