"""forkrun in its Python mode: the same function, called for each line of a batch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List, Optional

from forkrun_plugin import LINES, available
from gristmill.bench.task import Task
from tuning import fastest, sample_file, settings

name = "forkrun (function)"
package = "forkrun"

__all__ = ["available", "name", "output", "package", "ready", "settings"]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Any]]]:
    import forkrun

    function = task.twin()

    def work(batch: Any) -> bytes:
        records = bytes(batch.data).split(b"\n")
        if not records[-1]:
            records.pop()
        return b"".join(function(record) + b"\n" for record in records)

    def run(path: str, lines: Optional[int]) -> List[Any]:
        found: List[Any] = forkrun.map(work, path, workers=task.workers, order="index", lines=lines, strict_poison=True)
        return found

    with sample_file(task) as first:
        best = fastest("order=index, lines", LINES, lambda lines: run(first, lines))
    yield lambda: run(task.input.path, best)


def output(kept: List[Any]) -> Iterable[Any]:
    return kept
