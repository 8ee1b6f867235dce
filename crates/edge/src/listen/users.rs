//! The user that a trusted proxy names in headers.

use axum::http::HeaderMap;

use crate::access::UserHeaders;
use crate::answer::problem::{Problem, UNREADABLE};
use unroof_store::access::Scope;

/// Longest name of a user, and longest list of groups.
const LONGEST: usize = 4_000;

/// The user that a trusted proxy names, with the scope of the user's groups; none where it names none.
///
/// # Errors
/// A header comes twice, so that a client may have sent one of them, or is not ASCII. Without the refusal the request would be
/// that of a caller without a name.
pub fn named_user(
    users: &UserHeaders,
    headers: &HeaderMap,
) -> Result<Option<(String, Option<Scope>)>, Problem> {
    let name = only(headers, &users.user)?;
    let groups = only(headers, &users.groups)?;
    let named = name.filter(|name| !name.is_empty());
    Ok(named.map(|name| {
        (
            name.to_owned(),
            users.scopes.scope_of(groups.unwrap_or_default()),
        )
    }))
}

/// The one value of a header.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let wrong = |what: &str, hint: &str| {
        let detail = format!("the header `{name}`, in which the proxy names the user, {what}");
        Problem::new(UNREADABLE, detail).hint(hint)
    };
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        let hint =
            "let the proxy remove this header from requests of its clients before it adds its own";
        return Err(wrong("comes twice", hint));
    }
    let text = value.to_str().ok().filter(|text| text.len() <= LONGEST);
    let text = text.filter(|text| !text.contains(|letter: char| letter.is_ascii_control()));
    text.map(Some).ok_or_else(|| {
        let hint = "let the proxy name an id of the user, such as an address of mail, in up to 4,000 ASCII characters";
        wrong("is not a text in ASCII", hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn named(pairs: &[(&'static str, &[u8])]) -> Result<Option<(String, Option<Scope>)>, Problem> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_bytes(value).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        let users = UserHeaders {
            user: "remote-user".to_owned(),
            groups: "remote-groups".to_owned(),
            scopes: ["desk=observe".parse().unwrap()].into_iter().collect(),
        };
        named_user(&users, &headers)
    }

    #[test]
    fn a_user_is_named_once_and_in_ascii_or_the_request_is_refused() {
        let anna = ("remote-user", &b"anna"[..]);
        let desk = ("remote-groups", &b"guests, desk"[..]);
        let known = named(&[anna, desk]).unwrap();
        assert_eq!(known, Some(("anna".to_owned(), Some(Scope::Observe))));
        assert_eq!(named(&[anna]).unwrap(), Some(("anna".to_owned(), None)));
        for nameless in [&[][..], &[desk], &[("remote-user", &b""[..])]] {
            assert_eq!(named(nameless).unwrap(), None);
        }
        let zoe = ("remote-user", "Zoë".as_bytes());
        for (wrong, what) in [
            (&[anna, ("remote-user", &b"bert"[..])][..], "comes twice"),
            (&[anna, desk, desk], "comes twice"),
            (&[zoe], "ASCII"),
            (&[anna, ("remote-groups", &b"\xff"[..])], "ASCII"),
            (&[("remote-user", &b"a\tb"[..])], "ASCII"),
        ] {
            let problem = named(wrong).unwrap_err();
            assert_eq!(problem.status, 400);
            assert!(problem.detail.contains(what), "{}", problem.detail);
        }
    }
}
