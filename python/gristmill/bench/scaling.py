"""What more workers bring, and how much of what the machine allows.

For each record set, by its plugin (worker threads, worker processes) and its Python function: from a file to the
output in memory, in input order, on kept engines of 1, 2, 4, ... workers; more than there are CPUs show what too many
cost. Medians of interleaved trials.

Beside it the ideal, in the same trials: as many processes, each with an engine of one worker on a CPU of its own, that
begin at the same moment on equal parts of the input. They share no ring, no order and no output, only the machine: its
memory, its cores' siblings, its clock, its scheduler. Their time goes from the first beginning to the last end, so it
has their imbalance, too. engine/ideal is what the engine loses to sharing; the speed-up of the ideal what the machine
has to give. CPU seconds are those of the caller and of all workers, during the call.

The output of every trial, of every part of the ideal too, is compared with that of the plugin run by one thread, whose
counts are the published ones, and whose first 2,000 records are the Python function's.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import os
import statistics
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, List, Tuple

from .. import topology
from ..engine import Engine
from ..payload import Plugin
from . import exclusive, ours, reference, sheet
from .inputs import SETS, Input, prepare
from .scaling_part import Parts, measure
from .sheet import Column, Lines
from .task import FUNCTION, PLUGIN, Task

SHARES = {"light": 1, "medium": 4, "heavy": 15, "tokenize": 40}
FUNCTION_SHARES = {"light": 20, "medium": 40, "heavy": 120, "tokenize": 800}
WARM = 3  # memory of outputs is as large as it gets after some runs
KINDS = {"plugin, threads": (PLUGIN, "thread"), "plugin, processes": (PLUGIN, "process"), "function": (FUNCTION, "")}
COLUMNS = [
    Column("subject", "", about="record set and payload"),
    Column("workers", "workers", ",d", better="same"),
    Column("beyond", "beyond", about="yes: there are fewer CPUs"),
    Column("records", "records", ",d", "of the input", better="same"),
    Column("records_per_s", "records/s", ",.0f", "median of the trials", better="higher"),
    Column("records_per_s_min", "least", ",.0f", "slowest trial"),
    Column("records_per_s_max", "most", ",.0f", "fastest trial"),
    Column("speedup", "speed-up", ".2f", "rate by that of one worker"),
    Column("efficiency", "efficiency", ".2f", "speed-up by the number of workers"),
    Column("cpu_s_per_million", "CPU s/M", ".3f", "CPU seconds for a million records; median", better="lower"),
    Column("ideal_per_s", "ideal/s", ",.0f", "rate of engines that share nothing; median"),
    Column("ideal_speedup", "ideal x", ".2f", "its speed-up"),
    Column("ideal_cpu_s_per_million", "its CPU", ".3f"),
    Column("ratio", "of ideal", ".3f", "rate by that of the ideal in the same trial; median"),
    Column("ratio_min", "least", ".3f"),
    Column("ratio_max", "most", ".3f"),
]
PLOTS = [Lines("workers", name, "kind", of="set") for name in ("speedup", "ratio", "cpu_s_per_million")]


@dataclass
class Work:
    """An input, its equal parts by their number, and the digests of all their outputs."""

    whole: Input
    parts: Dict[int, List[Input]]
    digests: Dict[str, str] = field(default_factory=dict)
    """By path."""


def divided(whole: Input, counts: List[int]) -> Work:
    """Parts have equal numbers of records. Raises AccountingError when the output is not the published one."""
    expected = reference.compute(Task("gristmill", PLUGIN, whole, 0))
    with Engine(workers=0) as engine:
        plugin = Plugin(whole.set, config=whole.vocabulary or None)
        output = bytes(engine.map(plugin, whole.path, on_error="skip")).splitlines(keepends=True)
    made = Work(whole, {}, {whole.path: expected["digest"]})
    lines = Path(whole.path).read_bytes().splitlines(keepends=True)
    for count in counts:
        bounds = [whole.records * at // count for at in range(count + 1)]
        made.parts[count] = []
        for begin, end in zip(bounds, bounds[1:]):
            path = f"{whole.path}.{begin}-{end}"
            Path(path).write_bytes(b"".join(lines[begin:end]))
            _link_vocabulary(whole, path)
            made.digests[path] = hashlib.sha256(b"".join(output[begin:end])).hexdigest()
            made.parts[count].append(replace(whole, path=path, records=end - begin, bytes=os.path.getsize(path)))
    return made


def _link_vocabulary(whole: Input, path: str) -> None:
    if whole.vocabulary and not os.path.lexists(f"{path}.vocab"):
        os.link(whole.vocabulary, f"{path}.vocab")


@dataclass
class Trials:
    """Of one number of workers: seconds, and CPU seconds."""

    wall: List[float] = field(default_factory=list)
    cpu: List[float] = field(default_factory=list)
    ideal_wall: List[float] = field(default_factory=list)
    ideal_cpu: List[float] = field(default_factory=list)


class Wrong(Exception):
    """An output is not as it has to be."""


def compare(work: Work, kind: str, counts: List[int], trials: int) -> Dict[int, Trials]:
    payload, isolation = KINDS[kind]
    found = {count: Trials() for count in counts}
    with contextlib.ExitStack() as stack:
        runs, parts = {}, {}
        for count in counts:
            task = Task("gristmill", payload, work.whole, count, "auto", isolation)
            runs[count] = stack.enter_context(ours.ready(task))
            tasks = [replace(task, input=part, workers=1) for part in work.parts[count]]
            parts[count] = stack.enter_context(Parts(tasks, _cpus(count)))
        for trial in range(-WARM, trials):
            for count in counts:
                took = measure(runs[count])
                wall, cpu, digests = parts[count].measure()
                wanted = [work.digests[part.path] for part in work.parts[count]]
                if took.digest != work.digests[work.whole.path] or digests != wanted:
                    raise Wrong(f"{work.whole.set}, {kind}, {count} workers: wrong output")
                if trial >= 0:
                    seen = found[count]
                    seen.wall.append(took.ended - took.begun)
                    seen.cpu.append(took.cpu_s)
                    seen.ideal_wall.append(wall)
                    seen.ideal_cpu.append(cpu)
    return found


def _cpus(count: int) -> List[int]:
    """Where an engine of so many workers has them."""
    with Engine(workers=count) as engine:
        return [worker.cpu for worker in engine.plan.workers]


def tell(table: sheet.Table, work: Work, kind: str, found: Dict[int, Trials]) -> None:
    cpus = len(topology.discover().cpus)
    records, median = work.whole.records, statistics.median
    one, ideal_one = median(found[1].wall), median(found[1].ideal_wall)
    for count, seen in found.items():
        rates = [records / each for each in seen.wall]
        ratios = [ideal / mine for ideal, mine in zip(seen.ideal_wall, seen.wall)]
        table.add(
            subject=f"{work.whole.set}, {kind}", set=work.whole.set, kind=kind, workers=count, records=records,
            beyond="yes" if count > cpus else "", records_per_s=records / median(seen.wall),
            records_per_s_min=min(rates), records_per_s_max=max(rates), speedup=one / median(seen.wall),
            efficiency=one / median(seen.wall) / count, cpu_s_per_million=median(seen.cpu) / records * 1e6,
            ideal_per_s=records / median(seen.ideal_wall), ideal_speedup=ideal_one / median(seen.ideal_wall),
            ideal_cpu_s_per_million=median(seen.ideal_cpu) / records * 1e6,
            ratio=median(ratios), ratio_min=min(ratios), ratio_max=max(ratios),
            all_seconds=seen.wall, all_ideal_seconds=seen.ideal_wall,
        )  # fmt: skip


def counts_to(most: int) -> List[int]:
    """1, 2, 4, ... and ``most``."""
    powers = itertools.takewhile(lambda count: count < most, (2**power for power in itertools.count()))
    return [*powers, max(1, most)]


def inputs_of(name: str, arguments: argparse.Namespace, folder: Path, counts: List[int]) -> List[Tuple[Work, List[str]]]:
    """What plugins get, and what the function gets."""
    plugin = max(200, arguments.records // SHARES[name])
    function = max(200, arguments.records // FUNCTION_SHARES[name])
    wanted: Dict[int, List[str]] = {}
    for kind, (payload, _) in KINDS.items():
        wanted.setdefault(function if payload == FUNCTION else plugin, []).append(kind)
    return [(divided(prepare(name, records, folder), counts), kinds) for records, kinds in wanted.items()]


def parse() -> Any:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=2_000_000, help="light records of plugins; fewer of the others")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--max-workers", type=int, default=2 * len(os.sched_getaffinity(0)), help="default: twice the CPUs")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=f"of {', '.join(SETS)}")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    counts = counts_to(arguments.max_workers)
    found = sheet.Sheet("scaling", __doc__, arguments)
    table = found.table("workers", "Rate by number of workers", COLUMNS, plots=PLOTS)
    wrong = ""
    with tempfile.TemporaryDirectory(prefix="gristmill-scaling-") as folder:
        try:
            for name in arguments.sets:
                with exclusive.machine():
                    for work, kinds in inputs_of(name, arguments, Path(folder), counts):
                        for kind in kinds:
                            tell(table, work, kind, compare(work, kind, counts, arguments.trials))
        except Wrong as what:
            wrong = str(what)
    return found.finish(wrong=wrong)
