//! The market without a pointer: search, sort, filter.

use serde_json::json;
use thirtyfour::Key;

use super::in_browser;
use super::window::Window;

async fn rows(window: &Window) -> Vec<String> {
    let names = "[...document.querySelectorAll('table.models tbody th a')].map((name) => name.getAttribute('href'))";
    window.texts(names).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_box_suggests_names_and_opens_one_by_the_keyboard() {
    in_browser(async |window| {
        window.go("/ui/").await;
        window.tab_to("#search").await;
        window.type_text("gpt-5.4").await;
        let options =
            "[...document.querySelectorAll('header .suggestions:not([hidden]) [role=option]')]";
        window.until(&format!("{options}.length > 0")).await;
        assert_eq!(
            window
                .text("document.activeElement.getAttribute('aria-expanded')")
                .await
                .as_deref(),
            Some("true")
        );
        window.press(Key::Down).await;
        let chosen =
            "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))";
        assert_eq!(
            window
                .text(&format!("{chosen}.textContent"))
                .await
                .as_deref(),
            Some("openai/gpt-5.4")
        );
        window.press(Key::Enter).await;
        window
            .until("location.pathname === '/ui/models/openai/gpt-5.4'")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_closes_the_suggestions_and_enter_searches_for_what_is_typed() {
    in_browser(async |window| {
        window.go("/ui/").await;
        window.tab_to("#search").await;
        window.type_text("claude").await;
        let open = "document.querySelector('header .suggestions:not([hidden]) [role=option]')";
        window.until(&format!("{open} !== null")).await;
        window.press(Key::Escape).await;
        window.until(&format!("{open} === null")).await;
        if window.run("return document.activeElement.value").await == json!("") {
            // Chromium empties a search field at Escape.
            window.type_text("claude").await;
        }
        window.press(Key::Enter).await;
        window
            .until("location.search === '?q=claude' && document.readyState === 'complete'")
            .await;
        let rows = rows(window).await;
        assert!(
            rows.len() >= 3 && rows.iter().all(|row| row.contains("claude")),
            "{rows:?}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_sorts_by_the_keyboard_in_both_directions() {
    in_browser(async |window| {
        window.resize(1600, 1).await;
        window.go("/ui/").await;
        let by_name = rows(window).await;
        assert!(by_name.len() >= 10, "{by_name:?}");
        for (direction, order) in [("descending", "desc"), ("ascending", "asc")] {
            window.tab_to("thead th:first-child a").await;
            window.press(Key::Enter).await;
            window.until(&format!("document.querySelector('th[aria-sort={direction}]') !== null && location.search.includes('{order}') || '{order}' === 'asc' && location.search === ''")).await;
            let mut sorted = rows(window).await;
            if order == "desc" {
                sorted.reverse();
            }
            assert_eq!(sorted, by_name, "{direction}");
        }
        window.tab_to("thead a[href*='sort=hosts']").await;
        window.press(Key::Enter).await;
        window.until("location.search.includes('sort=hosts')").await;
        window.until("document.querySelector('th[aria-sort=descending]')?.textContent.startsWith('Hosts')").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_is_in_the_address_and_a_reload_gives_the_same_rows() {
    in_browser(async |window| {
        window.go("/ui/").await;
        let all = rows(window).await;
        window.tab_to("select[name=author]").await;
        window.type_text("openai").await;
        window.until("new URLSearchParams(location.search).get('author') === 'openai' && document.readyState === 'complete'").await;
        let filtered = rows(window).await;
        assert!(!filtered.is_empty() && filtered.len() < all.len(), "{filtered:?}");
        assert!(filtered.iter().all(|row| row.starts_with("/ui/models/openai/")), "{filtered:?}");
        let address = window.path().await;
        window.reload().await;
        assert_eq!((window.path().await, rows(window).await), (address, filtered));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_key_offers_to_skip_to_the_content() {
    in_browser(async |window| {
        window.go("/ui/").await;
        window.press(Key::Tab).await;
        assert_eq!(
            window
                .text("document.activeElement.textContent")
                .await
                .as_deref(),
            Some("Skip to the content")
        );
        assert!(
            window
                .number("document.activeElement.getBoundingClientRect().left")
                .await
                >= 0.0
        );
        window.press(Key::Enter).await;
        window
            .until("document.activeElement.id === 'content'")
            .await;
        window.press(Key::Tab).await;
        let is_in_content = window
            .run("return document.activeElement.closest('main') !== null")
            .await;
        assert_eq!(is_in_content, json!(true));
    })
    .await;
}
