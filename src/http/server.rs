//! The listening socket and the life of the process.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::{App, router};
use crate::estimate::Format;

/// A bound socket that does not serve yet: its address is known, also where port 0 was asked for.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Binds the address.
    ///
    /// # Errors
    /// It is taken, or not ours.
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address that is listened on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// How long requests under way may take to finish once the process is asked to stop.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// Serves until the process is asked to stop, then finishes what is under way.
///
/// # Errors
/// The socket fails.
pub async fn serve(server: Server, app: App) -> std::io::Result<()> {
    let store = app.store.clone();
    let stopping = Arc::new(Notify::new());
    let stop = {
        let stopping = Arc::clone(&stopping);
        async move {
            asked_to_stop().await;
            stopping.notify_one();
        }
    };
    let drained_too_long = async {
        stopping.notified().await;
        tokio::time::sleep(LONGEST_DRAIN).await;
    };
    let serving = axum::serve(server.listener, router(app)).with_graceful_shutdown(stop);
    tokio::select! {
        result = serving.into_future() => result?,
        () = drained_too_long => tracing::warn!("some connections did not finish in time; closing them"),
    }
    store.close().await;
    Ok(())
}

async fn asked_to_stop() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
    tracing::info!("stopping: finishing what is under way");
}

impl App {
    /// Answers and stores canonical sheets, for instance the examples.
    ///
    /// # Errors
    /// What is wrong with the first sheet that cannot be stored.
    pub async fn load(&self, sheets: &[&'static str]) -> Result<usize, String> {
        let mut new = 0;
        for sheet in sheets {
            let body = axum::body::Bytes::from_static(sheet.as_bytes());
            let answered = self
                .answer(body, Format::Canonical)
                .await
                .map_err(|problem| problem.detail)?;
            let saved = self
                .save(&answered)
                .await
                .map_err(|problem| problem.detail)?;
            new += usize::from(saved.is_new);
        }
        Ok(new)
    }
}
