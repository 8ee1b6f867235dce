//! A window of a browser, on a service with the example sheets.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::{Key, WebDriver};

use super::driver::Chromedriver;
use super::service::Service;
use crate::server::LONGEST_WAIT;

/// A reader's choice of colours.
#[derive(Debug, Clone, Copy)]
pub(super) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// A window of the browser.
pub(super) struct Window {
    driver: WebDriver,
    _chromedriver: Chromedriver,
    service: Service,
}

impl Window {
    /// An empty window, and a service of its own.
    pub(super) async fn open() -> Self {
        let service = Service::start();
        let chromedriver = Chromedriver::start();
        Self {
            driver: chromedriver.browser().await,
            _chromedriver: chromedriver,
            service,
        }
    }

    pub(super) async fn close(self) {
        self.driver.quit().await.unwrap();
    }

    /// Stores an example with another price of input.
    pub(super) fn change_price(&self, name: &str, input: &str) {
        self.service.change_price(name, input);
    }

    /// The whole address of a page of the service.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.service.address())
    }

    /// Goes to a page of the service.
    pub(super) async fn go(&self, path: &str) {
        self.driver.goto(self.url(path)).await.unwrap();
    }

    /// Asks for the same page again.
    pub(super) async fn reload(&self) {
        self.driver.refresh().await.unwrap();
    }

    /// Path and query of the address.
    pub(super) async fn path(&self) -> String {
        let url = self.driver.current_url().await.unwrap();
        let address = url.as_str();
        address
            .strip_prefix(self.service.address())
            .unwrap_or(address)
            .to_owned()
    }

    /// Result of a function with this body on the page; a promise is waited for.
    pub(super) async fn run(&self, script: &str) -> Value {
        let ran = self.driver.execute(script, Vec::new()).await;
        let ran = ran.unwrap_or_else(|error| panic!("{script:.200}: {error}"));
        ran.json().clone()
    }

    /// The number that an expression has on the page.
    pub(super) async fn number(&self, expression: &str) -> f64 {
        let value = self.run(&format!("return {expression}")).await;
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// The text that an expression has on the page; none where it is null.
    pub(super) async fn text(&self, expression: &str) -> Option<String> {
        let value = self.run(&format!("return {expression}")).await;
        value.as_str().map(str::to_owned)
    }

    /// The texts of an array on the page.
    pub(super) async fn texts(&self, expression: &str) -> Vec<String> {
        let value = self.run(&format!("return {expression}")).await;
        let texts = value.as_array().unwrap().iter();
        texts
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until an expression is true on the page, also where it is left for another meanwhile.
    pub(super) async fn until(&self, expression: &str) {
        let began = Instant::now();
        let script = format!("return Boolean({expression})");
        loop {
            let answer = self.driver.execute(script.as_str(), Vec::new()).await;
            if answer.is_ok_and(|answer| *answer.json() == json!(true)) {
                return;
            }
            if began.elapsed() > LONGEST_WAIT {
                let shown = self.text("document.querySelector('main')?.innerText").await;
                panic!(
                    "never: {expression}\nat {}\n{:.2000}",
                    self.path().await,
                    shown.unwrap_or_default()
                );
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }

    /// Types on the keyboard, wherever the focus is.
    pub(super) async fn type_text(&self, text: &str) {
        self.driver
            .action_chain()
            .send_keys(text)
            .perform()
            .await
            .unwrap();
    }

    /// Presses a key in the window.
    pub(super) async fn press(&self, key: Key) {
        self.driver
            .action_chain()
            .send_keys(key)
            .perform()
            .await
            .unwrap();
    }

    /// Presses the tabulator until the focus is on an element, as a reader without a pointer does.
    pub(super) async fn tab_to(&self, selector: &str) {
        const MOST: usize = 200;
        for _ in 0..MOST {
            self.press(Key::Tab).await;
            let is_there = format!("document.activeElement.matches({})", json!(selector));
            if self.run(&format!("return {is_there}")).await == json!(true) {
                return;
            }
        }
        panic!("{selector} is not reached by {MOST} tabulators");
    }

    /// The messages of the console since the last call that say that something failed.
    pub(super) async fn console_faults(&self) -> Vec<String> {
        let log = self.driver.get_log("browser").await.unwrap();
        let faults = log
            .into_iter()
            .filter(|entry| entry.level == "SEVERE" || entry.level == "WARNING");
        faults.map(|entry| entry.message).collect()
    }

    /// The addresses of other hosts that were asked for since the last call.
    pub(super) async fn foreign_requests(&self) -> Vec<String> {
        let log = self.driver.get_log("performance").await.unwrap();
        let asked = log.into_iter().filter_map(|entry| {
            let event: Value = serde_json::from_str(&entry.message).ok()?;
            let event = &event["message"];
            let is_request = event["method"] == "Network.requestWillBeSent";
            let url = event["params"]["request"]["url"].as_str()?;
            is_request.then(|| url.to_owned())
        });
        let is_own = |url: &String| {
            url.starts_with(&format!("{}/", self.service.address())) || url.starts_with("data:")
        };
        asked.filter(|url| !is_own(url)).collect()
    }

    /// Makes the window this wide, in pixels of CSS; enlarged by a factor, as a reader does.
    pub(super) async fn resize(&self, width: u32, zoom: u32) {
        let metrics = json!({
            "width": width / zoom, "height": 1000 / zoom, "deviceScaleFactor": zoom, "mobile": false,
        });
        self.command("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// Chooses light or dark colours.
    pub(super) async fn choose(&self, theme: Theme) {
        let features = json!([{"name": "prefers-color-scheme", "value": theme.name()}]);
        self.command(
            "Emulation.setEmulatedMedia",
            json!({"media": "", "features": features}),
        )
        .await;
    }

    /// Shows the page as it is printed.
    pub(super) async fn show_as_printed(&self) {
        let light = json!([{"name": "prefers-color-scheme", "value": "light"}]);
        self.command(
            "Emulation.setEmulatedMedia",
            json!({"media": "print", "features": light}),
        )
        .await;
    }

    /// A command of Chromium's own protocol.
    pub(super) async fn command(&self, name: &str, parameters: Value) -> Value {
        self.driver.cdp().send_raw(name, parameters).await.unwrap()
    }
}
