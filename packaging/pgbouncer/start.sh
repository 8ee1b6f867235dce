#!/bin/sh
# start.sh FILE
#
# Starts PgBouncer with the settings in FILE, and writes the files that they name into the current folder: the server, the port, and
# the one user with its password, which is PGPASSWORD. docker-compose.scale.yml and scripts/test-scale run this file.
set -eu
umask 077

cat >local.ini <<SETTINGS
listen_addr = ${LISTEN_ADDRESS:-*}
listen_port = ${LISTEN_PORT:-6432}

[databases]
unroof = host=${SERVER_HOST:?is not set} port=${SERVER_PORT:-5432} dbname=unroof
SETTINGS
# In this file a quote is written twice.
printf '"unroof" "%s"\n' "$(printf '%s' "${PGPASSWORD:?is not set}" | sed 's/"/""/g')" >userlist.txt
exec pgbouncer "$1"
