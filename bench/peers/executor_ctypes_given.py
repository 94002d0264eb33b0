"""ThreadPoolExecutor + ctypes, with the byte ranges found beforehand, outside of the clock: see executor_ctypes.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Callable, Iterator, List

from executor_ctypes import Piece, Ranges, output
from gristmill.bench.task import Task

name = "executor + ctypes (ranges given)"
payloads = ("plugin",)

__all__ = ["name", "output", "payloads", "ready", "settings"]

_RANGE_BYTES = 1 << 20


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Piece]]]:
    ranges = Ranges(task)
    given = ranges.cut(_RANGE_BYTES)
    with ThreadPoolExecutor(task.workers) as executor:
        yield lambda: list(executor.map(ranges.one, given))


def settings(_: Task) -> str:
    return f"range bytes={_RANGE_BYTES}"
