"""An attack beside the mixed load: dear requests at many times a client's rate, lists that never end, and catalogs that are not whole."""

import asyncio
import contextlib
import json
import time

from soaking.client import HOST, head
from soaking.load import catalog

# Connections that send dear requests: one after the other, without a pause.
DEAR = 16
ENDLESS = 4
# Seconds with the attack, and then as many without it: the same client is measured in both.
TURN = 30.0
WAIT = 0.02

PLAN = {
    "load": {"input_tokens": 4096, "output_tokens": 1024},
    "machine": {"accelerator": "gb200-nvl72"},
    "grid": {"cache_hit_rate": [number / 40 for number in range(32)]},
}
MODELS = "&".join(f"model=soak/w{number}-0" for number in range(4))
# Routes that took a second of CPU for one point, or five for twenty.
REQUESTS = (
    ("POST", "/plan", PLAN),
    ("GET", "/vendors/soak", None),
    ("GET", "/charts/frontier.json", None),
    ("GET", f"/compare?{MODELS}", None),
    ("GET", "/estimates/{estimate}/density", None),
)
LINE = json.dumps({"offer": {"provider": "soak", "model": "known"}, "usage": {"input_tokens": 12_000, "output_tokens": 800}})


async def dear(world, estimates):
    """Sends dear requests, each other than the last, so that no answer is known already."""
    client = world.client()
    number = 0
    while not world.is_over:
        await world.is_attacked.wait()
        number += 1
        method, path, body = world.random.choice(REQUESTS)
        path = path.format(estimate=world.random.choice(estimates))
        if body:
            body = {**body, "load": {**body["load"], "input_tokens": 1000 + number}}
        reply = await world.ask(client, "attack", method, path, "attacker", body)
        world.refusals_of_attack += reply.status in (429, 503)
        if reply.status not in (0, 200, 404, 422, 429, 503):
            world.ledger.find(f"attack: {path}: {reply.status} {reply.body[:300]!r}")
        await asyncio.sleep(WAIT)
    client.close()


async def endless(world):
    """Sends a list of usages without an end, and reads what comes back."""
    beginning = head("POST", "/cost", world.service.keys["attacker"], b"").split(b"\r\n")
    kept = [line for line in beginning if not line.lower().startswith((b"content-", b"connection"))]
    request = b"\r\n".join([*kept[:-2], b"Content-Type: application/x-ndjson", b"Transfer-Encoding: chunked", b"", b""])
    lines = f"{LINE}\n".encode() * 100
    chunk = b"%x\r\n%s\r\n" % (len(lines), lines)
    while not world.is_over:
        await world.is_attacked.wait()
        with contextlib.suppress(OSError, EOFError, asyncio.TimeoutError):
            reader, output = await asyncio.open_connection(HOST, world.service.port)
            try:
                output.write(request)
                reading = asyncio.create_task(drain(reader))
                while world.is_attacked.is_set() and not world.is_over and not reading.done():
                    output.write(chunk)
                    await asyncio.wait_for(output.drain(), 5)
                    await asyncio.sleep(WAIT)
                reading.cancel()
            finally:
                output.close()
        await asyncio.sleep(0.5)


async def drain(reader):
    with contextlib.suppress(OSError):
        while await reader.read(1 << 16):
            pass


async def partial(world):
    """Sends a tenth of the catalog as if it were the whole: it must be held, and end no offer."""
    client = world.client()
    while not world.is_over:
        await world.is_attacked.wait()
        if world.ledger.imports:
            reply = await world.ask(client, "partial catalog", "POST", "/catalogs?format=litellm", "observe", catalog([2.0] * 3))
            last = reply.body.strip().rsplit(b"\n", 1)[-1]
            if reply.status == 200 and b'"type":"done"' in last:
                world.ledger.find(f"a partial catalog was imported: {last[-300:]!r}")
        await asyncio.sleep(world.random.uniform(2, 6))
    client.close()


async def turns(world):
    """The attack comes and goes."""
    while not world.is_over:
        await asyncio.sleep(TURN)
        world.is_attacked.set()
        await asyncio.sleep(TURN)
        world.is_attacked.clear()
        # Requests that are under way end.
        world.calm_from = max(world.calm_from, time.monotonic() + 1)


async def start(world):
    """The tasks of the attack."""
    listed = await world.client().ask("GET", "/estimates?limit=100", world.service.keys["read"])
    estimates = [row["id"] for row in listed.json()["data"]]
    manners = [dear(world, estimates) for _ in range(DEAR)]
    manners += [endless(world) for _ in range(ENDLESS)]
    manners += [partial(world), turns(world)]
    return [asyncio.create_task(manner) for manner in manners]
