//! Removes passwords, tokens and keys from addresses in messages.

use std::borrow::Cow;

use url::Url;

/// Placeholder of a possible secret.
const HIDDEN: &str = "…";

/// Message about an address that [`is_certain`] rejects.
pub const AMBIGUOUS: &str = "the end of its password is ambiguous: write `/`, `?`, `#` and `@` in it as %2F, %3F, %23 and %40, \
     and `@` after the host as %40";

/// An address without user name, password, query and fragment, which may contain a key. PostgreSQL addresses keep the
/// user name. Of a malformed or ambiguous address only the scheme is left.
#[must_use]
pub fn without_secrets(address: &str) -> String {
    let address = address.trim();
    let Some((scheme, rest)) = address.split_once("://") else {
        return HIDDEN.to_owned();
    };
    if !is_scheme(scheme) {
        return HIDDEN.to_owned();
    }
    match Url::parse(address) {
        Ok(mut url) if url.has_host() && !is_ambiguous(rest) => {
            if !is_postgres(scheme) {
                let _ = url.set_username("");
            }
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        }
        // The query has the socket's directory.
        Ok(url) if is_postgres(scheme) && !url.has_host() && !rest.contains('@') => {
            format!("{scheme}://{}", url.path())
        }
        _ => format!("{scheme}://{HIDDEN}"),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_postgres(scheme: &str) -> bool {
    scheme.to_ascii_lowercase().starts_with("postgres")
}

/// Whether the part after the scheme is ambiguous: a parser takes a `/`, `\`, `?` or `#` in a password for the end of the
/// host, and an `@` follows.
#[must_use]
pub fn is_ambiguous(rest: &str) -> bool {
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    let is_address = authority.starts_with('[') && authority.ends_with(']');
    let may_be_credentials = authority.contains([':', '@']) && !is_address;
    may_be_credentials && behind.contains('@')
}

/// Whether the position of the secrets in an address is unambiguous.
#[must_use]
pub fn is_certain(address: &str) -> bool {
    let rest = address.split_once("://").map(|(_, rest)| rest);
    !rest.is_some_and(is_ambiguous)
}

/// Removes the secrets from all addresses in a text, such as the error message of a library.
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    if !text.contains("://") && !text.contains(['@', '?']) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|character| !ends_word(character)) {
        let (between, word) = rest.split_at(start);
        let end = word.find(ends_word).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        safe.push_str(between);
        safe.push_str(&redacted_word(word));
        rest = after;
    }
    safe.push_str(rest);
    Cow::Owned(safe)
}

/// Characters that end an address quoted in a sentence.
fn ends_word(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "'\"`<>(){}".contains(character)
}

fn redacted_word(word: &str) -> String {
    // A full stop may follow an address, and a backslash belongs to an escaped quote in JSON.
    let end = word.trim_end_matches(['.', ',', ';', ':', '!', '\\']).len();
    let (address, stop) = word.split_at(end);
    format!("{}{stop}", redacted_address(address))
}

fn redacted_address(word: &str) -> Cow<'_, str> {
    let Some(marker) = word.find("://") else {
        // Part of an address, or one without its scheme.
        let (path, query) = word.split_once('?').unwrap_or((word, ""));
        return match word.split_once('@') {
            Some((before, _)) if before.contains([':', '/']) => Cow::Borrowed(HIDDEN),
            _ if query.contains('=') => Cow::Owned(format!("{path}?{HIDDEN}")),
            _ => Cow::Borrowed(word),
        };
    };
    let before = &word[..marker];
    let is_of_scheme = |sign: char| sign.is_ascii_alphanumeric() || "+-.".contains(sign);
    let (lead, address) = word.split_at(before.trim_end_matches(is_of_scheme).len());
    if lead.contains([':', '@']) {
        return Cow::Borrowed(HIDDEN);
    }
    Cow::Owned(format!("{lead}{}", without_secrets(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_possible_secrets() {
        for (address, shown) in [
            (
                "https://ann:s3cret@a.example/b?key=s3cret#s3cret",
                "https://a.example/b",
            ),
            ("https://s3cret@a.example/b", "https://a.example/b"),
            (
                "https://cdn.example/npm/prices@latest/a.json",
                "https://cdn.example/npm/prices@latest/a.json",
            ),
            (
                "postgres://ann:s3cret@db/unroof?password=s3cret",
                "postgres://ann@db/unroof",
            ),
            (
                "postgres:///unroof?host=/run&password=s3cret",
                "postgres:///unroof",
            ),
            ("postgres://ann:s3/cret@db/unroof", "postgres://…"),
            ("postgres://ann:s3#cret@db/unroof", "postgres://…"),
            ("postgres://ann:12/s3cret@db/unroof", "postgres://…"),
            ("postgres://ann:12#s3cret@db/unroof", "postgres://…"),
            ("postgres://ann:12?s3cret@db/unroof", "postgres://…"),
            ("https://ann:12/s3cret@a.example/b", "https://…"),
            ("https://ann:s3@cret/s3cret@a.example/b", "https://…"),
            ("postgres:/ann:s3cret@db/unroof", "…"),
            ("ann:s3cret@db", "…"),
            ("s3cret", "…"),
            (":s3cret://a", "…"),
        ] {
            assert_eq!(without_secrets(address), shown, "{address}");
        }
    }

    #[test]
    fn addresses_in_a_sentence_lose_their_secrets_and_the_rest_stays() {
        for (text, shown) in [
            ("nothing to hide", "nothing to hide"),
            (
                "http: invalid uri 'https://ann:s3cret@a b'",
                "http: invalid uri 'https://a/ b'",
            ),
            (
                "see https://a.example/b?c=s3cret.",
                "see https://a.example/b.",
            ),
            (
                "litellm=https://a:s3cret@a.example/b: no period",
                "litellm=https://a.example/b: no period",
            ),
            ("tried ann:s3cret@db, then gave up", "tried …, then gave up"),
            ("ask ann@example.com", "ask ann@example.com"),
            (
                "a.example/b?key=s3cret is missing scheme",
                "a.example/b?… is missing scheme",
            ),
            (
                r#"{"error":"no \"https://a:s3cret@a.example/b\""}"#,
                r#"{"error":"no \"https://a.example/b\""}"#,
            ),
        ] {
            assert_eq!(redacted(text), shown, "{text}");
        }
    }
}
