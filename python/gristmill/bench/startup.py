"""How long it takes to begin: cold and warm calls, and a worker that has to be replaced.

Medians over interleaved calls on a file of about 1 KB, import of the package not counted. A cold call
makes its engine, runs and ends it; a warm one has an Engine already, and is one of many. `respawn` is the time that one
SIGKILL of a worker adds to a run of a Python function. With --big-gib the caller holds so much
memory, and what a fork of it costs is told beside a fresh interpreter.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import cloudpickle

import gristmill as gm
from gristmill import workloads

from . import exclusive, sheet
from .sheet import Bars, Column

# As from the script of a user: a fresh interpreter gets the functions by value, and imports nothing of this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

GOALS_MS = {
    "cold, threads": 3.0,
    "cold, processes": 6.0,
    "warm, threads": 0.3,
    "warm, processes": 0.3,
    "respawn": 5.0,
}
COLUMNS = [
    Column("case", ""),
    Column("calls", "calls", ",d", "that were measured; of respawn, pairs of runs"),
    Column("median_ms", "median ms", ".3f", better="lower"),
    Column("min_ms", "min", ".3f"),
    Column("p90_ms", "p90", ".3f", "nine in ten take no longer"),
    Column("max_ms", "max", ".3f"),
    Column("goal_ms", "goal", ".1f", "highest median wanted, where one is set"),
]
Bodies = Dict[str, Callable[[], Any]]


def shout(record: bytes) -> bytes:
    return record.upper()


class Killer:
    """Upper case; at each record that begins with "!" the worker ends itself, the first time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, record: bytes) -> bytes:
        if record.startswith(b"!"):
            try:
                os.close(os.open(self._folder / record.decode(), os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return record.upper()


def add(table: sheet.Table, group: str, case: str, took: List[float]) -> None:
    """``took``: milliseconds of each call."""
    ranked = sorted(took)
    table.add(
        group=group,
        case=case,
        calls=len(took),
        median_ms=statistics.median(took),
        min_ms=ranked[0],
        p90_ms=ranked[len(ranked) * 9 // 10],
        max_ms=ranked[-1],
        goal_ms=GOALS_MS.get(case),
        all_ms=[round(each, 4) for each in took],
    )


def measure(table: sheet.Table, group: str, bodies: Bodies, calls: int, path: Path) -> None:
    """Each of ``bodies`` maps ``path``, "light" or upper case; they are compared, and then timed in turn."""
    records = path.read_bytes().splitlines()
    right = {b"\n".join(map(workloads.light, records)) + b"\n", b"\n".join(map(shout, records)) + b"\n"}
    with exclusive.machine():
        for case, body in bodies.items():
            if (seen := bytes(body())) not in right:
                sys.exit(f"{case}: gave {seen[:200]!r}")
        times = sheet.interleaved(bodies, calls)
    for case, seconds in times.items():
        add(table, group, case, [each * 1e3 for each in seconds])


def measure_calls(table: sheet.Table, path: Path, calls: int) -> None:
    cold: Bodies = {
        "cold, threads": lambda: gm.map("light", path, isolation="thread", workers=2),
        "cold, processes": lambda: gm.map("light", path, workers=2),
        "cold, function, fork": lambda: gm.map(shout, path, workers=2, start="fork"),
        "cold, function, fresh": lambda: gm.map(shout, path, workers=2, start="fresh"),
    }
    with gm.Engine(workers=2) as engine:
        warm: Bodies = {
            "warm, threads": lambda: engine.map("light", path, isolation="thread"),
            "warm, processes": lambda: engine.map("light", path),
            "warm, function": lambda: engine.map(shout, path),
        }
        measure(table, "a call that makes its engine", cold, calls, path)
        measure(table, "a call of an engine that is kept", warm, 20 * calls, path)


def milliseconds(body: Callable[[], Any]) -> float:
    started = time.perf_counter()
    body()
    return (time.perf_counter() - started) * 1e3


def respawn_ms(folder: Path, trials: int, kills: int = 10) -> List[float]:
    """What one kill adds, for each of so many pairs of runs."""
    plain, deadly = folder / "plain", folder / "deadly"
    records = [b"%d" % i for i in range(20000)]
    plain.write_bytes(b"\n".join(records) + b"\n")
    step = len(records) // kills
    for i in range(kills):
        records[i * step + step // 2] = b"!%d" % i
    deadly.write_bytes(b"\n".join(records) + b"\n")
    added = []
    with gm.Engine(workers=2) as engine, exclusive.machine():
        engine.map(shout, plain, batch_records=500)
        for trial in range(trials):
            marks = folder / f"marks{trial}"
            marks.mkdir()
            given: List[gm.Results] = []
            without = milliseconds(lambda: engine.map(Killer(marks), plain, batch_records=500))
            with_kills = milliseconds(lambda: given.append(engine.map(Killer(marks), deadly, batch_records=500)))
            report = given[0].report
            if report.worker_deaths != kills or report.failed or bytes(given[0]) != deadly.read_bytes().upper():
                sys.exit(f"expected {kills} deaths, no failure and the same output: {report}")
            added.append((with_kills - without) / kills)
    return added


def big_caller(table: sheet.Table, path: Path, gib: float, calls: int) -> None:
    ballast = bytearray(int(gib * 2**30))
    ballast[::4096] = b"x" * len(ballast[::4096])  # every page
    bodies: Bodies = {
        f"fork of {gib:g} GiB": lambda: gm.map(shout, path, start="fork"),
        f"fresh beside {gib:g} GiB": lambda: gm.map(shout, path, start="fresh"),
    }
    measure(table, f"a caller that holds {gib:g} GiB", bodies, calls, path)
    del ballast


def measure_all(table: sheet.Table, folder: Path, arguments: argparse.Namespace) -> None:
    path, few = folder / "small.jsonl", max(3, arguments.calls // 10)
    gm.datagen.generate("light", path, records=10, stream="reference")
    measure_calls(table, path, arguments.calls)
    add(table, "a worker that was killed", "respawn", respawn_ms(folder, few))
    if arguments.big_gib:
        big_caller(table, path, arguments.big_gib, few)


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--big-gib", type=float, default=0)
    arguments = parser.parse_args()
    found = sheet.Sheet("startup", __doc__, arguments)
    table = found.table("cases", "From a call to its result", COLUMNS,
                        plots=[Bars(("case",), "median_ms", "min_ms", "p90_ms", of="group")])  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gristmill-startup-") as folder:
        measure_all(table, Path(folder), arguments)
    return found.finish()
