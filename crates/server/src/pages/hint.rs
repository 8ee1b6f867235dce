//! Hints of the API in a page: where one names a route, the page links to the page that shows the same.

use maud::{Markup, html};

/// Routes that hints name, and the pages in their place.
const PAGES: [(&str, &str, &str); 5] = [
    ("GET /models ", "/ui/", "the market"),
    ("GET /search ", "/ui/", "the market"),
    ("GET /price-sheets ", "/ui/", "the market"),
    ("GET /track-record ", "/ui/truth", "the page Truth"),
    ("GET /imports ", "/ui/catalogs", "the page Catalogs"),
];

/// A hint with links to pages.
pub(super) fn linked(hint: &str) -> Markup {
    let named = PAGES
        .into_iter()
        .find_map(|(route, address, name)| Some((hint.split_once(route)?, address, name)));
    html! {
        @match named {
            Some(((before, after), address, name)) => { (before) a href=(address) { (name) } " " (linked(after)) }
            None => (hint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_a_link_to_its_page_and_the_rest_is_escaped() {
        let written = linked("write <a>; GET /models lists them").into_string();
        assert_eq!(
            written,
            r#"write &lt;a&gt;; <a href="/ui/">the market</a> lists them"#
        );
        assert_eq!(linked("write a number").into_string(), "write a number");
    }
}
