"""The service under test: its process, its keys, and the figures of the process."""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

KEYS = {"read": "read", "ask": "ask", "observe": "observe", "admin": "admin", "greedy": "ask", "attacker": "ask", "probe": "admin"}
BUDGET = 200
# Small, so that it is full early and does not hide growth of memory.
CACHE_BYTES = 2 << 20
CLOCK = pathlib.Path(__file__).with_name("clock.c")
STOPPED_IN = 20.0
READY_IN = 60.0


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def build_clock(folder):
    """The library that moves the clock of a process; none where it cannot be built."""
    library = folder / "clock.so"
    try:
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, CLOCK], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


class Service:
    """`unroof serve` at a fixed address, started again after each stop."""

    def __init__(self, binary, folder, url, untimed):
        self.binary, self.folder, self.url, self.untimed = binary, folder, url, untimed
        self.port = free_port()
        self.clock, self.clock_library = folder / "clock", build_clock(folder)
        self.log = open(folder / "service.log", "ab")
        self.process = None
        self.starts = 0
        self.set_clock(0)
        self.keys = {name: self._create_key(name, scope) for name, scope in KEYS.items()}

    def _create_key(self, name, scope):
        command = [self.binary, "keys", "--database-url", self.url, "create", name, "--scope", scope]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def start(self, budget=BUDGET):
        """Starts the process; a client may spend `budget` points a second, 0 for as many as it likes."""
        flags = ["--require-keys", "--webhook-allow-private", "--log", "warn", "--stop-notice", "500ms"]
        # All clients have one address.
        flags += ["--connections-per-address", "512"]
        flags += [f"--client-rate={budget}", f"--client-burst={max(1, budget)}", f"--cache-bytes={CACHE_BYTES}"]
        # A plan by a debug build may take ten seconds, the default, where other work has the processor.
        flags += ["--answer-timeout", "30s"] if self.untimed else []
        place = ["--database-url", self.url, "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(
            [self.binary, "serve", *place, *flags],
            stdout=subprocess.DEVNULL,
            stderr=self.log,
            env=self._environment(),
        )
        self.starts += 1

    def _environment(self):
        """The environment, with the clock that `set_clock` moves."""
        if self.clock_library is None:
            return dict(os.environ)
        return {**os.environ, "LD_PRELOAD": str(self.clock_library), "CLOCK_MOVED_BY": str(self.clock)}

    def set_clock(self, seconds):
        """Moves the clock of the service away from the true time. The process has the file in its memory, so it is never replaced."""
        file = os.open(self.clock, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(file, struct.pack("=q", seconds), 0)
        os.close(file)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        """Asks the service to stop; its exit code and the seconds until then. One that does not stop is killed."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOPPED_IN)
        except subprocess.TimeoutExpired:
            self.kill()
            code = None
        return code, time.monotonic() - began

    def check(self):
        """What `unroof check` says of the database, and whether it found no damage. It computes 1,000 estimates again, of an
        untimed run 100."""
        sample = "100" if self.untimed else "1000"
        command = [self.binary, "check", "--sample", sample, "--database-url", self.url]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode == 0, f"{done.stdout}{done.stderr}".strip()

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def memory(self, name):
        """Memory in MiB: `VmRSS` for all that is resident, `RssAnon` for the process's own, without files."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes[name].split()[0]) / 1024

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        if self.is_running():
            self.kill()
        self.log.close()
