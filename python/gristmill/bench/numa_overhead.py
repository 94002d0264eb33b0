"""What several logical nodes cost on one socket, where they can gain nothing.

    gristmill bench numa_overhead [--records 4000000] [--trials 15] [--workers 2] [--json PATH] [--csv PATH]
                                  [--batch-records N | --batch-bytes N]

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
import csv
import hashlib
import json
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

from . import environment, processes
from .pipes import Pipe

SHARES = {"light": 1, "medium": 4, "heavy": 10, "tokenize": 30}  # files of about one size
ONE, AGAIN = "1", "1 again"
NODES = (ONE, AGAIN, "@2", "@4", "@8")
SOURCES = ("file", "pipe")
GOALS = {"@4": 0.97}
COUNTS = ("caller_cpu_s", "workers_cpu_s", "caller_voluntary", "caller_involuntary",
          "workers_voluntary", "workers_involuntary")  # fmt: skip
PLACES = ("home", "head", "stolen")


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
    pipe = Pipe(task.path)
    with engine.stream(task.plugin, pipe.output, **task.shape) as stream:
        for batch in stream.batches(copy=False):
            if look:
                look(batch)
    pipe.end()
    return stream


BODIES: Dict[str, Callable[..., Any]] = {"file": mapped, "pipe": streamed}


def verify(engines: Dict[str, gm.Engine], task: Task) -> None:
    """Ends the program unless all give the same bytes. Warms the engines, too."""
    digests = {}
    for nodes, engine in engines.items():
        for source, body in BODIES.items():
            digest = hashlib.blake2b()
            report = body(engine, task, digest.update).report
            digests[nodes, source] = digest.hexdigest()
            if report.input_bytes != task.path.stat().st_size:
                sys.exit(f"{task.path.name}, nodes {nodes}, {source}: {report.input_bytes:,} bytes were read")
    if len(set(digests.values())) != 1:
        sys.exit(f"{task.path.name}: outputs differ: {digests}")


def one_trial(
    engines: Dict[str, gm.Engine], order: List[str], task: Task, cells: Dict[Tuple[str, str], Cell]
) -> None:
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


def compare(name: str, folder: Path, arguments: argparse.Namespace) -> List[Dict[str, Any]]:
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
        verify(engines, task)
        for trial in range(arguments.trials):
            shift = trial % len(NODES)  # none is always the first, or behind the same other
            one_trial(engines, [*NODES[shift:], *NODES[:shift]], task, cells)
    path.unlink()
    return [row(name, source, nodes, cells) for source in SOURCES for nodes in NODES]


def row(name: str, source: str, nodes: str, cells: Dict[Tuple[str, str], Cell]) -> Dict[str, Any]:
    cell, base = cells[source, nodes], cells[source, ONE]
    ratios = sorted(one / other for one, other in zip(base.seconds, cell.seconds))
    cpu_ratios = [sum(one[:2]) / sum(other[:2]) for one, other in zip(base.used, cell.used)]
    told, seconds = cell.reports[-1], statistics.median(cell.seconds)
    made = {
        "set": name, "source": source, "nodes": nodes, "workers": told.workers,
        "records": told.read, "bytes": told.input_bytes, "seconds": round(seconds, 6),
        "records_per_s": round(told.read / seconds), "mb_per_s": round(told.input_bytes / seconds / 1e6),
        "ratio": round(statistics.median(ratios), 4),
        "ratio_quarter": round(ratios[len(ratios) // 4], 4),
        "ratio_three_quarters": round(ratios[len(ratios) * 3 // 4], 4),
        "cpu_ratio": round(statistics.median(cpu_ratios), 4),
        "goal": GOALS.get(nodes),
        "batches": statistics.median_low(each.batches for each in cell.reports),
    }  # fmt: skip
    for i, count in enumerate(COUNTS):
        made[count] = round(statistics.median(used[i] for used in cell.used), 4)
    made["caller_us_per_batch"] = round(made["caller_cpu_s"] / made["batches"] * 1e6, 3)
    made["per_node"] = [of_node(i, cell.reports) for i in range(len(told.nodes))]
    for place in PLACES:
        made[f"batches_{place}"] = sum(node[place] for node in made["per_node"])
    made["trial_seconds"] = [round(each, 6) for each in cell.seconds]
    print(text(made), flush=True)
    return made


def of_node(node: int, reports: List[gm.Report]) -> Dict[str, Any]:
    """Batches that the node's workers ran, of all trials together; files have no homes."""
    each = [report.nodes[node] for report in reports]
    made: Dict[str, Any] = {"node": node, "workers": each[0].workers, "batches": sum(one.batches for one in each)}
    return made | {place: sum(getattr(one, f"batches_{place}") for one in each) for place in PLACES}


def text(made: Dict[str, Any]) -> str:
    goal = f" (goal {made['goal']:.2f})" if made["goal"] else ""
    switches = "/".join(f"{made[count]:.0f}" for count in COUNTS[2:])
    homes = "/".join(str(made[f"batches_{place}"]) for place in PLACES)
    return (
        f"{made['set']:<9} {made['source']} {made['nodes']:<8} {made['records_per_s'] / 1e6:7.3f} M/s"
        f"   ratio {made['ratio']:.3f}{goal}, of CPU {made['cpu_ratio']:.3f}   CPU {made['caller_cpu_s']:.3f} + {made['workers_cpu_s']:.3f} s"
        f"   switches {switches}   home/head/stolen {homes}"
    )


def write_csv(rows: List[Dict[str, Any]], path: Path) -> None:
    """Without what has a value for each node or trial."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        names = [name for name, value in rows[0].items() if not isinstance(value, list)]
        table = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=4_000_000, help="light records; fewer of the others")
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sets", default=",".join(SHARES), help="record sets, comma-separated")
    parser.add_argument("--batch-records", type=int, default=None, help="of each batch, instead of adapting")
    parser.add_argument("--batch-bytes", type=int, default=None, help="of each batch, instead of adapting")
    parser.add_argument("--isolation", choices=("process", "thread"), default="process")
    parser.add_argument("--tmpdir", type=Path, default=None, help="for the records")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    parser.add_argument("--csv", type=Path, default=None, help="and its rows in this one")
    arguments = parser.parse_args()
    arguments.sets = arguments.sets.split(",")
    if unknown := set(arguments.sets) - set(SHARES):
        parser.error(f"there is no record set {', '.join(sorted(unknown))}")
    if arguments.trials < 1:
        parser.error("--trials must be at least 1")
    return arguments


def main() -> Optional[int]:
    arguments = parse_arguments()
    print("switches: caller voluntary/involuntary/workers voluntary/involuntary, a run; batches: of all trials")
    result: Dict[str, Any] = {
        "command": "gristmill bench numa_overhead " + " ".join(sys.argv[1:]),
        "environment": environment.describe(),
    }
    with tempfile.TemporaryDirectory(prefix="gristmill-nodes-", dir=arguments.tmpdir) as folder:
        rows = [made for name in arguments.sets for made in compare(name, Path(folder), arguments)]
    result["environment"]["load_after"] = round(os.getloadavg()[0], 2)
    result["rows"] = rows
    if arguments.csv:
        write_csv(rows, arguments.csv)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0
