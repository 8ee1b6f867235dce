//! The HTTP client for webhooks, which connects to the address that was checked.

mod address;
mod names;

use std::time::Duration;

use ureq::Agent;
use ureq::config::Config;
use ureq::unversioned::transport::DefaultConnector;

pub use address::{NOT_PUBLIC, is_public, read_url};
use names::PlacedResolver;
pub use names::{NameFault, Names};

/// Timeout of an attempt, from the DNS lookup to the response.
pub const ATTEMPT_TIME: Duration = Duration::from_secs(10);
/// Limit of concurrent DNS lookups of the sender, including those of timed-out attempts.
const NAMES_OF_SENDER: usize = 32;

/// A client that follows no redirect, uses no proxy and keeps no connection.
pub(super) fn client(allows_private: bool) -> Agent {
    let config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .max_idle_connections(0)
        .timeout_global(Some(ATTEMPT_TIME))
        .user_agent(concat!("unroof/", env!("CARGO_PKG_VERSION")))
        .build();
    let resolver = PlacedResolver::new(Names::new(NAMES_OF_SENDER), allows_private);
    Agent::with_parts(config, DefaultConnector::default(), resolver)
}
