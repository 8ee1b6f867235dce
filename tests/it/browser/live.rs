//! Parts of a page that follow what changes.

use std::time::{Duration, Instant};

use serde_json::json;

use super::in_browser;
use crate::server::LONGEST_WAIT;

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_is_shown_as_soon_as_it_is_stored() {
    in_browser(async |window| {
        for (page, part) in [("/ui/", "recent"), ("/ui/changes", "changes")] {
            window.go(page).await;
            window.run("window.isTheSamePage = true").await;
            let shown = format!("document.getElementById('{part}').textContent");
            let before = window.text(&shown).await;
            let began = Instant::now();
            // Again: the page is not notified of what is stored before it listens.
            for price in 1.. {
                window.change_price("xai_grok-4.7.json", &format!("{}.5{}", price, part.len()));
                tokio::time::sleep(Duration::from_secs(1)).await;
                if window.text(&shown).await != before {
                    break;
                }
                assert!(began.elapsed() < LONGEST_WAIT, "{page}");
            }
            let shown = window.text(&shown).await.unwrap();
            assert!(shown.contains("grok-4.7"), "{shown}");
            let is_same = window.run("return window.isTheSamePage").await;
            assert_eq!(is_same, json!(true), "{page} was loaded again");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_model_shows_a_new_state_says_so_and_keeps_the_readers_place() {
    in_browser(async |window| {
        window.go("/ui/models/xai/grok-4.7").await;
        window.run("window.isTheSamePage = true").await;
        let unfolded = "document.querySelector('#quantities details')";
        window.run(&format!("{unfolded}.open = true")).await;
        window.tab_to("#quantities summary").await;
        let offers = "document.getElementById('offers').textContent";
        let before = window.text(offers).await;
        let began = Instant::now();
        // Again: the page is not notified of what is stored before it listens.
        for price in 1.. {
            window.change_price("xai_grok-4.7.json", &format!("{price}.77"));
            tokio::time::sleep(Duration::from_secs(2)).await;
            if window.text(offers).await != before {
                break;
            }
            assert!(began.elapsed() < LONGEST_WAIT);
        }
        let news = window.text("document.getElementById('news').textContent").await;
        assert!(news.unwrap().contains("This is the new state"));
        let kept = window
            .run(&format!(
                "return window.isTheSamePage && {unfolded}.open && document.activeElement.matches('#quantities summary')"
            ))
            .await;
        assert_eq!(kept, json!(true));
        // The charts that came with it are read out.
        window.until("document.querySelector('#densities figure .reader') !== null").await;
    })
    .await;
}
