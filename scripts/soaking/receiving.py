"""Receivers of changes: subscribers of the stream, and an address for a webhook."""

import asyncio
import contextlib
import json

from soaking.client import HOST, chunks, head, read_head


class Subscriber:
    """A reader of the stream of changes, which resumes at the last one it has seen."""

    def __init__(self, world):
        self.world, self.seen = world, []

    async def follow(self):
        while True:
            with contextlib.suppress(OSError, EOFError, ValueError, asyncio.TimeoutError):
                await self._read_stream()
            await asyncio.sleep(0.5)

    async def _read_stream(self):
        reader, output = await asyncio.open_connection(HOST, self.world.service.port)
        last = {"Last-Event-ID": self.seen[-1]} if self.seen else None
        path = "/changes/stream" if self.seen else "/changes/stream?since=0"
        try:
            output.write(head("GET", path, self.world.service.keys["read"], None, last))
            status, _ = await asyncio.wait_for(read_head(reader), 15)
            if status != 200:
                return
            rest = b""
            async for chunk in chunks(reader):
                *lines, rest = (rest + chunk).split(b"\n")
                self.seen += [int(line[4:]) for line in lines if line.startswith(b"id: ")]
        finally:
            output.close()


class Receiver:
    """A receiver of webhooks on this machine. It fails once in a while, so that deliveries are sent again."""

    def __init__(self, world):
        self.world, self.seen, self.messages, self.port, self.server = world, [], set(), None, None

    async def open(self):
        self.server = await asyncio.start_server(self._serve, HOST, 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader, output):
        with contextlib.suppress(OSError, EOFError, ValueError):
            first = (await reader.readuntil(b"\r\n")).split(b" ")[1]
            _, headers = await self._headers(reader)
            body = await reader.readexactly(int(headers["content-length"]))
            status = b"200 OK" if first != b"/main" or self._take(headers["webhook-id"], body) else b"500 Busy"
            output.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await output.drain()
        output.close()

    async def _headers(self, reader):
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        return None, {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}

    def _take(self, message, body):
        """Whether a message is taken; one that was seen before is, and adds nothing."""
        if not self.world.is_over and self.world.random.random() < 0.01:
            return False
        if message not in self.messages:
            self.messages.add(message)
            self.seen += [row["sequence"] for row in json.loads(body)["data"]]
        return True
