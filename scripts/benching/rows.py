"""Rows of the table of benchmarks: goals, figures, and the results kept as files."""

import dataclasses
import datetime
import json
import pathlib
import statistics
import subprocess
import time
from collections.abc import Callable

from benching.machine import machine

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "benches" / "results"
PAIRS = 5


class Missing(Exception):
    """A rival, a program or a file that a row needs is not there; the message says what."""


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound of a figure; a figure without one is for comparison."""

    most: float | None = None
    least: float | None = None
    unit: str = "×"

    def text(self):
        if self.most is None and self.least is None:
            return "–"
        sign, bound = ("≤", self.most) if self.least is None else ("≥", self.least)
        return f"{sign} {bound:g} {self.unit}"

    def is_met(self, value):
        """None where there is no bound."""
        if self.most is None and self.least is None:
            return None
        return value <= self.most if self.least is None else value >= self.least


def at_least(bound, unit="×"):
    return Goal(least=bound, unit=unit)


def at_most(bound, unit="×"):
    return Goal(most=bound, unit=unit)


def unbounded(unit="×"):
    return Goal(unit=unit)


@dataclasses.dataclass(frozen=True)
class Row:
    """What is measured, its goals, and the physical reason where a goal is not met."""

    name: str
    what: str
    # By the name of the figure: what it is compared with or how it is counted.
    goals: dict[str, Goal]
    measure: Callable[[], dict]
    why_not: str = ""
    # Rows that take longer than all others together are measured where they are named.
    by_default: bool = True


def figure(values, detail=""):
    """The median of some values, with the lowest and the highest."""
    values = [float(value) for value in values]
    return {"value": statistics.median(values), "low": min(values), "high": max(values), "detail": detail}


def compared(ours, others, unit="a second", of_times=False):
    """Measures the service and others in turns; the figure of each other is how many times as fast we are, in the same turn.

    `others` has functions by the names of figures. A rival that is missing is a figure that says so.
    """
    own, rivals, lacking = [], {name: [] for name in others}, {}
    for _ in range(PAIRS):
        own.append(ours())
        for name, measure in others.items():
            if name in lacking:
                continue
            try:
                rivals[name].append(measure())
            except Missing as missing:
                lacking[name] = {"missing": str(missing)}
    ours_is = number(statistics.median(own))
    figures = {
        name: figure(
            [its / mine if of_times else mine / its for mine, its in zip(own, values, strict=True)],
            f"{ours_is} to {number(statistics.median(values))} {unit}",
        )
        for name, values in rivals.items()
        if name not in lacking
    }
    return figures | lacking


def number(value):
    """Three significant digits, and separators of thousands."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def run_row(row):
    """Measures a row and keeps its result, with the time, the commit and the machine."""
    began = time.monotonic()
    try:
        result = {"figures": row.measure()}
    except Missing as missing:
        result = {"missing": str(missing)}
    except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        result = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
    result |= {"row": row.name, "seconds": round(time.monotonic() - began), "at": today(), "commit": commit(), "machine": machine()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{row.name}.json").write_text(json.dumps(result, indent=2) + "\n")
    return result


def kept(row):
    """The last result of a row, if there is one."""
    file = RESULTS / f"{row.name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def today():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")


def commit():
    """The commit, and whether files differ from it."""

    def git(*arguments):
        done = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    name = git("rev-parse", "--short=8", "HEAD") or "unknown"
    written = [":!docs/BENCHMARKS.md", ":!benches/results"]
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *written)
    return f"{name} with changes" if changed else name
