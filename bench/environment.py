"""What the machine is: recorded beside every result."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def _commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _compiler() -> str:
    try:
        output = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
        return output.stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def describe() -> dict[str, object]:
    """CPU, cores, caches, nodes, kernel, huge pages, compiler, commit, load."""
    nodes = sorted(Path("/sys/devices/system/node").glob("node[0-9]*"))
    cache = "/sys/devices/system/cpu/cpu0/cache/index{}/size"
    return {
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "numa_nodes": max(1, len(nodes)),
        "l2": _first_line(cache.format(2)),
        "l3": _first_line(cache.format(3)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "transparent_huge_pages": _first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "compiler": _compiler(),
        "python": platform.python_version(),
        "commit": _commit(Path(__file__).resolve().parent),
        "load_before": os.getloadavg()[0],
    }
