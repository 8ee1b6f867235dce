"""A small HTTP client: one connection, which is opened again when it was closed."""

import asyncio
import json
import time

PATIENCE = 40.0
# The service closes a connection that is idle for ten seconds, maybe just as a request is sent.
LONGEST_REST = 5.0
HOST = "127.0.0.1"


class Reply:
    """The answer to a request; status 0 where there was none."""

    def __init__(self, status, headers=None, body=b"", milliseconds=0.0):
        self.status, self.headers, self.body, self.milliseconds = status, headers or {}, body, milliseconds

    def json(self):
        return json.loads(self.body)


class Client:
    """One connection to the service."""

    def __init__(self, port):
        self.port, self.reader, self.writer, self.used_at = port, None, None, 0.0

    async def ask(self, method, path, key=None, body=None, headers=None):
        """Sends a request once, twice where the resting connection was closed; the answer with its time."""
        request = head(method, path, key, body, headers)
        began = time.perf_counter()
        was_open = self.writer is not None
        reply = await self._try(request, method)
        if reply.status == 0 and was_open and method in ("GET", "HEAD"):
            reply = await self._try(request, method)
        reply.milliseconds = (time.perf_counter() - began) * 1000
        return reply

    async def _try(self, request, method):
        try:
            return await asyncio.wait_for(self._ask_once(request, method), PATIENCE)
        except (OSError, EOFError, asyncio.TimeoutError, ValueError):
            self.close()
            return Reply(0)

    async def _ask_once(self, request, method):
        if self.reader is not None and (self.reader.at_eof() or time.monotonic() - self.used_at > LONGEST_REST):
            self.close()
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(HOST, self.port, limit=1 << 20)
        self.writer.write(request)
        await self.writer.drain()
        status, headers = await read_head(self.reader)
        has_body = method != "HEAD" and status not in (204, 304)
        body = await read_body(self.reader, headers) if has_body else b""
        self.used_at = time.monotonic()
        if headers.get("connection") == "close":
            self.close()
        return Reply(status, headers, body)

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


def head(method, path, key, body, headers=None):
    """The bytes of a request; a body that is not bytes is sent as JSON."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


async def read_head(reader):
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text.strip().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    return int(first.split(" ", 2)[1]), {name.lower(): value for name, value in headers.items()}


async def read_body(reader, headers):
    if headers.get("transfer-encoding") == "chunked":
        return b"".join([chunk async for chunk in chunks(reader)])
    return await reader.readexactly(int(headers.get("content-length", 0)))


async def chunks(reader):
    """The chunks of a body."""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
