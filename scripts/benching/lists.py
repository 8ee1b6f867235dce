"""Rows about lists: every list query with ten million estimates, against the same query with a thousand."""

import json
import statistics
import subprocess
import tempfile
import time

from benching.programs import Postgres, Service
from benching.rows import REPOSITORY, Row, at_most

FEW, MANY = 1_000, 10_000_000
REQUESTS = 15
SHEET = json.loads((REPOSITORY / "benches/plain_sheet.json").read_text())
# A time within the estimates that `scripts/fill-estimates` writes, and names that it uses.
AFTER = "2026-01-01T00:10:00Z"
NAMES = {
    "provider": "host-7-x",
    "model": "model-7-x",
    "canonical_model": "author-0-x/model-0-x",
    "region": "region-7-x",
    "currency": "USD",
    "q": "model-7-",
}


def paths():
    """Every list, by each filter, order and time that it takes."""
    filters = [f"{name}={value}" for name, value in NAMES.items()]
    times = [f"from={AFTER}", f"to={AFTER}", "as_of=now"]
    sorts = ["", "sort=provider", "sort=model", "order=asc"]
    listed = [f"/{name}?limit=10&{query}" for name in ("estimates", "price-sheets") for query in [*sorts, *filters, *times]]
    latest = [f"/estimates/latest?limit=10&{query}" for query in ["", "sort=model", "as_of=now", *filters]]
    others = [
        "/models?limit=10",
        "/models?limit=10&q=model-0-",
        "/models/author-0-x/model-0-x?",
        "/models/author-0-x/model-0-x/series?",
        "/vendors/author-0-x?",
        "/offers/host-7-x/model-7-x/history?",
        "/changes?limit=10",
        "/changes?limit=10&provider=host-7-x",
        "/changes/summary?",
        "/search?q=model-7-",
        "/disagreements?",
        "/imports?",
        "/audit?",
    ]
    return [*listed, *latest, *others]


def prepared(url, count):
    """Fills a database with so many estimates, beside one that the service has stored."""
    with Service(url) as service:
        service.post("/infer", json.dumps(SHEET | {"canonical_model": "author/first"}))
        # Its model is estimated soon after it.
        while not json.loads(service.get("/models")[0])["data"]:
            time.sleep(0.1)
    subprocess.run([REPOSITORY / "scripts" / "fill-estimates", url, str(count)], check=True)


def times(url):
    """Median milliseconds of each path; the service keeps no answer in memory. None where it is refused."""
    with Service(url, "--cache-bytes", "0", "--statement-timeout", "60s", "--answer-timeout", "60s") as service:
        return {path: median_of(service, path) for path in paths()}


def median_of(service, path):
    taken = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        status, answer, _ = service.request("GET", path.rstrip("?&"))
        taken.append((time.perf_counter() - began) * 1e3)
        if status != 200:
            raise RuntimeError(f"{path} is answered with {status}: {answer[:200].decode()}")
        # A query that is far beyond its goal is not repeated for long.
        if sum(taken) > 10_000:
            break
    return statistics.median(taken)


def compared(new_database, many=MANY):
    found = []
    for count in (FEW, many):
        with new_database(count) as url:
            prepared(url, count)
            found.append(times(url))
    few, many_ = found
    ratios = {path: many_[path] / few[path] for path in few}
    slowest = sorted(ratios, key=ratios.get, reverse=True)[:8]
    named = ", ".join(f"`{path.rstrip('?')}` {few[path]:.1f} to {many_[path]:.1f} ms" for path in slowest if ratios[path] > 3)
    within = sum(ratio <= 3 for ratio in ratios.values())
    detail = f"slowest of {len(ratios)} queries; {within} are within the goal" + (f"; beyond it: {named}" if named else "")
    return {
        "the same query at 10³": {
            "value": max(ratios.values()),
            "low": min(ratios.values()),
            "high": max(ratios.values()),
            "detail": detail,
        }
    }


class File:
    """A new SQLite file."""

    def __init__(self, _):
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        return f"sqlite:{self.folder.__enter__()}/bench.db"

    def __exit__(self, *error):
        self.folder.__exit__(*error)


class Database:
    """A new database of the server, which is dropped afterwards."""

    def __init__(self, count):
        self.database = Postgres(f"bench_lists_{count}")

    def __enter__(self):
        return self.database.url

    def __exit__(self, *_):
        self.database.drop()


GOAL = {"the same query at 10³": at_most(3)}
ROWS = [
    Row("lists-sqlite", "every list query with 10⁷ estimates on SQLite", GOAL, lambda: compared(File), by_default=False),
    Row("lists-postgres", "every list query with 10⁷ estimates on PostgreSQL", GOAL, lambda: compared(Database), by_default=False),
]
