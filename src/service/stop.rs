//! The signals at which a command ends that removes something first.

use std::io;

/// Waits until the program is asked to end: from the keyboard, by a supervisor, or because its terminal is gone. The
/// signals count from the call on, and not only once they are waited for.
///
/// # Errors
/// The system refuses.
#[cfg(unix)]
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let hangup = (!outlives_terminal()).then(|| signal(SignalKind::hangup()));
    let mut hangup = hangup.transpose()?;
    Ok(async move {
        let hung_up = async {
            match &mut hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    })
}

/// Whether the program was started to outlive its terminal, as `nohup` starts it.
#[cfg(unix)]
fn outlives_terminal() -> bool {
    // Only Linux says so; elsewhere a hangup ends the command.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    // The first bit is that of the hangup.
    ignored.is_some_and(|signals| signals & 1 == 1)
}

/// Waits until the program is asked to end from the keyboard.
///
/// # Errors
/// None here.
#[cfg(not(unix))]
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
