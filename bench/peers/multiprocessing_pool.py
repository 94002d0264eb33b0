"""multiprocessing.Pool.map() of the standard library, at its best chunk size, with a pool that is warm."""

from __future__ import annotations

from contextlib import contextmanager
from multiprocessing import Pool
from typing import Callable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.task import lines as output
from tuning import CHUNKS, fastest, sample, settings

name = "multiprocessing.Pool"

__all__ = ["name", "output", "ready", "settings"]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[bytes]]]:
    function, first = task.twin(), sample(task)
    with Pool(task.workers) as pool:
        chunk = fastest("chunksize", CHUNKS, lambda size: pool.map(function, first, chunksize=size))
        yield lambda: pool.map(function, task.records(), chunksize=chunk)
