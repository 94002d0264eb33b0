"""How long small things take: a call of a kept engine, a cold start, a push of 8 bytes into a stream.

Calls: an engine's map() of a file of a few hundred bytes, after warm-ups; beside the time of the call what the engine
says of itself (Report.wall_seconds). The engine's clock begins when the call has been checked and handed to the core,
and ends before the results become Python objects; the report is asked for outside the clock. The upper plugin and
bytes.upper as a function give the same lines, and so does a kept ProcessPoolExecutor, which gets them as a list, in
one chunk: it reads no file, and divides nothing. A call of an engine does all that a run does: counted by strace -c,
in threads, 31 calls of futex and 22 of pread, as even 314 bytes are divided for all workers, into some 10 batches;
under batch_bytes="64KiB" it is one batch, and the call about a fifth shorter. Looking up a bundled plugin by its name
is 16 us.

Cold start: fresh processes, each timing its own steps; the whole is timed from outside, from the start of the
interpreter to its exit. "nothing" is an interpreter that is started and ends.

Pushes: text in fragments of 8 bytes, so that most lines are in several pieces. Into a pipe and a socket a process of
its own writes them, one write(2) each: a push is that write, with all waiting for room. Of items each fragment is a
record; a push is the time from giving it to the wish for the next. The plain loops do the same work on one core, as
one would write it by hand: what of a push is not gristmill's. Each push is timed alone, which costs about 0.1 us.

All output is compared byte for byte with what is expected. Medians of interleaved rounds are what the ranges are of.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence

import gristmill as gm

from . import exclusive, percentiles, pushes, sheet
from .sheet import Bars, Column

CALLS = [
    Column("subject", ""),
    Column("clock", "", "", "call: around it; engine: what the engine reports of the same calls"),
    *percentiles.COLUMNS,
    Column("calls_per_s", "calls/s", ",.0f", "by the mean", better="higher"),
    Column("p50_us_min", "from", ",.1f", "least median of a round"),
    Column("p50_us_max", "to", ",.1f", "largest median of a round"),
]
COLD = [
    Column("subject", ""),
    Column("import_ms", "import ms", ".1f", "of the package"),
    Column("make_ms", "make ms", ".2f", "construction of the Engine or the executor"),
    Column("first_ms", "first ms", ".2f", "first call", better="lower"),
    Column("second_ms", "second ms", ".2f", better="lower"),
    Column("process_ms", "process ms", ".1f", "from its start to its exit, all included", better="lower"),
    Column("process_ms_min", "from", ".1f"),
    Column("process_ms_max", "to", ".1f"),
]
PUSHES = [
    Column("subject", ""),
    *percentiles.COLUMNS,
    Column("pushes_per_s", "pushes/s", ",.0f", "from the first push until all output was there; median of rounds", better="higher"),
    Column("pushes_per_s_min", "from", ",.0f"),
    Column("pushes_per_s_max", "to", ",.0f"),
]
RECORDS = [b"record %d of a small input" % i for i in range(12)]
EXPECTED = [record.upper() for record in RECORDS]
STARTS = {
    "nothing": "python",
    "gristmill, plugin, thread": "thread",
    "gristmill, plugin, process": "process",
    "gristmill, function": "function",
    "ProcessPoolExecutor": "executor",
}
STEPS = ("import_ms", "make_ms", "first_ms", "second_ms")


class WrongOutput(gm.GristmillError):
    pass


def check(subject: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise WrongOutput(f"{subject}: the output is not as expected")


class Calls:
    """Seconds of each call of one subject, by rounds: around the call, and as the engine tells."""

    def __init__(self, body: Callable[[], Any]) -> None:
        self.body = body
        self.call: List[List[float]] = []
        self.engine: List[List[float]] = []

    def round(self, subject: str, calls: int) -> None:
        around, told = [], []
        for _ in range(calls):
            started = time.perf_counter()
            found = self.body()
            around.append(time.perf_counter() - started)
            check(subject, list(found), EXPECTED)
            if isinstance(found, gm.Results):
                told.append(found.report.wall_seconds)
        self.call.append(around)
        self.engine.append(told)

    def rows(self, subject: str) -> List[Dict[str, Any]]:
        found = []
        for clock, rounds in (("call", self.call), ("engine", self.engine)):
            seconds = [each for one in rounds for each in one]
            if seconds:
                _, least, most = percentiles.medians_us(rounds)
                found.append({"subject": subject, "clock": clock, **percentiles.spread_us(seconds),
                              "calls_per_s": len(seconds) / sum(seconds),
                              "p50_us_min": least, "p50_us_max": most, "calls": len(seconds)})  # fmt: skip
        return found


def measure_calls(found: sheet.Sheet, path: Path, arguments: argparse.Namespace) -> None:
    table = found.table(
        "calls", f"Calls of a kept engine, {path.stat().st_size} bytes in {len(RECORDS)} records", CALLS,
        plots=[Bars(("subject", "clock"), "p50_us", "p50_us_min", "p50_us_max")],
    )  # fmt: skip
    with ExitStack() as stack:
        executor = stack.enter_context(ProcessPoolExecutor(arguments.workers))
        list(executor.map(bytes.upper, RECORDS))  # forks, before there are threads
        engine = stack.enter_context(gm.Engine(workers=arguments.workers))
        subjects = {
            "gristmill, plugin, thread": Calls(lambda: engine.map("upper", path, isolation="thread")),
            "gristmill, plugin, process": Calls(lambda: engine.map("upper", path)),
            "gristmill, function": Calls(lambda: engine.map(bytes.upper, path)),
            "ProcessPoolExecutor": Calls(
                lambda: list(executor.map(bytes.upper, RECORDS, chunksize=len(RECORDS)))
            ),
        }
        stack.enter_context(exclusive.machine())
        for subject, calls in subjects.items():
            Calls(calls.body).round(subject, arguments.warm)
        for _ in range(arguments.rounds):
            for subject, calls in subjects.items():
                found.say(subject)
                calls.round(subject, max(1, arguments.calls // arguments.rounds))
    for subject, calls in subjects.items():
        for row in calls.rows(subject):
            table.add(**row)


def start_cold(subject: str, path: Path, arguments: argparse.Namespace) -> Dict[str, float]:
    """Milliseconds of each step of one fresh process."""
    text = Path(__file__).with_name("cold_start.py").read_text()
    command = [sys.executable, "-c", text, STARTS[subject], str(arguments.workers), str(path)]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took = time.perf_counter() - started
    told = json.loads(done.stdout)
    check(subject, told["results"], [[each.decode() for each in EXPECTED]] * (2 if told["steps"] else 0))
    return {**{name: step * 1e3 for name, step in zip(STEPS, told["steps"])}, "process_ms": took * 1e3}


def measure_cold_starts(found: sheet.Sheet, path: Path, arguments: argparse.Namespace) -> None:
    table = found.table(
        "cold", "Cold start, fresh processes", COLD,
        plots=[Bars(("subject",), "process_ms", "process_ms_min", "process_ms_max")],
    )  # fmt: skip
    seen: Dict[str, List[Dict[str, float]]] = {subject: [] for subject in STARTS}
    with exclusive.machine():
        for at in range(arguments.starts + 1):
            for subject, starts in seen.items():
                found.say(f"cold start of {subject}")
                start = start_cold(subject, path, arguments)
                if at > 0:  # the first has compiled the modules, and read them from the disk
                    starts.append(start)
    for subject, starts in seen.items():
        row = {step: statistics.median(each[step] for each in starts) for step in starts[0]}
        whole = [each["process_ms"] for each in starts]
        table.add(subject=subject, **row, process_ms_min=min(whole), process_ms_max=max(whole), all_starts=starts)


def push_subjects(arguments: argparse.Namespace) -> Dict[str, Callable[[pushes.Text], pushes.Trial]]:
    def engine() -> gm.Engine:
        return gm.Engine(workers=arguments.workers)

    def descriptor(make: Any, consume: Any, engine: Any = engine) -> Callable[[pushes.Text], pushes.Trial]:
        return lambda text: pushes.through_descriptor(make, consume, engine, text)

    def items(consume: Any, engine: Any = engine) -> Callable[[pushes.Text], pushes.Trial]:
        return lambda text: pushes.through_items(consume, engine, text)

    return {
        "pipe, plain loop": descriptor(os.pipe, pushes.read_plainly, nullcontext),
        "pipe, thread": descriptor(os.pipe, pushes.stream_of_plugin("thread")),
        "pipe, process": descriptor(os.pipe, pushes.stream_of_plugin("process")),
        "socket, plain loop": descriptor(pushes.sockets, pushes.read_plainly, nullcontext),
        "socket, process": descriptor(pushes.sockets, pushes.stream_of_plugin("process")),
        "items, plain loop": items(pushes.call_plainly, nullcontext),
        "items, stream": items(pushes.stream_of_items),
        "items, map": items(pushes.map_of_items),
    }


def measure_pushes(found: sheet.Sheet, arguments: argparse.Namespace) -> None:
    text = pushes.Text(arguments.pushes, arguments.fragment)
    table = found.table(
        "pushes", f"{arguments.pushes:,} pushes of {arguments.fragment} bytes into a stream", PUSHES,
        plots=[Bars(("subject",), "pushes_per_s", "pushes_per_s_min", "pushes_per_s_max")],
    )  # fmt: skip
    subjects = push_subjects(arguments)
    seen: Dict[str, List[pushes.Trial]] = {subject: [] for subject in subjects}
    with exclusive.machine():
        for at in range(arguments.rounds + 1):
            for subject, push in subjects.items():
                found.say(f"pushes: {subject}")
                took, seconds, output = push(text)
                check(subject, output, text.expected)
                check(subject, len(took), arguments.pushes)
                if at > 0:
                    seen[subject].append((took, seconds, b""))
    for subject, trials in seen.items():
        add_pushes(table, subject, trials, arguments.pushes)


def add_pushes(table: sheet.Table, subject: str, trials: Sequence[pushes.Trial], count: int) -> None:
    rates = [count / seconds for _, seconds, _ in trials]
    table.add(
        subject=subject if "plain" in subject else f"gristmill, {subject}",
        **percentiles.spread_us([each for took, _, _ in trials for each in took]),
        pushes_per_s=statistics.median(rates),
        pushes_per_s_min=min(rates),
        pushes_per_s_max=max(rates),
        all_pushes_per_s=rates,
    )


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--calls", type=int, default=10_000, help="of each kind, in all rounds")
    parser.add_argument("--warm", type=int, default=100, help="calls before")
    parser.add_argument("--starts", type=int, default=20, help="fresh processes of each kind")
    parser.add_argument("--pushes", type=int, default=200_000, help="of a round")
    parser.add_argument("--fragment", type=int, default=8, metavar="BYTES", help="of a push")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    found = sheet.Sheet("latency", __doc__, arguments)
    with tempfile.TemporaryDirectory(prefix="gristmill-latency-") as folder:
        path = Path(folder) / "small"
        path.write_bytes(b"".join(record + b"\n" for record in RECORDS))
        try:
            measure_calls(found, path, arguments)
            measure_cold_starts(found, path, arguments)
            measure_pushes(found, arguments)
        except WrongOutput as error:
            return found.finish(wrong=str(error))
    return found.finish()
