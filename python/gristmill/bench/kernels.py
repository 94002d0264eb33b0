"""The kernels of the bundled payloads and the generator, without an engine around them.

Runs `bench_kernels` and `bench_generator` of the release build, their benchmarks interleaved at
random; medians of the repetitions. A kernel runs on one thread, over input in memory: on its usual path, on
its strict one, and beside them simdjson's bare parse of the same bytes. The generator writes to
memory, on one thread and on two.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any, Dict, List

from . import exclusive, programs, sheet
from .sheet import Bars, Column

SETS = ("light", "medium", "heavy", "tokenize")
KERNEL_GOALS = {"light": 12e6, "medium": 3.5e6, "heavy": 0.8e6, "tokenize": 350e3}  # records/s
GENERATOR_GOALS = {("light", "fast"): 1000.0, ("medium", "fast"): 1000.0}  # MB/s of one thread
KERNELS = [
    Column("set", ""),
    Column("path", "path", "", "of the kernel: usual or strict; simdjson: its bare parse of the same bytes"),
    *sheet.RATES,
    Column("mb_per_s", "MB/s", ",.0f", "10^6 input bytes a second"),
    Column("ratio_to_simdjson", "by simdjson", ".2f", "rate by that of the bare parse"),
    Column("usual_to_strict", "usual/strict", ".2f", "rate of the usual path by that of the strict one"),
    Column("goal_per_s", "goal", ",.0f", "least records/s wanted of the usual path"),
]
GENERATOR = [
    Column("set", ""),
    Column("stream", "stream", "", "fast, or the reference one, which has one thread only"),
    Column("threads", "threads", ",d", better="same"),
    Column("mb_per_s", "MB/s", ",.0f", "10^6 bytes a second, median", "higher"),
    Column("mb_per_s_min", "min", ",.0f", "of the slowest repetition"),
    Column("mb_per_s_max", "max", ",.0f", "of the fastest repetition"),
    Column("scaling", "scaling", ".2f", "rate by that of one thread"),
    Column("goal_mb_per_s", "goal", ",.0f", "least MB/s wanted of one thread"),
]
Measured = Dict[str, List[Dict[str, Any]]]


def parse_arguments() -> argparse.Namespace:
    parser = sheet.parser(__doc__)
    parser.add_argument("--repetitions", type=int, default=9, help="of each benchmark, at least 2")
    parser.add_argument("--min-time", type=float, default=0.3, help="seconds of each repetition")
    parser.add_argument("--sets", default=",".join(SETS), help="record sets, comma-separated")
    parser.add_argument("--only", choices=("kernels", "generator"), help="leave the other out")
    programs.add_to(parser)
    arguments = parser.parse_args()
    arguments.sets = arguments.sets.split(",")
    if unknown := set(arguments.sets) - set(SETS):
        parser.error(f"there is no record set {', '.join(sorted(unknown))}")
    if arguments.repetitions < 2:
        parser.error("--repetitions must be at least 2")
    return arguments


def measured(found: sheet.Sheet, arguments: argparse.Namespace, name: str) -> Measured:
    program = programs.find(name, arguments.program)
    found.say(f"running {name}")
    with exclusive.machine():
        wanted = f"^({'|'.join(arguments.sets)})(/|$)"
        return programs.repetitions(program, wanted, arguments.repetitions, arguments.min_time)


def median(seen: List[Dict[str, Any]], counter: str) -> float:
    return statistics.median(each[counter] for each in seen)


def add_kernels(table: sheet.Table, name: str, seen: Measured) -> None:
    bare, usual = median(seen[f"{name}/simdjson"], "records"), median(seen[name], "records")
    for path in ("usual", "strict", "simdjson"):
        trials = seen[name if path == "usual" else f"{name}/{path}"]
        rates, rate = [each["records"] for each in trials], median(trials, "records")
        table.add(
            subject="simdjson" if path == "simdjson" else "gristmill",
            set=name,
            path=path,
            records_per_s=rate,
            records_per_s_min=min(rates),
            records_per_s_max=max(rates),
            mb_per_s=median(trials, "bytes") / 1e6,
            ratio_to_simdjson=rate / bare,
            usual_to_strict=usual / rate if path == "strict" else None,
            goal_per_s=KERNEL_GOALS[name] if path == "usual" else None,
            all_records_per_s=rates,
        )


def add_generator(table: sheet.Table, name: str, seen: Measured) -> None:
    for stream in ("fast", "reference"):
        one = median(seen[f"{name}/{stream}/threads:1/real_time"], "bytes_per_second")
        for threads in (1, 2):
            if trials := seen.get(f"{name}/{stream}/threads:{threads}/real_time"):
                rates = [each["bytes_per_second"] / 1e6 for each in trials]
                table.add(
                    set=name,
                    stream=stream,
                    threads=threads,
                    mb_per_s=statistics.median(rates),
                    mb_per_s_min=min(rates),
                    mb_per_s_max=max(rates),
                    scaling=statistics.median(rates) * 1e6 / one,
                    goal_mb_per_s=GENERATOR_GOALS.get((name, stream)) if threads == 1 else None,
                    all_mb_per_s=rates,
                )


def main() -> int:
    arguments = parse_arguments()
    found = sheet.Sheet("kernels", __doc__, arguments)
    if arguments.only != "generator":
        seen = measured(found, arguments, "bench_kernels")
        table = found.table("kernels", "Kernels, one thread, over memory", KERNELS, plots=[
            Bars(("path",), "records_per_s", "records_per_s_min", "records_per_s_max", of="set")])  # fmt: skip
        for name in arguments.sets:
            add_kernels(table, name, seen)
    if arguments.only != "kernels":
        seen = measured(found, arguments, "bench_generator")
        table = found.table("generator", "The generator, to memory", GENERATOR, plots=[
            Bars(("stream", "threads"), "mb_per_s", "mb_per_s_min", "mb_per_s_max", of="set")])  # fmt: skip
        for name in arguments.sets:
            add_generator(table, name, seen)
    return found.finish()
