"""The programs that are measured and that measure: the service, its rivals, wrk, pgbench, and the benches in Rust."""

import contextlib
import functools
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse

from benching.rows import REPOSITORY, Missing

RIVALS = REPOSITORY / "target" / "rivals" / "bin"
CLIENTS = 32
SECONDS = 2.0
READY_IN = 60.0
INSTALL = "run benches/rivals/install"


# Built by themselves, they take nothing of the service's build, which takes minutes.
SMALL = {
    "bare-axum": ["build", "--release", "-p", "bare-axum"],
    "posterior": ["bench", "--no-run", "-p", "unroof-infer", "--bench", "posterior"],
}


@functools.cache
def built(name):
    """Path of the program or of a bench in a release build."""
    target = ["build", "--release", "--bin", name] if name == "unroof" else SMALL.get(name, ["bench", "--no-run", "--bench", name])
    command = ["cargo", *target, "--locked", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return {message["target"]["name"]: message["executable"] for message in messages if message.get("executable")}[name]


def bench(name, *arguments, catalogs=False):
    """What a bench prints."""
    environment = dict(os.environ)
    if catalogs:
        environment["UNROOF_TEST_CATALOGS"] = str(catalog_folder())
    command = [built(name), *map(str, arguments)]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout


def catalog_folder():
    folder = os.environ.get("UNROOF_TEST_CATALOGS")
    if not folder:
        raise Missing("UNROOF_TEST_CATALOGS names no folder with published catalogs")
    return pathlib.Path(folder)


def catalog(name):
    file = catalog_folder() / name
    if not file.exists():
        raise Missing(f"the folder of catalogs has no {name}")
    return file.read_bytes()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def processor_seconds(process):
    """Processor time of a process so far, with that of its children that have ended."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A process that serves HTTP at an address of this machine."""

    def __init__(self, command, port=None, ready="/", **options):
        self.began = time.perf_counter()
        output = subprocess.PIPE if port is None else subprocess.DEVNULL
        self.process = subprocess.Popen([str(part) for part in command], stdout=output, text=True, **options)
        try:
            # The first line of a program that takes a free port has its address.
            self.port = port or int(re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())[1])
            self._wait_until_ready(ready)
        except BaseException:
            self.close()
            raise
        self.started_in = time.perf_counter() - self.began

    def _wait_until_ready(self, path):
        while self.process.poll() is None and time.perf_counter() - self.began < READY_IN:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", path)[0] == 200:
                    return
            time.sleep(0.0005)
        raise RuntimeError(f"a server is not ready: {self.process.args}")

    def request(self, method, path, body=None):
        """Status, body and headers of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"content-type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers

    def get(self, path):
        status, body, headers = self.request("GET", path)
        assert status == 200, f"{path} is answered with {status}"
        return body, headers

    def post(self, path, body):
        """The answer to a request that must succeed."""
        status, answer, headers = self.request("POST", path, body)
        assert status in (200, 201), f"{path} is answered with {status}: {answer[:300]}"
        return answer, headers

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def resident(self, name="VmRSS"):
        """Resident memory, in MB."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) * 1024 / 1e6

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Service(Server):
    """`unroof serve` on a database, with the settings that it has by default but for some flags."""

    def __init__(self, database, *flags, under=()):
        port = free_port()
        place = ["--database-url", database, "--listen", f"127.0.0.1:{port}"]
        command = [*under, built("unroof"), "serve", *place, "--log", "error", "--stop-notice", "0s", *flags]
        super().__init__(command, port, "/readyz")


class BareAxum(Server):
    """The bare server of `benches/rivals/axum/`."""

    def __init__(self, *arguments, under=()):
        super().__init__([*under, built("bare-axum"), "serve", *arguments], ready="/bytes/1")


class FastApi(Server):
    """The peer in Python, a process for each core."""

    def __init__(self, database, known):
        if not (RIVALS / "uvicorn").exists():
            raise Missing(f"FastAPI with asyncpg: {INSTALL}")
        port = free_port()
        flags = ["--port", port, "--workers", os.cpu_count(), "--log-level", "error", "--no-access-log"]
        environment = dict(os.environ, PEER_DATABASE=database)
        command = [RIVALS / "uvicorn", "--app-dir", REPOSITORY / "benches/rivals", "fastapi_peer:app", *flags]
        super().__init__(command, port, f"/rows/{known}", env=environment)


def instructions(start, path, headers, times=2000):
    """Instructions of one request: what callgrind counts for some requests, and for twice as many, on one connection."""
    if not shutil.which("valgrind"):
        raise Missing("valgrind")
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "counts"
        for round_ in (1, 2):
            with start(["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", "-q"]) as server:
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                with contextlib.closing(connection):
                    for _ in range(round_ * times):
                        connection.request("GET", path, headers=headers)
                        connection.getresponse().read()
            counts.append(int(re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE)[1]))
    return (counts[1] - counts[0]) / times


def wrk(url, script="", headers=(), seconds=SECONDS, clients=CLIENTS):
    """Requests a second. An answer other than 2xx or 3xx is an error."""
    if not shutil.which("wrk"):
        raise Missing(f"wrk: {INSTALL}")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:.0f}s", "--timeout", "30s", "-s", file.name]
        command += [part for header in headers for part in ("-H", header)]
        printed = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in printed and "Socket errors" not in printed, printed
    return float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])


class Postgres:
    """The server that `scripts/with-postgres` has started, and a new database on it."""

    def __init__(self, name):
        server = os.environ.get("UNROOF_TEST_POSTGRES_URL")
        if not server:
            raise Missing("PostgreSQL: run this by ./scripts/with-postgres")
        self.programs = pathlib.Path(os.environ["UNROOF_TEST_POSTGRES_BIN"])
        self.name, self.server = name, server
        self.drop()
        self._run("psql", server, "-c", f"CREATE DATABASE {name}")
        self.url = urllib.parse.urlsplit(server)._replace(path=f"/{name}").geturl()

    def drop(self):
        self._run("psql", self.server, "-c", f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")

    def _run(self, program, url, *arguments, **options):
        command = [self.programs / program, *arguments, url]
        if program == "psql":
            command[1:1] = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        return done.stdout.strip()

    def processor_seconds(self):
        """Processor time of all processes of PostgreSQL so far, with those that have ended."""
        seconds = 0.0
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "comm").read_text().strip() == "postgres":
                    seconds += processor_seconds(process.name)
        return seconds

    def sql(self, text):
        return self._run("psql", self.url, "-f", "-", input=text)

    def pgbench(self, script, clients=CLIENTS, transactions=None, variables=None, settings=""):
        """Transactions a second, prepared, over TCP: for a while, or so many of each client."""
        if not (self.programs / "pgbench").exists():
            raise Missing(f"pgbench: {INSTALL}")
        length = ["-t", transactions] if transactions else ["-T", f"{SECONDS:.0f}"]
        given = [part for name, value in (variables or {}).items() for part in ("-D", f"{name}={value}")]
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            arguments = ["-n", "-M", "prepared", "-c", clients, "-j", 1, *length, *given, "-f", file.name]
            printed = self._run("pgbench", self.url, *arguments, env=dict(os.environ, PGOPTIONS=settings))
        return float(re.search(r"tps = ([\d.]+) \(without initial", printed)[1])
