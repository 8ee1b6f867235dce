//! The pages in a real Chromium: that they load, that everyone can read them, and that they do what they say.
//!
//! `UNROOF_REQUIRE_BROWSER=1` makes a browser that is missing a failure; `scripts/test` sets it. Pictures of every page are
//! written to `target/screenshots/`.

mod accessibility;
mod asking;
mod driver;
mod every_page;
mod live;
mod market;
mod pictures;
mod service;
mod window;

use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::support::say;
use window::Window;

/// Folder of the build.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// The file of axe-core that `scripts/axe` fetches.
fn axe_file() -> PathBuf {
    target().join("axe").join("axe.min.js")
}

/// Runs a test in a browser on a service with the example sheets, where there is a browser. One test at a time: a browser
/// takes a whole machine.
async fn in_browser(test: impl AsyncFn(&Window)) {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    if let Some(missing) = missing() {
        skip(missing);
        return;
    }
    let _turn = TURN.lock().await;
    let window = Window::open().await;
    test(&window).await;
    window.close().await;
}

/// The first thing that the tests need and that is not here.
fn missing() -> Option<&'static str> {
    if !driver::is_installed() {
        Some(
            "chromedriver is not on PATH: on Debian, apt-get install chromium chromium-driver fonts-dejavu-core",
        )
    } else if !axe_file().is_file() {
        Some("axe-core is not here: run ./scripts/axe")
    } else {
        None
    }
}

fn skip(missing: &str) {
    static ONCE: Once = Once::new();
    assert!(
        std::env::var_os("UNROOF_REQUIRE_BROWSER").is_none_or(|value| value != "1"),
        "UNROOF_REQUIRE_BROWSER=1, and {missing}"
    );
    ONCE.call_once(|| say(&format!("skipped in a browser: {missing}")));
}
