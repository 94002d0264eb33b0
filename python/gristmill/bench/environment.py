"""What the machine is: recorded beside every result."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

from .. import _core, topology

repository: Optional[Path] = None
"""A clone whose commit is that of what runs; scripts of a clone set it."""

_CPU = "/sys/devices/system/cpu/cpu0"


def describe() -> Dict[str, Any]:
    """CPU, cores, caches, nodes, kernel, limits, compiler, versions, commit, load. What cannot be found out is
    "unknown"."""
    machine = topology.discover()
    return {
        "cpu": _cpu_model(),
        "cpus": len(machine.cpus),
        "cores": len({(cpu.package, cpu.core) for cpu in machine.cpus}),
        "packages": len({cpu.package for cpu in machine.cpus}),
        "numa_nodes": len(_numa_nodes()),
        "numa_cpus": {node.name: _first_line(f"{node}/cpulist") for node in _numa_nodes()},
        "numa_distances": {node.name: _first_line(f"{node}/distance") for node in _numa_nodes()},
        "l1d": _first_line(f"{_CPU}/cache/index0/size"),
        "l2": _first_line(f"{_CPU}/cache/index2/size"),
        "l3": _first_line(f"{_CPU}/cache/index3/size"),
        "governor": _first_line(f"{_CPU}/cpufreq/scaling_governor"),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cgroup_cpu_max": _cgroup("cpu.max"),
        "cgroup_memory_max": _cgroup("memory.max"),
        "kernel": platform.release(),
        "transparent_huge_pages": _first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "compiler": _first_line_of(["c++", "--version"]),
        "python": platform.python_version(),
        "libc": " ".join(platform.libc_ver()),
        "gristmill": _core.__version__,
        "commit": _commit(repository),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def _first_line_of(command: List[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip().splitlines()[0]
    except (OSError, IndexError, subprocess.CalledProcessError):
        return "unknown"


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def _numa_nodes() -> List[Path]:
    return sorted(Path("/sys/devices/system/node").glob("node[0-9]*"))


def _cgroup(name: str) -> str:
    """The limit of this process's own control group; those above it are not looked at."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return "unknown"
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    found = _first_line(f"/sys/fs/cgroup{own.rstrip('/')}/{name}")
    return "none" if found in ("unknown", "max", "max 100000") else found


def _commit(folder: Optional[Path]) -> str:
    if folder is None:
        return "unknown"
    return _first_line_of(["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"])
