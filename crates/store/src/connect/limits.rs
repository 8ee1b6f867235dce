//! Limits of a database, and the options of its connections that follow from them.

use std::time::Duration;

use log::LevelFilter;
use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, Postgres};

/// Limits of the database, beyond which a request is refused as temporary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Connections that may be open at once.
    pub connections: u32,
    /// Longest time for which a request waits for a free connection.
    pub connection_wait: Duration,
    /// Longest time for which a statement runs or waits for a lock.
    pub statement: Duration,
    /// Time beyond which a statement is logged; never if zero.
    pub slow_statement: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            connections: 16,
            connection_wait: Duration::from_secs(1),
            statement: Duration::from_secs(2),
            slow_statement: Duration::from_millis(250),
        }
    }
}

impl StoreLimits {
    /// Limits of commands, which wait for the database without a timeout, and say nothing about slow statements.
    #[must_use]
    pub fn without_timeouts() -> Self {
        Self {
            connections: 4,
            connection_wait: Duration::from_secs(30),
            statement: Duration::from_mins(1),
            slow_statement: Duration::ZERO,
        }
    }

    /// The limits for SQLite, which computes in the threads of this process: connections beyond its cores make nothing faster,
    /// and each takes memory.
    pub(crate) fn of_a_file(self) -> Self {
        const MOST: u32 = 8;
        Self {
            connections: self.connections.min(MOST),
            ..self
        }
    }

    /// Timeout for all statements of one operation. PostgreSQL itself ends a statement that runs too long; this ends
    /// the wait for a server that has stopped answering.
    pub(crate) fn operation(self) -> Duration {
        self.statement + self.connection_wait
    }

    /// Settings of PostgreSQL: a statement has a timeout, and a plan is made for the values that are asked for, also after five
    /// executions, and for tables in memory or on flash. Compiling a plan would take longer than a list.
    fn settings(self) -> [(&'static str, String); 5] {
        let milliseconds = self.statement.as_millis().to_string();
        [
            ("statement_timeout", milliseconds.clone()),
            ("lock_timeout", milliseconds),
            ("plan_cache_mode", "force_custom_plan".to_owned()),
            ("random_page_cost", "1.1".to_owned()),
            ("jit", "off".to_owned()),
        ]
    }

    /// The settings for one transaction.
    pub(crate) fn of_each_transaction(self) -> String {
        let settings = self.settings();
        let set = settings.map(|(name, value)| format!("SET LOCAL {name} = '{value}'"));
        set.join("; ")
    }

    /// Connections to PostgreSQL, which none is opened of yet. A pooler takes no settings for a connection.
    pub(crate) fn pool(self, options: PgConnectOptions, is_pooled: bool, wait: Duration) -> PgPool {
        let options = if is_pooled {
            options.extra_float_digits(None)
        } else {
            options.options(self.settings())
        };
        server_pool_options(self)
            .acquire_timeout(wait)
            .connect_lazy_with(self.logging(options))
    }

    /// The options of a connection that logs slow statements: their text, without values.
    pub(crate) fn logging<Options: ConnectOptions>(self, options: Options) -> Options {
        let is_off = self.slow_statement.is_zero();
        let slow = if is_off {
            Duration::MAX
        } else {
            self.slow_statement
        };
        options.log_slow_statements(LevelFilter::Warn, slow)
    }
}

/// Time without use after which a connection to a server is pinged before it is used again. Each was pinged when it came back:
/// under load a second ping finds nothing new.
const AT_REST: Duration = Duration::from_millis(20);

/// The options of every pool.
pub(crate) fn pool_options<Database: sqlx::Database>(limits: StoreLimits) -> PoolOptions<Database> {
    PoolOptions::new()
        .max_connections(limits.connections)
        .acquire_timeout(limits.connection_wait)
        .test_before_acquire(false)
}

/// Pool options for PostgreSQL; pings a connection idle for 20 ms.
fn server_pool_options(limits: StoreLimits) -> PoolOptions<Postgres> {
    pool_options(limits).before_acquire(|connection: &mut PgConnection, at_rest| {
        Box::pin(async move {
            if at_rest.idle_for >= AT_REST {
                connection.ping().await?;
            }
            Ok(true)
        })
    })
}
