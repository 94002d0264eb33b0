"""Streams against files: what reading a pipe costs, and taking results while workers run.

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
import hashlib
import os
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional

import gristmill as gm

from . import exclusive, sheet
from .pipes import Pipe, cat_dd
from .sheet import Bars, Column

SHARES = {"light": 1, "medium": 2, "heavy": 6, "tokenize": 40, "identity": 1}
CHUNKS = (500, 2000, 8000)
ABOUT_SOURCES = (
    "wall/ideal: wall time over the pipe by all CPU time, that of cat too, on all cores. CPU: of our processes, the pipe"
    " by the file. cat|dd: time of cat FILE | dd by that over the pipe. stream/map: time of map() by that of a stream."
    " index/none: time of a stream in any order by that in the order of the input."
)
SOURCES = [
    Column("set", ""),
    Column("records", "records", ",d", better="same"),
    Column("pipe_mb_per_s", "pipe MB/s", ",.0f", "10^6 input bytes a second of the run over the pipe", "higher"),
    Column("wall_by_ideal", "wall/ideal", ".2f", "goal: at most 1.2", "lower"),
    Column("cpu_by_file", "CPU", ".2f", "goal: at most 1.4", "lower"),
    Column("cat_dd_by_pipe", "cat|dd", ".2f", "goal: at least 0.9 where the payload is identity", "higher"),
    Column("map_by_stream", "stream/map", ".3f", "goal: at least 0.98", "higher"),
    Column("none_by_index", "index/none", ".3f", "goal: at least 0.98", "higher"),
]
UPPER = [
    Column("subject", ""),
    Column("kept", "engine", "", "kept from call to call, or made for each"),
    Column("chunk", "chunk", ",d", "records that the executor hands over at a time", "same"),
    Column("records", "records", ",d", better="same"),
    *sheet.RATES,
    Column("ratio", "ratio", ".1f", "how many times slower than gristmill"),
    Column("goal", "goal", ".0f", "least ratio wanted of the best chunk"),
]
LATENCY = [
    Column("from", ""),
    Column("records", "records", ",d", better="same"),
    *(Column(f"p{q}_ms", f"p{q} ms", ".2f", better="lower" if q == 50 else "") for q in (50, 90, 99)),
    Column("max_ms", "max ms", ".2f"),
    Column("goal_ms", "goal p99", ".0f", "highest p99 wanted"),
]


@gm.batch
def upper_batch(batch: gm.Batch) -> bytes:
    return bytes(batch.data).upper()


class Trials:
    """Times of one record set, by what was done."""

    def __init__(self) -> None:
        self.wall: Dict[str, List[float]] = {}
        self.cpu: Dict[str, List[float]] = {}
        self.all_cpu: Dict[str, List[float]] = {}

    def take(self, name: str, body: Callable[[], Any], pipe: Optional[Pipe] = None) -> Any:
        """``body`` gives a report; ``pipe``: what it reads, and ends with it."""
        cpu, wall = time.process_time(), time.perf_counter()
        with pipe or contextlib.nullcontext():
            report = body()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        cpu += report.cpu_seconds if report is not None else 0.0
        self.wall.setdefault(name, []).append(wall)
        self.cpu.setdefault(name, []).append(cpu)
        self.all_cpu.setdefault(name, []).append(cpu + (pipe.cpu_seconds if pipe else 0.0))
        return report

    def ratio(self, one: str, other: str) -> float:
        return statistics.median(self.wall[one]) / statistics.median(self.wall[other])


def drain(stream: gm.Stream) -> gm.Report:
    for _ in stream.batches(copy=False):
        pass
    return stream.report


def digest(batches: Iterable[Any]) -> str:
    found = hashlib.blake2b()
    for batch in batches:
        found.update(batch)
    return found.hexdigest()


def verify(engine: gm.Engine, plugin: Any, path: Path) -> None:
    """Ends the program unless file and pipe, map and stream give the same, and results for as many records as
    there are valid ones."""
    mapped = engine.map(plugin, path)
    with Pipe(path) as pipe, engine.stream(plugin, pipe.output) as stream:
        piped = digest(stream.batches(copy=False))
    results = {digest(mapped.batches()), digest(engine.stream(plugin, path).batches(copy=False)), piped}
    unordered = drain(engine.stream(plugin, path, order="none"))
    manifest = gm.datagen.read_manifest(path)
    valid = manifest.records if plugin == "identity" else manifest.valid
    counts = {(report.read, report.emitted, report.output_bytes) for report in (mapped.report, unordered)}
    if len(results) > 1 or counts != {(manifest.records, valid, mapped.report.output_bytes)}:
        sys.exit(f"{path.name}: outputs differ, or {valid:,} of {manifest.records:,} records are not those with results")


def one_round(engine: gm.Engine, plugin: Any, path: Path, trials: Trials) -> None:
    trials.take("file", lambda: engine.run(plugin, path))
    pipe = Pipe(path)
    report = trials.take("pipe", lambda: engine.run(plugin, pipe.output), pipe)
    if report.input_bytes != path.stat().st_size:
        sys.exit(f"{path.name}: {report.input_bytes:,} bytes came through the pipe")
    trials.take("map", lambda: engine.map(plugin, path).report)
    trials.take("stream", lambda: drain(engine.stream(plugin, path)))
    trials.take("none", lambda: drain(engine.stream(plugin, path, order="none")))
    trials.take("cat|dd", lambda: cat_dd(path))


def compare(table: sheet.Table, name: str, folder: Path, arguments: argparse.Namespace) -> None:
    set_name = "light" if name == "identity" else name
    path = folder / f"{set_name}.jsonl"
    if not path.exists():
        gm.datagen.generate(set_name, path, records=max(1000, arguments.records // SHARES[name]))
    plugin = gm.Plugin("tokenize", config=f"{path}.vocab") if name == "tokenize" else name
    trials = Trials()
    with gm.Engine(workers=arguments.workers, isolation=arguments.isolation) as engine, exclusive.machine():
        verify(engine, plugin, path)
        one_round(engine, plugin, path, Trials())  # warm
        for _ in range(arguments.trials):
            one_round(engine, plugin, path, trials)
    cores = len(os.sched_getaffinity(0))
    wall, size = statistics.median(trials.wall["pipe"]), path.stat().st_size
    table.add(
        set=name,
        records=gm.datagen.read_manifest(path).records,
        bytes=size,
        pipe_mb_per_s=size / wall / 1e6,
        wall_by_ideal=wall / (statistics.median(trials.all_cpu["pipe"]) / cores),
        cpu_by_file=statistics.median(trials.cpu["pipe"]) / statistics.median(trials.cpu["file"]),
        cat_dd_by_pipe=trials.ratio("cat|dd", "pipe"),
        map_by_stream=trials.ratio("map", "stream"),
        none_by_index=trials.ratio("none", "stream"),
        all_seconds=trials.wall,
        all_cpu_seconds=trials.cpu,
    )


def compare_upper(table: sheet.Table, folder: Path, kept: bool, arguments: argparse.Namespace) -> None:
    """``kept``: engine and executor stay from call to call; else each call makes its own."""
    path = folder / "light.jsonl"
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(gm.Engine(workers=arguments.workers)) if kept else None
        pool = stack.enter_context(ProcessPoolExecutor(arguments.workers)) if kept else None
        stack.enter_context(exclusive.machine())
        bodies = upper_bodies(engine, pool, path, arguments.workers)
        expected = digest([path.read_bytes().upper().replace(b"\n", b"")])
        for name, body in bodies.items():
            if digest(part.replace(b"\n", b"") for part in map(bytes, body())) != expected:
                sys.exit(f"bytes.upper: {name} gave something else")
        times = sheet.interleaved(
            {name: lambda body=body: sum(1 for _ in body()) for name, body in bodies.items()}, arguments.trials, warm=0
        )
    ours, records = statistics.median(times["gristmill"]), gm.datagen.read_manifest(path).records
    best = min((name for name in times if name != "gristmill"), key=lambda name: statistics.median(times[name]))
    for name, seconds in times.items():
        subject, _, chunk = name.partition(" ")
        table.add(
            subject="gristmill, stream" if subject == "gristmill" else "ProcessPoolExecutor",
            kept="kept" if kept else "made",
            chunk=int(chunk) if chunk else None,
            records=records,
            **sheet.rates(records, seconds),
            ratio=statistics.median(seconds) / ours,
            goal=20 if name == best else None,
            bar=f"executor, chunks of {chunk}" if chunk else "gristmill, stream",
        )


def upper_bodies(
    engine: Optional[gm.Engine], kept: Optional[ProcessPoolExecutor], path: Path, workers: int
) -> Dict[str, Callable[[], Iterable[Any]]]:
    """Each gives its results one after the other."""

    def ours() -> Iterable[Any]:
        with engine.stream(upper_batch, path) if engine else gm.stream(upper_batch, path, workers=workers) as stream:
            yield from stream.batches(copy=False)

    def executor(chunk: int) -> Iterable[bytes]:
        with contextlib.nullcontext(kept) if kept else ProcessPoolExecutor(workers) as pool:
            yield from pool.map(bytes.upper, path.read_bytes().split(b"\n")[:-1], chunksize=chunk)

    return {"gristmill": ours, **{f"executor {chunk}": lambda chunk=chunk: executor(chunk) for chunk in CHUNKS}}


def latency(table: sheet.Table, arguments: argparse.Namespace) -> None:
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
    with exclusive.machine(), gm.stream("identity", reading, workers=arguments.workers) as stream:
        writer = threading.Thread(target=write)
        writer.start()
        for i, record in enumerate(stream):
            took.append((time.perf_counter() - written[i]) * 1e3)
            if int(record) != i:
                sys.exit(f"record {i} came as {record!r}")
        writer.join()
    os.close(reading)
    ranked = sorted(took)
    table.add(
        **{"from": "write to result"},
        records=len(took),
        **{f"p{q}_ms": ranked[min(len(took) - 1, len(took) * q // 100)] for q in (50, 90, 99)},
        max_ms=ranked[-1],
        goal_ms=10,
        all_ms=[round(each, 4) for each in took],
    )


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=2_000_000, help="light records; fewer of the others")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--isolation", choices=("process", "thread"), default="process")
    parser.add_argument("--trickle", type=int, default=1000, help="records of the latency test")
    arguments = parser.parse_args()
    found = sheet.Sheet("streaming", __doc__, arguments)
    with tempfile.TemporaryDirectory(prefix="gristmill-streaming-") as folder:
        table = found.table("sources", "A pipe against a file, a stream against a map", SOURCES, ABOUT_SOURCES,
                            [Bars(("set",), "wall_by_ideal"), Bars(("set",), "map_by_stream")])  # fmt: skip
        for name in SHARES:
            compare(table, name, Path(folder), arguments)
        table = found.table("upper", "bytes.upper, a function of batches by stream", UPPER, plots=[
            Bars(("bar",), "records_per_s", "records_per_s_min", "records_per_s_max", of="kept")])  # fmt: skip
        for kept in (False, True):
            compare_upper(table, Path(folder), kept, arguments)
        latency(found.table("latency", "Records that come one by one, 3 ms apart", LATENCY), arguments)
    return found.finish()
