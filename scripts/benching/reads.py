"""Rows about reading: answers from memory, a cold estimate from PostgreSQL, and a stream of changes."""

import contextlib
import json
import subprocess
import tempfile
import time

from benching.programs import CLIENTS, BareAxum, FastApi, Postgres, Service, built, instructions, wrk
from benching.rows import REPOSITORY, Missing, Row, at_least, at_most, compared, figure, number, unbounded

SHEET = json.loads((REPOSITORY / "benches/rich_sheet.json").read_text())
OFFERS = 100
LATEST = "/estimates/latest"
COLD_ESTIMATES = 30_000
SUBSCRIBERS = 1000
CHANGES = 16
OF_SERVICE, OF_AXUM = "by itself, for each", "bare axum by itself, for each"
DURABLE = "answer to the change, without subscribers"


def sheet(model):
    return json.dumps(SHEET | {"model": model})


@contextlib.contextmanager
def sqlite_service(*flags, offers=1):
    """A service on a new SQLite file with the estimates of some offers, and the path of the last of them."""
    with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:{folder}/bench.db", *flags) as service:
        for number_ in range(offers):
            _, headers = service.post("/infer", sheet(f"model-{number_}"))
        yield service, headers["location"]


def beside_axum(path_of, headers=lambda tag: (), rival=lambda size: f"/bytes/{size}", tag='"a-tag"'):
    """Requests a second of a path of the service, and of bare axum for as many bytes."""
    with sqlite_service(offers=OFFERS) as (service, estimate), BareAxum() as axum:
        path = path_of(estimate)
        body, answered = service.get(path)
        figures = compared(
            lambda: wrk(service.url(path), headers=headers(answered["etag"])),
            {"bare axum": lambda: wrk(axum.url(rival(len(body))), headers=headers(tag))},
        )
        if "value" in figures["bare axum"]:
            figures["bare axum"]["detail"] += f", body of {number(len(body) / 1000)} kB"
        return figures


def not_modified():
    figures = beside_axum(lambda _: LATEST, lambda tag: (f"if-none-match: {tag}",), lambda _: "/tagged")
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:{folder}/bench.db"
        with Service(database) as service:
            service.post("/infer", sheet("model"))
            known = {"if-none-match": service.get(LATEST)[1]["etag"]}
        own = instructions(lambda under: Service(database, under=under), LATEST, known)
    rival = instructions(lambda under: BareAxum(under=under), "/tagged", {"if-none-match": '"a-tag"'})
    return figures | {OF_SERVICE: figure([own]), OF_AXUM: figure([rival])}


def hot_estimate():
    return beside_axum(lambda estimate: estimate)


def first_page():
    return beside_axum(lambda _: LATEST)


# A number as the last twelve digits of an id.
NUMBERED = "00000000-0000-4000-8000-"
COPIES = f"""
INSERT INTO estimates (id, sequence, engine_version, readings_defined, conflicts, row_values, document, checksum)
SELECT ('{NUMBERED}' || lpad(to_hex(number), 12, '0'))::uuid, -number, engine_version, readings_defined, conflicts, row_values,
       document, checksum
FROM (SELECT * FROM estimates LIMIT 1) AS one CROSS JOIN generate_series(1, {COLD_ESTIMATES}) AS number;
VACUUM ANALYZE estimates;
CHECKPOINT;
"""
SELECT_ONE = f"""
\\set number random(1, {COLD_ESTIMATES})
SELECT document FROM estimates WHERE id = ('{NUMBERED}' || lpad(to_hex(:number::int), 12, '0'))::uuid;
"""


def each_once(path):
    """A script for wrk that asks for every estimate once, and then ends with an error."""
    return f"""
    local number = 0
    function request()
        number = number + 1
        return wrk.format("GET", string.format("{path}/{NUMBERED}%012x", number))
    end
    """


