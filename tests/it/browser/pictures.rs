//! Pictures of the pages, for a person who looks.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::target;
use super::window::{Theme, Window};

/// Highest picture of a page; the rest of a longer one is more of the same.
const HIGHEST: f64 = 4000.0;
/// Size of a picture in the guide.
const GUIDE: (f64, f64) = (1200.0, 800.0);

fn folder() -> PathBuf {
    let folder = target().join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes the page as it is shown: `market-820-dark.png`.
pub(super) async fn take(window: &Window, name: &str, width: u32, theme: Theme) {
    let height = window.number("document.documentElement.scrollHeight").await;
    let file = format!("{name}-{width}-{}.png", theme.name());
    write(window, &file, (f64::from(width), height.min(HIGHEST))).await;
}

/// Writes the beginning of the page as the guide shows it: `guide-market.png`.
pub(super) async fn take_for_guide(window: &Window, name: &str) {
    window.resize(1200, 1).await;
    write(window, &format!("guide-{name}.png"), GUIDE).await;
}

async fn write(window: &Window, file: &str, (width, height): (f64, f64)) {
    let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
    let picture = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
    let answer = window.command("Page.captureScreenshot", picture).await;
    let picture = BASE64_STANDARD
        .decode(answer["data"].as_str().unwrap())
        .unwrap();
    std::fs::write(folder().join(file), picture).unwrap();
}
