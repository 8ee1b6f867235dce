#!/bin/sh
# standby.sh [ARG...]
#
# Starts a server that follows the one at PRIMARY_HOST and PRIMARY_PORT, and copies its data the first time, as soon as that server
# is up. ARGs go to postgres. docker-compose.scale.yml and scripts/test-scale run this file. Needs REPLICATION_PASSWORD and PGDATA.
set -eu

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # Written into the standby's settings too.
    export PGPASSWORD="${REPLICATION_PASSWORD:?is not set}"
    until pg_isready --quiet --host "$PRIMARY_HOST" --port "${PRIMARY_PORT:-5432}" --username unroof_check --dbname postgres &&
        pg_basebackup --pgdata "$PGDATA" --write-recovery-conf --checkpoint fast \
            --host "$PRIMARY_HOST" --port "${PRIMARY_PORT:-5432}" --username replicator; do
        sleep 1
    done
    # Once it is the primary, it does not wait for a standby that it does not have.
    echo "synchronous_standby_names = ''" >>"$PGDATA/postgresql.auto.conf"
    chmod 700 "$PGDATA"
    unset PGPASSWORD
fi
exec postgres -c cluster_name=standby "$@"
