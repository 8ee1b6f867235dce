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
OF_PGBENCH, OF_SQLITE = "pgbench, insert of the same rows", "SQLite, insert of the same rows"
BARE = "the same without triggers and references"
# Tables that others refer to, and those that triggers fill.
REFERRED = ("estimates", "price_sheets")
BY_TRIGGERS = ("models_due", "names", "offer_names")


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
    database, tables, spent = None, None, []

    def ours():
        nonlocal database, tables
        database = Postgres("bench_recording")
        before = database.processor_seconds()
        rate = recorded(database.url)
        spent.append((database.processor_seconds() - before) * 1e3 / RECORDED)
        tables = staged(database)
        return rate

    rivals = {OF_PGBENCH: lambda: inserted(database, tables), BARE: lambda: inserted(database, tables, is_bare=True)}
    figures = compared(ours, rivals, "estimates a second")
    size = int(database.sql("SELECT avg(length(document))::bigint FROM bare.estimates"))
    return figures | {OF_POSTGRES: figure(spent, f"a document has {size / 1e3:.0f} kB")}


def staged(database):
    """Copies the recorded rows into tables without indexes: as they are stored, and with documents that are not compressed. The
    tables, each with its number of rows and its columns, those first that others refer to."""
    tables = []
    for name in database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename").split():
        count = int(database.sql(f"SELECT count(*) FROM {name}"))
        if count >= RECORDED and not name.startswith("_"):
            columns = "SELECT attname FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped"
            tables.append((name, count, database.sql(f"{columns} AND attrelid = '{name}'::regclass ORDER BY attnum").split()))
    for schema in ("bare", "whole"):
        database.sql(f"CREATE SCHEMA {schema}")
        for name, _, columns in tables:
            database.sql(f"CREATE TABLE {schema}.{name} AS SELECT row_number() OVER () AS place, * FROM {name} LIMIT 0")
            values = columns
            if schema == "whole" and "document" in columns:
                database.sql(f"ALTER TABLE {schema}.{name} ALTER COLUMN document SET STORAGE EXTERNAL")
                values = ["document || ''" if column == "document" else column for column in columns]
            # In the order of their transactions, so that what a batch refers to is there.
            place = "row_number() OVER (ORDER BY xmin::text::bigint)"
            database.sql(f"INSERT INTO {schema}.{name} SELECT {place}, {', '.join(values)} FROM {name}")
            database.sql(f"CREATE INDEX ON {schema}.{name} (place)")
    return sorted(tables, key=lambda table: (table[0] not in REFERRED, table[0]))


def inserted(database, tables, is_bare=False):
    """pgbench inserts the same rows into the same tables, with the same indexes, from a copy that the server holds, so that the way
    from the client to the server is not measured: with triggers, references and the compression of documents, or without them."""
    schema = "bare" if is_bare else "whole"
    database.sql("".join(f"TRUNCATE {name} CASCADE;" for name, *_ in tables) + "ANALYZE; CHECKPOINT;")
    inserts = ["\\set batch :batch + 1", "BEGIN;"]
    for name, count, columns in tables:
        if is_bare or name not in BY_TRIGGERS:
            share, columns = f"{count}::bigint * {BATCH} / {RECORDED}", ", ".join(columns)
            inserts.append(
                f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {schema}.{name} "
                f"WHERE place > (:batch - 1) * {share} AND place <= :batch * {share};"
            )
    rate = database.pgbench(
        "\n".join([*inserts, "COMMIT;"]),
        clients=1,
        transactions=RECORDED // BATCH,
        variables={"batch": 0},
        settings="-c session_replication_role=replica" if is_bare else "",
    )
    return rate * BATCH


def recording_sqlite():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def ours():
            for file in folder.iterdir():
                file.unlink()
            return recorded(f"sqlite:{folder}/ours.db")

        rivals = {OF_SQLITE: lambda: plain_sqlite(folder), BARE: lambda: plain_sqlite(folder, is_bare=True)}
        return compared(ours, rivals, "estimates a second")


def plain_sqlite(folder, is_bare=False):
    """Inserts the same rows into the same tables, with the same indexes, from a copy: with triggers and references, or without."""
    other = folder / f"other-{is_bare}.db"
    migrate = [built("unroof"), "migrate", "--database-url", f"sqlite:{other}"]
    subprocess.run(migrate, check=True, capture_output=True)
    with contextlib.closing(sqlite3.connect(other, isolation_level=None)) as connection:
        run = connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run(f"PRAGMA foreign_keys = {not is_bare}")
        run(f"ATTACH '{folder}/ours.db' AS ours")
        run(f"ATTACH '{folder}/staged-{is_bare}.db' AS staged")
        if is_bare:
            for (name,) in run("SELECT name FROM main.sqlite_master WHERE type = 'trigger'").fetchall():
                run(f'DROP TRIGGER main."{name}"')
        tables = []
        for (name,) in run("SELECT name FROM ours.sqlite_master WHERE type = 'table'").fetchall():
            [[count]] = run(f'SELECT count(*) FROM ours."{name}"').fetchall()
            if count >= RECORDED and not name.startswith(("_", "sqlite_")) and (is_bare or name not in BY_TRIGGERS):
                run(f'CREATE TABLE staged."{name}" AS SELECT * FROM ours."{name}" ORDER BY rowid')
                tables.append((name, count))
        tables.sort(key=lambda table: table[0] not in REFERRED)
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
        "PostgreSQL works on the same two cores as the service, and takes the processor time that the row states for each.",
    ),
    Row(
        "recording-postgres",
        f"durable recording of ready estimates on PostgreSQL, {BATCH} at once",
        {OF_PGBENCH: at_least(0.6), BARE: unbounded(), OF_POSTGRES: unbounded("ms")},
        recording_postgres,
        "the processor time of PostgreSQL, which the row states, is nearly all of the time. It gets each document from the client and copies "
        "it several times before it compresses it, while the rival's rows are in the server already.",
    ),
    Row(
        "recording-sqlite",
        f"durable recording of ready estimates on SQLite, {BATCH} at once",
        {OF_SQLITE: at_least(0.6), BARE: unbounded()},
        recording_sqlite,
    ),
]
