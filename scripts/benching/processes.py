"""Rows about the process: how soon it answers, how much memory it holds, and how large the program is."""

import contextlib
import pathlib
import socket
import tempfile
import time

from benching.programs import BareAxum, Postgres, Service, built, catalog_folder
from benching.reads import sheet
from benching.rows import Row, at_most, figure, unbounded

STARTS = 11
REST = 1.0
CONNECTIONS = 1000
READERS = 200
OFFERS = 2_000
CATALOGS = ("litellm.json", "models.dev.json", "openrouter-models.json", "portkey.json", "genai-prices.json")


def starts(start):
    """Milliseconds from the start of a process to its first 200."""
    times = []
    for _ in range(STARTS):
        with start() as server:
            times.append(server.started_in * 1e3)
    return times


def start_on(database):
    with Service(database):
        pass
    return {
        "`unroof serve` to 200 on `/readyz`": figure(starts(lambda: Service(database))),
        "bare axum": figure(starts(BareAxum)),
    }


def start_sqlite():
    with tempfile.TemporaryDirectory() as folder:
        return start_on(f"sqlite:{folder}/bench.db")


def start_postgres():
    return start_on(Postgres("bench_start").url)


def at_rest(server):
    time.sleep(REST)
    return server.resident()


def idle():
    with tempfile.TemporaryDirectory() as folder:
        own = []
        for number in range(5):
            with Service(f"sqlite:{folder}/{number}.db") as service:
                own.append(at_rest(service))
        with BareAxum() as axum:
            return {"`unroof serve`": figure(own), "bare axum": figure([at_rest(axum)])}


def after_catalogs():
    with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:{folder}/bench.db") as service:
        files = [catalog_folder() / name for name in CATALOGS]
        files = [file for file in files if file.exists()]
        for file in files:
            service.post("/catalogs", file.read_bytes())
        detail = f"{len(files)} catalogs; at most {service.resident('VmHWM'):.0f} MB meanwhile"
        return {"`unroof serve`": figure([at_rest(service)], detail)}


def held_by_connections(server, path):
    """Memory of open connections, each with an answer behind it, in MB."""
    before = at_rest(server)
    with contextlib.ExitStack() as opened:
        for _ in range(CONNECTIONS):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            assert connection.recv(64).startswith(b"HTTP/1.1 200")
        return at_rest(server) - before


def connections():
    with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:{folder}/bench.db") as service:
        own = held_by_connections(service, "/healthz")
    with BareAxum() as axum:
        return {"`unroof serve`": figure([own]), "bare axum": figure([held_by_connections(axum, "/bytes/64")])}


def unread_pages():
    """Long pages that no client reads: each connection asks for another one, so that no two share the bytes."""
    with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:{folder}/bench.db") as service:
        for number in range(OFFERS):
            service.post("/infer", sheet(f"model-{number}"))
        size = len(service.get("/estimates/latest?limit=2000")[0])
        with contextlib.ExitStack() as opened:
            readers = []
            for number in range(READERS):
                readers.append(opened.enter_context(socket.create_connection(("127.0.0.1", service.port))))
                path = f"/estimates/latest?limit={OFFERS - number}"
                readers[-1].sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            time.sleep(20 * REST)
            resident = service.resident()
            begun = sum(has_begun(reader) for reader in readers)
            detail = f"pages of {size / 1e6:.1f} MB, of which {begun} were sent; at most {service.resident('VmHWM'):.0f} MB meanwhile"
            return {"`unroof serve`": figure([resident], detail)}


def has_begun(connection):
    """Whether a page is being sent; a service that has no room for it refuses."""
    try:
        return connection.recv(12, socket.MSG_DONTWAIT).endswith(b"200")
    except BlockingIOError:
        return False


def binary():
    size = pathlib.Path(built("unroof")).stat().st_size / 1e6
    axum = pathlib.Path(built("bare-axum")).stat().st_size / 1e6
    return {"`unroof`": figure([size]), "bare axum and sqlx": figure([axum])}


ROWS = [
    Row(
        "start-sqlite",
        "cold start on an SQLite file that exists",
        {"`unroof serve` to 200 on `/readyz`": at_most(30, "ms"), "bare axum": unbounded("ms")},
        start_sqlite,
    ),
    Row(
        "start-postgres",
        "cold start on PostgreSQL",
        {"`unroof serve` to 200 on `/readyz`": at_most(60, "ms"), "bare axum": unbounded("ms")},
        start_postgres,
    ),
    Row(
        "memory-idle",
        "resident memory, idle",
        {"`unroof serve`": at_most(15, "MB"), "bare axum": unbounded("MB")},
        idle,
        "most of it is the pages of the program that are mapped and shared with the file cache, three quarters when this was looked at "
        "(`RssFile` in `/proc`); memory of its own is about 6 MB.",
    ),
    Row("memory-catalogs", "resident memory after all catalogs", {"`unroof serve`": at_most(120, "MB")}, after_catalogs),
    Row(
        "memory-connections",
        f"resident memory for {CONNECTIONS:,} connections",
        {"`unroof serve`": at_most(60, "MB"), "bare axum": unbounded("MB")},
        connections,
    ),
    Row(
        "memory-unread",
        f"resident memory with {READERS} pages of {OFFERS:,} rows that no client reads",
        {"`unroof serve`": at_most(200, "MB")},
        unread_pages,
    ),
    Row(
        "binary",
        "release binary",
        {"`unroof`": unbounded("MB"), "bare axum and sqlx": unbounded("MB")},
        binary,
    ),
]
