//! The views for dashboards, which PostgreSQL alone has: their definition, and the roles that may read them.

use sqlx::{Connection, PgConnection, Postgres, Transaction};

use crate::connect::database::Pool;
use crate::{Store, StoreError};

/// The views, as `just bless` writes them.
const VIEWS: &str = include_str!("../../../../migrations/reporting.sql");

/// The comment on the schema says which text the views were made by.
const ARE_OTHERS: &str = "
    SELECT obj_description('reporting'::regnamespace, 'pg_namespace') IS DISTINCT FROM 'Views of unroof, ' || md5($1)";

/// Keeps the grants on the views, and the new comment, for the rest of the transaction.
const KEEP_GRANTS: &str = "
    SELECT set_config('unroof.reporting_comment', 'Views of unroof, ' || md5($1), true),
           set_config('unroof.reporting_grants', coalesce(string_agg(format(
               'GRANT %s ON reporting.%I TO %s', privilege_type, relname,
               CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END), ';'), ''), true)
    FROM pg_class CROSS JOIN LATERAL aclexplode(relacl)
    WHERE relnamespace = 'reporting'::regnamespace AND relkind = 'v' AND grantee <> relowner";

const RESTORE_GRANTS: &str = "
    DO $$
    BEGIN
        EXECUTE current_setting('unroof.reporting_grants');
        EXECUTE format('COMMENT ON SCHEMA reporting IS %L', current_setting('unroof.reporting_comment'));
    END
    $$";

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

/// Replaces views that were made by another text, and keeps the grants on them. One replica at a time does.
///
/// # Errors
/// The query fails, for instance because a view that is not ours selects from one of them.
pub(crate) async fn replace_views(
    transaction: &mut Transaction<'_, Postgres>,
) -> Result<(), StoreError> {
    let are_others = sqlx::query_scalar(ARE_OTHERS).bind(VIEWS);
    let are_others: bool = are_others.fetch_one(&mut **transaction).await?;
    if are_others {
        let keep = sqlx::query(KEEP_GRANTS).bind(VIEWS);
        keep.execute(&mut **transaction).await?;
        sqlx::raw_sql(VIEWS).execute(&mut **transaction).await?;
        let restore = sqlx::query(RESTORE_GRANTS);
        restore.execute(&mut **transaction).await?;
    }
    Ok(())
}

impl Store {
    /// Grants a role read access to the views of the schema `reporting`, and to nothing else.
    ///
    /// # Errors
    /// There is no such role, the database is one without roles, or it refuses.
    pub async fn grant_reporting(&self, role: &str) -> Result<(), StoreError> {
        let Pool::Postgres { direct, .. } = &self.pool else {
            return Err(StoreError::NoRoles);
        };
        self.in_time(async {
            let mut connection = PgConnection::connect_with(direct).await?;
            let mut transaction = connection.begin().await?;
            let exists = sqlx::query_scalar(ROLE_EXISTS).bind(role);
            let exists: bool = exists.fetch_one(&mut *transaction).await?;
            if !exists {
                return Err(StoreError::NoSuchRole(role.to_owned()));
            }
            let name = sqlx::query(NAME_ROLE).bind(role);
            name.execute(&mut *transaction).await?;
            sqlx::query(GRANT).execute(&mut *transaction).await?;
            Ok(transaction.commit().await?)
        })
        .await
    }
}
