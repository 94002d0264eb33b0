"""Output of peers that print numbers in their own way, compared with ours value by value."""

from __future__ import annotations

import json
import math
from itertools import zip_longest
from typing import Any, Dict, Iterable, Iterator

from ..engine import Engine
from ..payload import Plugin
from .task import Task

_TOLERANCE = 1e-9
_ROUNDED = 1.001e-4  # fields rounded to 4 digits, where the last one may fall to the other side


def compared_by_value(chunks: Iterable[Any], task: Task) -> Dict[str, Any]:
    """Reads the lines of a peer beside those of the plugin, run by the calling thread alone; empty
    lines are left out on both sides. The fields of a row; ``differences`` counts the lines that differ."""
    valid = size = differences = 0
    first = ""
    with Engine(workers=0) as engine:
        plugin = Plugin(task.plugin_name, config=task.plugin_config or None)
        expected = (line for line in engine.stream(plugin, task.input.path, on_error="skip") if line)
        for line, wanted in zip_longest(_lines(chunks), expected):
            valid += line is not None
            size += len(line or b"") + 1
            if line is None or wanted is None or not _same(json.loads(line), json.loads(wanted)):
                differences += 1
                first = first or f"{line!r} instead of {wanted!r}"
    fields = {"valid": valid, "output_bytes": size, "differences": differences}
    return {**fields, "total": task.input.records, "first_difference": first[:500]}


def _lines(chunks: Iterable[Any]) -> Iterator[bytes]:
    for chunk in chunks:
        for line in bytes(chunk).split(b"\n"):
            if line:
                yield line


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_ROUNDED if one != int(one) else _TOLERANCE)
    return bool(one == other)
