"""Round trips of one message to another process and back, by several ways.

For each size, each way: messages one after the other, each sent when the last one is back; every one is different, and
its echo is compared with it, outside the clock. A way is opened, warmed up, measured in some repetitions, and ended
before the next one; all ways in turn, several times. What is told is the median of the repetitions' medians, and the
least and the largest of these. All is Python on this side and on the other; the identity plugin of gristmill is C.

    mmap, spinning      shared memory and a byte that both look at all the time: no system call, two cores kept busy
    mmap, semaphores    shared memory; who waits sleeps
    pipe pair           a pipe there, one back
    file                written and read back, never synced; a byte in a pipe says that it is there
    ZeroMQ              REQ and REP, over a Unix or a TCP socket
    gristmill ring      an open stream of a kept engine, batch_records=1: over a pipe, with a plugin in a worker thread
                        or process; over an iterable, with a Python function. One worker
    gristmill map       Engine.map() of one record: a run for each message, of a file or of a list of one item

These do not promise the same. The first four carry bytes between two processes that trust each other. gristmill takes
them as records: it cuts, counts, orders and accounts for them, gives a batch to another worker when one dies, and
would work on many at a time; it is made for throughput, and one record at a time is the worst that can happen to it.
What it loses against a pipe is one more wake-up, and the words to arrange it. A round trip of a pipe wakes two, one
of the ring three: ingress, the worker, and who takes. Counted by strace -c over 5,000 of them, 64 bytes, a process: a
pipe has 4 calls of the kernel (2 write, 2 read), the ring 9 (1 write, 2 read of which one finds nothing, 1 poll, 4 of
futex, 1 getpid). Profiled by perf on two virtual cores, these were idle for 57 % of the ring's time and 74 % of the
pipe's: both wait for a core that sleeps to wake. 22 of the ring's other 43 % were spent sending those wake-ups, and
2 in its own code. Where the two share a core, a wake-up costs much less: then a pipe's median falls far below its
others, and the range says so. A map() adds a whole run: opening, dividing, a report, results with their memory.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, Dict, List

import gristmill as gm

from . import exclusive, percentiles, sheet
from .sheet import Bars, Column
from .table import size as written_size
from .transports import WAYS, Exchange, NotInstalled, Way

COLUMNS = [
    Column("subject", ""),
    Column("message_bytes", "bytes", ",d", better="same"),
    Column("p50_us", "p50 us", ",.1f", "of a round trip: median of the repetitions' medians", better="lower"),
    Column("p50_us_min", "from", ",.1f", "least median of a repetition"),
    Column("p50_us_max", "to", ",.1f", "largest median of a repetition"),
    Column("p99_us", "p99 us", ",.1f", "of all round trips, as the next"),
    Column("max_us", "max us", ",.1f"),
    Column("mb_per_s", "MB/s", ",.1f", "10^6 bytes there and back again, once counted, at the p50"),
    Column("by_pipe", "by pipe", ".2f", "p50 by that of the pipe pair"),
]


class WrongEcho(gm.GristmillError):
    pass


class Messages:
    """Of one size, each different from all before."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._rest = bytes(at * 7 % 256 for at in range(size - 8))  # any bytes, delimiters too
        self._next = 0

    def take(self) -> bytes:
        self._next += 1
        return self._next.to_bytes(8, "little") + self._rest


def repetition(name: str, exchange: Exchange, messages: Messages, count: int) -> List[float]:
    """Seconds of each round trip."""
    took, now = [], time.perf_counter
    for _ in range(count):
        message = messages.take()
        before = now()
        echo = exchange(message)
        took.append(now() - before)
        if echo != message:
            raise WrongEcho(f"{name}: the echo of {len(message):,} bytes differs from the message")
    return took


def open_and_repeat(name: str, way: Way, messages: Messages, arguments: argparse.Namespace) -> List[List[float]]:
    with way(messages.size) as exchange:
        repetition(name, exchange, messages, arguments.warm)
        return [repetition(name, exchange, messages, arguments.iterations) for _ in range(arguments.repetitions)]


def measure(found: sheet.Sheet, size: int, arguments: argparse.Namespace) -> Dict[str, Any]:
    """For each way its repetitions, or why there are none."""
    seen: Dict[str, Any] = {name: [] for name in WAYS}
    messages = Messages(size)
    with exclusive.machine():
        for turn in range(arguments.turns):
            for name, way in WAYS.items():
                found.say(f"{written_size(size)}, turn {turn + 1} of {arguments.turns}: {name}")
                try:
                    seen[name] += open_and_repeat(name, way, messages, arguments)
                except NotInstalled as missing:
                    seen[name] = str(missing)
    return seen


def add_rows(table: sheet.Table, size: int, seen: Dict[str, Any]) -> None:
    pipe = percentiles.medians_us(seen["pipe pair"])[0]
    for name, repetitions in seen.items():
        if isinstance(repetitions, str):
            table.add(subject=name, message_bytes=size, note=repetitions)
            continue
        p50, least, most = percentiles.medians_us(repetitions)
        spread = percentiles.spread_us([each for one in repetitions for each in one])
        table.add(
            subject=name,
            message_bytes=size,
            p50_us=p50,
            p50_us_min=least,
            p50_us_max=most,
            p99_us=spread["p99_us"],
            max_us=spread["max_us"],
            mb_per_s=size / p50,
            by_pipe=p50 / pipe,
            mean_us=spread["mean_us"],
            all_p50_us=[statistics.median(each) * 1e6 for each in repetitions],
        )


def sizes(text: str) -> List[int]:
    found = [int(each) for each in text.split(",")]
    if min(found) < 8:
        raise argparse.ArgumentTypeError("a message has 8 bytes at least")
    return found


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--sizes", type=sizes, default=[64, 4096, 65536], help="of a message in bytes, as 64,4096")
    parser.add_argument("--iterations", type=int, default=5000, help="round trips of a repetition")
    parser.add_argument("--repetitions", type=int, default=5, help="of a way, each time it is opened")
    parser.add_argument("--turns", type=int, default=3, help="how often each way is opened")
    parser.add_argument("--warm", type=int, default=100, help="round trips before, each time")
    arguments = parser.parse_args()
    found = sheet.Sheet("transport", __doc__, arguments)
    bars = Bars(("subject",), "p50_us", "p50_us_min", "p50_us_max", "message_bytes")
    table = found.table("round_trips", "Round trips of a message", COLUMNS, plots=[bars])
    try:
        for size in arguments.sizes:
            add_rows(table, size, measure(found, size, arguments))
    except WrongEcho as error:
        return found.finish(wrong=str(error))
    return found.finish()
