"""The mixed load: writers, readers, slow clients, a greedy one, and nonsense."""

import asyncio
import contextlib
import json
import time

from soaking.client import HOST, Reply, head, read_head

OFFERS_OF_A_WRITER = 25
CATALOG_ENTRIES = 30
SOURCE = {"url": "https://example.com/pricing", "format": "manual", "locator": "soak"}

READS = (
    "/estimates/latest",
    "/estimates/latest?provider=soak&limit=50",
    "/price-sheets?limit=100",
    "/changes?since=0&limit=200",
    "/changes/summary?window=24h",
    "/changes.atom?limit=20",
    "/disagreements",
    "/history?provider=soak&model=known",
    "/imports",
    "/models",
    "/search?q=w1&limit=20",
    "/reference/accelerators",
    "/track-record",
    "/estimates?limit=100&sort=model",
)
PAGES = ("/ui/", "/ui/changes", "/ui/catalogs", "/ui/offers/soak/known", "/docs/", "/openapi.json")
NONSENSE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /estimates?cursor=%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"BREW /infer HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 200_000 + b"\r\n\r\n",
)
BAD_BODIES = (b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"price_sheet": 1e400}', b'{"a":1,"a":2}', b"null", b'"\\u0000"')


def sheet(model, number, provider="soak", canonical=None):
    """A sheet whose price no other one of its offer has."""
    document = {
        "schema": "pricesheet/v1",
        "provider": provider,
        "model": model,
        "region": "global",
        "currency": "USD",
        "unit": "per_1m_tokens",
        "valid_from": None,
        "valid_to": None,
        "rates": [{"service_tier": "standard", "input": f"{3 + number / 10_000:.4f}", "output": "15", "source": 0}],
        "sources": [SOURCE],
    }
    return {**document, "canonical_model": canonical} if canonical else document


def writer(world, name):
    """Observes new prices of offers of its own, and reads each back at once."""
    numbers = iter(range(10**9))

    async def observe(client):
        number = next(numbers)
        model = f"w{name}-{number % OFFERS_OF_A_WRITER}"
        canonical = f"soak/{model}" if number % 5 == 0 else None
        reply = await world.write(client, "new sheet", "POST", "/infer", "observe", sheet(model, number, "soak", canonical))
        if reply.status not in (200, 201):
            world.ledger.find(f"{model}: {reply.status} {reply.body[:300]!r}")
            return
        answer = reply.json()
        world.ledger.stored(reply.body, answer["id"])
        [effect] = answer["observe"]["sheets"]
        world.ledger.observed(("soak", model), effect["price_sheet_id"])
        if effect["effect"] != "in_force":
            world.ledger.find(f"{model}: {effect}")
        back = await world.ask(client, "read back", "GET", f"/estimates/{answer['id']}", "read")
        if back.status == 404:
            world.ledger.find(f"{model}: acknowledged, and not there at once")

    return observe


def repeater(world):
    """Sends one sheet again and again: the same answer under the same id, and no second row."""
    known = []

    async def repeat(client):
        reply = await world.write(client, "known sheet", "POST", "/infer", "observe", sheet("known", 1))
        answer = reply.json()
        if not known:
            known.append(answer["id"])
            world.ledger.stored(reply.body, answer["id"])
            sheet_id = answer["observe"]["sheets"][0]["price_sheet_id"]
            world.ledger.observed(("soak", "known"), sheet_id)
            world.ledger.repeated.add(("sheet.observed", sheet_id))
        elif answer["id"] != known[0]:
            world.ledger.find(f"the same sheet has two ids: {answer['id']}")

    return repeat


def asker(world):
    """Stores questions, which enter no record."""
    numbers = iter(range(10**9))

    async def ask(client):
        body = sheet("question", next(numbers), "soakq")
        reply = await world.write(client, "question", "POST", "/infer", "ask", body)
        if reply.status in (200, 201):
            world.ledger.stored(reply.body, reply.json()["id"])
        else:
            world.ledger.find(f"question: {reply.status} {reply.body[:300]!r}")

    return ask


def catalog(prices):
    """A catalog in LiteLLM's format."""
    entries = (
        f'"soakcat/m{number}": {{"litellm_provider": "soakcat", "mode": "chat",'
        f' "input_cost_per_token": {price:.3f}e-6, "output_cost_per_token": 9e-6}}'
        for number, price in enumerate(prices)
    )
    return f"{{{', '.join(entries)}}}".encode()


