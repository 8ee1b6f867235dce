//! `unroof serve`: the HTTP API.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use jiff::SignedDuration;
use uuid::Uuid;

use super::access::AccessArguments;
use super::limits::LimitArguments;
use super::retention::RetentionArguments;
use super::telemetry::TelemetryArguments;
use crate::estimates::evidence::EstimatorArguments;
use crate::estimates::scale::ScaleArguments;
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_edge::Limits;
use unroof_infer::estimate::Estimator;
use unroof_jobs::Refresh;
use unroof_server::examples::EXAMPLE_SHEETS;
use unroof_server::{App, ListenAddress, Server, StopSignals, serve, serve_metrics};
use unroof_store::clock::Clock;
use unroof_store::{
    DatabaseUrl, Databases, SecretsKey, ServiceAddressFile, ServingLock, Store, StoreError,
};
use unroof_telemetry::Telemetry;

/// Arguments of `unroof serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof serve --examples
  unroof serve --refresh litellm=https://example.com/litellm.json@24h
  unroof serve --database-url postgres://unroof@db/unroof --listen 0.0.0.0:8080 --admin-key-file admin.key
  unroof serve --metrics-listen 127.0.0.1:9464 --check-every 24h")]
pub(crate) struct ServeArguments {
    /// Address and port, or a port of this machine alone, or `unix:` and the file of a socket; port 0 takes a free one. A
    /// socket that systemd has opened is used instead
    #[arg(
        long,
        env = "UNROOF_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS",
        value_parser = read_listen_address
    )]
    listen: ListenAddress,
    /// Store estimates of the example sheets first
    #[arg(long)]
    examples: bool,
    /// Download a catalog at an interval; may be repeated
    #[arg(
        long,
        env = "UNROOF_REFRESH",
        hide_env_values = true,
        value_delimiter = ' ',
        value_name = "FORMAT=URL@PERIOD"
    )]
    refresh: Vec<Refresh>,
    /// Check the integrity of the database at an interval, such as 24h; several replicas need one check
    #[arg(
        long,
        env = "UNROOF_CHECK_EVERY",
        value_name = "PERIOD",
        value_parser = period
    )]
    check_every: Option<Duration>,
    #[command(flatten)]
    estimator: EstimatorArguments,
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(flatten)]
    scale: ScaleArguments,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    metrics: MetricsArguments,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    retention: RetentionArguments,
}

/// Settings of the metrics for Prometheus.
#[derive(Debug, Args)]
#[command(next_help_heading = "Metrics")]
struct MetricsArguments {
    /// Address and port of a separate listener for `/metrics`; none if left out
    #[arg(
        long,
        env = "UNROOF_METRICS_LISTEN",
        value_name = "ADDRESS",
        value_parser = read_address
    )]
    metrics_listen: Option<SocketAddr>,
}

pub(crate) fn run(arguments: &ServeArguments, verbosity: Verbosity) -> Result<(), Failure> {
    let instance = Uuid::new_v4();
    let telemetry = arguments.telemetry.start(instance);
    let telemetry = telemetry.map_err(Failure::Usage)?;
    arguments
        .database
        .start_logging_and_tracing(verbosity.of_service(), telemetry.as_ref())?;
    if let Some(telemetry) = &telemetry {
        tracing::info!(receiver = %telemetry.endpoint(), "sending traces");
    }
    let reporting = (telemetry, instance);
    let databases = arguments.scale.databases(&arguments.database)?;
    let estimator = arguments.estimator.estimator()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let outcome = runtime.block_on(run_service(arguments, &databases, estimator, reporting));
    // Computations for clients that have disconnected do not keep the process running.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(outcome?)
}

