"""What a record costs by its length: gristmill's identity, beside the sockets of libzmq.

Records of 1 B to 64 KiB; of each length the same number, with the same bytes, for all. Their framing is that of
fixed-size records, so that a record of 1 B is 1 B of payload for all.

Throughput. gristmill brings each record to a worker process and back; its clock runs from the call to the last
record, in every trial. "map, file" has all output in memory at the end; "pipe" reads what a thread writes into a
pipe; "batches" takes its output as batches, "each record" makes an object of each, as pyzmq does; "items" begins
with objects, and its worker is a Python function. PUSH/PULL brings each message one way, from this process to
another, and its clock runs in the receiver, from the first message to the last, without connecting: half of the
way, and the shorter clock. It has the best of both ways to hand over messages (copied or not) and of a short and
an unlimited queue, found for each length. "libzmq in C" is the same pair of sockets in two C programs, without
Python's cost for each message; it needs a C compiler.

Round trip. One record there and back, again and again: REQ/REP by a kept connection; gristmill by a kept engine,
as a call for a file of one record, as a call for one item, and by a kept stream over a pipe in batches of one.

Counts are compared in each trial, and a digest of all bytes in the first one, which warms up and is not timed; in
those that are timed, nobody looks at the bytes. Up to some 32 B a trial of gristmill takes a few milliseconds, as
the count is one that pyzmq has done within half a second.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import random
import statistics
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import gristmill as gm

from . import exclusive, sheet
from .sheet import Column, Lines
from .zmq_pair import Pair, Received, Way
from .zmq_programs import Programs, compiler

PIECE = 1 << 24
TOGETHER = 6  # lengths that are measured without a pause: about a minute
TRANSPORTS = ("tcp", "ipc")
SUBJECT = Column("subject", "")
SIZE = Column("record_bytes", "record B", ",d", "length of a record", better="same")
THROUGHPUT = [
    SUBJECT,
    SIZE,
    Column("records", "records", ",d", "of one trial"),
    Column("records_per_s", "records/s", ",.0f", "median of the trials, as the receiver counts", better="higher"),
    Column("records_per_s_min", "min", ",.0f", "slowest trial"),
    Column("records_per_s_max", "max", ",.0f", "fastest trial"),
    Column("mb_per_s", "MB/s", ",.1f", "10^6 bytes, at the median"),
]
ROUND_TRIP = [
    SUBJECT,
    SIZE,
    Column("calls", "calls", ",d", "in all trials"),
    Column("p50_us", "p50 us", ",.1f", "median of all calls", better="lower"),
    Column("p50_us_min", "min", ",.1f", "least median of a trial"),
    Column("p50_us_max", "max", ",.1f", "largest median of a trial"),
    Column("p99_us", "p99 us", ",.1f", "99 of 100 calls took less"),
]

Body = Callable[[bool], Received]  # asked for a digest or not
Call = Callable[[bytes], bytes]


def identity(record: bytes) -> bytes:
    return record


class Records:
    """Of one length: as objects, as one run of bytes, as a file."""

    def __init__(self, block: memoryview, size: int, count: int, path: Path) -> None:
        self.size = size
        self.data = block[: size * count]
        self.objects = [bytes(self.data[at : at + size]) for at in range(0, size * count, size)]
        self.path = path
        path.write_bytes(self.data)
        self.expected = Received(count, size * count, 0, hashlib.sha256(self.data).hexdigest())


@contextlib.contextmanager
def piped(data: memoryview) -> Iterator[int]:
    """The reading end of a pipe that a thread writes ``data`` into."""
    reading, writing = os.pipe()

    def write() -> None:
        left = data
        with contextlib.suppress(BrokenPipeError):
            while left:
                left = left[os.write(writing, left) :]
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield reading
    finally:
        os.close(reading)
        thread.join()


class Ours:
    """The engines, and what each does with records."""

    def __init__(self, stack: contextlib.ExitStack, workers: int) -> None:
        self._plugins = stack.enter_context(gm.Engine(workers=workers))
        self._functions = stack.enter_context(gm.Engine(workers=workers))
        self._kept = stack.enter_context(gm.Engine(workers=workers))  # for the stream that calls leave open

    def bodies(self, records: Records) -> Dict[str, Body]:
        return {
            "gristmill map, file": partial(self._map, records),
            "gristmill pipe, batches": partial(self._pipe, records, False),
            "gristmill pipe, each record": partial(self._pipe, records, True),
            "gristmill items": partial(self._items, records),
        }

    def _map(self, records: Records, digest: bool) -> Received:
        started = time.perf_counter()
        results = self._plugins.map("identity", records.path, framing=records.size)
        count, size = len(results), sum(map(len, results.batches()))
        seconds = time.perf_counter() - started
        return Received(count, size, seconds, _digest(results.batches()) if digest else "")

    def _pipe(self, records: Records, each: bool, digest: bool) -> Received:
        sha, count, size = hashlib.sha256(), 0, 0
        started = time.perf_counter()
        with piped(records.data) as source, self._plugins.stream("identity", source, framing=records.size) as stream:
            for part in stream if each else stream.batches(copy=False):
                count += 1
                size += len(part)
                if digest:
                    sha.update(part)
        seconds = time.perf_counter() - started
        return Received(count if each else stream.report.emitted, size, seconds, sha.hexdigest() if digest else "")

    def _items(self, records: Records, digest: bool) -> Received:
        sha, count, size = hashlib.sha256(), 0, 0
        started = time.perf_counter()
        with self._functions.stream(identity, gm.items(records.objects)) as stream:
            for record in stream:
                count += 1
                size += len(record)
                if digest:
                    sha.update(record)
        seconds = time.perf_counter() - started
        return Received(count, size, seconds, sha.hexdigest() if digest else "")

    @contextlib.contextmanager
    def calls(self, records: Records) -> Iterator[Dict[str, Call]]:
        """Round trips, for files and pipes of records of this length."""
        size = records.size
        reading, writing = os.pipe()

        def file(record: bytes) -> bytes:
            return bytes(self._plugins.map("identity", records.path, framing=size))

        def item(record: bytes) -> bytes:
            found: bytes = self._functions.map(identity, gm.items([record]))[0]
            return found

        def kept(record: bytes) -> bytes:
            os.write(writing, record)
            return next(results)

        with os.fdopen(reading, "rb") as source:
            try:
                with self._kept.stream("identity", source, framing=size, batch_records=1) as stream:
                    results = iter(stream)
                    yield {"gristmill map, file": file, "gristmill map, item": item, "gristmill kept pipe": kept}
            finally:
                os.close(writing)


def _digest(parts: Any) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


class Theirs:
    """The sockets of libzmq, where they are installed."""

    def __init__(self, stack: contextlib.ExitStack, folder: Path) -> None:
        self.absent: Dict[str, str] = {}
        self.settings: Dict[str, str] = {}
        self._pairs: Dict[str, Pair] = {}
        self._programs: Optional[Programs] = None
        if importlib.util.find_spec("zmq") is None:
            self.absent = {f"pyzmq {each}": "not installed: pip install pyzmq" for each in TRANSPORTS}
        else:
            self._pairs = {each: stack.enter_context(Pair(folder)) for each in TRANSPORTS}
            if compiler():
                self._programs = Programs(folder)
            else:
                self.absent = {f"libzmq in C, {each}": "no C compiler" for each in TRANSPORTS}

    def bodies(self, records: Records) -> Dict[str, Body]:
        """Each in the way that is fastest for records of this length."""
        found: Dict[str, Body] = {}
        for transport, pair in self._pairs.items():
            some = partial(pair.push, records.objects[: max(1, len(records.objects) // 4)])
            way = self._best(f"pyzmq {transport}", transport, some)
            found[f"pyzmq {transport}"] = partial(pair.push, records.objects, way)
            if self._programs:
                push = partial(self._programs.push, records.path, records.size)
                name = f"libzmq in C, {transport}"
                found[name] = partial(push, self._best(name, transport, push))
        return found

    @contextlib.contextmanager
    def calls(self) -> Iterator[Dict[str, Call]]:
        with contextlib.ExitStack() as stack:
            echoes = {name: stack.enter_context(pair.echo(Way(name))) for name, pair in self._pairs.items()}
            yield {f"pyzmq {name}": echo for name, echo in echoes.items()}

    def _best(self, name: str, transport: str, push: Callable[[Way], Received]) -> Way:
        ways = [Way(transport, limit, copy) for limit in (1000, 0) for copy in (True, False)]
        best = min(ways, key=lambda way: push(way).seconds)
        self.settings[name] = f"limit {best.limit}, {'copied' if best.copy else 'not copied'}"
        return best


def throughput(table: sheet.Table, bodies: Dict[str, Body], records: Records, trials: int, theirs: Theirs) -> List[str]:
    """Gives the names of subjects that were wrong."""
    times: Dict[str, List[float]] = {name: [] for name in bodies}
    wrong: Dict[str, str] = {}
    for trial in range(-1, trials):
        for name, body in bodies.items():
            found = body(trial < 0)
            if found._replace(seconds=0) != records.expected._replace(digest=records.expected.digest if trial < 0 else ""):
                wrong[name] = f"wrong: {found.records:,} records, {found.bytes:,} bytes, digest {found.digest[:8] or '-'}"
            if trial >= 0:
                times[name].append(found.seconds)
    count = records.expected.records
    for name, seen in times.items():
        if name in wrong:
            table.add(subject=name, record_bytes=records.size, records=count, note=wrong[name])
            continue
        median = statistics.median(seen)
        table.add(
            subject=name,
            record_bytes=records.size,
            records=count,
            records_per_s=count / median,
            records_per_s_min=count / max(seen),
            records_per_s_max=count / min(seen),
            mb_per_s=count * records.size / median / 1e6,
            all_seconds=seen,
            settings=theirs.settings.get(name, ""),
        )
    return [f"{name} at {records.size} B" for name in wrong]


def round_trip(table: sheet.Table, calls: Dict[str, Call], records: Records, count: int, trials: int) -> List[str]:
    """Gives the names of subjects that were wrong."""
    times: Dict[str, List[List[float]]] = {name: [] for name in calls}
    record, wrong = records.objects[0], dict.fromkeys(calls, False)
    for trial in range(-1, trials):
        for name, call in calls.items():
            seen = []
            for _ in range(count):
                started = time.perf_counter()
                back = call(record)
                seen.append(1e6 * (time.perf_counter() - started))
                wrong[name] |= back != record
            if trial >= 0:
                times[name].append(seen)
    for name, all_us in times.items():
        if wrong[name]:
            table.add(subject=name, record_bytes=records.size, note="wrong: another record came back")
            continue
        every = sorted(us for trial_us in all_us for us in trial_us)
        medians = [statistics.median(trial_us) for trial_us in all_us]
        table.add(
            subject=name,
            record_bytes=records.size,
            calls=len(every),
            p50_us=statistics.median(every),
            p50_us_min=min(medians),
            p50_us_max=max(medians),
            p99_us=every[min(len(every) - 1, len(every) * 99 // 100)],
        )
    return [f"round trip of {name} at {records.size} B" for name in calls if wrong[name]]


def tables(found: sheet.Sheet) -> Tuple[sheet.Table, sheet.Table]:
    rates = [Lines("record_bytes", y, "subject", logarithmic=True) for y in ("records_per_s", "mb_per_s")]
    about = "gristmill: to a worker and back, from the call to the last record. libzmq: one way, from the first to the last."
    trips = [Lines("record_bytes", "p50_us", "subject", logarithmic=True)]
    return (
        found.table("throughput", "Throughput", THROUGHPUT, about, rates),
        found.table("round_trip", "Round trip of one record", ROUND_TRIP, plots=trips),
    )


def measure(found: sheet.Sheet, arguments: argparse.Namespace, folder: Path, stack: contextlib.ExitStack) -> List[str]:
    theirs, ours = Theirs(stack, folder), Ours(stack, arguments.workers)
    sizes: List[int] = arguments.sizes
    most = max(size * count_of(size, arguments) for size in sizes)
    block = memoryview(b"".join(random.Random(at).randbytes(PIECE) for at in range(-(-most // PIECE))))
    rates, trips = tables(found)
    wrong: List[str] = []
    for first in range(0, len(sizes), TOGETHER):
        with exclusive.machine():
            for size in sizes[first : first + TOGETHER]:
                found.say(f"records of {size:,} B")
                records = Records(block, size, count_of(size, arguments), folder / "records")
                bodies = {**ours.bodies(records), **theirs.bodies(records)}
                wrong += throughput(rates, bodies, records, arguments.trials, theirs)
    with exclusive.machine():
        for size in sizes:
            found.say(f"round trips of {size:,} B")
            records = Records(block, size, 1, folder / "records")
            with ours.calls(records) as near, theirs.calls() as far:
                wrong += round_trip(trips, {**near, **far}, records, arguments.calls, arguments.trials)
    for name, why in theirs.absent.items():
        rates.add(subject=name, note=why)
    return wrong


def count_of(size: int, arguments: argparse.Namespace) -> int:
    return max(1, min(arguments.records, arguments.bytes // size))


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--sizes", type=lambda text: [int(each) for each in text.split(",")], metavar="LIST",
                        default=[1 << power for power in range(17)], help="lengths of records, default 1,2,4,...,65536")  # fmt: skip
    parser.add_argument("--records", type=int, default=500_000, help="of each length")
    parser.add_argument("--bytes", type=int, default=256 << 20, help="fewer records where they were more than that")
    parser.add_argument("--calls", type=int, default=200, help="round trips of a trial")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    found = sheet.Sheet("record_size", __doc__, arguments)
    with tempfile.TemporaryDirectory(prefix="gristmill-size-") as name, contextlib.ExitStack() as stack:
        wrong = measure(found, arguments, Path(name), stack)
    return found.finish(wrong="; ".join(wrong))