def importer(world):
    """Imports a catalog in which one price has changed."""
    prices = [2.0] * CATALOG_ENTRIES
    numbers = iter(range(10**9))

    async def send(client):
        number = next(numbers)
        changed = number % CATALOG_ENTRIES
        if number:
            prices[changed] = round(2 + number / 1000, 3)
        while True:
            reply = await world.write(client, "catalog", "POST", "/catalogs?format=litellm", "observe", catalog(prices))
            last = json.loads(reply.body.strip().rsplit(b"\n", 1)[-1])
            if last.get("type") == "done":
                break
            if world.is_calm() and not world.untimed:
                world.ledger.find(f"catalog: {reply.body[-300:]!r}")
            await asyncio.sleep(1)
        world.ledger.imports += 1
        for entry in range(CATALOG_ENTRIES) if number == 0 else [changed]:
            world.ledger.catalog_prices["soakcat", f"m{entry}"].append(prices[entry])

    return send


def withdrawer(world):
    """Withdraws a price and undoes that, in turn."""
    state = {}

    async def act(client):
        if not state:
            reply = await world.write(client, "new sheet", "POST", "/infer", "observe", sheet("withdrawn", 1))
            state["id"] = reply.json()["observe"]["sheets"][0]["price_sheet_id"]
            world.ledger.stored(reply.body, reply.json()["id"])
            world.ledger.observed(("soak", "withdrawn"), state["id"])
        path = f"/price-sheets/{state['id']}"
        await expect(world, client, "withdrawal", "POST", f"{path}/withdraw", "observe", {"reason": "soak"}, 200)
        world.ledger.audited["sheet.withdrawn", state["id"]] += 1
        await expect(world, client, "withdrawal", "DELETE", f"{path}/withdrawal", "observe", None, 204)
        world.ledger.audited["sheet.reinstated", state["id"]] += 1

    return act


async def expect(world, client, kind, method, path, scope, body, *statuses):
    reply = await world.write(client, kind, method, path, scope, body)
    if reply.status not in statuses:
        world.ledger.find(f"{method} {path}: {reply.status} {reply.body[:300]!r}")
    return reply


def registrar(world):
    """Adds a webhook and removes it. A repeated request adds another one, so what got no answer is looked for and removed."""
    numbers = iter(range(10**9))

    async def act(client):
        address = f"http://{HOST}:{world.receiver.port}/other/{next(numbers)}"
        reply = await world.ask(client, "webhook", "POST", "/webhooks", "admin", {"url": address})
        while reply.status != 201:
            listed = await world.write(client, "webhook", "GET", "/webhooks", "admin")
            mine = [row["id"] for row in listed.json()["data"] if row["url"] == address]
            await remove(client, mine)
            await asyncio.sleep(1)
            reply = await world.ask(client, "webhook", "POST", "/webhooks", "admin", {"url": address})
        await remove(client, [reply.json()["id"]])

    async def remove(client, identifiers):
        for identifier in identifiers:
            world.ledger.audited["webhook.added", identifier] += 1
            await expect(world, client, "webhook", "DELETE", f"/webhooks/{identifier}", "admin", None, 204, 404)
            world.ledger.audited["webhook.removed", identifier] += 1

    return act


def reader(world):
    """Reads lists, half of the time with the tag of what it has."""
    tags = {}

    async def read(client):
        path = world.random.choice(READS)
        tag = tags.get(path) if world.random.random() < 0.5 else None
        reply = await world.ask(client, "read", "GET", path, "read", headers={"If-None-Match": tag} if tag else None)
        if reply.status == 304 and reply.headers.get("etag") != tag:
            world.ledger.find(f"{path}: 304 with another tag")
        elif reply.status not in (0, 200, 304, 429, 503):
            world.ledger.find(f"{path}: {reply.status} {reply.body[:300]!r}")
        if reply.status == 200:
            tags[path] = reply.headers.get("etag")

    return read


def plain(world, kind, method, paths, scope, body, *statuses):
    """Sends one of some requests, which has one of some statuses."""

    async def send(client):
        path = world.random.choice(paths)
        reply = await world.ask(client, kind, method, path, scope, body)
        if reply.status not in (0, 429, 503, *statuses):
            world.ledger.find(f"{method} {path}: {reply.status} {reply.body[:300]!r}")

    return send


