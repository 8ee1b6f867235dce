"""Faults, one after another at seeded random times, and how soon the service answers again after each."""

import asyncio
import contextlib
import itertools
import signal
import time

from soaking.client import HOST
from soaking.figures import GRACE
from soaking.load import slow_clients
from soaking.service import READY_IN

STOP_LIMIT = 12.0
# Of one process, whose memory can then be seen for a long time. Many faults fit into it.
RESTARTS_WITHIN, RESTARTING_PAUSE = 900.0, 20.0
# A shorter run has no rests, which only show the growth of memory: it has time for more faults.
RESTING_FROM = 300.0
CLOCK_JUMPS = (3600, -3600, 86_400, 0)


class Fault:
    """A kind of fault. One that is calm may cost no request; one that restarts ends the process."""

    def __init__(self, name, cause, is_calm=False, restarts=False):
        self.name, self.cause, self.is_calm, self.restarts = name, cause, is_calm, restarts
        self.times, self.slowest = 0, 0.0


async def kill(world):
    """kill -9, and a start a moment later."""
    await asyncio.to_thread(world.service.kill)
    await asyncio.sleep(world.random.uniform(0.1, 2))
    world.service.start()


async def terminate(world):
    """SIGTERM under load: the process must end by itself, with 0."""
    code, seconds = await asyncio.to_thread(world.service.terminate)
    if code != 0 or (seconds > STOP_LIMIT and not world.untimed):
        world.ledger.find(f"SIGTERM: ended with {code} after {seconds:.1f} s")
    world.service.start()


async def stop_database(world):
    """PostgreSQL stops without its shutdown, and comes back."""
    await asyncio.to_thread(world.database.stop)
    await asyncio.sleep(world.random.uniform(3, 10))
    await asyncio.to_thread(world.database.start)


async def freeze_database(world):
    """PostgreSQL accepts connections and answers nothing."""
    world.database.send(signal.SIGSTOP)
    try:
        await asyncio.sleep(world.random.uniform(3, 8))
    finally:
        world.database.send(signal.SIGCONT)


async def lock_database(world):
    """Another program holds the lock of the SQLite file."""
    with world.database.locked():
        await asyncio.sleep(world.random.uniform(3, 10))


async def fill_disk(world):
    """The disk is full for some seconds."""
    await asyncio.to_thread(world.disk.fill)
    try:
        await asyncio.sleep(world.random.uniform(5, 10))
    finally:
        world.disk.free()
    await asyncio.to_thread(world.database.heal)


async def move_clock(world):
    """The clock jumps an hour forwards, two back, a day forwards, and back to the truth."""
    for offset in CLOCK_JUMPS:
        world.service.set_clock(offset)
        await asyncio.sleep(3)


async def crowd(world):
    """Many slow clients at once, fewer than one address may have."""
    end = time.monotonic() + 10
    await asyncio.gather(*slow_clients(world, 30, 15, 10, 5, lambda: time.monotonic() > end))


def kinds_for(world, left_out):
    """The faults that this machine and database allow, without those left out, and words about what is not checked."""
    faults = [
        Fault("kill -9", kill, restarts=True),
        Fault("SIGTERM", terminate, restarts=True),
        Fault("60 slow clients", crowd, is_calm=True),
    ]
    missing = []
    if world.database.name == "postgres":
        faults += [Fault("database stopped", stop_database), Fault("database frozen", freeze_database)]
    else:
        faults.append(Fault("file locked", lock_database))
    if world.disk.is_mounted:
        faults.append(Fault("disk full", fill_disk))
    else:
        missing.append("disk full: only root may mount a small disk")
    if world.service.clock_library:
        faults.append(Fault("clock jumps", move_clock, is_calm=True))
    else:
        missing.append("clock jumps: a C compiler is needed")
    if unknown := set(left_out) - {fault.name for fault in faults}:
        raise SystemExit(f"soak: no such fault: {', '.join(sorted(unknown))}")
    missing += [f"{name}: left out" for name in left_out]
    return [fault for fault in faults if fault.name not in left_out], missing


async def inflict(world, faults, pause, begin, end):
    """Runs every fault, in a new order each round and after a rest, until the end. After a quarter of an hour, or half of the
    time, no fault restarts the service, so that the growth of its memory can be seen: the first round begins with those."""
    last_restart = min(begin + RESTARTS_WITHIN, (begin + end) / 2)
    for number in itertools.count():
        order = world.random.sample(faults, len(faults))
        if number == 0:
            order.sort(key=lambda fault: not fault.restarts)
        for fault in order:
            may_restart = time.monotonic() < last_restart
            own_pause = min(pause, RESTARTING_PAUSE) if may_restart else pause
            await asyncio.sleep(world.random.uniform(0.5, 1.5) * own_pause)
            if time.monotonic() > end - 3 * pause / 2:
                return
            if end - begin >= RESTING_FROM:
                await world.rest()
            if not (fault.restarts and time.monotonic() > last_restart):
                await one(world, fault)


async def one(world, fault):
    """One fault, the recovery from it, and a look at what was acknowledged before it."""
    world.faults_open += not fault.is_calm
    try:
        await fault.cause(world)
        recovery = await recovered(world)
    finally:
        if not fault.is_calm:
            world.faults_open -= 1
            world.calm_from = time.monotonic() + GRACE
    fault.times += 1
    fault.slowest = max(fault.slowest, recovery)
    await asyncio.sleep(GRACE)
    await world.ledger.check_recent(world.client(), world.service.keys["read"])


async def recovered(world):
    """The seconds until the service is ready and takes a write."""
    began, client = time.monotonic(), world.client()
    with contextlib.closing(client):
        while time.monotonic() - began < READY_IN:
            if (await client.ask("GET", "/readyz")).status == 200 and await takes_a_write(world, client):
                return time.monotonic() - began
            await asyncio.sleep(0.1)
    world.ledger.find(f"not ready {READY_IN:.0f} s after a fault; is running: {world.service.is_running()}")
    if not world.service.is_running():
        world.service.start()
    return READY_IN


async def takes_a_write(world, client):
    """Adds a webhook and removes it: the smallest write."""
    url = f"http://{HOST}:{world.receiver.port}/probe/{time.monotonic_ns()}"
    reply = await client.ask("POST", "/webhooks", world.service.keys["probe"], {"url": url})
    if reply.status != 201:
        return False
    gone = await client.ask("DELETE", f"/webhooks/{reply.json()['id']}", world.service.keys["probe"])
    return gone.status == 204
