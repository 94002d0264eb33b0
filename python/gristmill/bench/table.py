"""The rows of a study as text."""

from __future__ import annotations

from textwrap import shorten
from typing import Any, Dict, List, Sequence, Tuple

from .rows import Row, grouped


def text(rows: List[Row]) -> str:
    """One table for each record set and payload."""
    parts = []
    for group in grouped(rows, lambda row: (row["set"], row["payload"].partition(":")[0], row["records"])):
        first = group[0]
        parts.append(f"{first['set']}, {payload_words(group)}: {first['records']:,} records, {size(first['bytes'])}")
        parts.append(aligned(HEAD, [cells(row) for row in group]))
    return "\n".join(parts)


HEAD = ("", "nodes", "workers", "records/s", "min", "max", "MB/s", "wall s", "CPU s", "memory", "total",
         "valid", "home/stolen", "rank")  # fmt: skip


def payload_words(group: Sequence[Row]) -> str:
    payload = group[0]["payload"]
    words = {"plugin": "compiled plugin", "function": "Python function", "expressions": "own expressions"}
    return words.get(payload.partition(":")[0], "upper case")


def who(row: Row) -> str:
    """The subject, with what tells it from others in its table."""
    name = str(row["subject"])
    if ":" in row["payload"]:
        name += " " + row["payload"].partition(": ")[2]
    if row["isolation"] == "thread":
        name += ", threads"
    return name


def cells(row: Row) -> Tuple[str, ...]:
    begin = (who(row), row["nodes"] or "-", str(row["workers"]))
    if row["wall_s"] is None:
        return (*begin, ("not here: " if row.get("absent") else "FAILED: ") + str(row["note"]))
    stolen = "-" if row["batches_home"] is None else f"{row['batches_home']:,}/{row['batches_stolen']:,}"
    return (
        *begin,
        *(f"{row[name]:,.0f}" for name in ("records_per_s", "records_per_s_min", "records_per_s_max", "mb_per_s")),
        f"{row['wall_s']:.3f}",
        f"{row['cpu_s']:.3f}",
        size(row["peak_memory_bytes"]),
        f"{row['total']:,}",
        f"{row['valid']:,}",
        stolen,
        str(row["rank"]) if row["exact"] else "NOT EXACT: " + shorten(str(row["note"]), 60, placeholder=" ..."),
    )


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns; a row that ends early ends in a note, which is as wide as it likes."""
    full = [row for row in rows if len(row) == len(head)] + [head]
    widths = [max(len(row[at]) for row in full) for at in range(len(head))]
    widths[0] = max(len(row[0]) for row in (*rows, head))
    lines = []
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(widths[at]) for at, cell in enumerate(row[1:], 1)]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def environment(found: Dict[str, Any]) -> str:
    """What the machine is, in a few lines."""
    return (
        f"machine   {found['cpu']}, {found['cpus']} CPUs on {found['cores']} cores, {found['numa_nodes']} NUMA node"
        f"{'' if found['numa_nodes'] == 1 else 's'}, L2 {found['l2']}, L3 {found['l3']},"
        f" {size(found['memory_bytes'])}, governor {found['governor']}\n"
        f"system    Linux {found['kernel']}, huge pages {found['transparent_huge_pages']},"
        f" limits of the group: CPU {found['cgroup_cpu_max']}, memory {found['cgroup_memory_max']}\n"
        f"software  gristmill {found['gristmill']} ({found['commit']}), Python {found['python']},"
        f" {found['compiler']}; load {found['load_before']}\n"
    )
