//! `unroof keys`: creates, lists and revokes the keys of a service.

use std::io::Write;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::migrate::open_store;
use crate::estimates::report::{day, write_rows};
use crate::shell::terminal;
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_base::input::cursor::{Cursor, Faults};
use unroof_base::input::json::Json;
use unroof_server::MOST_KEYS;
use unroof_store::access::{Actor, NewKey, Scope};
use unroof_store::clock::Clock;
use unroof_store::{DatabaseUrl, KeyRow, NewKeyRow, Store, StoreLimits};

/// Arguments of `unroof keys`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof keys create 'price desk' --scope observe
  unroof keys create guest --scope read --expires 30d
  unroof keys list
  unroof keys revoke guest")]
pub(crate) struct KeysArguments {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    database: DatabaseArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a key, and print it: it is shown only here
    Create {
        /// Name of the key: who uses it, and for what
        name: String,
        /// Scope, each with more rights than the one before: read, ask, observe, admin
        #[arg(long)]
        scope: Scope,
        /// Time after which it is refused, such as 12h or 30d; never if left out
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<SignedDuration>,
    },
    /// List the keys, without their texts
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key: a running service refuses it within a second
    Revoke {
        /// Name or id of the key
        key: String,
    },
}

fn lifetime(text: &str) -> Result<SignedDuration, String> {
    // A day has 24 hours here.
    let days = jiff::SpanRelativeTo::days_are_24_hours();
    let span: Option<jiff::Span> = text.parse().ok();
    let time = span.and_then(|span| span.to_duration(days).ok());
    time.filter(SignedDuration::is_positive)
        .ok_or_else(|| "write a time such as 12h or 30d".to_owned())
}

pub(crate) fn run(arguments: &KeysArguments, verbosity: Verbosity) -> Result<(), Failure> {
    if let Action::Create { name, .. } = &arguments.action {
        check_name(name)?;
    }
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let runtime = Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(carry_out(&arguments.action, &url))
}

/// Refuses what `POST /keys` refuses as the name of a key.
fn check_name(name: &str) -> Result<(), Failure> {
    let json = Json::Text(name.into());
    let faults = Faults::default();
    let read = Cursor::root(&json, &faults).name();
    let wrong = faults.result(read).err().unwrap_or_default();
    let Some(fault) = wrong.into_iter().next() else {
        return Ok(());
    };
    let error = anyhow!("this cannot be the name of a key: {}", fault.detail);
    Err(Failure::Usage(error).with_hint(fault.hint))
}

async fn carry_out(action: &Action, url: &DatabaseUrl) -> Result<(), Failure> {
    let store = open_store(url, StoreLimits::without_timeouts()).await?;
    let now = Clock::system().now();
    let outcome = match action {
        Action::Create {
            name,
            scope,
            expires,
        } => create(&store, name, *scope, expires.map(|time| now + time), now).await,
        Action::List { json } => list(&store, *json, now).await,
        Action::Revoke { key } => revoke(&store, key, now).await,
    };
    store.close().await;
    outcome
}

async fn create(
    store: &Store,
    name: &str,
    scope: Scope,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), Failure> {
    let key = NewKey::random().context("the system has no random numbers")?;
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name,
        scope,
        hash: key.hash,
        created_at: now,
        expires_at,
    };
    let added = store
        .add_key(new, MOST_KEYS.into(), &Actor::COMMAND_LINE)
        .await;
    if !added.context("the key cannot be stored")? {
        let error = anyhow!("another key is named `{name}`, or there are {MOST_KEYS} keys");
        return Err(Failure::Other(error).with_hint("`unroof keys list` shows them"));
    }
    writeln!(terminal::stdout(), "{}", key.text)?;
    writeln!(
        terminal::stderr(),
        "This is the key `{name}` with the scope {scope}. It is shown only now: keep it in a safe place."
    )?;
    Ok(())
}

async fn list(store: &Store, is_json: bool, now: Timestamp) -> Result<(), Failure> {
    let keys = store.keys().await.context("the keys cannot be read")?;
    if is_json {
        return crate::print_json(&keys);
    }
    if keys.is_empty() {
        writeln!(
            terminal::stdout(),
            "There is no key. `unroof keys create NAME --scope read` makes one."
        )?;
        return Ok(());
    }
    let row = |key: &KeyRow| {
        vec![
            key.name.clone(),
            key.scope.to_string(),
            day(key.created_at.into()),
            state(key, now),
            key.id.to_string(),
        ]
    };
    let heading = ["name", "scope", "created", "state", "id"];
    Ok(write_rows(
        &mut terminal::stdout(),
        &heading,
        keys.iter().map(row),
    )?)
}

fn state(key: &KeyRow, now: Timestamp) -> String {
    let expires_at = key.expires_at.map(Timestamp::from);
    match (key.revoked_at, expires_at) {
        (Some(at), _) => format!("revoked {}", day(at.into())),
        (None, Some(end)) if end <= now => format!("expired {}", day(end)),
        (None, Some(end)) => format!("until {}", day(end)),
        (None, None) => "in use".to_owned(),
    }
}

async fn revoke(store: &Store, key: &str, now: Timestamp) -> Result<(), Failure> {
    let keys = store.keys().await.context("the keys cannot be read")?;
    let id: Option<Uuid> = key.parse().ok();
    let is_meant =
        |row: &&KeyRow| row.revoked_at.is_none() && (row.name == key || id == Some(row.id));
    let Some(found) = keys.iter().find(is_meant) else {
        let error = anyhow!("there is no key `{key}`, or it was revoked");
        return Err(Failure::Other(error).with_hint("`unroof keys list` shows all keys"));
    };
    let revoked = store.revoke_key(found, now, &Actor::COMMAND_LINE).await;
    revoked.context("the key cannot be revoked")?;
    writeln!(
        terminal::stdout(),
        "The key `{}` is revoked; a running service refuses it within a second.",
        found.name
    )?;
    Ok(())
}
