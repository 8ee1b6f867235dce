"""The machine and the programs that measure, without its name."""

import os
import pathlib
import platform
import re
import shutil
import subprocess


def machine():
    processor = re.search(r"model name\s*:\s*(.+)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    parts = [
        f"{os.cpu_count()} cores ({processor[1].strip() if processor else platform.machine()})",
        f"{memory:.0f} GB of memory",
        f"Linux {platform.release().split('-')[0]}",
        version([shutil.which("rustc"), "--version"], r"rustc [\d.]+"),
        version([postgres(), "--version"], r"PostgreSQL\)? [\d.]+").replace(")", ""),
    ]
    return ", ".join(part for part in parts if part)


def postgres():
    folder = os.environ.get("UNROOF_TEST_POSTGRES_BIN")
    return folder and f"{folder}/postgres"


def version(command, pattern):
    if not command[0]:
        return ""
    printed = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.search(pattern, printed)
    return found[0] if found else ""
