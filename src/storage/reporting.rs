//! The right to read the views for dashboards, which PostgreSQL alone has.

use super::database::Pool;
use super::{Store, StoreError};

const ROLE_EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1)";

/// A statement that grants takes no values. PostgreSQL puts the name into one itself, as the identifier that it is.
const NAME_ROLE: &str = "SELECT set_config('unroof.reporting_role', $1, true)";

const GRANT: &str = "
    DO $$
    DECLARE
        role text := current_setting('unroof.reporting_role');
    BEGIN
        EXECUTE format('GRANT USAGE ON SCHEMA reporting TO %I', role);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA reporting TO %I', role);
    END
    $$";

impl Store {
    /// Lets a role read the views of the schema `reporting`, and nothing else.
    ///
    /// # Errors
    /// There is no such role, the database is one without roles, or it refuses.
    pub async fn grant_reporting(&self, role: &str) -> Result<(), StoreError> {
        let Pool::Postgres { pool, .. } = &self.pool else {
            return Err(StoreError::NoRoles);
        };
        self.in_time(async {
            let mut transaction = pool.begin().await?;
            let exists: bool = sqlx::query_scalar(ROLE_EXISTS)
                .bind(role)
                .fetch_one(&mut *transaction)
                .await?;
            if !exists {
                return Err(StoreError::NoSuchRole(role.to_owned()));
            }
            sqlx::query(NAME_ROLE)
                .bind(role)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(GRANT).execute(&mut *transaction).await?;
            Ok(transaction.commit().await?)
        })
        .await
    }
}
