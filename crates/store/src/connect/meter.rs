//! CPU time that SQLite uses for a request.
//!
//! A connection to SQLite works on a thread of its own, where the time of the caller's thread does not show it. PostgreSQL
//! works on another machine: its time is not metered.

use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::SqliteConnection;

use unroof_telemetry::ThreadTime;

/// Takes the CPU time of statements while they run.
pub type Meter = Arc<dyn Fn(Duration) + Send + Sync>;

tokio::task_local! {
    /// Meter of the request that this task works on.
    static METER: Meter;
}

/// Instructions of SQLite's virtual machine between two readings of the time, some 20 µs. Shorter statements are not metered.
const INSTRUCTIONS: i32 = 1_000;

/// Works on a request whose statements are metered.
pub async fn metered<T>(meter: Meter, work: impl Future<Output = T>) -> T {
    METER.scope(meter, work).await
}

/// Attaches the meter of this task, if it has one, to a connection. It takes time until what is returned is dropped: the
/// connection goes back to its pool.
pub(crate) async fn attach(
    connection: &mut SqliteConnection,
) -> Result<Option<Arc<Meter>>, sqlx::Error> {
    let Ok(meter) = METER.try_with(|meter| Arc::new(Arc::clone(meter))) else {
        return Ok(None);
    };
    let read = reading(Arc::downgrade(&meter));
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(INSTRUCTIONS, read);
    Ok(Some(meter))
}

/// Reads the time on the thread of the connection; the statement continues.
fn reading(meter: Weak<Meter>) -> impl FnMut() -> bool + Send + 'static {
    let mut last: Option<ThreadTime> = None;
    move || {
        let last = last.replace(ThreadTime::start());
        if let (Some(last), Some(meter)) = (last, meter.upgrade()) {
            meter(last.used());
        }
        true
    }
}
