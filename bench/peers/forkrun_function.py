"""forkrun in its Python mode: the same function, called for each line of a batch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List

from forkrun_plugin import available
from gristmill.bench.task import Task

name = "forkrun (function)"
package = "forkrun"

__all__ = ["available", "name", "output", "package", "ready", "settings"]


def settings(_: Task) -> str:
    return "mode=python, order=index, adaptive batches"


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Any]]]:
    import forkrun

    function = task.twin()

    def work(batch: Any) -> bytes:
        records = bytes(batch.data).split(b"\n")
        if not records[-1]:
            records.pop()
        return b"".join(function(record) + b"\n" for record in records)

    def run() -> List[Any]:
        found: List[Any] = forkrun.map(work, task.input.path, workers=task.workers, order="index", strict_poison=True)
        return found

    yield run


def output(kept: List[Any]) -> Iterable[Any]:
    return kept
