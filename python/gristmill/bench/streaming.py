"""Streams against files: what reading a pipe costs, and taking results while workers run.

    gristmill bench streaming [--records 2000000] [--trials 5] [--workers 2] [--json PATH]

For each record set and its plugin, medians of interleaved trials:

    wall/ideal   wall time of a run over `cat FILE |`, by (CPU of all processes, cat's too) / cores
    CPU          of our processes: the run over the pipe, by the run over the file
    cat|dd       time of `cat FILE | dd bs=1M of=/dev/null`, by that of the run over the pipe
    stream/map   time of map(), by that of stream().batches(copy=False), both over the file
    index/none   time under order="none", by that under order="index", stream over the file

Then bytes.upper as a function of batches, by stream, against ProcessPoolExecutor; and the time from the
writing of a record into a pipe to its result, for records that come one by one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import gristmill as gm

from . import environment

SHARES = {"light": 1, "medium": 2, "heavy": 6, "tokenize": 40, "identity": 1}
GOALS = {
    "wall/ideal": "<= 1.2",
    "CPU": "<= 1.4",
    "cat|dd": ">= 0.9 (identity)",
    "stream/map": ">= 0.98",
    "index/none": ">= 0.98",
}


@gm.batch
def upper_batch(batch: gm.Batch) -> bytes:
    return bytes(batch.data).upper()


class Pipe:
    """What `cat` writes, and the CPU time that it takes."""

    def __init__(self, path: Path) -> None:
        self._child = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE)
        self.output = self._child.stdout

    def end(self) -> float:
        self.output.close()
        _, _, usage = os.wait4(self._child.pid, 0)
        self._child.returncode = 0
        return usage.ru_utime + usage.ru_stime


class Trials:
    """Times of one record set, by what was done."""

    def __init__(self) -> None:
        self.wall: Dict[str, List[float]] = {}
        self.cpu: Dict[str, List[float]] = {}
        self.all_cpu: Dict[str, List[float]] = {}

    def take(self, name: str, body: Callable[[], Any], other_cpu: Callable[[], float] = lambda: 0.0) -> Any:
        """``body`` gives a report; ``other_cpu``: of a process that it waited for."""
        cpu, wall = time.process_time(), time.perf_counter()
        report = body()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        cpu += report.cpu_seconds if report is not None else 0.0
        self.wall.setdefault(name, []).append(wall)
        self.cpu.setdefault(name, []).append(cpu)
        self.all_cpu.setdefault(name, []).append(cpu + other_cpu())
        return report

    def ratio(self, one: str, other: str) -> float:
        return statistics.median(self.wall[one]) / statistics.median(self.wall[other])


def drain(stream: gm.Stream) -> gm.Report:
    for _ in stream.batches(copy=False):
        pass
    return stream.report


def one_round(engine: gm.Engine, plugin: Any, path: Path, trials: Trials) -> None:
    trials.take("file", lambda: engine.run(plugin, path))
    pipe = Pipe(path)
    report = trials.take("pipe", lambda: engine.run(plugin, pipe.output), pipe.end)
    if report.input_bytes != path.stat().st_size:
        sys.exit(f"{path.name}: {report.input_bytes:,} bytes came through the pipe")
    trials.take("map", lambda: engine.map(plugin, path).report)
    trials.take("stream", lambda: drain(engine.stream(plugin, path)))
    trials.take("none", lambda: drain(engine.stream(plugin, path, order="none")))

    def cat_dd() -> None:
        cat = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE)
        command = ["dd", "bs=1M", "of=/dev/null", "status=none"]
        subprocess.run(command, stdin=cat.stdout, check=True)
        cat.wait()

    trials.take("cat|dd", cat_dd)


def compare(name: str, folder: Path, arguments: argparse.Namespace) -> Dict[str, Any]:
    set_name = "light" if name == "identity" else name
    path = folder / f"{set_name}.jsonl"
    if not path.exists():
        gm.datagen.generate(set_name, path, records=max(1000, arguments.records // SHARES[name]))
    plugin = gm.Plugin("tokenize", config=f"{path}.vocab") if name == "tokenize" else name
    trials = Trials()
    with gm.Engine(workers=arguments.workers, isolation=arguments.isolation) as engine:
        one_round(engine, plugin, path, Trials())  # warm
        for _ in range(arguments.trials):
            one_round(engine, plugin, path, trials)
    cores = len(os.sched_getaffinity(0))
    wall = statistics.median(trials.wall["pipe"])
    row = {
        "set": name,
        "bytes": path.stat().st_size,
        "pipe_bytes_per_second": path.stat().st_size / wall,
        "wall/ideal": wall / (statistics.median(trials.all_cpu["pipe"]) / cores),
        "CPU": statistics.median(trials.cpu["pipe"]) / statistics.median(trials.cpu["file"]),
        "cat|dd": trials.ratio("cat|dd", "pipe"),
        "stream/map": trials.ratio("map", "stream"),
        "index/none": trials.ratio("none", "stream"),
        "wall_seconds": trials.wall,
    }
    print(
        f"{name:<9} pipe {row['pipe_bytes_per_second'] / 1e6:7.0f} MB/s"
        + "".join(f"   {column} {row[column]:5.2f}" for column in GOALS),
        flush=True,
    )
    return row


def compare_upper(folder: Path, kept: bool, arguments: argparse.Namespace) -> Dict[str, Any]:
    """``kept``: engine and executor stay from call to call; else each call makes its own."""
    path = folder / "light.jsonl"
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(gm.Engine(workers=arguments.workers)) if kept else None
        pool = stack.enter_context(ProcessPoolExecutor(arguments.workers)) if kept else None
        return compare_upper_with(engine, pool, path, arguments)


def compare_upper_with(
    engine: Optional[gm.Engine], kept: Optional[ProcessPoolExecutor], path: Path, arguments: argparse.Namespace
) -> Dict[str, Any]:
    def ours() -> None:
        stream = (
            engine.stream(upper_batch, path)
            if engine
            else gm.stream(upper_batch, path, workers=arguments.workers)
        )
        drain(stream)

    def executor(chunk: int) -> None:
        with contextlib.ExitStack() as stack:
            pool = kept or stack.enter_context(ProcessPoolExecutor(arguments.workers))
            for _ in pool.map(bytes.upper, path.read_bytes().split(b"\n")[:-1], chunksize=chunk):
                pass

    bodies: Dict[str, Callable[[], None]] = {"gristmill": ours}
    bodies |= {f"executor {chunk}": lambda chunk=chunk: executor(chunk) for chunk in (500, 2000, 8000)}
    times: Dict[str, List[float]] = {name: [] for name in bodies}
    for _ in range(arguments.trials):
        for name, body in bodies.items():
            started = time.perf_counter()
            body()
            times[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(each) for name, each in times.items()}
    best = min(median for name, median in medians.items() if name.startswith("executor"))
    ratio = best / medians["gristmill"]
    what = "kept" if engine else "made for each call"
    print(f"bytes.upper, batches by stream, {what}: executor {ratio:.1f}   goal: >= 20", flush=True)
    return {"medians": medians, "executor_ratio": ratio}


def latency(arguments: argparse.Namespace) -> Dict[str, float]:
    """Records that come one by one, 3 ms apart."""
    reading, writing = os.pipe()
    written: List[float] = []

    def write() -> None:
        for i in range(arguments.trickle):
            written.append(time.perf_counter())
            os.write(writing, b"%d\n" % i)
            time.sleep(0.003)
        os.close(writing)

    took = []
    with gm.stream("identity", reading, workers=arguments.workers) as stream:
        writer = threading.Thread(target=write)
        writer.start()
        for i, record in enumerate(stream):
            took.append((time.perf_counter() - written[i]) * 1e3)
            if int(record) != i:
                sys.exit(f"record {i} came as {record!r}")
        writer.join()
    os.close(reading)
    took.sort()
    row = {f"p{q}": took[min(len(took) - 1, len(took) * q // 100)] for q in (50, 90, 99)}
    row["max"] = took[-1]
    text = "  ".join(f"{name} {value:.2f} ms" for name, value in row.items())
    print(f"from write to result, {len(took):,} records 3 ms apart: {text}   goal: p99 < 10 ms", flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=2_000_000, help="light records; fewer of the others")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--isolation", choices=("process", "thread"), default="process")
    parser.add_argument("--trickle", type=int, default=1000, help="records of the latency test")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    arguments = parser.parse_args()
    print("goals: " + ", ".join(f"{name} {goal}" for name, goal in GOALS.items()))
    with tempfile.TemporaryDirectory(prefix="gristmill-streaming-") as folder:
        result = {
            "command": "gristmill bench streaming " + " ".join(sys.argv[1:]),
            "environment": environment.describe(),
            "rows": [compare(name, Path(folder), arguments) for name in SHARES],
            "upper": compare_upper(Path(folder), False, arguments),
            "upper_kept": compare_upper(Path(folder), True, arguments),
            "latency_ms": latency(arguments),
        }
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
