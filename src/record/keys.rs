//! `unroof keys`: creates, lists and revokes the keys of a service.

use std::io::Write;
use std::str::FromStr;

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
use unroof_store::access::{Actor, Network, NewKey, Only, Scope, network};
use unroof_store::clock::Clock;
use unroof_store::{DatabaseUrl, KeyRow, NewKeyRow, Store, StoreError, StoreLimits};

/// Keys read at once.
const KEYS_AT_ONCE: u32 = 500;
/// Time before the end of a key in which the list warns of it.
const WARNED_BEFORE: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Arguments of `unroof keys`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  unroof keys create 'price desk' --scope observe
  unroof keys create guest --scope read --expires 30d --network 10.0.0.0/8
  unroof keys create acme --scope observe --provider acme --expires never
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
        /// Time after which it is refused, such as 12h or 30d, or `never`
        #[arg(long, value_name = "TIME", default_value = "90d")]
        expires: Lifetime,
        /// Address or network from which it is taken, any if left out; may be repeated
        #[arg(long = "network", value_name = "NETWORK", value_delimiter = ',', value_parser = network)]
        networks: Vec<Network>,
        /// Provider whose prices it may write, with the scope observe, any if left out; may be repeated
        #[arg(long = "provider", value_name = "NAME")]
        providers: Vec<String>,
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

/// Time for which a key is taken; none for ever.
#[derive(Debug, Clone, Copy)]
struct Lifetime(Option<SignedDuration>);

impl FromStr for Lifetime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "never" {
            return Ok(Self(None));
        }
        // A day has 24 hours here.
        let days = jiff::SpanRelativeTo::days_are_24_hours();
        let span: Option<jiff::Span> = text.parse().ok();
        let time = span.and_then(|span| span.to_duration(days).ok());
        let time = time.filter(SignedDuration::is_positive).map(Some);
        time.map(Self)
            .ok_or("write a time such as 12h or 30d, or never")
    }
}

pub(crate) fn run(arguments: &KeysArguments, verbosity: Verbosity) -> Result<(), Failure> {
    if let Action::Create {
        name,
        scope,
        providers,
        ..
    } = &arguments.action
    {
        check_name(name, "name of a key")?;
        for provider in providers {
            check_name(provider, "name of a provider")?;
        }
        if let Some(why) = scope.why_no_providers().filter(|_| !providers.is_empty()) {
            let error = anyhow!("--provider goes with the scope observe: {why}");
            return Err(
                Failure::Usage(error).with_hint("leave --provider out, or name another scope")
            );
        }
    }
    arguments.database.start_logging(verbosity.of_reader())?;
    let url = arguments.database.database_url()?;
    let runtime = Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(carry_out(&arguments.action, &url))
}

/// Refuses what `POST /keys` refuses as a name.
fn check_name(name: &str, what: &str) -> Result<(), Failure> {
    let json = Json::Text(name.into());
    let faults = Faults::default();
    let read = Cursor::root(&json, &faults).name();
    let wrong = faults.result(read).err().unwrap_or_default();
    let Some(fault) = wrong.into_iter().next() else {
        return Ok(());
    };
    let error = anyhow!("this cannot be the {what}: {}", fault.detail);
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
            networks,
            providers,
        } => {
            let new = Created {
                name,
                scope: *scope,
                expires_at: expires.0.map(|time| now + time),
                networks: networks.clone().into(),
                providers: providers.clone().into(),
            };
            create(&store, &new, now).await
        }
        Action::List { json } => list(&store, *json, now).await,
        Action::Revoke { key } => revoke(&store, key, now).await,
    };
    store.close().await;
    outcome
}

/// A key that is to be created.
struct Created<'a> {
    name: &'a str,
    scope: Scope,
    expires_at: Option<Timestamp>,
    networks: Only<Network>,
    providers: Only<String>,
}

