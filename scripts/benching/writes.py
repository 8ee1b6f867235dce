"""Rows about writing: price sheets that are sent one by one, and ready estimates batch by batch."""

import contextlib
import json
import pathlib
import re
import sqlite3
import subprocess
import tempfile
import time
import uuid

from benching.programs import CLIENTS, Postgres, Service, bench, built, wrk
from benching.reads import SELECT_ONE, COPIES, sheet
from benching.rows import Row, at_least, compared, figure, unbounded

NEW = "a model that was not sent before"
RECORDED = 2_000
OF_POSTGRES = "processor time of PostgreSQL for each"
BATCH = 100


def known_content():
    database = Postgres("bench_known")
    with Service(database.url) as service:
        body = sheet("model")
        service.post("/infer", body)
        database.sql(COPIES)
        script = f"wrk.method = 'POST'; wrk.body = {json.dumps(body)}; wrk.headers['content-type'] = 'application/json'"
        return compared(
            lambda: wrk(service.url("/infer"), script),
            {"pgbench, select of one estimate": lambda: database.pgbench(SELECT_ONE)},
        )


def new_content():
    """Every request has a model of its own."""
    database = Postgres("bench_new")

    def sent(path):
        script = f"""
        wrk.headers["content-type"] = "application/json"
        local number = 0
        function request()
            number = number + 1
            local body = string.gsub({json.dumps(sheet(NEW))}, "{NEW}", "{uuid.uuid4()}" .. number)
            return wrk.format("POST", "{path}", nil, body)
        end
        """
        return wrk(service.url(""), script, seconds=4)

    with Service(database.url, "--max-waiting", str(4 * CLIENTS)) as service:
        before = database.processor_seconds()
        figures = compared(lambda: sent("/infer"), {"with `?store=false`": lambda: sent("/infer?store=false")})
        spent = database.processor_seconds() - before
    stored = int(database.sql("SELECT count(*) FROM estimates"))
    return figures | {OF_POSTGRES: figure([spent * 1e3 / stored], f"{stored:,} were stored")}


def recorded(database):
    """Estimates a second of the service's own write path."""
    printed = bench("recording", database, RECORDED, BATCH)
    return float(re.search(r"([\d.]+) estimates a second", printed)[1])


def recording_postgres():
    database = None

    def ours():
        nonlocal database
        database = Postgres("bench_recording")
        return recorded(database.url)

    def plain():
        """pgbench inserts the same rows into the same tables, with the same indexes, from a copy that the server holds: without
        triggers and checks of references, and without the way from the client to the server."""
        staging, inserts = ["CREATE SCHEMA staged;"], ["\\set batch :batch + 1", "BEGIN;"]
        for name, count in tables_with_rows(database):
            staging.append(f"CREATE TABLE staged.{name} AS SELECT row_number() OVER () AS place, * FROM {name};")
            staging.append(f"CREATE INDEX ON staged.{name} (place); TRUNCATE {name} CASCADE;")
            columns = database.sql(
                "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute "
                f"WHERE attrelid = '{name}'::regclass AND attnum > 0 AND NOT attisdropped"
            )
            share = f"{count}::bigint * {BATCH} / {RECORDED}"
            inserts.append(
                f"INSERT INTO {name} ({columns}) SELECT {columns} FROM staged.{name} "
                f"WHERE place > (:batch - 1) * {share} AND place <= :batch * {share};"
            )
        database.sql("\n".join(staging) + "ANALYZE; CHECKPOINT;")
        rate = database.pgbench(
            "\n".join([*inserts, "COMMIT;"]),
            clients=1,
            transactions=RECORDED // BATCH,
            variables={"batch": 0},
            settings="-c session_replication_role=replica",
        )
        return rate * BATCH

    return compared(ours, {"pgbench, insert of the same rows": plain}, "estimates a second")


def tables_with_rows(database):
    """Tables that recording has filled, with their numbers of rows."""
    names = database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename").split()
    counts = [(name, int(database.sql(f"SELECT count(*) FROM {name}"))) for name in names]
    return [(name, count) for name, count in counts if count >= RECORDED and not name.startswith("_")]


def recording_sqlite():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def ours():
            for file in folder.iterdir():
                file.unlink()
            return recorded(f"sqlite:{folder}/ours.db")

        return compared(ours, {"SQLite, insert of the same rows": lambda: plain_sqlite(folder)}, "estimates a second")


def plain_sqlite(folder):
    """Inserts the same rows into the same tables, with the same indexes, from a copy: without triggers and checks of references."""
    other = folder / "other.db"
    migrate = [built("unroof"), "migrate", "--database-url", f"sqlite:{other}"]
    subprocess.run(migrate, check=True, capture_output=True)
    with contextlib.closing(sqlite3.connect(other, isolation_level=None)) as connection:
        run = connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run(f"ATTACH '{folder}/ours.db' AS ours")
        run(f"ATTACH '{folder}/staged.db' AS staged")
        for (name,) in run("SELECT name FROM main.sqlite_master WHERE type = 'trigger'").fetchall():
            run(f'DROP TRIGGER main."{name}"')
        tables = []
        for (name,) in run("SELECT name FROM ours.sqlite_master WHERE type = 'table'").fetchall():
            [[count]] = run(f'SELECT count(*) FROM ours."{name}"').fetchall()
            if count >= RECORDED and not name.startswith(("_", "sqlite_")):
                run(f'CREATE TABLE staged."{name}" AS SELECT * FROM ours."{name}"')
                tables.append((name, count))
        began = time.perf_counter()
        for batch in range(RECORDED // BATCH):
            run("BEGIN IMMEDIATE")
            for name, count in tables:
                places = (batch * count * BATCH // RECORDED, (batch + 1) * count * BATCH // RECORDED)
                run(f'INSERT INTO main."{name}" SELECT * FROM staged."{name}" WHERE rowid > ? AND rowid <= ?', places)
            run("COMMIT")
        return RECORDED / (time.perf_counter() - began)


ROWS = [
    Row(
        "known-content",
        f"durable `POST /infer` on PostgreSQL, {CLIENTS} clients, known content",
        {"pgbench, select of one estimate": at_least(0.5)},
        known_content,
    ),
    Row(
        "new-content",
        f"durable `POST /infer` on PostgreSQL, {CLIENTS} clients, new content",
        {"with `?store=false`": at_least(0.9), OF_POSTGRES: unbounded("ms")},
        new_content,
        "PostgreSQL works on the same two cores as the service: its processor time for each, which the row states, is four fifths of what "
        "storing costs. Without it the ratio would be about 0.96.",
    ),
    Row(
        "recording-postgres",
        f"durable recording of ready estimates on PostgreSQL, {BATCH} at once",
        {"pgbench, insert of the same rows": at_least(0.6)},
        recording_postgres,
    ),
    Row(
        "recording-sqlite",
        f"durable recording of ready estimates on SQLite, {BATCH} at once",
        {"SQLite, insert of the same rows": at_least(0.6)},
        recording_sqlite,
    ),
]
