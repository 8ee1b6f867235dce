"""Times of answers, figures of the process, and the report."""

import collections
import itertools
import math
import statistics

GRACE = 3.0
# The caches of a process fill within this time.
WARM_UP = 1800.0
MEBIBYTE = 1 << 20


class Answers:
    """Times and statuses of the answers to one kind of request."""

    def __init__(self):
        self.calm, self.in_fault = collections.defaultdict(list), collections.Counter()

    def statuses(self):
        return collections.Counter({status: len(times) for status, times in self.calm.items()})

    def quantile(self, share):
        """A quantile of the times of answers. Refusals of a client beyond its budget are none: they may be sent after a second."""
        times = sorted(itertools.chain(*(times for status, times in self.calm.items() if 0 < status < 500 and status != 429)))
        return times[min(len(times) - 1, math.ceil(share * len(times)) - 1)] if times else math.nan

    def refused(self):
        """5xx and requests without an answer, outside of faults."""
        return sum(len(times) for status, times in self.calm.items() if status == 0 or status >= 500)

    def failed(self):
        """500, at any time."""
        return len(self.calm.get(500, ())) + self.in_fault[500]


class Sample:
    """Figures of the process under load."""

    def __init__(self, resident, files, wal):
        self.resident, self.files, self.wal = resident, files, wal


class Rest:
    """Memory of one process, the `segment`-th one, while nothing was asked of it."""

    def __init__(self, at, segment, own):
        self.at, self.segment, self.own = at, segment, own


def slope(rests):
    """Growth of memory at rest in MiB per hour, and the minutes it was seen for.

    The median of the slopes of all pairs of rests of one process (Theil and Sen), without its first half hour.
    """
    slopes, minutes = [], 0.0
    for _, segment in itertools.groupby(rests, key=lambda rest: rest.segment):
        segment = list(segment)
        kept = [rest for rest in segment if rest.at >= segment[0].at + WARM_UP]
        if len(kept) > 1:
            minutes += (kept[-1].at - kept[0].at) / 60
        slopes += [
            (later.own - earlier.own) / (later.at - earlier.at) * 3600
            for earlier, later in itertools.combinations(kept, 2)
            if later.at - earlier.at >= 60
        ]
    return (statistics.median(slopes) if slopes else math.nan), minutes


class Report:
    """Tables in Markdown, and whether every limit was kept."""

    def __init__(self):
        self.lines, self.is_kept = [], True

    def heading(self, text):
        self.lines += ["", f"## {text}", ""]

    def table(self, names, rows):
        self.lines.append(f"| {' | '.join(names)} |")
        self.lines.append("|---" + "|---:" * (len(names) - 1) + "|")
        self.lines += [f"| {' | '.join(map(str, row))} |" for row in rows]

    def limits(self, rows):
        """Rows of figure, value, limit and format; a limit of none is not judged."""
        printed = []
        for name, value, limit, form in rows:
            is_kept = limit is None or (not math.isnan(value) and value <= limit)
            self.is_kept &= is_kept
            verdict = "not judged" if limit is None else "kept" if is_kept else "**PASSED**"
            printed.append((name, format(value, form), "–" if limit is None else format(limit, form), verdict))
        self.table(("figure", "measured", "limit", "verdict"), printed)

    def text(self):
        return "\n".join(self.lines) + "\n"
