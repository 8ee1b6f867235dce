//! The caller of a request.

use std::net::IpAddr;

use uuid::Uuid;

use super::{Only, Scope};

/// Identity of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A caller without a key.
    Anonymous,
    /// The holder of a key.
    Key {
        /// Id of the key.
        id: Uuid,
        /// Name of the key.
        name: String,
    },
    /// A user signed in by a trusted proxy.
    User(String),
    /// The command line, which has the database itself.
    CommandLine,
    /// The service itself, such as a refresh.
    Service,
}

impl Identity {
    /// Id of the caller's key, if it has one.
    #[must_use]
    pub fn key_id(&self) -> Option<Uuid> {
        match self {
            Self::Key { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Name of the key or of the user.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Key { name, .. } | Self::User(name) => Some(name),
            _ => None,
        }
    }
}

/// The actor of a change, and its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Identity of the actor.
    pub identity: Identity,
    /// Id of the request; none outside a request.
    pub request_id: Option<String>,
    /// Address of the client; none outside a request, and on a Unix socket.
    pub address: Option<IpAddr>,
}

impl Actor {
    /// Actor of the command line.
    pub const COMMAND_LINE: Self = Self {
        identity: Identity::CommandLine,
        request_id: None,
        address: None,
    };
    /// A caller without a key and an address.
    pub const ANONYMOUS: Self = Self {
        identity: Identity::Anonymous,
        request_id: None,
        address: None,
    };
    /// Actor of the service itself.
    pub const SERVICE: Self = Self {
        identity: Identity::Service,
        request_id: None,
        address: None,
    };
}

/// The caller of a request, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Identity of the caller.
    pub identity: Identity,
    /// Scope; nothing is allowed if none.
    pub scope: Option<Scope>,
    /// Providers whose prices it may write.
    pub providers: Only<String>,
}

impl Caller {
    /// A caller without a key.
    #[must_use]
    pub fn anonymous(scope: Option<Scope>) -> Self {
        Self {
            identity: Identity::Anonymous,
            scope,
            providers: Only::ANY,
        }
    }

    /// Whether it may do what needs a scope.
    #[must_use]
    pub fn may(&self, needed: Scope) -> bool {
        self.scope.is_some_and(|scope| scope.includes(needed))
    }
}
