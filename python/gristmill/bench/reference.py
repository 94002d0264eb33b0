"""What every output of a study is compared with."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator

from ..engine import Engine
from ..errors import AccountingError
from ..payload import Plugin
from . import twins
from .inputs import Input
from .task import PLUGIN, UPPER, Task, counted, lines

_CHUNK = 1 << 20
_CHECKED_RECORDS = 2000


def family(task: Task) -> str:
    """Tasks of one family have the same output for the same input."""
    return "upper" if task.payload in UPPER else PLUGIN


def compute(task: Task) -> Dict[str, Any]:
    """Total, valid and digest of the output that a task has to give.

    By the compiled plugin, run by the calling thread alone; and its first records by the Python twin, called
    one after the other. Raises AccountingError when they differ, or when the count is not the published one.
    """
    if family(task) == "upper":
        found = counted(_upper(task.input.path)).as_fields()
        _refuse(found["total"] != task.input.records, f"{found['total']:,} lines in {task.input.path}")
        return found
    plugin = Plugin(task.input.set.partition("-")[0], config=task.plugin_config or None)
    with Engine(workers=0) as engine:
        with engine.stream(plugin, task.input.path, on_error="skip") as stream:
            found = counted(stream.batches(copy=False)).as_fields()
        expected = (task.input.records, task.input.valid)
        _refuse((found["total"], found["valid"]) != expected, f"{task.input.set}: the plugin gave"
                f" {found['total']:,} lines and {found['valid']:,} results instead of {expected}")  # fmt: skip
        with engine.stream(plugin, task.input.path, on_error="skip") as stream:
            first = list(itertools.islice(stream, _CHECKED_RECORDS))
    differs = counted(lines(first)).as_fields() != counted(lines(list(_by_twin(task.input)))).as_fields()
    _refuse(differs, f"{task.input.set}: the plugin and the Python function differ")
    return found


def _refuse(condition: bool, why: str) -> None:
    if condition:
        raise AccountingError(why)


def _by_twin(given: Input) -> Iterator[bytes]:
    twin = twins.twin(given.set, given.vocabulary)
    with open(given.path, "rb") as file:
        for line in itertools.islice(file, _CHECKED_RECORDS):
            yield twin(line.rstrip(b"\n"))


def _upper(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.readlines(_CHUNK):
            yield b"".join(chunk).upper()
