#!/bin/sh
# Prepares a new server to be the primary of a synchronous standby: docker-compose.scale.yml mounts this file among the scripts that
# the image runs once, when it has made the database; scripts/test-scale runs it too. Needs REPLICATION_PASSWORD.
set -eu

psql --quiet --set ON_ERROR_STOP=1 --set password="${REPLICATION_PASSWORD:?is not set}" \
    --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
-- HAProxy asks as this role which server is the primary. It has no password, and can do nothing else.
CREATE ROLE unroof_check LOGIN CONNECTION LIMIT 20;
-- From the next start on: a commit is acknowledged when the standby has it on its disk too. By its name, since `*` would take a
-- backup that is being made for a standby.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
ALTER SYSTEM SET wal_keep_size = '1GB';
SQL

# The first line that matches counts.
{
    echo 'host replication replicator all scram-sha-256'
    echo 'host postgres unroof_check all trust'
    echo 'host all unroof_check all reject'
    cat "$PGDATA/pg_hba.conf"
} >"$PGDATA/pg_hba.conf.new"
mv "$PGDATA/pg_hba.conf.new" "$PGDATA/pg_hba.conf"
