"""How the process comes to life that workers of Python functions are forked from. Private."""

from __future__ import annotations

import os
import sys
from typing import List, Optional, Tuple

from . import _core

_FRESH = "import sys; sys.path[:] = {path!a}; from gristmill._worker import main; main()"
_RESIDENT_BYTES_MAX = 2 << 30  # copying the page tables of more takes long
_GPU_PACKAGES = ("torch", "cupy", "tensorflow", "jax", "numba", "pycuda")


class Launcher:
    """Of one engine. ``start``: how the next launch is to be made, "fork" or "fresh"."""

    def __init__(self) -> None:
        self.start = "fork"
        self.launched: Optional[str] = None

    def launch(self, inherited: List[int]) -> int:
        """Starts the nursery; its pid. The core calls it, also when the nursery was killed."""
        self.launched = self.start
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()  # or a child would write it too
            except Exception:
                pass
        if self.start == "fork":
            return _core.fork_nursery(inherited)
        # The import system skips what is no str, such as a Path.
        code = _FRESH.format(path=[str(each) for each in sys.path if isinstance(each, str)])
        return _core.spawn_nursery([sys.executable, "-c", code], inherited)


def choose(start: str) -> Tuple[str, str]:
    """"fork" or "fresh" for ``start``, and why."""
    if start != "auto":
        return start, f"start={start!r} was asked for"
    threads = _foreign_threads()
    if threads:
        return "fresh", f"this process has {threads} other threads, which a fork would leave behind"
    resident = _resident_bytes()
    if resident > _RESIDENT_BYTES_MAX:
        return "fresh", f"this process holds {resident >> 20} MiB, which makes forking slow"
    if any(name in sys.modules for name in _GPU_PACKAGES) and _has_cuda():
        return "fresh", "this process has CUDA loaded, which does not survive a fork"
    return "fork", "this process has no other threads and is small"


def _foreign_threads() -> int:
    """Threads that are neither this one nor an engine's."""
    foreign = -1
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                foreign += not file.read().startswith("gristmill/")
        except OSError:  # it has ended
            pass
    return foreign


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _has_cuda() -> bool:
    with open("/proc/self/maps") as file:
        return "libcuda" in file.read()
