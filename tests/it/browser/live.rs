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
