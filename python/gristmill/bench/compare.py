"""Two results side by side: ratios of the same rows, and whether any became worse. Two of the study, or of one of the
other benchmarks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from ..errors import OptionError
from . import compare_sheets, sheet
from .rows import Row
from .study import SCHEMA
from .table import aligned, who

_REGRESSED = 1
_SAME = ("set", "payload", "subject", "nodes", "workers", "isolation", "records")
_Key = Tuple[Any, ...]
_HEAD = ("", "records", "nodes", "workers", "before", "after", "ratio", "memory", "verdict")


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="BEFORE.json", help="as `gristmill study --json` or"
                        " `gristmill bench NAME --json` writes it")  # fmt: skip
    parser.add_argument("after", type=Path, metavar="AFTER.json")
    parser.add_argument("--tolerance", "--threshold", type=float, default=0.05, metavar="SHARE", help="worse by more is"
                        " a regression; in a study only if the trials' ranges do not overlap either; default 0.05")  # fmt: skip
    parser.add_argument("--memory-threshold", type=float, default=0.25, metavar="SHARE",
                        help="a higher peak by more is one, too; default 0.25")  # fmt: skip
    parser.add_argument("--peers", action="store_true", help="rows of other systems count, too")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_to(parser)
    return run(parser.parse_args())


def run(arguments: argparse.Namespace) -> int:
    """Prints a line for each row that both have. 0, or 1 when one regressed or is no longer exact; raises OptionError
    when a file is no result, or when there is nothing to compare."""
    before, after = _read(arguments.before), _read(arguments.after)
    if before["schema"] != after["schema"]:
        raise OptionError(f"one is a {before['schema']}, the other a {after['schema']}")
    for name in ("cpu", "cpus", "kernel", "memory_bytes"):
        one, other = before["environment"].get(name), after["environment"].get(name)
        if one != other:
            print(f"note: {name} differs: {one} before, {other} after")
    if after["schema"] == sheet.SCHEMA:
        text, bad = compare_sheets.compare(before, after, arguments.tolerance, arguments.peers)
        print(text, end="")
        return _REGRESSED if bad else 0
    return _compare_studies(before, after, arguments)


def _compare_studies(before: Dict[str, Any], after: Dict[str, Any], arguments: argparse.Namespace) -> int:
    old, new = _by_key(before["rows"]), _by_key(after["rows"])
    lines, bad = [], 0
    for key, row in new.items():
        if key in old and old[key]["exact"]:
            counts = row["subject"] == "gristmill" or arguments.peers
            verdict = judge(old[key], row, arguments.tolerance, arguments.memory_threshold)
            bad += counts and verdict.isupper()
            lines.append(_line(old[key], row, verdict if counts else verdict.lower()))
    if not lines:
        raise OptionError("the two results have no row in common")
    print(aligned(_HEAD, lines), end="")
    alone = [f"{len(old.keys() - new.keys())} rows only before" if old.keys() - new.keys() else "",
             f"{len(new.keys() - old.keys())} only after" if new.keys() - old.keys() else ""]  # fmt: skip
    print(", ".join(filter(None, [f"{len(lines)} rows compared, {bad} worse", *alone])))
    return _REGRESSED if bad else 0


def judge(old: Row, new: Row, threshold: float, memory_threshold: float) -> str:
    """In capitals when it is worse. A row is slower when its median is by more than ``threshold``, and when its
    fastest trial does not reach the slowest one before."""
    if new.get("absent"):
        return "not here"
    if not new["exact"]:
        return "NOT EXACT"
    ratio = new["records_per_s"] / old["records_per_s"]
    if ratio < 1 - threshold and new["records_per_s_max"] < old["records_per_s_min"]:
        return "SLOWER"
    if new["peak_memory_bytes"] > old["peak_memory_bytes"] * (1 + memory_threshold):
        return "MORE MEMORY"
    return "faster" if ratio > 1 + threshold and new["records_per_s_min"] > old["records_per_s_max"] else ""


def _read(path: Path) -> Dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise OptionError(f"'{path}' is no JSON: {error}") from None
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema not in (SCHEMA, sheet.SCHEMA):
        raise OptionError(f"'{path}' is no result, or one of another version: its schema is {schema!r},"
                          f" not {SCHEMA!r} or {sheet.SCHEMA!r}")  # fmt: skip
    return dict(found)


def _by_key(rows: List[Row]) -> Dict[_Key, Row]:
    return {tuple(row[name] for name in _SAME): row for row in rows}


def _line(old: Row, new: Row, verdict: str) -> Tuple[str, ...]:
    return (
        f"{new['set']}, {new['payload']}, {who({**new, 'payload': ''})}",
        f"{new['records']:,}",
        new["nodes"] or "-",
        str(new["workers"]),
        _number(old["records_per_s"]),
        _number(new["records_per_s"]),
        _ratio(new["records_per_s"], old["records_per_s"]),
        _ratio(new["peak_memory_bytes"], old["peak_memory_bytes"]),
        verdict,
    )


def _number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _ratio(one: Optional[float], other: Optional[float]) -> str:
    return f"{one / other:.3f}" if one and other else "-"