def cold_estimate():
    """The service is started again for each run, so that it has no answer in memory."""
    database = Postgres("bench_cold")
    with Service(database.url) as service:
        service.post("/infer", sheet("model"))
    database.sql(COPIES)

    def ours():
        with Service(database.url) as service:
            return wrk(service.url(""), each_once("/estimates"))

    with contextlib.ExitStack() as servers:
        axum = servers.enter_context(BareAxum(database.url))
        others = {
            "pgbench, select of the same row": lambda: database.pgbench(SELECT_ONE),
            "axum and sqlx": lambda: wrk(axum.url(""), each_once("/rows")),
        }
        try:
            peer = servers.enter_context(FastApi(database.url, f"{NUMBERED}{1:012x}"))
            others["FastAPI and asyncpg"] = lambda: wrk(peer.url(""), each_once("/rows"))
        except Missing as missing:
            error = missing

            def lacking():
                raise error

            others["FastAPI and asyncpg"] = lacking
        return compared(ours, others)


class Subscribers:
    """Streams of one server, and the time until the last of them has an event."""

    def __init__(self, server, path):
        command = [built("bare-axum"), "subscribe", str(SUBSCRIBERS), f"127.0.0.1:{server.port}", path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert "streams" in self.process.stdout.readline()

    def last_served(self, request):
        """Milliseconds from a request to the last event."""
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def stream():
    """A price is withdrawn and put back; bare axum hands on an event of as many bytes."""
    flags = (f"--streams={SUBSCRIBERS + 1}",)
    with sqlite_service(*flags) as (service, _), BareAxum() as axum:
        [listed] = json.loads(service.get("/price-sheets")[0])["data"]
        path = f"/price-sheets/{listed['id']}"
        turns = [f'POST {path}/withdraw {{"reason":"a bench"}}', f"DELETE {path}/withdrawal"] * CHANGES
        event = "x" * 700
        alone = [timed(service.request, *change.split(" ", 2)) for change in turns]
        with Subscribers(service, "/changes/stream") as ours, Subscribers(axum, "/events") as theirs:
            own, others = [], []
            for change in turns:
                own.append(ours.last_served(change))
                others.append(theirs.last_served(f"POST /events {event}"))
        ratios = [mine / its for mine, its in zip(own, others, strict=True)]
        detail = f"{figure(own)['value']:.1f} to {figure(others)['value']:.1f} ms from the request to the last subscriber"
        return {"bare axum, broadcast": figure(ratios, detail), DURABLE: figure(alone)}


def timed(action, *arguments):
    """Milliseconds that an action takes."""
    began = time.perf_counter()
    action(*arguments)
    return (time.perf_counter() - began) * 1e3


ROWS = [
    Row(
        "not-modified",
        f"304 on `{LATEST}`, {CLIENTS} clients",
        {"bare axum": at_least(0.85), OF_SERVICE: unbounded("instructions"), OF_AXUM: unbounded("instructions")},
        not_modified,
        "it takes about four times the instructions of bare axum, which has no log, metrics, limits or cache; the way over the network "
        "and the client are the same for both.",
    ),
    Row("hot-estimate", "hot `GET /estimates/{id}`", {"bare axum": at_least(0.75)}, hot_estimate),
    Row("first-page", f"hot first page of `{LATEST}`", {"bare axum": at_least(0.75)}, first_page),
    Row(
        "cold-estimate",
        "cold `GET /estimates/{id}` on PostgreSQL, every id once",
        {
            "pgbench, select of the same row": at_least(0.45),
            "axum and sqlx": unbounded(),
            "FastAPI and asyncpg": at_least(3),
        },
        cold_estimate,
        "three times the rate of FastAPI is more than pgbench reads, which does nothing else (the row states both rates): the database "
        "works on the same two cores. Of what is left, sqlx pings each connection that comes back to its pool, so that a read takes two "
        "round trips where pgbench takes one.",
    ),
    Row(
        "stream",
        f"one change to {SUBSCRIBERS:,} subscribers",
        {"bare axum, broadcast": at_most(1.2), DURABLE: unbounded("ms")},
        stream,
        "the change is durable before it is sent, and bare axum stores nothing; without the time of the answer that the row states, the "
        "last subscriber would be served within 1.2 times the time of bare axum.",
    ),
]
