//! The listening socket, its connections, and the end of the process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::to_bytes;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::counter::Counter;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

use super::metrics::metrics_service;
use super::queue::MANNERS;
use super::refusals::Refusals;
use super::{App, Limits, envelope, service};
use crate::jobs::Refresh;
use unroof_core::estimate::Format;

/// Bytes that the system keeps for a client that has not received them; its connections take it over. By itself the system
/// grows this to megabytes, says that there is room again only when a third is free, and a slow client that reads all the
/// time would seem to read nothing.
const SEND_BUFFER: u32 = 128 * 1024;
/// Connections that wait to be taken.
const WAITING_CONNECTIONS: u32 = 1024;

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
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        // So that a restart need not wait for connections of the process before to be forgotten.
        #[cfg(not(windows))]
        socket.set_reuseaddr(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.bind(address)?;
        let listener = socket.listen(WAITING_CONNECTIONS)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address that is listened on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The signals that ask the process to stop. The first process of a container has none by default, so they are listened
/// for from the beginning.
#[derive(Debug)]
pub struct StopSignals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

/// Who asked the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A program, which may have others look at `/readyz`.
    ByProgram,
    /// A person at the keyboard.
    ByPerson,
}

impl StopSignals {
    /// Begins to listen.
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

    async fn next(&mut self) -> Asked {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => Asked::ByProgram,
            _ = self.interrupt.recv() => Asked::ByPerson,
        }
        #[cfg(not(unix))]
        match tokio::signal::ctrl_c().await {
            Ok(()) => Asked::ByPerson,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Serves until the process is asked to stop, then finishes what is under way. Asked again, it leaves that unfinished.
///
/// # Errors
/// What was under way when it was asked to stop could not be finished.
pub async fn serve(
    server: Server,
    app: App,
    refreshes: &[Refresh],
    mut stop: StopSignals,
) -> std::io::Result<()> {
    let store = app.store.clone();
    let limits = Arc::clone(&app.limits);
    let connections = Connections::of_api(app.clone()).await;
    // End with this function.
    let jobs = app.jobs.start(refreshes);
    let asked = tokio::select! {
        never = connections.accept(&server.listener) => never,
        asked = stop.next() => asked,
    };
    app.jobs.stopping.cancel();
    tracing::info!("stopping: finishing what is under way");
    if asked == Asked::ByProgram {
        tokio::select! {
            never = connections.accept(&server.listener) => never,
            () = tokio::time::sleep(limits.stop_notice) => {}
            _ = stop.next() => return Err(asked_again()),
        }
    }
    drop(server);
    tokio::select! {
        () = connections.finish() => {}
        () = tokio::time::sleep(limits.drain_time) => {
            tracing::warn!("some requests did not finish in time; they end unanswered");
        }
        _ = stop.next() => return Err(asked_again()),
    }
    drop(jobs);
    store.close().await;
    Ok(())
}

/// Connections at once to whoever collects metrics.
const METRICS_CONNECTIONS: usize = 16;

/// Serves `/metrics` and nothing else, until it is dropped.
pub async fn serve_metrics<T>(server: Server, app: App) -> T {
    Connections::of_metrics(app)
        .await
        .accept(&server.listener)
        .await
}

fn asked_again() -> std::io::Error {
    std::io::Error::other("asked to stop again before all was finished")
}

/// Pause between refusals of connections beyond those that are refused at once.
const BETWEEN_REFUSALS: Duration = Duration::from_millis(10);

/// A flood of connections is no flood of log lines.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// The open connections.
struct Connections {
    router: Router,
    limits: Arc<Limits>,
    places: Arc<Semaphore>,
    refused: Counter,
    refusals: Arc<Refusals>,
    graceful: GracefulShutdown,
    refusal: Vec<u8>,
}

impl Connections {
    async fn of_api(app: App) -> Self {
        Self {
            limits: Arc::clone(&app.limits),
            places: Arc::clone(&app.connections),
            refused: app.metrics.refused_connections.clone(),
            refusals: Arc::clone(&app.refusals),
            graceful: GracefulShutdown::new(),
            refusal: refusal().await,
            router: service(app),
        }
    }

    async fn of_metrics(app: App) -> Self {
        Self {
            limits: Arc::clone(&app.limits),
            places: Arc::new(Semaphore::new(METRICS_CONNECTIONS)),
            refused: Counter::default(),
            refusals: Arc::default(),
            graceful: GracefulShutdown::new(),
            refusal: refusal().await,
            router: metrics_service(app),
        }
    }

    /// Takes connections and never ends.
    async fn accept<T>(&self, listener: &TcpListener) -> T {
        let mut warned: Option<Instant> = None;
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // A client that left while it waited, or no file descriptor left: others may be freed meanwhile.
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            if let Some(place) = self.place().await {
                let (router, limits) = (self.router.clone(), Arc::clone(&self.limits));
                tokio::spawn(speak(
                    stream,
                    router,
                    limits,
                    self.graceful.watcher(),
                    place,
                ));
                continue;
            }
            self.refuse(&stream);
            self.refused.inc();
            if warned.is_none_or(|at| at.elapsed() > BETWEEN_WARNINGS) {
                warned = Some(Instant::now());
                tracing::warn!("as many connections as there may be; refusing others");
            }
        }
    }

    /// A place for a connection. Where there is none and many were refused lately, one that is freed soon is waited for,
    /// and other connections wait with the system meanwhile.
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

    /// Says that there is no place. Whoever cannot be told at once need not be told.
    fn refuse(&self, stream: &TcpStream) {
        let _ = stream.try_write(&self.refusal);
        // A request that is left unread would have the system reset the connection, perhaps before the answer is read.
        let _ = stream.try_read(&mut [0; 8192]);
    }

    /// Closes connections that rest and waits for the others.
    async fn finish(self) {
        self.graceful.shutdown().await;
    }
}

/// Speaks HTTP on a connection until it ends.
async fn speak(
    stream: TcpStream,
    router: Router,
    limits: Arc<Limits>,
    watcher: Watcher,
    _place: OwnedSemaphorePermit,
) {
    // Answers are written whole, so there is nothing to gain from holding back small packets.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes)
        // The buffer may be larger than was asked for; this is exact.
        .max_header_size(limits.head_bytes)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(router),
        );
    let served = MANNERS.scope(Arc::default(), watcher.watch(connection));
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The answer to a connection for which there is no place, as it goes over the wire.
async fn refusal() -> Vec<u8> {
    let (parts, body) = envelope::no_place().into_parts();
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
                .save(&answered, None)
                .await
                .map_err(|problem| problem.detail)?;
            new += usize::from(saved.is_new);
        }
        Ok(new)
    }
}
