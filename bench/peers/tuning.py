"""Tuning of peers: of several settings the one that is fastest on the first records, outside of the clock."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from itertools import islice
from typing import Any, Callable, Iterable, Iterator, List, TypeVar

from gristmill.bench.task import Task

Setting = TypeVar("Setting")

CHUNKS = (250, 1000, 4000)
"""Records at a time."""
_SAMPLES = {"light": 100_000, "medium": 40_000, "heavy": 10_000, "tokenize": 5000}  # about half a second each

chosen: List[str] = []
"""What was chosen, in words: for settings()."""


def fastest(name: str, candidates: Iterable[Setting], run: Callable[[Setting], Any]) -> Setting:
    """Runs each twice, the first time to warm up."""
    times = {}
    for candidate in candidates:
        run(candidate)
        begun = time.perf_counter()
        run(candidate)
        times[candidate] = time.perf_counter() - begun
    best = min(times, key=lambda candidate: times[candidate])
    chosen[:] = [f"{name}={best}, of {', '.join(map(str, times))}"]
    return best


def settings(_: Task) -> str:
    return "; ".join(chosen)


@contextmanager
def sample_file(task: Task) -> Iterator[str]:
    """The first records, as a file of their own."""
    with tempfile.NamedTemporaryFile(prefix="gristmill-sample-") as file:
        file.write(b"".join(record + b"\n" for record in sample(task)))
        file.flush()
        yield file.name


def sample(task: Task) -> List[bytes]:
    """The first records, as a list of lines."""
    with open(task.input.path, "rb") as file:
        return [line.rstrip(b"\n") for line in islice(file, _SAMPLES[task.input.set])]
