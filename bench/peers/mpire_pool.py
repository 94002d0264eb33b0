"""mpire.WorkerPool.map(), workers kept alive, at its best chunk size."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from typing import Callable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.task import lines as output
from tuning import CHUNKS, fastest, sample, settings

name = "mpire"
package = "mpire"

__all__ = ["available", "name", "output", "package", "ready", "settings"]


def available() -> str:
    return "" if importlib.util.find_spec("mpire") else "mpire is not installed: scripts/setup --peers"


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[bytes]]]:
    from mpire import WorkerPool

    function, first = task.twin(), sample(task)
    with WorkerPool(n_jobs=task.workers, keep_alive=True) as pool:
        chunk = fastest("chunk_size", CHUNKS, lambda size: pool.map(function, first, chunk_size=size))
        yield lambda: pool.map(function, task.records(), chunk_size=chunk)
