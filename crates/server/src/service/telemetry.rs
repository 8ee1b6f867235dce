//! Metrics for a receiver of OpenTelemetry, at an interval and at the end.

use std::time::Duration;

use crate::app::App;
use super::metrics_page::open_metrics;
use unroof_telemetry::Telemetry;

/// Most and least time that the last traces and metrics have to be sent, whatever is left of the time to stop.
const LAST_TIME: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3));

impl App {
    /// Sends metrics at an interval; never returns.
    pub(crate) async fn report<T>(&self) -> T {
        let telemetry = self.telemetry.as_ref();
        let Some((telemetry, every)) = telemetry.and_then(|to| Some((to, to.metrics_every()?)))
        else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(every).await;
            self.send_metrics(telemetry).await;
        }
    }

    /// Sends the last metrics, and the traces that have not been sent, in the time that is left.
    pub(crate) async fn report_end(&self, left: Duration) {
        let Some(telemetry) = &self.telemetry else {
            return;
        };
        let (least, most) = LAST_TIME;
        let left = left.clamp(least, most);
        let traces = telemetry.clone();
        let traces = tokio::task::spawn_blocking(move || traces.finish(left));
        let metrics = Box::pin(async {
            if telemetry.metrics_every().is_some() {
                self.send_metrics(telemetry).await;
            }
        });
        let both = async { tokio::join!(traces, metrics) };
        // What is not sent by then is lost.
        let _ = tokio::time::timeout(left, both).await;
    }

    async fn send_metrics(&self, telemetry: &Telemetry) {
        let Ok(text) = open_metrics(&self.registry().await) else {
            return;
        };
        let (telemetry, started_at, now) = (telemetry.clone(), self.started_at, self.now());
        let sent = tokio::task::spawn_blocking(move || {
            telemetry.send_metrics(&text, started_at, now);
        });
        if let Err(error) = sent.await {
            tracing::error!(%error, "sending metrics failed");
        }
    }
}
