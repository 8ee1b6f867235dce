//! Properties of every page.

use serde_json::json;

use super::window::{Theme, Window};
use super::{accessibility, in_browser, pictures};

/// Every page: the name of its pictures, and its address. A page that is added to the service belongs here.
const PAGES: [(&str, &str); 21] = [
    ("market", "/ui/"),
    (
        "market-filtered",
        "/ui/?author=openai&quantity=total_parameters&sort=quantity",
    ),
    ("market-empty", "/ui/?q=no-such-model"),
    ("model", "/ui/models/openai/gpt-5.4"),
    ("model-cache", "/ui/models/anthropic/claude-opus-4-6"),
    ("offer", "/ui/offers/openai/gpt-5.4"),
    (
        "compare",
        "/ui/compare?model=openai/gpt-5.4&model=anthropic/claude-opus-4-6&model=deepseek/deepseek-v3.1",
    ),
    ("compare-empty", "/ui/compare"),
    ("truth", "/ui/truth"),
    ("try", "/ui/try?example=openai_gpt-5.4"),
    ("try-empty", "/ui/try"),
    ("plan", "/ui/plan"),
    ("plan-fleet", "/ui/plan?view=fleet"),
    ("plan-layout", "/ui/plan?view=layout&model=DeepSeek-V3"),
    ("plan-training", "/ui/plan?view=training"),
    (
        "plan-cost",
        "/ui/plan?view=cost&provider=openai&offer=gpt-5.4",
    ),
    (
        "plan-fault",
        "/ui/plan?view=layout&stages=many&model=DeepSeek-V3",
    ),
    ("changes", "/ui/changes"),
    ("catalogs", "/ui/catalogs"),
    ("problem", "/ui/?hosts=many"),
    ("missing", "/ui/models/openai/no-such-model"),
];
/// The pages of which the guide has a picture.
const IN_GUIDE: [&str; 4] = ["market", "model", "truth", "try"];
/// Widths in pixels: a telephone, a tablet, a large screen.
const WIDTHS: [u32; 3] = [1600, 820, 360];

#[tokio::test(flavor = "multi_thread")]
async fn every_page_loads_is_legible_at_every_width_and_needs_no_other_host() {
    in_browser(async |window| {
        let mut faults = Vec::new();
        for (name, path) in PAGES {
            let found = faults_of(window, name, path).await;
            faults.extend(found.into_iter().map(|fault| format!("{path} {fault}")));
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    })
    .await;
}

/// Swagger's own page, under a policy of its own: what it looks like is not ours.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_api_loads_without_faults_and_needs_no_other_host() {
    in_browser(async |window| {
        window.choose(Theme::Light).await;
        window.resize(1600, 1).await;
        window.console_faults().await;
        window.go("/docs/").await;
        window
            .until("document.querySelectorAll('.swagger-ui .opblock').length > 10")
            .await;
        for theme in [Theme::Dark, Theme::Light] {
            window.choose(theme).await;
            for width in WIDTHS {
                window.resize(width, 1).await;
                pictures::take(window, "docs", width, theme).await;
            }
        }
        let said = window.console_faults().await;
        assert!(said.is_empty(), "{said:?}");
        let foreign = window.foreign_requests().await;
        assert!(foreign.is_empty(), "{foreign:?}");
    })
    .await;
}

async fn faults_of(window: &Window, name: &str, path: &str) -> Vec<String> {
    window.choose(Theme::Light).await;
    window.resize(1600, 1).await;
    // A page that was left may still have said something.
    window.console_faults().await;
    window.go(path).await;
    let mut faults = shown_everywhere(window, name).await;
    faults.extend(found_by_axe(window).await);
    faults.extend(printed(window).await);
    let said = window.console_faults().await.into_iter();
    // Chromium remarks on the status of the page for a problem.
    let said = said.filter(|line| !line.starts_with(&format!("{} - ", window.url(path))));
    faults.extend(
        said.into_iter()
            .map(|line| format!("on the console: {line}")),
    );
    let foreign = window.foreign_requests().await;
    faults.extend(
        foreign
            .into_iter()
            .map(|url| format!("asks another host: {url}")),
    );
    faults
}

/// Looks at the page in both themes at all widths, and enlarged to 200 %; takes the pictures.
async fn shown_everywhere(window: &Window, name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for theme in [Theme::Dark, Theme::Light] {
        window.choose(theme).await;
        for width in WIDTHS {
            window.resize(width, 1).await;
            faults.extend(overflow(window, &format!("{width} px")).await);
            pictures::take(window, name, width, theme).await;
        }
    }
    if IN_GUIDE.contains(&name) {
        pictures::take_for_guide(window, name).await;
    }
    window.resize(820, 2).await;
    faults.extend(overflow(window, "820 px at 200 %").await);
    faults
}

/// axe on the page as it opens, then with everything unfolded: on a large dark screen and on a telephone.
async fn found_by_axe(window: &Window) -> Vec<String> {
    accessibility::prepare(window).await;
    let mut faults = Vec::new();
    let looks = [
        (false, Theme::Light, 1600),
        (true, Theme::Dark, 1600),
        (true, Theme::Light, 360),
    ];
    for (unfolds, theme, width) in looks {
        window.choose(theme).await;
        window.resize(width, 1).await;
        if unfolds {
            window
                .run("for (const part of document.querySelectorAll('details')) part.open = true")
                .await;
            faults.extend(overflow(window, &format!("{width} px, unfolded")).await);
        }
        let at = format!("axe, {} {width}", theme.name());
        let found = accessibility::findings(window).await;
        faults.extend(found.into_iter().map(|finding| format!("{at}: {finding}")));
    }
    faults
}

/// Nothing but the content is printed.
async fn printed(window: &Window) -> Vec<String> {
    window.show_as_printed().await;
    let shown = window
        .texts(
            "[...document.querySelectorAll('nav, form, button, .skip, footer')]
                .filter((part) => part.checkVisibility())
                .map((part) => part.outerHTML.slice(0, 80))",
        )
        .await;
    let mut faults: Vec<String> = shown
        .into_iter()
        .map(|part| format!("is printed: {part}"))
        .collect();
    let heading = window
        .run("return document.querySelector('h1')?.checkVisibility() ?? false")
        .await;
    if heading != json!(true) {
        faults.push("is printed without its heading".to_owned());
    }
    faults
}

/// The elements that are wider than the window, unless they scroll by themselves.
async fn overflow(window: &Window, at: &str) -> Vec<String> {
    let script = "
        const page = document.documentElement;
        if (page.scrollWidth <= page.clientWidth) return [];
        const scrolls = (part) => part && (getComputedStyle(part).overflowX !== 'visible' || scrolls(part.parentElement));
        const wide = [...document.body.querySelectorAll('*')].filter((part) =>
            part.getBoundingClientRect().right > page.clientWidth + 1 && !scrolls(part.parentElement));
        return [`${page.scrollWidth} of ${page.clientWidth} px`, ...wide.slice(0, 4).map((part) => part.outerHTML.slice(0, 120))];
    ";
    let found = window.run(script).await;
    let found = found.as_array().unwrap().iter();
    found
        .map(|part| format!("is too wide at {at}: {part}"))
        .collect()
}
