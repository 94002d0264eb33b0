"""How much memory jobs take: maps, runs and streams, over time, against the limit that was asked for.

Each case runs in a process of its own, which is looked at every 20 ms from outside: the sum over it and all its
descendants of the proportional share of private and file pages, and of the blocks of their files in memory, each once.
What counts is the growth over the idle engine (or executor, its processes started). What lives shorter than 20 ms may
be missed. All turn lines of 500 bytes to upper case, so that the output is as large as the input; it is compared with
what the reading process makes of the file alone.

A map keeps its output: it takes as much as that. A stream takes a bounded amount, whatever the size of its input and
the pace of its consumer: growth beyond memory + 16 MiB + 4 MiB for each worker is wrong (exit code 1). The slow
consumer pauses 50 ms after each batch for some seconds, then takes the rest as fast as it comes. "half" is the growth
when half of the output had been taken. "back" is memory of the input that was given back to the system meanwhile; of a
pipe the same slots are used again instead.

ProcessPoolExecutor.map and Pool.imap get the same lines, one by one from the file, and the chunk size that is fastest
for them. Both read their input as fast as they can, whatever the consumer does: results of imap that are not taken
wait in memory, and those of map until they are.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterator, List

from . import exclusive, sheet, watching
from .memory_case import (
    EXECUTOR, FAST, FILE, IMAP, ITEMS, KEPT, MAP, PIPE, RUN, SLOW, STREAM, Case, expected_digest, watch,
)  # fmt: skip
from .sheet import Bars, Column, Lines

_MIB = 1 << 20
_RECORD_BYTES = 500
_CHUNKS = (100, 500, 2000)
_MIDDLE_MEMORY = 1  # of --memory: the one that is shown with all sizes
_POINTS = 24  # of a line
CASES = [
    Column("subject", ""),
    Column("source", "source"),
    Column("consumer", "consumer", about="kept: the whole output; fast, slow: taken as it comes"),
    Column("memory_mib", "memory", ",d", "the option, MiB", better="same"),
    Column("input_mib", "input", ",.0f", "MiB; the output is as large", better="same"),
    Column("growth_mib", "growth MiB", ",.1f", "largest, over the idle engine", better="lower"),
    Column("limit_mib", "limit", ",.0f", "that it must stay below"),
    Column("half_mib", "half MiB", ",.1f", "growth when half of the output had been taken"),
    Column("punched_mib", "back MiB", ",.0f", "memory of the input that was given back meanwhile"),
    Column("wall_s", "s", ".3f", "until the output was there or taken", better="lower"),
    Column("verdict", "", about="within, or BEYOND its limit"),
]
OVER_TIME = [Column("second", "s", ".2f"), Column("growth_mib", "growth MiB", ",.1f"), Column("case", ""), Column("consumer", "")]


def write_records(path: Path, mib: float) -> int:
    """Lines whose letters are small; the number of bytes."""
    with path.open("wb") as file:
        for number in range(max(1, int(mib * _MIB) // _RECORD_BYTES)):
            file.write(b"%0*x\n" % (_RECORD_BYTES - 1, number * 0x9E3779B97F4A7C15))
    return path.stat().st_size


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path, found: sheet.Sheet) -> None:
        self.arguments = arguments
        self.folder = folder
        self.wrong: List[str] = []
        self.cases = found.table("cases", "Memory over the idle engine", CASES, plots=[
            Bars(("case",), "growth_mib", of="consumer")])  # fmt: skip
        self.over_time = found.table("over_time", "Memory over time", OVER_TIME, "The largest input; streams with the memory"
            " that all sizes were measured with.", plots=[Lines("second", "growth_mib", "case", of="consumer")])  # fmt: skip
        self.inputs: Dict[float, Case] = {}
        self.digests: Dict[str, str] = {}
        for mib in arguments.sizes:
            path = folder / f"{mib:g}"
            size = write_records(path, mib)
            self.inputs[mib] = Case("", "", "", str(path), size, arguments.workers, slow_seconds=arguments.slow_seconds)
            self.digests[str(path)] = expected_digest(path)

    def case(self, mib: float, way: str, source: str, consumer: str, **more: Any) -> Case:
        return replace(self.inputs[mib], way=way, source=source, consumer=consumer, **more)

    def measure(self, case: Case, shown: bool) -> None:
        """``shown``: over time, too."""
        seen = watch(case)
        asked = f" {case.memory_mib} MiB," if case.memory_mib else ""
        labels = {"case": f"{case.way} {case.source},{asked} of {case.input_bytes / _MIB:,.0f} MiB",
                  "subject": case.way if case.chunk else f"gristmill {case.way}", "source": case.source,
                  "consumer": case.consumer, "memory_mib": case.memory_mib or None, "input_mib": case.input_bytes / _MIB}  # fmt: skip
        if "refused" in seen.found:
            self.cases.add(**labels, note=seen.found["refused"])
            return
        self._judge(case, seen, labels)
        if shown:
            name = " ".join([labels["subject"], "of", case.source])
            step = max(1, len(seen.samples) // _POINTS)
            self.over_time.rows += [
                {"table": self.over_time.name, "second": second, "growth_mib": growth / _MIB, "case": name, "consumer": case.consumer}
                for second, growth in seen.samples[::step]
            ]  # too many to be printed

    def _judge(self, case: Case, seen: watching.Watched, labels: Dict[str, Any]) -> None:
        found, growth = seen.found, seen.growth_bytes / _MIB
        limit = case.memory_mib + 16 + 4 * case.workers if case.way == STREAM else None
        within = limit is None or growth < limit
        exact = found["digest"] == self.digests[case.path]
        what = f"{labels['case']}, {case.consumer}"
        if not exact:
            self.wrong.append(f"{what}: wrong output")
        if not within:
            self.wrong.append(f"{what}: grew by {growth:.1f} MiB")
        verdict = "WRONG OUTPUT" if not exact else "" if limit is None else "within" if within else "BEYOND"
        self.cases.add(**labels, growth_mib=growth, limit_mib=limit, half_mib=None if case.consumer == KEPT else _half(seen), wall_s=found["wall_s"],
                       punched_mib=found["punched_bytes"] / _MIB if found.get("punched_bytes") else None, verdict=verdict,
                       chunk=case.chunk or None, idle_mib=seen.idle_bytes / _MIB, samples=seen.samples)  # fmt: skip


def _half(seen: watching.Watched) -> Any:
    """In MiB: the last look before half of the output had been taken; None when nobody looked so early."""
    half_at = seen.found.get("half_at")
    before = [growth for second, growth in seen.samples if half_at and second <= half_at - seen.begun]
    return before[-1] / _MIB if before else None


def kept(bench: Bench) -> None:
    for mib in bench.arguments.sizes:
        for way, source in ((MAP, FILE), (MAP, ITEMS), (RUN, FILE)):
            shown = mib == max(bench.arguments.sizes) and way == MAP
            bench.measure(bench.case(mib, way, source, KEPT), shown)


def streams(bench: Bench) -> None:
    arguments = bench.arguments
    for source in (FILE, PIPE, ITEMS):
        for consumer in (FAST, SLOW):
            for memory, mib in _shapes(arguments):
                shown = (memory, mib) == (_middle(arguments), max(arguments.sizes))
                bench.measure(bench.case(mib, STREAM, source, consumer, memory_mib=memory), shown)


def _middle(arguments: argparse.Namespace) -> int:
    return arguments.memory[min(_MIDDLE_MEMORY, len(arguments.memory) - 1)]


def _shapes(arguments: argparse.Namespace) -> Iterator[Any]:
    """Memory and size: all sizes with one memory, the other memories with the largest."""
    largest, middle = max(arguments.sizes), _middle(arguments)
    for memory in arguments.memory:
        for mib in arguments.sizes:
            if memory == middle or mib == largest:
                yield memory, mib


def rivals(bench: Bench) -> None:
    sizes = bench.arguments.sizes
    for way in (EXECUTOR, IMAP):
        tried = {chunk: watch(bench.case(min(sizes), way, ITEMS, FAST, chunk=chunk)).found["wall_s"] for chunk in _CHUNKS}
        chunk = min(tried, key=lambda each: tried[each])
        for consumer in (KEPT, FAST, SLOW):
            for mib in sizes:
                bench.measure(bench.case(mib, way, ITEMS, consumer, chunk=chunk), mib == max(sizes))


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[64, 512], metavar="MIB", help="of the input")
    parser.add_argument("--memory", type=int, nargs="+", default=[16, 64, 256], metavar="MIB", help="the option, of streams")
    parser.add_argument("--slow-seconds", type=float, default=2, help="so long the slow consumer makes pauses")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    found = sheet.Sheet("memory", __doc__, arguments)
    with tempfile.TemporaryDirectory(prefix="gristmill-memory-") as folder:
        bench = Bench(arguments, Path(folder), found)
        for part in (kept, streams, rivals):
            with exclusive.machine():
                part(bench)
    return found.finish(wrong="; ".join(bench.wrong))