async fn run_service(
    arguments: &ServeArguments,
    databases: &Databases,
    estimator: Estimator,
    (telemetry, instance): (Option<Telemetry>, Uuid),
) -> anyhow::Result<()> {
    let url = &databases.main;
    let stop = StopSignals::listen().context("cannot listen for signals")?;
    // Bound first: a port that is taken is found out before anything is stored.
    let server = match Server::inherited().context("cannot use the socket of the supervisor")? {
        Some(inherited) => inherited,
        None => bind(&arguments.listen)?,
    };
    let address = server.address().clone();
    let metrics_server = match arguments.metrics.metrics_listen {
        Some(address) => Some(bind(&ListenAddress::Tcp(address))?),
        None => None,
    };
    // Held to the end: two processes on one file would not learn what the other writes.
    let taken = ServingLock::take(url);
    let _lock = taken.with_context(|| format!("cannot serve {url}"))?;
    let store_limits = arguments.telemetry.store(arguments.limits.store());
    let opened = Store::open_on(databases, store_limits).await;
    let store = opened.with_context(|| format!("cannot open the database {url}"))?;
    let store = with_secrets_key(store)?;
    let access = arguments.access.access(&address);
    let limits = Limits {
        check_every: arguments.check_every,
        retention: arguments.retention.retention(),
        ..arguments.telemetry.service(arguments.limits.service())
    };
    let limits = arguments.limits.per_client(limits, access.requires_keys);
    let limits = within_open_files(limits);
    let has_names = !limits.allowed_hosts.is_empty();
    let clock = Clock::system();
    let app = App::new(store.clone(), clock.clone(), limits)
        .estimating_with(estimator)
        .allowing(access.clone())
        .reporting_to(telemetry, instance);
    let _address_file = write_address(url, &address, &app);
    let metrics = async {
        match metrics_server {
            Some(server) => {
                tracing::info!(address = %server.address(), "serving metrics");
                serve_metrics(server, app.clone()).await
            }
            None => std::future::pending().await,
        }
    };
    // What needs no database is answered while there is none yet.
    let unprepared = async {
        let prepared = async {
            let is_announced = wait_for_tables(&store, url, &address, has_names).await?;
            arguments.access.prepare(&store, &clock, &access).await?;
            if store.newer_program().is_none() {
                seal_secrets(&store).await?;
                if arguments.examples {
                    load_examples(&app).await?;
                }
            }
            if !is_announced {
                announce(&address, url, has_names)?;
            }
            anyhow::Ok(())
        };
        match prepared.await {
            Ok(()) => std::future::pending().await,
            // The service was asked to stop meanwhile.
            Err(_) if store.is_closed() => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::select! {
        ended = serve(server, app.clone(), &arguments.refresh, stop) => ended.context("the server ended early"),
        error = unprepared => Err(error),
        never = metrics => never,
    }
}

/// The variable with the key that secrets of webhooks are encrypted with. No flag has it: other users see flags.
const SECRETS_KEY: &str = "UNROOF_SECRETS_KEY";

fn with_secrets_key(store: Store) -> anyhow::Result<Store> {
    let stated = std::env::var(SECRETS_KEY).unwrap_or_default();
    if stated.is_empty() {
        return Ok(store);
    }
    let key = SecretsKey::read(&stated);
    let key = key.with_context(|| format!("{SECRETS_KEY} is not the base64 of 32 bytes"))?;
    Ok(store.with_secrets_key(key))
}

/// Encrypts the secrets that are stored in plain text, and names the webhooks whose secrets cannot be read.
async fn seal_secrets(store: &Store) -> anyhow::Result<()> {
    for (webhook, error) in store.seal_secrets().await? {
        tracing::error!(webhook.id = %webhook, %error, "this webhook is not sent");
    }
    Ok(())
}

/// Writes the address next to the file of an embedded database, for `unroof import`. The service runs without it too.
fn write_address(
    url: &DatabaseUrl,
    address: &ListenAddress,
    app: &App,
) -> Option<ServiceAddressFile> {
    ServiceAddressFile::write(url, address.tcp(), app.instance()).unwrap_or_else(|error| {
        let error = error.with_causes();
        tracing::warn!(database = %url, error, "the address is not written; `unroof import` needs --server");
        None
    })
}

/// An address with its port, or the file of a Unix socket.
fn read_listen_address(text: &str) -> Result<ListenAddress, String> {
    match text.strip_prefix("unix:") {
        Some("") => Err("write the file of the socket, such as unix:/run/unroof.sock".to_owned()),
        Some(file) => Ok(ListenAddress::Unix(PathBuf::from(file))),
        None => read_address(text).map(ListenAddress::Tcp),
    }
}

fn period(text: &str) -> Result<Duration, String> {
    let period = text.parse::<SignedDuration>().ok();
    let period = period.and_then(|period| Duration::try_from(period).ok());
    period
        .filter(|period| !period.is_zero())
        .ok_or_else(|| "expected a period such as 24h".to_owned())
}

/// An address with its port. A port alone, also after a colon or `localhost`, is on the loopback address, where no key is
/// needed.
fn read_address(text: &str) -> Result<SocketAddr, String> {
    let local = text
        .strip_prefix("localhost")
        .unwrap_or(text)
        .trim_start_matches(':');
    let of_this_machine = || {
        let port: u16 = local.parse().ok()?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    };
    let stated = text.parse().ok();
    stated.or_else(of_this_machine).ok_or_else(|| {
        "write an address and a port, such as 127.0.0.1:8080 or [::1]:8080, or a port alone; 0.0.0.0:8080 listens on all \
         addresses"
            .to_owned()
    })
}

fn bind(address: &ListenAddress) -> anyhow::Result<Server> {
    Server::bind(address).map_err(|error| {
        let is_taken = error.kind() == std::io::ErrorKind::AddrInUse;
        let remedy = match address {
            ListenAddress::Tcp(address) if is_taken => format!(
                ": another program listens there; stop it, or name another port, such as --listen {}:0 for a free one",
                address.ip()
            ),
            ListenAddress::Unix(_) if is_taken => {
                ": another program listens there, or the file is no socket".to_owned()
            }
            _ => String::new(),
        };
        anyhow::Error::new(error).context(format!("cannot listen on {address}{remedy}"))
    })
}

/// Longest pause before an unreachable database is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Brings the tables up to date, and waits for the database without a limit. True if the address was already announced.
async fn wait_for_tables(
    store: &Store,
    url: &DatabaseUrl,
    address: &ListenAddress,
    has_names: bool,
) -> anyhow::Result<bool> {
    let mut said = String::new();
    let mut pause = Duration::from_millis(100);
    while let Err(error) = store.migrate().await {
        if let StoreError::NewerTables(newer) = error {
            store.read_newer_tables(newer).await?;
            tracing::warn!(database = %url, reason = %newer, "this service only reads; writes are refused");
            break;
        }
        if !error.is_temporary() {
            return Err(error)
                .with_context(|| format!("cannot bring the tables of {url} up to date"));
        }
        let why = error.with_causes();
        if said.is_empty() {
            announce(address, url, has_names)?;
        }
        if said != why {
            tracing::warn!(database = %url, error = why, "the database is not ready; retrying");
            said = why;
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    if !said.is_empty() {
        tracing::info!(database = %url, "the database is ready");
    }
    Ok(!said.is_empty())
}

async fn load_examples(app: &App) -> anyhow::Result<()> {
    let sheets = EXAMPLE_SHEETS.map(|(_, text)| text);
    let new = app.load(&sheets).await.map_err(anyhow::Error::msg)?;
    tracing::info!(sheets = sheets.len(), new, "loaded the example sheets");
    Ok(())
}

fn announce(address: &ListenAddress, url: &DatabaseUrl, has_names: bool) -> anyhow::Result<()> {
    if !address.is_local() && !has_names {
        // Printed at every log level.
        writeln!(
            terminal::stderr(),
            "hint: only requests for an IP address or localhost are served; add the host names of clients and proxies with --allow-host"
        )?;
    }
    tracing::info!(%address, database = %url, "listening");
    let mut out = terminal::stdout();
    match address.tcp() {
        Some(address) => writeln!(
            out,
            "unroof listens on http://{address} (API docs at http://{address}/docs)"
        )?,
        None => writeln!(out, "unroof listens on {address}")?,
    }
    Ok(())
}

/// File descriptors reserved for the database, the log and other uses.
const OTHER_FILES: usize = 64;

/// The limits, with connections lowered to the open-file limit of the process: beyond it, accepting a connection and
/// opening the database fail.
fn within_open_files(limits: Limits) -> Limits {
    let files = rlimit::increase_nofile_limit(u64::MAX)
        .ok()
        .and_then(|files| usize::try_from(files).ok())
        .unwrap_or(usize::MAX);
    let most = files.saturating_sub(OTHER_FILES).max(1);
    if most < limits.connections {
        tracing::warn!(
            files,
            connections = most,
            "connection limit lowered to the open-file limit"
        );
    }
    Limits {
        connections: limits.connections.min(most),
        ..limits
    }
}
