//! The connections of the listening socket, and graceful shutdown.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::FromRef;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

use super::metrics_page::metrics_service;
use super::middleware;
use crate::compute::Views;
use crate::{App, service};
use unroof_edge::places;
use unroof_edge::{
    FromPeer, Limits, Peer, PerAddress, Refusals, Server, Stream, TooMany, try_answer,
};
use unroof_infer::estimate::Format;
use unroof_jobs::Refresh;
use unroof_store::ObservedBy;

/// The stop signals. Process 1 of a container has no default handlers, so the handlers are installed at start.
#[derive(Debug)]
pub struct StopSignals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

/// Cause of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopCause {
    /// SIGTERM from a supervisor, which may watch `/readyz`.
    Terminate,
    /// SIGINT from the keyboard.
    Interrupt,
}

impl StopSignals {
    /// Installs the signal handlers.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> std::io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    async fn next(&mut self) -> StopCause {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => StopCause::Terminate,
            _ = self.interrupt.recv() => StopCause::Interrupt,
        }
        #[cfg(not(unix))]
        match tokio::signal::ctrl_c().await {
            Ok(()) => StopCause::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Serves until a stop signal, then finishes open requests. A second signal aborts them.
///
/// # Errors
/// Open requests were aborted.
pub async fn serve(
    server: Server,
    app: App,
    refreshes: &[Refresh],
    mut stop: StopSignals,
) -> std::io::Result<()> {
    let store = app.answers.store.clone();
    let limits = Arc::clone(&app.limits);
    let connections = Connections::of_api(app.clone()).await;
    // The first client pays for its own estimate only.
    let estimator = app.compute.estimator.clone();
    tokio::task::spawn_blocking(move || estimator.prepare());
    // End with this function.
    let jobs = app.jobs().start(refreshes);
    let cause = tokio::select! {
        never = connections.accept(&server) => never,
        cause = stop.next() => cause,
    };
    app.jobs().stopping.cancel();
    tracing::info!("stopping: finishing open requests");
    if cause == StopCause::Terminate {
        tokio::select! {
            never = connections.accept(&server) => never,
            () = tokio::time::sleep(limits.stop_notice) => {}
            _ = stop.next() => return Err(stopped_twice()),
        }
    }
    drop(server);
    let drained_by = Instant::now() + limits.drain_time;
    tokio::select! {
        () = connections.finish() => {}
        () = tokio::time::sleep(limits.drain_time) => {
            tracing::warn!("some requests did not finish in time and were aborted");
        }
        _ = stop.next() => return Err(stopped_twice()),
    }
    drop(jobs);
    // Without the database, they are lost.
    let _ = tokio::time::timeout(LAST_WRITE, app.jobs().write_visits()).await;
    let left = drained_by.saturating_duration_since(Instant::now());
    app.service.report_end(left).await;
    store.close().await;
    Ok(())
}

/// Time for the last uses of keys and refused requests to be written.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// Concurrent connections to the metrics port.
const METRICS_CONNECTIONS: usize = 16;

/// Serves only `/metrics`, until dropped.
pub async fn serve_metrics<T>(server: Server, app: App) -> T {
    Connections::of_metrics(app).await.accept(&server).await
}

fn stopped_twice() -> std::io::Error {
    std::io::Error::other("second stop signal before all requests were finished")
}

/// Interval between refusals once the burst is used up.
const BETWEEN_REFUSALS: Duration = Duration::from_millis(10);

/// Interval between log lines about refused connections.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// Permits of a connection: one of all, and one of its address if that is limited.
type Place = (OwnedSemaphorePermit, Option<places::Place<IpAddr>>);

/// Connections that are open.
struct Connections {
    router: Router,
    limits: Arc<Limits>,
    places: Arc<Semaphore>,
    per_address: PerAddress,
    refused: Counter,
    refusals: Arc<Refusals>,
    graceful: GracefulShutdown,
    refusal: Vec<u8>,
}

impl Connections {
    async fn of_api(app: App) -> Self {
        let access = Arc::clone(&app.clients.access);
        let metrics = &app.service.metrics;
        Self {
            places: Arc::clone(&app.service.connections),
            per_address: PerAddress::new(app.limits.connections_per_address, access),
            refused: metrics.refused_connections.clone(),
            refusals: Arc::clone(&app.service.refusals),
            ..Self::new(&app, service(app.clone())).await
        }
    }

    async fn of_metrics(app: App) -> Self {
        Self::new(&app, metrics_service(app.clone())).await
    }

    /// As few connections as a scrape needs, counted by themselves.
    async fn new(app: &App, router: Router) -> Self {
        Self {
            limits: Arc::clone(&app.limits),
            places: Arc::new(Semaphore::new(METRICS_CONNECTIONS)),
            per_address: PerAddress::new(None, Arc::clone(&app.clients.access)),
            refused: Counter::default(),
            refusals: Arc::new(Refusals::counting("busy: refusing scrapes")),
            graceful: GracefulShutdown::new(),
            refusal: refusal().await,
            router,
        }
    }

    /// Accepts connections; never returns.
    async fn accept<T>(&self, server: &Server) -> T {
        let mut warned: Option<Instant> = None;
        loop {
            let (stream, peer) = match server.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // The client has disconnected, or no file descriptor is free; wait for one.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let refused = match self.admit(peer).await {
                Ok(place) => {
                    self.serve(stream, peer, place);
                    continue;
                }
                Err(refused) => refused,
            };
            try_answer(&stream, &self.refusal);
            self.refused.inc();
            if warned.is_none_or(|at| at.elapsed() > BETWEEN_WARNINGS) {
                warned = Some(Instant::now());
                tracing::warn!(reason = refused, "refusing further connections");
            }
        }
    }

    /// A permit for a connection; or the reason why there is none. An address with too many is refused at once, so that no
    /// other one waits for it.
    async fn admit(&self, peer: Peer) -> Result<Place, &'static str> {
        let of_address = self
            .per_address
            .count(peer)
            .map_err(|TooMany| "an address has reached its limit of connections")?;
        let of_all = self.place().await;
        let of_all = of_all.ok_or("the limit of connections is reached")?;
        Ok((of_all, of_address))
    }

    fn serve(&self, stream: Stream, peer: Peer, place: Place) {
        let served = serve_connection(
            (stream, peer),
            self.router.clone(),
            Arc::clone(&self.limits),
            self.graceful.watcher(),
            place,
        );
        tokio::spawn(served);
    }

    /// A permit out of all. After many refusals it waits briefly for a free one, while further connections wait in the
    /// backlog.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let places = &self.places;
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Some(place);
        }
        if self.refusals.count() {
            return None;
        }
        let freed = Arc::clone(places).acquire_owned();
        tokio::time::timeout(BETWEEN_REFUSALS, freed)
            .await
            .ok()?
            .ok()
    }

    /// Closes idle connections and waits for the others.
    async fn finish(self) {
        self.graceful.shutdown().await;
    }
}

