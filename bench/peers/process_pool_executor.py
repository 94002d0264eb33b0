"""concurrent.futures.ProcessPoolExecutor.map() of the standard library, at its best chunk size, warm."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Callable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.task import lines as output
from tuning import CHUNKS, fastest, sample, settings

name = "ProcessPoolExecutor"

__all__ = ["name", "output", "ready", "settings"]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[bytes]]]:
    function, first = task.twin(), sample(task)
    with ProcessPoolExecutor(task.workers) as executor:
        chunk = fastest("chunksize", CHUNKS, lambda size: list(executor.map(function, first, chunksize=size)))
        yield lambda: list(executor.map(function, task.records(), chunksize=chunk))
