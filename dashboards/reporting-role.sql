-- The role that dashboards read with, made or brought up to date; `unroof migrate --reporting-role` grants what it may
-- read. For psql, as the owner of the database, with REPORTING_PASSWORD in the environment.
\set ON_ERROR_STOP on
\set password `printf %s "$REPORTING_PASSWORD"`
SELECT 'CREATE ROLE unroof_reporting' WHERE to_regrole('unroof_reporting') IS NULL \gexec
ALTER ROLE unroof_reporting LOGIN CONNECTION LIMIT 10 PASSWORD :'password';
ALTER ROLE unroof_reporting SET default_transaction_read_only = on;
ALTER ROLE unroof_reporting SET statement_timeout = '30s';
-- Before version 15 every role may create tables there.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