/// Serves HTTP on a connection until it ends.
async fn serve_connection(
    (stream, peer): (Stream, Peer),
    router: Router,
    limits: Arc<Limits>,
    watcher: Watcher,
    _place: Place,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes)
        // The buffer may be larger than requested; this limit is exact.
        .max_header_size(limits.head_bytes)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            FromPeer {
                inner: TowerToHyperService::new(router),
                peer,
            },
        );
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection ended early");
    }
}

/// The serialised 503 response for a connection above the limit.
async fn refusal() -> Vec<u8> {
    let (parts, body) = middleware::no_place().into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let first_lines = format!(
        "HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n",
        parts.status,
        body.len(),
    );
    let mut refusal = first_lines.into_bytes();
    for (name, value) in &parts.headers {
        refusal.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    refusal.extend(b"\r\n");
    refusal.extend(body);
    refusal
}

impl App {
    /// Estimates and stores canonical sheets, such as the examples.
    ///
    /// # Errors
    /// The first sheet that cannot be stored, with the reason.
    pub async fn load(&self, sheets: &[&'static str]) -> Result<usize, String> {
        let views = Views::from_ref(self);
        let mut new = 0;
        for sheet in sheets {
            let body = axum::body::Bytes::from_static(sheet.as_bytes());
            let answered = views
                .compute
                .answer(body, Format::Canonical)
                .await
                .map_err(|problem| problem.detail)?;
            let observed_by = (!answered.has_assumptions()).then(|| ObservedBy::post(true));
            let (saved, _) = answered
                .save(&views, None, observed_by)
                .await
                .map_err(|problem| problem.detail)?;
            new += usize::from(saved.is_new);
        }
        Ok(new)
    }
}
