"""What several logical nodes cost on one socket, where they can gain nothing.

For each record set and its plugin, with nodes 1, @2, @4 and @8: rate, CPU seconds and context switches,
medians of interleaved trials on kept engines, and the median of each trial's ratio to one node, of time
and of CPU time (above 1: less than one node takes); from a file to a sequence of results by map(), and from
`cat FILE |` by stream().batches(copy=False), where every batch has a home node. A second engine of one
node is measured like the others: how far its ratio is from 1 is what the machine's noise does. The
outputs of all are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import gristmill as gm

from . import exclusive, processes, sheet
from .pipes import Pipe
from .sheet import Bars, Column

SHARES = {"light": 1, "medium": 4, "heavy": 10, "tokenize": 30}  # files of about one size
ONE, AGAIN = "1", "1 again"
NODES = (ONE, AGAIN, "@2", "@4", "@8")
SOURCES = ("file", "pipe")
GOALS = {"@4": 0.97}
COUNTS = ("caller_cpu_s", "workers_cpu_s", "caller_voluntary", "caller_involuntary",
          "workers_voluntary", "workers_involuntary")  # fmt: skip
PLACES = ("home", "head", "stolen")
WHICH = [
    Column("set", ""),
    Column("source", "source", "", "a file, mapped; or a pipe, streamed, where every batch has a home node"),
    Column("nodes", "nodes"),
    Column("workers", "workers", ",d", better="same"),
]
RATES = [
    *WHICH,
    Column("records", "records", ",d", better="same"),
    Column("bytes", "bytes", ",d", "of the input"),
    Column("seconds", "s", ".4f", "median of the trials"),
    Column("records_per_s", "records/s", ",.0f", "of the median trial", "higher"),
    Column("mb_per_s", "MB/s", ",.0f", "10^6 input bytes a second"),
    Column("ratio", "ratio", ".3f", "time of one node by this, median of the trials' ratios", "higher"),
    Column("ratio_quarter", "1/4", ".3f", "a quarter of the trials' ratios is lower"),
    Column("ratio_three_quarters", "3/4", ".3f", "a quarter of the trials' ratios is higher"),
    Column("cpu_ratio", "of CPU", ".3f", "CPU time of one node by this, median of the trials' ratios", "higher"),
    Column("goal", "goal", ".2f", "least ratio wanted, where one is set"),
]
COSTS = [
    *WHICH,
    Column("batches", "batches", ",d", "of a run"),
    Column("caller_cpu_s", "caller CPU s", ".4f", "CPU time of the calling process"),
    Column("workers_cpu_s", "workers CPU s", ".4f", "of the worker processes"),
    Column("caller_us_per_batch", "caller us/batch", ".2f", "CPU time of the calling process for a batch"),
    Column("caller_voluntary", "caller vol.", ",.0f", "voluntary context switches of the calling process"),
    Column("caller_involuntary", "caller invol.", ",.0f", "involuntary ones"),
    Column("workers_voluntary", "workers vol.", ",.0f", "voluntary context switches of the worker processes"),
    Column("workers_involuntary", "workers invol.", ",.0f", "involuntary ones"),
]
HOMES = [
    *WHICH[:3],
    Column("node", "node", ",d", better="same"),
    Column("workers", "workers", ",d", "of the node", "same"),
    Column("batches", "batches", ",d", "that the node's workers ran, of all trials together"),
    Column("batches_home", "home", ",d", "of these, batches whose home it is"),
    Column("batches_head", "head", ",d", "batches of others that were next in line"),
    Column("batches_stolen", "stolen", ",d", "other batches of others"),
]


Look = Callable[[memoryview], Any]


@dataclass(frozen=True)
class Task:
    plugin: Any
    path: Path
    shape: Dict[str, int]
    """Options: of what size batches are, if it is given."""


@dataclass
class Cell:
    """Trials of one source and node configuration."""

    seconds: List[float] = field(default_factory=list)
    used: List[Tuple[float, ...]] = field(default_factory=list)
    """By trial: COUNTS."""
    reports: List[gm.Report] = field(default_factory=list)


Cells = Dict[Tuple[str, str], Cell]
"""By source and nodes."""


def usage(others: List[int]) -> Tuple[float, ...]:
    """COUNTS so far: of this process and its threads, and of those of ``others``."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    switches = processes.switches_of(others)
    return (time.process_time(), processes.cpu_seconds_of(others), own.ru_nvcsw, own.ru_nivcsw, *switches)


