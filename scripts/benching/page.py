"""`docs/BENCHMARKS.md`: the table of all rows from their last results, where and when, and what did not help."""

import re

from benching.rows import REPOSITORY, commit, kept, number, today

PAGE = REPOSITORY / "docs" / "BENCHMARKS.md"
TRIED = REPOSITORY / "benches" / "TRIED.md"
HEAD = """# Benchmarks

`just bench` measures and writes this page; `just bench NAME...` measures some rows and writes the page with the last results of
the others. `scripts/bench --list` names the rows. A row with a rival is a ratio *in one run*: the service and the rival in turns, at
least five times, the median with the lowest and the highest. `benches/rivals/install` installs the rivals; one that is missing is named.
"""


def write(rows):
    lines = [HEAD, f"Written on {today()} UTC at commit {commit()}.", "", "| row | what | compared with | goal | measured | met |", "|---|---|---|---|---|---|"]
    notes = []
    for row in rows:
        result = kept(row) or {"failed": f"run `just bench {row.name}`"}
        heads = [(f"`{row.name}`", row.what), *[("", "")] * len(row.goals)]
        lines += [line(head, name, goal, result) for head, (name, goal) in zip(heads, row.goals.items())]
        notes += note(row, result)
    if notes:
        lines += ["", "## Where a goal is not met", "", *notes]
    lines += ["", "## Where and when each row was measured", "", *measured_at(rows)]
    if TRIED.exists():
        lines += ["", "## What was tried and did not help", "", tried(TRIED.read_text())]
    PAGE.write_text("\n".join(lines).rstrip() + "\n")


def line(head, name, goal, result):
    cells = [*head, name, goal.text(), *measured(goal, result.get("figures", {}).get(name), result)]
    return f"| {' | '.join(cells)} |"


def measured(goal, figure, result):
    """The figure in words, and whether it meets the goal."""
    if figure is None or "missing" in figure:
        missing = (figure or result).get("missing")
        return (f"not measured: missing {missing}" if missing else f"not measured: {result.get('failed', 'no such figure')}"), "–"
    text = f"{number(figure['value'])} {goal.unit}"
    if figure["low"] != figure["high"]:
        text += f" ({number(figure['low'])} to {number(figure['high'])})"
    if figure["detail"]:
        text += f"; {figure['detail']}"
    return text, {True: "yes", False: "**no**", None: "–"}[goal.is_met(figure["value"])]


def is_missed(goal, figure):
    return figure is not None and "value" in figure and goal.is_met(figure["value"]) is False


def note(row, result):
    """Why a row that misses a goal does so."""
    figures = result.get("figures", {})
    if row.why_not and any(is_missed(goal, figures.get(name)) for name, goal in row.goals.items()):
        return [f"- `{row.name}`: {row.why_not}"]
    return []


def measured_at(rows):
    """The rows of each machine and commit, the last one first."""
    results = [kept(row) for row in rows]
    results = sorted((result for result in results if result), key=lambda result: result["at"], reverse=True)
    lines = []
    for machine in dict.fromkeys(result["machine"] for result in results):
        own, commits = [result for result in results if result["machine"] == machine], {}
        for result in own:
            commits.setdefault(result["commit"], []).append(f"`{result['row']}` ({result['at']}, {result['seconds']:,} s)")
        lines += ["", f"On {machine}:", "", *(f"- {commit_}: {', '.join(names)}" for commit_, names in commits.items())]
    return lines[1:]


def tried(text):
    """The text without its own heading; its other headings are one level lower."""
    body = re.sub(r"\A# .*\n+", "", text)
    return re.sub(r"^(#+) ", r"#\1 ", body, flags=re.MULTILINE).strip()
