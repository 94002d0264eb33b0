"""Two sheets of one benchmark side by side: the columns that say which way is better, row by row."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ..errors import OptionError
from .sheet import Row, written
from .table import aligned

_HEAD = ("", "", "before", "after", "ratio", "verdict")
_Column = Dict[str, Any]
_Key = Tuple[Any, ...]


def compare(before: Dict[str, Any], after: Dict[str, Any], tolerance: float, peers: bool) -> Tuple[str, int]:
    """Text, and how many figures are worse by a larger share than ``tolerance``. ``peers``: those of subjects other
    than gristmill count, too. Raises OptionError when there is nothing to compare."""
    if before["name"] != after["name"]:
        raise OptionError(f"results of two benchmarks: {before['name']} and {after['name']}")
    lines, bad, alone = [], 0, 0
    for table in after["tables"]:
        old, new = _by_key(before, table), _by_key(after, table)
        alone += len(old.keys() ^ new.keys())
        rivals = any(_is_ours(row) for row in new.values())  # else all are ours, and none has to say so
        for key in (key for key in new if key in old):
            counts = peers or not rivals or _is_ours(new[key])
            found = _lines(table, old[key], new[key], tolerance, counts)
            bad += sum(line[-1].isupper() for line in found)
            lines += found
    if not lines:
        raise OptionError("the two results have no figure in common")
    rest = f", {alone} rows in one of them only" if alone else ""
    text = aligned(_HEAD, lines) + f"{len(lines)} figures compared, {bad} worse{rest}\n"
    return (f"{text}WRONG: {after['wrong']}\n", bad + 1) if after.get("wrong") else (text, bad)


def _is_ours(row: Row) -> bool:
    return "gristmill" in str(row.get("subject", "gristmill"))


def _by_key(found: Dict[str, Any], table: Dict[str, Any]) -> Dict[_Key, Row]:
    """A table's rows by their texts and settings, and by which of those that are alike in them they are."""
    rows: Dict[_Key, Row] = {}
    for row in found["rows"]:
        if row["table"] == table["name"]:
            names = _names(table["columns"], row)
            rows[(*names, sum(key[:-1] == names for key in rows))] = row
    return rows


def _names(columns: List[_Column], row: Row) -> _Key:
    values = [(column, row.get(column["name"])) for column in columns]
    return tuple(value for column, value in values if _better(column) == "same" or isinstance(value, str))


def _better(column: _Column) -> str:
    return str(column.get("better", ""))


def _lines(table: Dict[str, Any], old: Row, new: Row, tolerance: float, counts: bool) -> List[Tuple[str, ...]]:
    settings = [column for column in table["columns"] if _better(column) == "same" or isinstance(new.get(column["name"]), str)]
    who = ", ".join(written(new.get(column["name"]), column["show"]) for column in settings) or table["name"]
    lines = []
    for column in table["columns"]:
        one, other = old.get(column["name"]), new.get(column["name"])
        if _better(column) in ("higher", "lower") and one:
            verdict = judge(_better(column), one, other, tolerance)
            lines.append((who, column["head"] or column["name"], written(one, column["show"]), written(other, column["show"]),
                          "-" if other is None else f"{other / one:.3f}", verdict if counts else verdict.lower()))  # fmt: skip
    return lines


def judge(better: str, old: float, new: Optional[float], tolerance: float) -> str:
    """In capitals when it is worse."""
    if new is None:
        return "NOT HERE"
    gain = new / old if better == "higher" else (old / new if new else float("inf"))
    if gain < 1 - tolerance:
        return "WORSE"
    return "better" if gain * (1 - tolerance) > 1 else ""