def mapped(engine: gm.Engine, task: Task, look: Optional[Look]) -> gm.Results:
    """Its report, which counts what was put out, is for later."""
    results = engine.map(task.plugin, task.path, **task.shape)
    if look:
        for batch in results.batches():
            look(batch)
    return results


def streamed(engine: gm.Engine, task: Task, look: Optional[Look]) -> gm.Stream:
    with Pipe(task.path) as pipe, engine.stream(task.plugin, pipe.output, **task.shape) as stream:
        for batch in stream.batches(copy=False):
            if look:
                look(batch)
    return stream


BODIES: Dict[str, Callable[..., Any]] = {"file": mapped, "pipe": streamed}


def verify(engines: Dict[str, gm.Engine], task: Task) -> None:
    """Ends the program unless all give the same bytes, and results for as many records as are valid. Warms the
    engines, too."""
    digests, valid = {}, gm.datagen.read_manifest(task.path).valid
    for nodes, engine in engines.items():
        for source, body in BODIES.items():
            digest = hashlib.blake2b()
            report = body(engine, task, digest.update).report
            digests[nodes, source] = digest.hexdigest()
            if report.input_bytes != task.path.stat().st_size:
                sys.exit(f"{task.path.name}, nodes {nodes}, {source}: {report.input_bytes:,} bytes were read")
            if report.emitted != valid:
                sys.exit(f"{task.path.name}, nodes {nodes}, {source}: {report.emitted:,} results, not {valid:,}")
    if len(set(digests.values())) != 1:
        sys.exit(f"{task.path.name}: outputs differ: {digests}")


def one_trial(engines: Dict[str, gm.Engine], order: List[str], task: Task, cells: Cells) -> None:
    others = [pid for pid in processes.tree(os.getpid()) if pid != os.getpid()]
    for source, body in BODIES.items():
        for nodes in order:
            before, started = usage(others), time.perf_counter()
            given = body(engines[nodes], task, None)
            seconds, after = time.perf_counter() - started, usage(others)
            cell = cells[source, nodes]
            cell.seconds.append(seconds)
            cell.used.append(tuple(b - a for a, b in zip(before, after)))
            cell.reports.append(given.report)
            given = None  # its memory serves the next


