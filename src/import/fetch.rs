//! Fetches a catalog from an address, if it is another one than last time.

use std::time::Duration;

/// Largest catalog that is read.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How long it may take to arrive.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// What a server says about the version of what it sends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// Its tag.
    pub etag: Option<String>,
    /// Its time.
    pub last_modified: Option<String>,
}

/// What came.
#[derive(Debug)]
pub enum Fetched {
    /// Nothing new since that version.
    NotModified,
    /// A catalog.
    Catalog(Vec<u8>, Version),
}

/// Why nothing came.
#[derive(Debug, thiserror::Error)]
#[error("{url} could not be fetched: {reason}")]
pub struct FetchError {
    url: String,
    reason: String,
}

/// Asks for a catalog, unless it is still of this version. Blocks.
///
/// # Errors
/// There is no such server, or it does not answer well, or not in time.
pub fn fetch(url: &str, known: &Version) -> Result<Fetched, FetchError> {
    let failed = |error: ureq::Error| FetchError {
        url: without_secrets(url),
        reason: error.to_string(),
    };
    let client = ureq::Agent::config_builder()
        .timeout_global(Some(LONGEST_WAIT))
        .user_agent(concat!("unroof/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let mut request = client
        .get(url)
        .header("accept", "application/json, */*;q=0.5");
    if let Some(etag) = &known.etag {
        request = request.header("if-none-match", etag);
    }
    if let Some(time) = &known.last_modified {
        request = request.header("if-modified-since", time);
    }
    let mut answer = request.call().map_err(failed)?;
    if answer.status() == 304 {
        return Ok(Fetched::NotModified);
    }
    let header = |name| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let version = Version {
        etag: header("etag"),
        last_modified: header("last-modified"),
    };
    let read = answer
        .body_mut()
        .with_config()
        .limit(MOST_BYTES)
        .read_to_vec();
    Ok(Fetched::Catalog(read.map_err(failed)?, version))
}

/// The address without a user's name, password and query, which may hold a key.
#[must_use]
pub fn without_secrets(url: &str) -> String {
    let Ok(mut url) = url::Url::parse(url) else {
        return "the address".to_owned();
    };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}
