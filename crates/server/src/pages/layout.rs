//! The frame of all pages: the head, the navigation with the search box, the foot, and the page for a problem.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};

use super::assets::{ICON, MODULE, STYLE_SHEET};
use super::hint::linked;
use unroof_edge::{Problem, UNAUTHORIZED};

/// A page with its title and tab.
pub(super) struct Page {
    /// Title of the window.
    pub(super) title: String,
    /// The place in the navigation.
    pub(super) tab: Option<Tab>,
    /// The content; it has the one heading of the first level.
    pub(super) content: Markup,
}

/// A place in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    /// Tab of all models.
    Market,
    /// Two to six models.
    Compare,
    /// Estimates against public values.
    Truth,
    /// A sheet of one's own.
    Try,
    /// Tab of the forward calculators.
    Plan,
    /// The feed of changes.
    Changes,
    /// Tab of imports.
    Catalogs,
}

impl Tab {
    const ALL: [Self; 7] = [
        Self::Market,
        Self::Compare,
        Self::Truth,
        Self::Try,
        Self::Plan,
        Self::Changes,
        Self::Catalogs,
    ];

    fn link(self) -> (&'static str, &'static str) {
        match self {
            Self::Market => ("/ui/", "Market"),
            Self::Compare => ("/ui/compare", "Compare"),
            Self::Truth => ("/ui/truth", "Truth"),
            Self::Try => ("/ui/try", "Try"),
            Self::Plan => ("/ui/plan", "Plan"),
            Self::Changes => ("/ui/changes", "Changes"),
            Self::Catalogs => ("/ui/catalogs", "Catalogs"),
        }
    }
}

impl Page {
    /// The document, as of a day: windows such as the last 90 days move with it.
    pub(super) fn document(&self, now: Timestamp) -> String {
        let day = now.strftime("%Y-%m-%d").to_string();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    // Forms state the page's origin, which is checked before anything is stored; other sites do not learn it.
                    meta name="referrer" content="same-origin";
                    title { (self.title) " · unroof" }
                    link rel="icon" href=(ICON.address());
                    link rel="stylesheet" href=(STYLE_SHEET.address());
                    script type="module" src=(MODULE.address()) {}
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    (self.header())
                    main id="content" tabindex="-1" { (self.content) }
                    footer {
                        p {
                            "unroof " (env!("CARGO_PKG_VERSION")) " · as of " time datetime=(day) { (day) } " UTC · "
                            a href="/docs/" { "API" } " · " a href="/openapi.json" { "OpenAPI" } " · "
                            a href="/changes.atom" { "Atom feed" } " · " a href="/ui/sign-in" { "Sign in" }
                        }
                        p.note {
                            "Estimates come from public prices and a model of the machine behind them. An interval contains the \
                             value with a probability of 90 % where nothing else is said."
                        }
                    }
                }
            }
        };
        page.into_string()
    }

    fn header(&self) -> Markup {
        html! {
            header.site {
                a.brand href="/ui/" { "unroof" }
                nav aria-label="Pages" {
                    ul {
                        @for tab in Tab::ALL {
                            @let (address, name) = tab.link();
                            @let current = (self.tab == Some(tab)).then_some("page");
                            li { a href=(address) aria-current=[current] { (name) } }
                        }
                        li { a href="/docs/" { "API" } }
                    }
                }
                form.search action="/ui/" method="get" role="search" {
                    label.hidden for="search" { "Find a model" }
                    input id="search" name="q" type="search" placeholder="Find a model" autocomplete="off" data-suggest;
                }
            }
        }
    }
}

/// The page for a problem: what was wrong, and what would be right.
pub(super) fn of_problem(problem: &Problem) -> Page {
    let content = html! {
        h1 { (problem.title) }
        p { (problem.detail) "." }
        @if let Some(hint) = &problem.hint { p { (linked(hint)) "." } }
        @if problem.is_of(UNAUTHORIZED) { p { a.button href="/ui/sign-in" { "Sign in" } } }
        p { a href="/ui/" { "All models" } " · " a href="/docs/" { "The API" } }
    };
    Page {
        title: problem.title.to_string(),
        tab: None,
        content,
    }
}
