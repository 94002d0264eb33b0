"""One process that calls the function for each line: what every other row is to be held against."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.task import lines as output

name = "serial loop"
serial = True

__all__ = ["name", "output", "ready", "serial"]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[bytes]]]:
    function = task.twin()
    yield lambda: [function(record) for record in task.records()]
