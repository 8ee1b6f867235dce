"""Rows about estimating: a posterior, a whole catalog, and the pages of the market."""

import json
import os
import re
import subprocess
import tempfile
import time

from benching.programs import INSTALL, RIVALS, Service, bench, catalog, processor_seconds
from benching.reads import SHEET
from benching.rows import PAIRS, REPOSITORY, Missing, Row, at_least, at_most, compared, figure, unbounded

UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
REQUESTS = 51
BUSY = "cores busy during the first"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
DENSITY = "10,000 draws of the prior, each placed and weighed once"


def timed(call, question, samples=100):
    """The median of a call of the bench `posterior`, in milliseconds."""
    printed = bench("posterior", "--bench", "--sample-count", samples, call)
    row = re.search(rf"─ {question}\s(.*)", printed)[1]
    # After the fastest and the slowest.
    amount, unit = row.split("│")[2].split()
    return float(amount) * UNITS[unit]


def rival(program, pattern):
    """Milliseconds that a program in Python states for the same posterior."""
    python = RIVALS / "python"
    if not python.exists():
        raise Missing(f"NumPy, SciPy and emcee: {INSTALL}")
    command = [python, REPOSITORY / "benches/rivals" / program]
    environment = {**os.environ, **ONE_THREAD}
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return float(re.search(pattern, printed)[1])


def posterior():
    question = "rich_fixed_machine"
    figures = compared(
        lambda: timed("4 sample", question),
        {"NumPy, Laplace and importance sampling": lambda: rival("laplace.py", r"moments: median of \d+ runs ([\d.]+) ms")},
        "ms",
        of_times=True,
    )
    return one_core("rich") | figures


def one_core(question):
    """Milliseconds of a posterior, and of its density alone for as many draws as it makes effective."""
    density = [timed("9 density", question) for _ in range(PAIRS)]
    return {"one core": figure([timed("4 sample", question) for _ in range(PAIRS)]), DENSITY: figure(density)}


def posterior_emcee():
    ours = timed("4 sample", "rich_fixed_machine")
    theirs = rival("ensemble.py", r"together ([\d.]+) s") * 1e3
    return {"emcee": figure([theirs / ours], f"{ours:.3g} ms to {theirs:.0f} ms")}


def two_prices():
    return one_core("plain")


def over_http():
    body = json.dumps(SHEET)
    with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:{folder}/bench.db") as service:
        times = []
        for _ in range(REQUESTS):
            began = time.perf_counter()
            service.post("/infer?store=false", body)
            times.append((time.perf_counter() - began) * 1e3)
    return {"`POST /infer?store=false`, one client": figure(times)}


def imported(name, runs=PAIRS):
    """Seconds of a catalog's import into an empty SQLite file and of the same again, the sheets that were estimated, and the share of
    the time of all cores for which the service worked on the first import."""
    text = catalog(name)
    first, again, estimated, busy = [], [], 0, []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:{folder}/bench.db") as service:
            for times in (first, again):
                began = time.perf_counter()
                lines, _ = service.post("/catalogs", text)
                times.append(time.perf_counter() - began)
                done = json.loads(lines.splitlines()[-1])
                assert done["type"] == "done", done
                # Also a sheet whose quantities are not identified has its posterior.
                estimated = max(estimated, done["estimated"] + done["not_identifiable"])
                if times is first:
                    busy.append(100 * processor_seconds(service.process.pid) / times[-1] / os.cpu_count())
    return first, again, estimated, busy


def import_litellm():
    firsts, agains, answers, ratios, busies = [], [], [], [], []
    for _ in range(PAIRS):
        answer = timed("8 text_to_text", "plain")
        (first,), (again,), estimated, (busy,) = imported("litellm.json", runs=1)
        firsts.append(first)
        agains.append(again)
        answers.append(answer)
        ratios.append(first / (answer / 1e3 * estimated / os.cpu_count()))
        busies.append(busy)
    detail = f"{estimated:,} estimates of {min(answers):.1f} to {max(answers):.1f} ms on {os.cpu_count()} cores"
    return {
        "first, s": figure(firsts),
        "again, s": figure(agains),
        "answers of two prices alone × estimates ÷ cores": figure(ratios, detail),
        BUSY: figure(busies),
    }


def import_models_dev():
    first, again, _, busy = imported("models.dev.json")
    return {"first, s": figure(first), "again, s": figure(again), BUSY: figure(busy)}


def market():
    """The bench `market` ends with an error where its own limits are passed; what it has printed holds."""
    try:
        printed = bench("market")
    except subprocess.CalledProcessError as error:
        printed = error.stdout
    number = r"([\d.]+)(ms|µs|s)"
    figures = {}
    for part in ("after the start", "after a change"):
        found = re.search(rf"{part} {number} \(slowest {number}\)", printed)
        median, slowest = (float(found[place]) * UNITS[found[place + 1]] for place in (1, 3))
        figures[part] = figure([median], f"slowest {slowest:.0f} ms")
    return figures


ENGINE = (
    "each draw passes the engine of the forward model where it is placed on a machine, and is weighed. That alone, for 10,000 draws, is "
    "what `posterior` and `two-prices` state last, and it is above the goal. Below is where the time goes, and what is left to try."
)
ESTIMATING = (
    "the cores are busy for most of the time, as the row states, and nearly all of it with posteriors; see `posterior`. A sheet with more "
    "prices takes longer than the two prices that the product counts."
)

ROWS = [
    Row(
        "posterior",
        "posterior of a rich sheet, 10,000 effective draws",
        {"one core": at_most(3, "ms"), "NumPy, Laplace and importance sampling": at_least(15), DENSITY: unbounded("ms")},
        posterior,
        ENGINE,
    ),
    Row("posterior-emcee", "the same posterior by an ensemble", {"emcee": unbounded()}, posterior_emcee),
    Row(
        "two-prices",
        "posterior of a sheet with two prices",
        {"one core": at_most(2, "ms"), DENSITY: unbounded("ms")},
        two_prices,
        ENGINE,
    ),
    Row(
        "answer",
        "answer to a rich sheet over HTTP",
        {"`POST /infer?store=false`, one client": at_most(6, "ms")},
        over_http,
        ENGINE,
    ),
    Row(
        "import-litellm",
        "whole LiteLLM catalog into an empty SQLite file",
        {
            "first, s": at_most(8, "s"),
            "answers of two prices alone × estimates ÷ cores": at_most(1.3),
            "again, s": at_most(1, "s"),
            BUSY: unbounded("%"),
        },
        import_litellm,
        ESTIMATING,
    ),
    Row(
        "import-models-dev",
        "whole models.dev catalog into an empty SQLite file",
        {"first, s": at_most(15, "s"), "again, s": unbounded("s"), BUSY: unbounded("%")},
        import_models_dev,
        ESTIMATING,
    ),
    Row(
        "market",
        "first page of the market with 20,000 offers",
        {"after the start": at_most(200, "ms"), "after a change": at_most(200, "ms")},
        market,
    ),
]
