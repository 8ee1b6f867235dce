#!/usr/bin/env python3
"""scripts/test-tls-requests.py PORT AUTHORITY NAME

Sends malformed requests, one that hides another, and bodies that are too deep, too long or too slow, to the proxy that
scripts/test-tls runs on a port of 127.0.0.1, with a certificate of NAME by AUTHORITY. Prints a line for each that is not
refused, and ends with 1 then.
"""
import re
import socket
import ssl
import sys
import time

HOST = b"Host: localhost\r\n"
# After the line `GET /healthz HTTP/1.1`, which alone is answered with 200.
MALFORMED = {
    "two different lengths": HOST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "a length with a sign": HOST + b"Content-Length: +3\r\n\r\nabc",
    "a space before a colon": HOST + b"X-A : b\r\n\r\n",
    "a NUL in a header": HOST + b"X-A: b\0c\r\n\r\n",
    "an unknown transfer coding": HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two names of the host": HOST + b"Host: elsewhere.example\r\nContent-Length: 0\r\n\r\n",
    "a name that is not allowed": b"Host: elsewhere.example\r\nContent-Length: 0\r\n\r\n",
    "a head of 100 kB": HOST + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n",
}

JSON = b"Content-Type: application/json\r\n"
# Headers and body of `POST /infer`, and how it is refused.
BODIES = {
    "a body that is all depth": (JSON, b"[" * 100_000, 400),
    "a body that is not UTF-8": (JSON, b'{"a": "\xff"}', 400),
    "a body of 3 MB": (JSON, b" " * 3_000_000, 413),
    "a compressed body": (JSON + b"Content-Encoding: gzip\r\n", b"\x1f\x8b" + b"a" * 100, 415),
    "a body of another type": (b"Content-Type: text/plain\r\n", b"{}", 415),
}
# Seconds; the service waits 30 for a body.
SLOW_BODY_ENDS_IN = 40


class Proxy:
    """The proxy, and how many checks failed."""

    def __init__(self, port, authority, name):
        self.port, self.name = int(port), name
        self.context = ssl.create_default_context(cafile=authority)
        self.failures = 0

    def check(self, text, holds, detail):
        """Prints what does not hold."""
        if not holds:
            print(f"{text}: {detail}")
            self.failures += 1

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), 20)
        return self.context.wrap_socket(plain, server_hostname=self.name)

    def answer(self, request):
        """All that is answered to bytes, until the connection is closed or breaks."""
        answered = b""
        with self.connect() as connection:
            try:
                connection.sendall(request)
                while part := connection.recv(65536):
                    answered += part
            except OSError:
                pass
        return answered

    def check_malformed(self):
        for name, rest in MALFORMED.items():
            answered = self.answer(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + rest)
            refused = re.match(rb"HTTP/1\.1 (4\d\d|501) |$", answered)
            self.check(f"{name} is not refused", refused, answered[:60])

    def check_smuggling(self):
        # By its length the body is a second request; by its chunks it is empty.
        hidden = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
        lengths = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (len(hidden) + 5)
        answered = self.answer(b"POST /infer HTTP/1.1\r\n" + HOST + lengths + hidden)
        self.check("a body with two lengths hides a second request", b" 200 " not in answered, answered[:200])

    def check_bodies(self):
        for name, (headers, body, status) in BODIES.items():
            length = b"Content-Length: %d\r\n\r\n" % len(body)
            answered = self.answer(b"POST /infer HTTP/1.1\r\nConnection: close\r\n" + HOST + headers + length + body)
            self.check(f"{name} is not {status}", answered.startswith(b"HTTP/1.1 %d " % status), answered[:60])

    def check_chunks(self):
        chunk = b"Transfer-Encoding: chunked\r\n\r\n2;a=" + b"a" * 1_000_000 + b"\r\n{}\r\n0\r\n\r\n"
        answered = self.answer(b"POST /infer HTTP/1.1\r\nConnection: close\r\n" + HOST + JSON + chunk)
        self.check("a chunk with a long extension is read", re.match(rb"HTTP/1\.1 4\d\d |$", answered), answered[:60])

    def check_slow_body(self):
        """A byte per second, until the connection ends."""
        began, answered = time.monotonic(), b""
        with self.connect() as connection:
            try:
                connection.sendall(b"POST /infer HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: 1000\r\n\r\n")
                connection.settimeout(1)
                while not answered and time.monotonic() - began < SLOW_BODY_ENDS_IN:
                    connection.sendall(b" ")
                    try:
                        answered = connection.recv(65536) or b"closed"
                    except TimeoutError:
                        pass
            except OSError as error:
                answered = answered or str(error).encode()
        self.check("a slow body is waited for", re.match(rb"HTTP/1\.1 408 ", answered), answered[:60])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    proxy = Proxy(*sys.argv[1:])
    proxy.check_malformed()
    proxy.check_smuggling()
    proxy.check_bodies()
    proxy.check_chunks()
    proxy.check_slow_body()
    sys.exit(1 if proxy.failures else 0)


if __name__ == "__main__":
    main()
