//! The end of a service: its last traces are sent.

use std::time::Duration;

use crate::service::Service;

/// Most and least time that the last traces have to be sent, whatever is left of the time to stop.
const LAST_TIME: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3));

impl Service {
    /// Sends the traces that have not been sent, in the time that is left.
    pub(crate) async fn report_end(&self, left: Duration) {
        let Some(telemetry) = self.telemetry.clone() else {
            return;
        };
        let (least, most) = LAST_TIME;
        let left = left.clamp(least, most);
        let sent = tokio::task::spawn_blocking(move || telemetry.finish(left));
        // What is not sent by then is lost.
        let _ = tokio::time::timeout(left, sent).await;
    }
}
