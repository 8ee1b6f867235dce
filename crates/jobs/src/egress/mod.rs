//! The HTTP clients for webhooks and for catalogs, which connect to the address that was checked.

mod address;
mod fetch;
mod names;

use std::time::Duration;

use ureq::Agent;
use ureq::config::{Config, ConfigBuilder};
use ureq::typestate::AgentScope;
use ureq::unversioned::transport::DefaultConnector;

pub use address::{NOT_PUBLIC, is_public, read_url};
pub use fetch::{FetchError, Fetched, client_error, fetch, without_credentials};
use names::PlacedResolver;
pub use names::{NameFault, Names};

/// Timeout of an attempt, from the DNS lookup to the response.
pub const ATTEMPT_TIME: Duration = Duration::from_secs(10);
/// Limit of concurrent DNS lookups of the sender, including those of timed-out attempts.
const NAMES_OF_SENDER: usize = 32;

/// A client for webhooks, which uses no proxy.
pub(super) fn client(allows_private: bool) -> Agent {
    let config = one_request()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(ATTEMPT_TIME));
    checked(config, NAMES_OF_SENDER, allows_private)
}

/// A client for a fetch, which uses the proxy of the environment.
fn catalog_client(allows_private: bool) -> Agent {
    checked(one_request(), 1, allows_private)
}

/// Follows no redirect and keeps no connection.
fn one_request() -> ConfigBuilder<AgentScope> {
    Config::builder()
        .max_redirects(0)
        .max_idle_connections(0)
        .user_agent(concat!("unroof/", env!("CARGO_PKG_VERSION")))
}

fn checked(config: ConfigBuilder<AgentScope>, names: usize, allows_private: bool) -> Agent {
    let resolver = PlacedResolver::new(Names::new(names), allows_private);
    Agent::with_parts(config.build(), DefaultConnector::default(), resolver)
}