def babbler(world):
    """Sends what is no request, or no body."""

    async def send(client):
        if world.random.random() < 0.5:
            body = world.random.choice(BAD_BODIES)
            reply = await world.ask(client, "nonsense", "POST", "/infer", "observe", body)
            if reply.status not in (0, 400, 413, 422, 429, 503):
                world.ledger.find(f"{body[:40]!r}: {reply.status}")
            return
        text = world.random.choice(NONSENSE)
        was_calm, began = world.is_calm(), time.perf_counter()
        status = await first_status(world.service.port, text)
        # A connection that is closed without an answer is an answer to what is no request.
        world.count("nonsense", Reply(status or 400, milliseconds=(time.perf_counter() - began) * 1000), was_calm)

    return send


async def first_status(port, text):
    """The status of the first answer to some bytes; 0 without one."""
    try:
        reader, output = await asyncio.open_connection(HOST, port)
    except OSError:
        return 0
    try:
        output.write(text)
        output.write_eof()
        status, _ = await asyncio.wait_for(read_head(reader), 15)
        return status
    except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError):
        return 0
    finally:
        output.close()


def greedy(world):
    """Spends more than its budget at once. Some of that is refused, with the time to wait; others notice nothing."""

    async def spend(_):
        clients = [world.client() for _ in range(25)]
        requests = (world.ask(client, "greedy client", "POST", "/simulate", "greedy", {}) for client in clients)
        replies = await asyncio.gather(*requests)
        for client in clients:
            client.close()
        refused = [reply for reply in replies if reply.status == 429]
        world.refusals += len(refused)
        if any("retry-after" not in reply.headers for reply in refused):
            world.ledger.find("429 without Retry-After")

    return spend


async def hold(world, beginning, piece, pause, is_over):
    """Holds slow connections, one after the other: a beginning, then a piece after every pause. A rest ends them, since the answers
    that they read slowly are held in memory."""
    while not is_over():
        await world.is_loaded.wait()
        with contextlib.suppress(OSError, EOFError):
            reader, output = await asyncio.open_connection(HOST, world.service.port)
            try:
                output.write(beginning)
                while world.is_loaded.is_set() and not is_over() and not reader.at_eof():
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(reader.read(16), pause)
                    output.write(piece)
                    await output.drain()
            finally:
                output.close()
        await asyncio.sleep(0.5)


def slow_clients(world, silent, heads, bodies, readers, is_over):
    """Clients that say nothing, that send a head or a body piece by piece, and that read an answer so."""
    key = world.service.keys["observe"]
    request = head("POST", "/infer", key, b" " * 100_000)[: -100_000]
    page = head("GET", "/estimates?limit=1000", world.service.keys["read"], None)
    kinds = (
        (silent, b"", b"", 30.0),
        (heads, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-More: a\r\n", 1.0),
        (bodies, request, b" ", 1.0),
        (readers, page, b"", 0.5),
    )
    return [
        asyncio.create_task(hold(world, *manner, is_over)) for count, *manner in kinds for _ in range(count)
    ]


async def start(world, rate):
    """The tasks of the whole load, about 20 requests a second at the rate 1. What is read is there before."""
    repeat = repeater(world)
    await repeat(world.client())
    regular = (
        *((2.0, writer(world, name)) for name in range(4)),
        (0.7, repeat),
        (1.5, asker(world)),
        (5.0, importer(world)),
        (10.0, withdrawer(world)),
        (15.0, registrar(world)),
        *((0.5, reader(world)) for _ in range(4)),
        (2.0, plain(world, "page", "GET", PAGES, "read", None, 200, 304)),
        (1.0, plain(world, "simulate", "POST", ["/simulate"], "ask", {}, 200)),
        (2.0, plain(world, "plan", "POST", ["/plan"], "ask", {}, 200)),
        (0.5, plain(world, "healthz", "GET", ["/healthz"], None, None, 200)),
        (1.5, plain(world, "no key", "GET", ["/models", "/audit"], None, None, 401)),
        (1.5, plain(world, "narrow key", "POST", ["/infer", "/webhooks"], "read", {}, 403)),
        (0.7, babbler(world)),
        (30.0, greedy(world)),
    )
    tasks = [asyncio.create_task(world.regularly(period / rate, action)) for period, action in regular]
    slow = slow_clients(world, 10, 3, 3, 2, lambda: world.is_over)
    return tasks, slow