def compare(table: sheet.Table, name: str, folder: Path, arguments: argparse.Namespace) -> Cells:
    """Fills the table of rates; the cells are for the others."""
    path = folder / f"{name}.jsonl"
    gm.datagen.generate(name, path, records=max(1000, arguments.records // SHARES[name]))
    plugin = gm.Plugin("tokenize", config=f"{path}.vocab") if name == "tokenize" else name
    sizes = {"batch_records": arguments.batch_records, "batch_bytes": arguments.batch_bytes}
    task = Task(plugin, path, {name: size for name, size in sizes.items() if size})
    cells = {(source, nodes): Cell() for source in SOURCES for nodes in NODES}
    with contextlib.ExitStack() as stack:
        engines = {
            nodes: stack.enter_context(
                gm.Engine(workers=arguments.workers, nodes=nodes.split()[0], isolation=arguments.isolation)
            )
            for nodes in NODES
        }
        stack.enter_context(exclusive.machine())
        verify(engines, task)
        for trial in range(arguments.trials):
            shift = trial % len(NODES)  # none is always the first, or behind the same other
            one_trial(engines, [*NODES[shift:], *NODES[:shift]], task, cells)
    path.unlink()
    for source, nodes in cells:
        add_rate(table, name, source, nodes, cells)
    return cells


def which(name: str, source: str, nodes: str, cell: Cell) -> sheet.Row:
    return {"set": name, "source": source, "nodes": nodes, "workers": cell.reports[-1].workers}


def add_rate(table: sheet.Table, name: str, source: str, nodes: str, cells: Cells) -> None:
    cell, base = cells[source, nodes], cells[source, ONE]
    ratios = sorted(one / other for one, other in zip(base.seconds, cell.seconds))
    cpu_ratios = [sum(one[:2]) / sum(other[:2]) for one, other in zip(base.used, cell.used)]
    told, seconds = cell.reports[-1], statistics.median(cell.seconds)
    table.add(
        **which(name, source, nodes, cell),
        records=told.read,
        bytes=told.input_bytes,
        seconds=seconds,
        records_per_s=told.read / seconds,
        mb_per_s=told.input_bytes / seconds / 1e6,
        ratio=statistics.median(ratios),
        ratio_quarter=ratios[len(ratios) // 4],
        ratio_three_quarters=ratios[len(ratios) * 3 // 4],
        cpu_ratio=statistics.median(cpu_ratios),
        goal=GOALS.get(nodes),
        all_seconds=[round(each, 6) for each in cell.seconds],
    )


def add_costs(table: sheet.Table, name: str, cells: Cells) -> None:
    for (source, nodes), cell in cells.items():
        medians = {count: statistics.median(used[i] for used in cell.used) for i, count in enumerate(COUNTS)}
        batches = statistics.median_low(each.batches for each in cell.reports)
        table.add(
            **which(name, source, nodes, cell),
            batches=batches,
            **medians,
            caller_us_per_batch=medians["caller_cpu_s"] / batches * 1e6,
        )


def add_homes(table: sheet.Table, name: str, cells: Cells) -> None:
    """Of pipes, as batches of files have no homes, and of nodes that have workers."""
    for (source, nodes), cell in cells.items():
        for node, last in enumerate(cell.reports[-1].nodes if source == "pipe" else ()):
            if not last.workers:
                continue
            each = [report.nodes[node] for report in cell.reports]
            places = {f"batches_{place}": sum(getattr(one, f"batches_{place}") for one in each) for place in PLACES}
            found = {**which(name, source, nodes, cell), "node": node, "workers": last.workers}
            table.add(**found, batches=sum(one.batches for one in each), **places)


def parse_arguments() -> argparse.Namespace:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=4_000_000, help="light records; fewer of the others")
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sets", default=",".join(SHARES), help="record sets, comma-separated")
    parser.add_argument("--batch-records", type=int, default=None, help="of each batch, instead of adapting")
    parser.add_argument("--batch-bytes", type=int, default=None, help="of each batch, instead of adapting")
    parser.add_argument("--isolation", choices=("process", "thread"), default="process")
    parser.add_argument("--tmpdir", type=Path, default=None, help="for the records")
    arguments = parser.parse_args()
    arguments.sets = arguments.sets.split(",")
    if unknown := set(arguments.sets) - set(SHARES):
        parser.error(f"there is no record set {', '.join(sorted(unknown))}")
    if arguments.trials < 1:
        parser.error("--trials must be at least 1")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    found = sheet.Sheet("numa_overhead", __doc__, arguments)
    rates = found.table(
        "rates", "Node configurations against one node", RATES,
        "ratio: time of one node by that of the configuration; above 1 it takes less. How far \"1 again\", one node once"
        " more, is from 1 is what the machine's noise does. Goal: @4 at least 0.97.",
        [Bars(("set", "nodes"), "ratio", "ratio_quarter", "ratio_three_quarters", of="source")],
    )  # fmt: skip
    costs = found.table("costs", "CPU time and context switches of a run", COSTS, "Medians of the trials.",
                        [Bars(("set", "nodes"), "caller_us_per_batch", of="source")])  # fmt: skip
    homes = found.table("homes", "Where batches ran", HOMES, "Of a pipe, by nodes that have workers.")
    with tempfile.TemporaryDirectory(prefix="gristmill-nodes-", dir=arguments.tmpdir) as folder:
        all_cells = {name: compare(rates, name, Path(folder), arguments) for name in arguments.sets}
    for add, table in ((add_costs, costs), (add_homes, homes)):
        for name, cells in all_cells.items():
            add(table, name, cells)
    return found.finish()
