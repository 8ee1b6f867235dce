"""What the service acknowledged, and the comparison of it with what the service holds."""

import collections
import hashlib
import random

KINDS = ("estimate", "price", "catalog price", "change in the feed", "audit row", "change in a stream", "change sent")
# Refused requests are counted together, for about a minute.
NOT_OF_LOAD = ("catalog.imported", "key.", "access.refused")


def digest(body):
    return hashlib.sha256(body).digest()[:12]


def stored_part(body):
    """An answer of /infer as it is stored: without the effect of the request, which comes last."""
    return body.rsplit(b',"observe":', 1)[0] + b"}"


class Ledger:
    """Acknowledged writes."""

    def __init__(self):
        self.estimates = {}
        self.recent = collections.deque(maxlen=200)
        self.sheets = collections.defaultdict(list)
        self.catalog_prices = collections.defaultdict(list)
        self.repeated = set()
        self.imports = 0
        self.audited = collections.Counter()
        self.findings = []
        self.acknowledged = collections.Counter()
        self.lost = collections.Counter()
        self.doubled = collections.Counter()

    def stored(self, body, identifier):
        self.estimates[identifier] = digest(stored_part(body))
        self.recent.append(identifier)

    def observed(self, offer, sheet_id):
        self.sheets[offer].append(sheet_id)
        self.audited["sheet.observed", sheet_id] += 1

    def find(self, text):
        """Notes a fault of the service."""
        if len(self.findings) < 50:
            self.findings.append(text)

    def _count(self, kind, acknowledged, lost, doubled, where):
        self.acknowledged[kind] += acknowledged
        self.lost[kind] += lost
        self.doubled[kind] += doubled
        if lost or doubled:
            self.find(f"{where}: {lost} lost, {doubled} doubled")

    def compare_lists(self, kind, where, expected, found):
        """Counts what is missing from a list, and what is there twice or was never acknowledged."""
        missing = collections.Counter(expected) - collections.Counter(found)
        surplus = collections.Counter(found) - collections.Counter(expected)
        self._count(kind, len(expected), missing.total(), surplus.total(), where)
        if surplus or missing:
            self.find(f"{where}: for example lost {list(missing)[:3]}, doubled {list(surplus)[:3]}")
        elif list(expected) != list(found):
            self.find(f"{where}: the order differs")

    async def check_recent(self, client, key):
        """Reads back what was acknowledged last; whether all of it is there."""
        are_there = True
        for identifier in random.sample(list(self.recent), min(30, len(self.recent))):
            are_there &= await self._has(client, key, identifier)
        return are_there

    async def _has(self, client, key, identifier):
        reply = await client.ask("GET", f"/estimates/{identifier}", key)
        if reply.status == 200 and digest(reply.body) == self.estimates[identifier]:
            return True
        self.find(f"estimate {identifier}: {reply.status}")
        return False

    async def compare(self, client, key):
        """Compares everything with the service."""
        lost = 0
        for identifier in self.estimates:
            lost += not await self._has(client, key, identifier)
        # Each question has a price of its own, and so an estimate of its own.
        questions = [row["id"] async for row in pages(client, key, "/estimates?provider=soakq&fields=id&limit=1000")]
        doubled = len(questions) - len(set(questions))
        self._count("estimate", len(self.estimates), lost, doubled, "estimates")
        for (provider, model), sheets in self.sheets.items():
            found = [row["sheet_id"] for row in await history(client, key, provider, model)]
            self.compare_lists("price", f"{provider}/{model}", sheets, found)
        for (provider, model), prices in self.catalog_prices.items():
            found = [row["input_per_mtok"] for row in await history(client, key, provider, model)]
            self.compare_lists("catalog price", f"{provider}/{model}", prices, found)
        await self._compare_audit(client, key)
        await self._compare_feed(client, key)

    async def _compare_audit(self, client, key):
        rows = [row async for row in pages(client, key, "/audit?limit=1000")]
        of_load = (row for row in rows if row["caller"] == "key" and row["name"] != "probe")
        found = collections.Counter((row["action"], row["subject_id"]) for row in of_load)
        begun = collections.Counter(action for action, _ in found.elements())["catalog.imported"]
        if begun < self.imports:
            self.find(f"audit: {begun} imports of {self.imports} acknowledged")
        listed = [row async for row in pages(client, key, "/imports?limit=1000")]
        if begun != len(listed):
            self.find(f"audit: {begun} imports, but {len(listed)} are listed")
        kept = {what: found[what] for what in found if not what[0].startswith(NOT_OF_LOAD)}
        # The same sheet is another observation, with a row, an hour after the last one.
        for what in self.repeated:
            kept[what] = min(kept.get(what, 0), self.audited[what])
        expected = list(self.audited.elements())
        self.compare_lists("audit row", "audit", sorted(expected), sorted(collections.Counter(kept).elements()))

    async def _compare_feed(self, client, key):
        """Compares observations with the feed."""
        rows = await feed(client, key)
        first_seen = collections.Counter(
            (row["sheet_id"], row["cell"]) for row in rows if row["kind"] in ("offer.added", "price.changed")
        )
        found = [sheet for sheet, _ in first_seen.elements()]
        for offer, sheets in self.sheets.items():
            mine = set(sheets)
            self.compare_lists("change in the feed", f"feed of {'/'.join(offer)}", sheets, [s for s in found if s in mine])


async def feed(client, key, since=0):
    """All changes after one."""
    rows, has_more = [], True
    while has_more:
        page = (await client.ask("GET", f"/changes?since={since}&limit=1000", key)).json()
        rows += page["data"]
        since, has_more = page["next_since"], page["has_more"]
    return rows


async def history(client, key, provider, model):
    path = f"/history?provider={provider}&model={model}&limit=1000"
    return [row async for row in pages(client, key, path)]


async def pages(client, key, path):
    """The rows of all pages of a list."""
    cursor = ""
    while cursor is not None:
        reply = await client.ask("GET", f"{path}{cursor and '&cursor=' + cursor}", key)
        if reply.status == 404:
            return
        page = reply.json()
        for row in page["data"]:
            yield row
        cursor = page["next_cursor"]
