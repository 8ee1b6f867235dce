"""The database under test, on a filesystem of its own that can be filled, and what can happen to it."""

import contextlib
import os
import pathlib
import pwd
import shutil
import sqlite3
import subprocess

from soaking.service import free_port

DISK_BYTES = 6 << 30
LEFT_BYTES = 64 << 10
# The account that owns nothing, on every Linux.
UNPRIVILEGED = 65534


class Disk:
    """A folder on an ext4 image mounted for the run: root alone may mount. Elsewhere a plain folder, which is never full."""

    def __init__(self, folder):
        self.path = folder / "disk"
        self.path.mkdir()
        self.is_mounted = os.geteuid() == 0 and self._mount(folder / "disk.ext4")

    def _mount(self, image):
        with open(image, "wb") as file:
            file.truncate(DISK_BYTES)
        commands = (["mkfs.ext4", "-q", "-m", "0", str(image)], ["mount", "-o", "loop", str(image), str(self.path)])
        with contextlib.suppress(OSError):
            return all(subprocess.run(command, capture_output=True).returncode == 0 for command in commands)
        return False

    def fill(self):
        """Leaves almost no room."""
        free = shutil.disk_usage(self.path).free
        with open(self.path / "ballast", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, free - LEFT_BYTES)

    def free(self):
        (self.path / "ballast").unlink(missing_ok=True)

    def close(self):
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", str(self.path)], check=True)


class Sqlite:
    """A file."""

    name = "sqlite"

    def __init__(self, disk):
        self.file = disk.path / "unroof.db"
        self.url = f"sqlite:{self.file}"

    @contextlib.contextmanager
    def locked(self):
        """Another program writes to the file and does not finish."""
        connection = sqlite3.connect(self.file, isolation_level=None, timeout=30)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
        finally:
            connection.close()

    def heal(self):
        """A file needs nothing."""

    def wal_bytes(self):
        log = pathlib.Path(f"{self.file}-wal")
        return log.stat().st_size if log.exists() else 0

    def fault_in_itself(self):
        """A word about damage of the file, or none."""
        with contextlib.closing(sqlite3.connect(self.file)) as connection:
            [[word]] = connection.execute("PRAGMA integrity_check(1)").fetchall()
        return None if word == "ok" else word

    def close(self):
        """A file needs no end."""


class Postgres:
    """A throwaway server that listens on this machine alone."""

    name = "postgres"

    def __init__(self, disk):
        self.programs = newest_server()
        self.data = disk.path / "data"
        self.port = free_port()
        self.user = server_user()
        if self.user:
            for folder in (disk.path, disk.path.parent):
                os.chmod(folder, 0o755)
            shutil.chown(disk.path, self.user)
        options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", "-D", self.data, *options)
        with open(self.data / "postgresql.conf", "a") as settings:
            settings.write(f"listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nport = {self.port}\n")
            settings.write("max_connections = 100\nmax_wal_size = '256MB'\n")
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self.start()

    def _run(self, program, *arguments, check=True):
        command = [self.programs / program, *map(str, arguments)]
        account = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid} if self.user else {}
        return subprocess.run(
            command, check=check, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account
        )

    def start(self):
        return self._run(
            "pg_ctl", "start", "-w", "-s", "-t", 60, "-D", self.data, "-l", self.data / "log", check=False
        )

    def stop(self):
        self._run("pg_ctl", "stop", "-s", "-m", "immediate", "-D", self.data, check=False)

    def processes(self):
        first = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def send(self, signal):
        """Sends a signal to every process of the server."""
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal)

    def heal(self):
        """Starts the server if it has ended, as it does where its disk is full."""
        if self._run("pg_ctl", "status", "-D", self.data, check=False).returncode != 0:
            self.start()

    def wal_bytes(self):
        sizes = (entry.stat().st_size for entry in os.scandir(self.data / "pg_wal") if entry.is_file())
        return sum(sizes)

    def fault_in_itself(self):
        """PostgreSQL checks itself while it recovers."""
        return None

    def close(self):
        self.stop()


def newest_server():
    """The folder with the programs of the newest PostgreSQL server."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    on_path = shutil.which("initdb")
    if not folders and not on_path:
        raise SystemExit("soak: no PostgreSQL server in /usr/lib/postgresql; on Debian: apt-get install postgresql")
    return folders[-1] if folders else pathlib.Path(os.path.realpath(on_path)).parent


def server_user():
    """The account for the server where this is root, as which PostgreSQL does not run."""
    if os.geteuid() != 0:
        return None
    names = {account.pw_name for account in pwd.getpwall()}
    return "postgres" if "postgres" in names else pwd.getpwuid(UNPRIVILEGED).pw_name
