//! Access to the service, as flags.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use uuid::Uuid;

use unroof_edge::{Access, GroupScope, UserHeaders};
use unroof_server::ListenAddress;
use unroof_store::access::{Actor, NewKey, Only, Scope, TrustedProxy};
use unroof_store::clock::Clock;
use unroof_store::{NewKeyRow, Store};

/// Keys and trusted proxies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub(crate) struct AccessArguments {
    /// Answer only callers with a key, also where only this machine can reach the service
    #[arg(long, env = "UNROOF_REQUIRE_KEYS")]
    require_keys: bool,
    /// Scope of callers without a key: none, read or ask
    #[arg(
        long,
        env = "UNROOF_ANONYMOUS",
        value_name = "SCOPE",
        default_value = "none"
    )]
    anonymous: Anonymous,
    /// File with an admin key, which is made if it does not exist
    #[arg(long, env = "UNROOF_ADMIN_KEY_FILE", value_name = "FILE")]
    admin_key_file: Option<PathBuf>,
    /// Address or network of a proxy that hands the client's address on, or `unix`; may be repeated
    #[arg(
        long = "trusted-proxy",
        env = "UNROOF_TRUSTED_PROXY",
        value_name = "NETWORK",
        value_delimiter = ','
    )]
    trusted_proxies: Vec<TrustedProxy>,
    /// Header in which a trusted proxy names the user that it has signed in
    #[arg(
        long,
        env = "UNROOF_TRUSTED_USER_HEADER",
        value_name = "NAME",
        value_parser = header_name,
        requires = "trusted_proxies"
    )]
    trusted_user_header: Option<String>,
    /// Header in which it names the user's groups, separated by commas
    #[arg(
        long,
        env = "UNROOF_TRUSTED_GROUPS_HEADER",
        default_value = "remote-groups",
        value_name = "NAME",
        value_parser = header_name
    )]
    trusted_groups_header: String,
    /// Scope of a group's members, such as analysts=ask; may be repeated
    #[arg(
        long = "group-scope",
        env = "UNROOF_GROUP_SCOPE",
        value_name = "GROUP=SCOPE",
        value_delimiter = ',',
        requires = "trusted_user_header"
    )]
    group_scopes: Vec<GroupScope>,
}

/// Scope of callers without a key.
#[derive(Debug, Clone, Copy)]
struct Anonymous(Option<Scope>);

impl FromStr for Anonymous {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("none", _) => Ok(Self(None)),
            (_, Ok(scope)) if scope <= Scope::Ask => Ok(Self(Some(scope))),
            _ => Err("write none, read or ask: wider scopes need a key"),
        }
    }
}

fn header_name(text: &str) -> Result<String, String> {
    let name: Result<axum::http::HeaderName, _> = text.parse();
    name.map(|name| name.as_str().to_owned())
        .map_err(|_| "write the name of a header, such as remote-user".to_owned())
}

impl AccessArguments {
    /// The rule for a service that listens on an address: one that only this machine can reach is open, unless keys are
    /// required, a proxy is in front of it, or it is stated what callers without a key may do.
    pub(crate) fn access(&self, address: &ListenAddress) -> Access {
        let is_open = address.is_local()
            && !self.require_keys
            && self.anonymous.0.is_none()
            && self.trusted_proxies.is_empty();
        let users = self.trusted_user_header.as_ref().map(|user| UserHeaders {
            user: user.clone(),
            groups: self.trusted_groups_header.clone(),
            scopes: self.group_scopes.iter().cloned().collect(),
        });
        Access {
            requires_keys: !is_open,
            anonymous: self.anonymous.0,
            proxies: self.trusted_proxies.iter().copied().collect(),
            users,
        }
    }

    /// Stores the key of the file, if one is named, and checks that at least one caller may use the service.
    ///
    /// # Errors
    /// The file cannot be used, or no caller could use the service.
    pub(crate) async fn prepare(
        &self,
        store: &Store,
        clock: &Clock,
        access: &Access,
    ) -> anyhow::Result<()> {
        // The tables of a newer program have its keys already.
        if let Some(file) = &self.admin_key_file
            && store.newer_program().is_none()
        {
            store_key_of(file, store, clock).await?;
        }
        if access.requires_keys {
            let without_a_key = access.anonymous.map_or("nothing", Scope::name);
            tracing::info!(without_a_key, "a key decides what a caller may do");
        }
        let users = access.users.as_ref();
        let has_way_in = !access.requires_keys
            || access.anonymous.is_some()
            || users.is_some_and(|users| !users.scopes.is_empty());
        let now = clock.now();
        if has_way_in || store.key_ring(now).await?.has_usable(now) {
            return Ok(());
        }
        bail!(
            "callers need a key, and there is none that they could use: create one with `unroof keys \
             create NAME --scope admin`, name a file with --admin-key-file, or let callers without a \
             key read with --anonymous read"
        )
    }
}

/// Stores the admin key of a file, which is made first if it does not exist.
async fn store_key_of(file: &Path, store: &Store, clock: &Clock) -> anyhow::Result<()> {
    let key = read_or_make(file)
        .with_context(|| format!("cannot use the key file `{}`", file.display()))?;
    let now = clock.now();
    let is_known = async || {
        let ring = store.key_ring(now).await?;
        let known = ring.find(&key.text);
        anyhow::Ok(known.is_some_and(|key| !key.has_expired(now)))
    };
    if is_known().await? {
        return Ok(());
    }
    let [first, second, ..] = key.hash.0;
    let name = format!("admin key file {first:02x}{second:02x}");
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name: &name,
        scope: Scope::Admin,
        hash: key.hash,
        created_at: now,
        expires_at: None,
        networks: &Only::ANY,
        providers: &Only::ANY,
    };
    let is_new = store.add_key(new, i64::MAX, &Actor::COMMAND_LINE).await?;
    // A replica with the same file may have stored it meanwhile.
    if !is_new && !is_known().await? {
        return Err(anyhow!(
            "the key in `{}` was revoked, or has expired",
            file.display()
        ));
    }
    Ok(())
}

/// The key of a file; a new one, which only this user can read, where there is no file.
fn read_or_make(file: &Path) -> anyhow::Result<NewKey> {
    match read_guarded(file) {
        Ok(text) => NewKey::read(text.trim())
            .context("it has no key of unroof: `unroof_` and 43 letters, digits, `-` or `_`"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let key = NewKey::random()?;
            write_private(file, &key.text)?;
            tracing::info!(file = %file.display(), "wrote an admin key");
            Ok(key)
        }
        Err(error) => Err(error.into()),
    }
}

/// The text of a file that only its owner can write: others could make a key of their own the admin's.
fn read_guarded(file: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut opened = std::fs::File::open(file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = opened.metadata()?.permissions().mode() & 0o777;
        if mode & 0o022 != 0 {
            let file = file.display();
            return Err(std::io::Error::other(format!(
                "others can write it (its mode is {mode:03o}), and so choose the admin key: make sure that its key is yours, then run chmod 600 '{file}'"
            )));
        }
    }
    let mut text = String::new();
    opened.read_to_string(&mut text)?;
    Ok(text)
}

fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut made = options.open(file)?;
    writeln!(made, "{text}")?;
    made.sync_all()
}