async fn create(store: &Store, asked: &Created<'_>, now: Timestamp) -> Result<(), Failure> {
    let key = NewKey::random().context("the system has no random numbers")?;
    let Created { name, scope, .. } = *asked;
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name,
        scope,
        hash: key.hash,
        created_at: now,
        expires_at: asked.expires_at,
        networks: &asked.networks,
        providers: &asked.providers,
    };
    let added = store
        .add_key(new, MOST_KEYS.into(), &Actor::COMMAND_LINE)
        .await;
    if !added.context("the key cannot be stored")? {
        let error = anyhow!("another key is named `{name}`, or there are {MOST_KEYS} keys");
        return Err(Failure::Other(error).with_hint("`unroof keys list` shows them"));
    }
    writeln!(terminal::stdout(), "{}", key.text)?;
    let end = asked.expires_at.map_or("never".to_owned(), |end| {
        format!("after {}", shown(end.duration_since(now)))
    });
    writeln!(
        terminal::stderr(),
        "This is the key `{name}` with the scope {scope}. It is shown only now: keep it in a safe place. It expires {end}."
    )?;
    Ok(())
}

async fn list(store: &Store, is_json: bool, now: Timestamp) -> Result<(), Failure> {
    let keys = all(store).await.context("the keys cannot be read")?;
    warn_of_ends(&keys, now)?;
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
            key.last_used_at
                .map_or("never".to_owned(), |at| day(at.into())),
            key.networks.to_string(),
            key.providers.to_string(),
            key.id.to_string(),
        ]
    };
    let heading = [
        "name",
        "scope",
        "created",
        "state",
        "last used",
        "networks",
        "providers",
        "id",
    ];
    Ok(write_rows(
        &mut terminal::stdout(),
        &heading,
        keys.iter().map(row),
    )?)
}

/// A time in days, where it is whole days.
fn shown(time: SignedDuration) -> String {
    match time.as_hours() / 24 {
        days if time == SignedDuration::from_hours(24 * days) => format!("{days} days"),
        _ => format!("{time:#}"),
    }
}

/// Every key, a page at a time.
async fn all(store: &Store) -> Result<Vec<KeyRow>, StoreError> {
    let mut keys = Vec::new();
    loop {
        let page = store
            .keys(keys.last().map(KeyRow::place), KEYS_AT_ONCE)
            .await?;
        let is_last = page.len() < KEYS_AT_ONCE as usize;
        keys.extend(page);
        if is_last {
            return Ok(keys);
        }
    }
}

/// Names the keys that are refused soon.
fn warn_of_ends(keys: &[KeyRow], now: Timestamp) -> Result<(), Failure> {
    for key in keys.iter().filter(|key| key.is_usable(now)) {
        let end = key.expires_at.map(Timestamp::from);
        if let Some(end) = end.filter(|end| *end < now + WARNED_BEFORE) {
            writeln!(
                terminal::stderr(),
                "warning: the key `{}` expires on {}: make another one with `unroof keys create`, and give it to those who use it",
                key.name,
                day(end)
            )?;
        }
    }
    Ok(())
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

/// The key with a name or an id that is not revoked.
async fn meant(store: &Store, key: &str) -> Result<Option<KeyRow>, StoreError> {
    if let Some(named) = store.key_named(key).await? {
        return Ok(Some(named));
    }
    let Ok(id) = key.parse() else { return Ok(None) };
    let found = store.key_with_id(id).await?;
    Ok(found.filter(|key| key.revoked_at.is_none()))
}

async fn revoke(store: &Store, key: &str, now: Timestamp) -> Result<(), Failure> {
    let found = meant(store, key).await.context("the keys cannot be read")?;
    let Some(found) = found else {
        let error = anyhow!("there is no key `{key}`, or it was revoked");
        return Err(Failure::Other(error).with_hint("`unroof keys list` shows all keys"));
    };
    let revoked = store.revoke_key(&found, now, &Actor::COMMAND_LINE).await;
    revoked.context("the key cannot be revoked")?;
    writeln!(
        terminal::stdout(),
        "The key `{}` is revoked; a running service refuses it within a second.",
        found.name
    )?;
    Ok(())
}
