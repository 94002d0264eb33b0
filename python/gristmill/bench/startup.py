"""How long it takes to begin: cold and warm calls, and a worker that has to be replaced.

    gristmill bench startup [--calls 50] [--big-gib 5] [--json PATH]

Medians over interleaved calls on a file of about 1 KB, import of the package not counted. A cold call
makes its engine, runs and ends it; a warm one has an Engine already, and is one of many. `respawn` is the time that one
SIGKILL of a worker adds to a run of a Python function. With --big-gib the caller holds so much
memory, and what a fork of it costs is told beside a fresh interpreter.
"""

from __future__ import annotations

import argparse
import json
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

from . import environment

# As from the script of a user: a fresh interpreter gets the functions by value, and imports nothing of this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

GOALS_MS = {
    "cold, threads": 3.0,
    "cold, processes": 6.0,
    "warm, threads": 0.3,
    "warm, processes": 0.3,
    "respawn": 5.0,
}


def milliseconds(body: Callable[[], Any]) -> float:
    started = time.perf_counter()
    body()
    return (time.perf_counter() - started) * 1e3


def interleaved(bodies: Dict[str, Callable[[], Any]], calls: int) -> Dict[str, List[float]]:
    times: Dict[str, List[float]] = {name: [] for name in bodies}
    for body in bodies.values():
        body()
    for _ in range(calls):
        for name, body in bodies.items():
            times[name].append(milliseconds(body))
    return times


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
    with gm.Engine(workers=2) as engine:
        engine.map(shout, plain, batch_records=500)
        for trial in range(trials):
            marks = folder / f"marks{trial}"
            marks.mkdir()
            without = milliseconds(lambda: engine.map(Killer(marks), plain, batch_records=500))
            report = {}
            with_kills = milliseconds(
                lambda: report.update(
                    seen=engine.map(Killer(marks), deadly, batch_records=500).report
                )
            )
            if report["seen"].worker_deaths != kills or report["seen"].failed:
                sys.exit(f"expected {kills} deaths and no failure: {report['seen']}")
            added.append((with_kills - without) / kills)
    return added


def big_caller(path: Path, gib: float, calls: int) -> Dict[str, List[float]]:
    ballast = bytearray(int(gib * 2**30))
    ballast[::4096] = b"x" * len(ballast[::4096])  # every page
    times = interleaved(
        {
            f"fork of {gib:g} GiB": lambda: gm.map(shout, path, start="fork"),
            f"fresh beside {gib:g} GiB": lambda: gm.map(shout, path, start="fresh"),
        },
        calls,
    )
    del ballast
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--big-gib", type=float, default=0)
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    arguments = parser.parse_args()
    described = environment.describe()
    with tempfile.TemporaryDirectory(prefix="gristmill-startup-") as name:
        folder = Path(name)
        path = folder / "small.jsonl"
        gm.datagen.generate("light", path, records=10, stream="reference")
        with gm.Engine(workers=2) as engine:
            times = interleaved(
                {
                    "cold, threads": lambda: gm.map("light", path, isolation="thread", workers=2),
                    "cold, processes": lambda: gm.map("light", path, workers=2),
                    "cold, function, fork": lambda: gm.map(shout, path, workers=2, start="fork"),
                    "cold, function, fresh": lambda: gm.map(shout, path, workers=2, start="fresh"),
                },
                arguments.calls,
            )
            times |= interleaved(
                {
                    "warm, threads": lambda: engine.map("light", path, isolation="thread"),
                    "warm, processes": lambda: engine.map("light", path),
                    "warm, function": lambda: engine.map(shout, path),
                },
                20 * arguments.calls,
            )
        times["respawn"] = respawn_ms(folder, max(3, arguments.calls // 10))
        if arguments.big_gib:
            times |= big_caller(path, arguments.big_gib, max(3, arguments.calls // 10))
    rows = []
    for case, seen in times.items():
        row = {"case": case, "median_ms": statistics.median(seen), "min_ms": min(seen)}
        row |= {"max_ms": max(seen), "calls": len(seen), "goal_ms": GOALS_MS.get(case)}
        rows.append(row)
        goal = f"   goal < {row['goal_ms']:g} ms" if row["goal_ms"] else ""
        print(f"{case:<24} {row['median_ms']:8.2f} ms  ({row['min_ms']:.2f} to {row['max_ms']:.2f}){goal}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        command = "gristmill bench startup " + " ".join(sys.argv[1:])
        result = {"command": command, "environment": described, "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
