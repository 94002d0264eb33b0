"""The memory of a process and all that it starts, looked at from outside while it works.

The process is ``python -m gristmill.bench.MODULE SPEC``, SPEC as JSON: it makes ready, calls ready(), works, and
prints what it found as a line of JSON. What counts is the growth over what it held when it was ready.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from . import exclusive, processes


@dataclass(frozen=True)
class Watched:
    idle_bytes: int
    """Memory when it was ready."""
    begun: float
    """When it began to work, by time.monotonic()."""
    samples: List[Tuple[float, int]]
    """Seconds since then, and bytes beyond idle_bytes."""
    found: Dict[str, Any]
    """What it printed."""

    @property
    def growth_bytes(self) -> int:
        return max(sample[1] for sample in self.samples)


def watch(module: str, spec: Dict[str, Any], what: str, look_seconds: float = 0.04) -> Watched:
    """``what``: it is, for messages. Raises RuntimeError when it does not become ready, or ends without a word."""
    command = [sys.executable, "-m", f"gristmill.bench.{module}", json.dumps(spec)]
    pipe = subprocess.PIPE
    with exclusive.machine(), subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        if child.stdout.readline() != "idle\n":
            raise RuntimeError(f"{what} did not begin")
        idle = processes.memory_bytes(child.pid)
        begun = time.monotonic()
        child.stdin.close()
        samples = _look(child, begun, idle, look_seconds)
        told = child.stdout.readline()
    if not told:
        raise RuntimeError(f"{what} ended without a result")
    return Watched(idle, begun, samples, json.loads(told))


def _look(child: "subprocess.Popen[str]", begun: float, idle: int, look_seconds: float) -> List[Tuple[float, int]]:
    samples = []
    while child.poll() is None:
        now = processes.memory_bytes(child.pid)
        if child.poll() is None and now:
            samples.append((round(time.monotonic() - begun, 3), now - idle))
        time.sleep(look_seconds)
    return samples or [(0.0, 0)]


def ready() -> None:
    """In the process that is watched: returns when it is to begin."""
    print("idle", flush=True)
    sys.stdin.read()
