"""Dask bag on processes: read_text() in blocks, map(), at its best block size."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from typing import Callable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.task import lines as output
from gristmill.bench.twins import Twin

name = "Dask bag"
package = "dask"

__all__ = ["available", "name", "output", "package", "ready", "settings"]


def available() -> str:
    return "" if importlib.util.find_spec("dask") else "Dask is not installed: scripts/setup --peers"


def block_bytes(task: Task) -> int:
    """Some blocks for each worker, none larger than 8 MiB."""
    return max(64 << 10, min(8 << 20, task.input.bytes // (4 * task.workers)))


def settings(task: Task) -> str:
    return f"scheduler=processes, blocksize={block_bytes(task)}"


def map_block(texts: List[str], function: Twin) -> List[bytes]:
    return [function(text.rstrip("\n").encode()) for text in texts]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[bytes]]]:
    from concurrent.futures import ProcessPoolExecutor

    import dask
    import dask.bag

    with ProcessPoolExecutor(task.workers) as pool, dask.config.set(pool=pool, scheduler="processes"):

        def run() -> List[bytes]:
            texts = dask.bag.read_text(task.input.path, blocksize=block_bytes(task), encoding="utf-8")
            found: List[bytes] = texts.map_partitions(map_block, function=task.twin()).compute()
            return found

        yield run
