"""Rows: the trials of a configuration as one, checked and ranked. schema.md says what the fields mean."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Tuple

from .plan import Configuration

Row = Dict[str, Any]
COLUMNS = (
    "part", "set", "payload", "subject", "nodes", "workers", "isolation", "records", "bytes", "trials",
    "records_per_s", "records_per_s_min", "records_per_s_max", "mb_per_s", "wall_s", "wall_s_min", "wall_s_max",
    "cpu_s", "peak_memory_bytes", "total", "valid", "expected_valid", "digest", "compared", "exact", "rank",
    "batches", "batches_home", "batches_stolen", "batch_bytes_min", "batch_bytes_median", "batch_bytes_max",
    "settings", "note",
)  # fmt: skip
_OF_LAST_TRIAL = ("batches", "batches_home", "batches_stolen", "batch_bytes_min", "batch_bytes_median",
                  "batch_bytes_max", "settings", "per_node")  # fmt: skip


def make(each: Configuration, trials: List[Dict[str, Any]], reference: Dict[str, Any]) -> Row:
    """``trials``: what its cells measured; ``reference``: see reference.compute()."""
    task = each.task
    row: Row = dict.fromkeys(COLUMNS)
    row.update(part=each.part, set=task.input.set, payload=task.payload, subject=task.subject,
               nodes=task.nodes, workers=task.workers, isolation=task.isolation, records=task.input.records,
               bytes=task.input.bytes, expected_valid=reference["valid"], exact=False, note="")  # fmt: skip
    row["trials"] = len([trial for trial in trials if "wall_s" in trial])
    if why := [trial.get("absent") or trial.get("error") for trial in trials if "wall_s" not in trial]:
        row["note"] = why[0]
        row["absent"] = any("absent" in trial for trial in trials)
        return row
    walls = [trial["wall_s"] for trial in trials]
    row["all_wall_s"], row["all_load"] = walls, [trial["load"] for trial in trials]
    row.update(_times(task.input.records, task.input.bytes, walls))
    row["cpu_s"] = statistics.median(trial["cpu_s"] for trial in trials)
    row["peak_memory_bytes"] = max(trial["peak_memory_bytes"] for trial in trials)
    row.update({name: trials[-1][name] for name in _OF_LAST_TRIAL if name in trials[-1]})
    wrong = [reason for trial in trials if (reason := inexact(trial, each, reference))]
    seen = next((trial for trial in trials if inexact(trial, each, reference)), trials[0])
    row.update(total=seen["total"], valid=seen["valid"], digest=seen.get("digest", ""))
    row["compared"] = "values" if "differences" in seen else "bytes"
    row.update(exact=not wrong, note="; ".join(dict.fromkeys(wrong)))
    return row


def _times(records: int, size: int, walls: List[float]) -> Row:
    middle = statistics.median(walls)
    rates = {"records_per_s": middle, "records_per_s_min": max(walls), "records_per_s_max": min(walls)}
    found: Row = {name: records / seconds for name, seconds in rates.items()}
    found.update(mb_per_s=size / middle / 1e6, wall_s=middle, wall_s_min=min(walls), wall_s_max=max(walls))
    return found


def inexact(trial: Dict[str, Any], each: Configuration, reference: Dict[str, Any]) -> str:
    """How the output of a trial differs from what it has to be; empty when it does not."""
    records = each.task.input.records
    if trial["total"] != records or trial["valid"] != reference["valid"]:
        return (f"{trial['total']:,} lines and {trial['valid']:,} results instead of"
                f" {records:,} and {reference['valid']:,}")  # fmt: skip
    if "differences" in trial:
        count = trial["differences"]
        return f"{count:,} lines differ, first {trial['first_difference']}" if count else ""
    if trial["digest"] != reference["digest"]:
        return "the digest of the output differs"
    if trial.get("read", records) != records:
        return f"the report says {trial['read']:,} records"
    accounted = sum(trial.get(name, 0) for name in ("emitted", "filtered", "failed"))
    if "read" in trial and accounted != records:
        return f"the report accounts for {accounted:,} records"
    return ""


def rank(rows: List[Row]) -> None:
    """Numbers the exact rows of each set and payload, the fastest 1. Others have no rank."""
    for group in grouped(rows, lambda row: (row["set"], row["payload"].partition(":")[0], row["records"])):
        exact = sorted((row for row in group if row["exact"]), key=lambda row: -row["records_per_s"])
        for place, row in enumerate(exact, 1):
            row["rank"] = place


def grouped(rows: Iterable[Row], key: Callable[[Row], Tuple[Any, ...]]) -> List[List[Row]]:
    """Rows with the same key together, in the order in which keys come first."""
    groups: Dict[Tuple[Any, ...], List[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def write_csv(rows: List[Row], path: Path) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
