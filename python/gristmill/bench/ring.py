"""The batch ring alone: publish, claim, done and retire, with up to 64 claimers on however many cores.

Runs `bench_ring` of the release build, its benchmarks interleaved at random; medians of the repetitions. What
each of them does stands at the top of ring.cpp.

    cycle, steals    ns of each step, one thread; `batch_ns`: of all four
    small, sleeping  claims/s; of one batch, the CPU time of all threads and of the one that publishes
                     and retires, and how often that one slept; `occupied`: share of the claimers' time
                     in which they had a batch
    budget           ns of the question whether another batch fits
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any, Dict, List, Sequence, Tuple

from . import exclusive, programs, sheet
from .sheet import Bars, Column, Lines

GROUPS = ("cycle", "steals", "small", "sleeping", "budget")
SETTINGS = ("nodes", "workers", "claimers", "in_flight")
STEPS = ("publish_ns", "claim_ns", "done_ns", "retire_ns")


def settings(*names: str) -> List[Column]:
    return [Column("group", ""), *(Column(name, name.replace("_", " "), ",d", better="same") for name in names)]


CYCLES = [
    *settings("workers", "nodes"),
    *(Column(name, name.replace("_", " "), ".1f", "of this step, one thread", "lower") for name in STEPS),
    Column("batch_ns", "batch ns", ".1f", "of all four steps", "lower"),
    Column("batch_ns_min", "min", ".1f", "of the fastest repetition"),
    Column("batch_ns_max", "max", ".1f", "of the slowest repetition"),
]
CLAIMS = [
    *settings("claimers", "nodes"),
    Column("claims_per_s", "claims/s", ",.0f", better="higher"),
    Column("claims_per_s_min", "min", ",.0f", "of the slowest repetition"),
    Column("claims_per_s_max", "max", ",.0f", "of the fastest repetition"),
    Column("cpu_ns", "CPU ns", ",.1f", "of all threads, for a batch", "lower"),
    Column("coordinator_ns", "coordinator ns", ",.1f", "CPU time of the thread that publishes and retires, for a batch"),
    Column("coordinator_sleeps", "its sleeps", ".4f", "how often that one slept, for a batch"),
    Column("occupied", "occupied", ".4f", "share of the claimers' time in which they had a batch"),
]
BUDGET = [
    *settings("in_flight"),
    Column("ns", "ns", ",.1f", "of the question", "lower"),
    Column("ns_min", "min", ",.1f", "of the fastest repetition"),
    Column("ns_max", "max", ",.1f", "of the slowest repetition"),
]
TABLES: Tuple[Tuple[Sequence[str], str, str, Sequence[Column], Sequence[sheet.Plot]], ...] = (
    (("cycle", "steals"), "cycles", "The four steps of a batch, one thread", CYCLES,
     [Lines("workers", "batch_ns", "line", of="group", logarithmic=True)]),
    (("small", "sleeping"), "claims", "A publisher and threads that claim", CLAIMS,
     [Lines("claimers", "claims_per_s", "line", of="group", logarithmic=True)]),
    (("budget",), "budget", "May the next batch be published", BUDGET,
     [Bars(("in_flight",), "ns", "ns_min", "ns_max", of="group")]),
)  # fmt: skip


def parse_arguments() -> argparse.Namespace:
    parser = sheet.parser(__doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="of each benchmark, at least 2")
    parser.add_argument("--min-time", type=float, default=0.2, help="seconds of each repetition")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups of benchmarks, comma-separated")
    programs.add_to(parser)
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(GROUPS):
        parser.error(f"there is no group {', '.join(sorted(unknown))}")
    if arguments.repetitions < 2:
        parser.error("--repetitions must be at least 2")
    return arguments


def row_of(name: str, trials: List[Dict[str, Any]], columns: Sequence[Column]) -> sheet.Row:
    """Of one benchmark: its group, its settings, its figures; all repetitions of the columns that have a range."""
    words = [word for word in name.split("/") if word != "manual_time"]
    row: sheet.Row = {"group": "/".join(word for word in words if ":" not in word)}
    row.update({name: int(value) for name, _, value in (word.partition(":") for word in words if ":" in word)})
    names = {column.name for column in columns}
    for each in trials[0]:
        figure = "ns" if each == "real_time" else each
        if figure in names and figure not in row:
            seen = [trial[each] for trial in trials]
            row[figure] = statistics.median(seen)
            if f"{figure}_min" in names:
                row.update({f"{figure}_min": min(seen), f"{figure}_max": max(seen), f"all_{figure}": seen})
    if "nodes" in row:
        row["line"] = f"{row['nodes']} node{'' if row['nodes'] == 1 else 's'}"
    return {**dict.fromkeys(names), **row}


def place(row: sheet.Row) -> Tuple[Any, ...]:
    """Groups as above, and in them by their settings; the measurements come at random."""
    group = row["group"]
    return (GROUPS.index(group.split("/")[0]), group, *(row.get(name) or 0 for name in SETTINGS))


def main() -> int:
    arguments = parse_arguments()
    program = programs.find("bench_ring", arguments.program)
    found = sheet.Sheet("ring", __doc__, arguments)
    with exclusive.machine():
        wanted = f"^({'|'.join(arguments.only)})/"
        seen = programs.repetitions(program, wanted, arguments.repetitions, arguments.min_time)
    for groups, name, title, columns, plots in TABLES:
        of_table = {each: trials for each, trials in seen.items() if each.split("/")[0] in groups}
        table = found.table(name, title, columns, plots=plots)
        for row in sorted((row_of(each, trials, columns) for each, trials in of_table.items()), key=place):
            table.add(**row)
    return found.finish()
