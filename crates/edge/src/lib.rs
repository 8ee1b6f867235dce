//! The edge of the HTTP service: listeners, limits, problem documents, cached answers and traces.

mod access;
mod answer;
mod document;
mod limit;
mod listen;

pub use crate::access::{Access, GroupScope, GroupScopes, UserHeaders};
pub use crate::answer::coding::{Coding, SizeOfBody};
pub use crate::answer::csv::{CsvError, write_csv_header, write_csv_of_rows, write_csv_rows};
pub use crate::answer::described::{
    BodyRefusals, KnownTag, NoModel, QueryRefusals, StoreRefusals, Unchanged,
};
pub use crate::answer::names::{FilterText, MOST_NAMES, Names, some_of};
pub use crate::answer::problem::{
    BUSY, CHALLENGE, CONFLICT, FORBIDDEN, FULL, INTERNAL, INVALID, LIMITED, METHOD_NOT_ALLOWED,
    MISDIRECTED, NO_WRITES, NOT_FOUND, PROBLEM_JSON, PROBLEM_KINDS, Problem, ProblemKind, Reply,
    TIMEOUT, TOO_LARGE, UNAUTHORIZED, UNAVAILABLE, UNREADABLE, UNSUPPORTED_MEDIA_TYPE,
};
pub use crate::answer::response_cache::{BodyCache, CachedBody, prefers, prefers_csv};
pub use crate::answer::since::Since;
pub use crate::answer::{NDJSON, media_type, stated_length};
pub use crate::document::put_right;
pub use crate::limit::bill::{Account, Bill, CPU_OF_POINT, POINTS};
pub use crate::limit::budget::{Budget, Counted, Held, LARGEST_ANSWER, Text};
pub use crate::limit::client_limit::Tab;
pub use crate::limit::known_keys::Keys;
pub use crate::limit::limits::{ClientLimits, Limits};
pub use crate::limit::per_address::PerAddress;
pub use crate::limit::places::{Place, Places, TooMany};
pub use crate::limit::queue::{Estimate, Room};
pub use crate::limit::quota::{Quotas, RATE_LIMIT, RATE_LIMIT_POLICY};
pub use crate::limit::refusals::{PAUSE, Refusals};
pub use crate::limit::storing::{Paid, Payer};
pub use crate::limit::workers::{MOST_CPU, Permit, Running, Workers, missing_scope, require_scope};
pub use crate::limit::{client_limit, places, quota};
pub use crate::listen::hosts::{check_host, host_name, is_from_own_page, require_known_host};
pub use crate::listen::lingering::linger;
pub use crate::listen::listener::{ListenAddress, Server, Stream, try_answer};
pub use crate::listen::peer::{FromPeer, Peer};
pub use crate::listen::users::named_user;
