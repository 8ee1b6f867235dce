"""What the parts of a run share, and how requests are sent and counted."""

import asyncio
import collections
import contextlib
import sys
import time

from soaking.client import Client
from soaking.figures import Answers, Rest

FIRST_RETRY = 0.2
# Seconds in which the allocator gives back what the last answers needed.
REST = 8
# Longest time in seconds until the last request of the load is answered.
QUIET_WITHIN = 30.0

# Requests of a normal client, whose times are compared with those under attack.
COMPARED = ("read", "new sheet")
ATTACKS = ("attack", "partial catalog")


class World:
    """What the parts of a run share: the service, its database, the ledger, and the figures."""

    def __init__(self, service, database, disk, ledger, chance, untimed):
        self.service, self.database, self.disk = service, database, disk
        self.ledger, self.random, self.untimed = ledger, chance, untimed
        self.answers = collections.defaultdict(Answers)
        self.faults_open, self.calm_from, self.is_over = 0, 0.0, False
        self.receiver, self.refusals, self.refusals_of_attack = None, 0, 0
        self.began, self.is_loaded, self.under_way, self.rests = time.monotonic(), asyncio.Event(), 0, []
        self.is_loaded.set()
        self.is_attacked = asyncio.Event()

    def client(self):
        return Client(self.service.port)

    def is_calm(self):
        return not self.faults_open and time.monotonic() >= self.calm_from

    async def ask(self, client, kind, method, path, scope=None, body=None, headers=None):
        """Sends a request and counts its answer; one that a fault touched is counted apart."""
        was_calm = self.is_calm()
        reply = await client.ask(method, path, self.service.keys.get(scope), body, headers)
        self.count(kind, reply, was_calm)
        return reply

    def count(self, kind, reply, was_calm):
        if self.is_attacked.is_set() and kind in COMPARED:
            kind = f"{kind}, attacked"
        answers = self.answers[kind]
        if was_calm and self.is_calm():
            # An attacker is refused, whatever the reason.
            if kind in ATTACKS and reply.status in (0, 503):
                answers.in_fault[reply.status] += 1
                return
            # One catalog is imported at a time, and the attack sends some too.
            if reply.status == 503 and b"another catalog is being imported" in reply.body:
                answers.in_fault[reply.status] += 1
                return
            answers.calm[reply.status].append(reply.milliseconds)
            # 503 says that a limit of time has passed, which an untimed run does not judge.
            if self.untimed and reply.status == 503:
                return
            if reply.status == 0 or reply.status >= 500:
                self.ledger.find(f"{kind}: {reply.status} without a fault: {reply.body[:300]!r}")
        else:
            answers.in_fault[reply.status] += 1
        if reply.status == 500:
            self.ledger.find(f"{kind}: {reply.body[:300]!r}")

    async def write(self, client, kind, method, path, scope, body=None):
        """Sends a request until it is acknowledged; 429, 503 and no answer are reasons to send it again."""
        wait = FIRST_RETRY
        while True:
            reply = await self.ask(client, kind, method, path, scope, body)
            if reply.status and reply.status < 500 and reply.status != 429:
                return reply
            await asyncio.sleep(wait)
            wait = min(2.0, wait * 1.5)

    async def rest(self):
        """Stops the load for a moment, and takes the least memory of the process once every request is answered: it swings by what is
        computed just then, and by what jemalloc has not given back yet."""
        self.is_loaded.clear()
        own = []
        try:
            quiet_by = time.monotonic() + QUIET_WITHIN
            while self.under_way and time.monotonic() < quiet_by:
                await asyncio.sleep(0.1)
            for _ in range(REST):
                await asyncio.sleep(1)
                with contextlib.suppress(OSError, KeyError):
                    own.append(self.service.memory("RssAnon"))
            if own:
                self.rests.append(Rest(time.monotonic(), self.service.starts, min(own)))
                minutes = (time.monotonic() - self.began) / 60
                print(f"minute {minutes:.0f}: own memory {min(own):.1f} MiB at rest", file=sys.stderr, flush=True)
        finally:
            self.is_loaded.set()

    async def regularly(self, period, action):
        """Runs an action again and again, on average once per period."""
        client = self.client()
        while not self.is_over:
            await self.is_loaded.wait()
            self.under_way += 1
            try:
                await action(client)
            finally:
                self.under_way -= 1
            await asyncio.sleep(self.random.uniform(0.5, 1.5) * period)
        client.close()
