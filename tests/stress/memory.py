"""Streams at full length: that memory stays flat for as long as it takes.

    .venv/bin/python tests/stress/memory.py [--gib 20] [--seconds 10] [--first-seconds 30] [--only NAME]

    generator  endless items, each result ten times as large; the consumer takes one and sleeps
    pipe       so many GiB through a pipe; the consumer stops now and then
    first      record 0 takes long, the others a millisecond

Memory is that of all processes, and of files in memory, over the idle engine. Prints a line for each; exit code
1 when one grew by more than it may. tests/python/test_stream_memory.py has the same in short.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import threading
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from test_stream_memory import ALLOWED, MEMORY, MIB, WORKERS, used  # noqa: E402

import gristmill as gm  # noqa: E402


class Watch:
    """The largest growth, looked at all the time."""

    def __init__(self) -> None:
        self.idle, self.most, self.samples = used(), 0, 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._ending.wait(0.1):
            self.most = max(self.most, used() - self.idle)
            self.samples += 1

    def end(self) -> int:
        self._ending.set()
        self._thread.join()
        return self.most


class Writer:
    """Writes what it is given into a pipe, from a thread."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.reading, self._writing = os.pipe()
        self.written = 0
        self._thread = threading.Thread(target=self._write, args=(blocks,), daemon=True)
        self._thread.start()

    def _write(self, blocks: Iterator[bytes]) -> None:
        try:
            for block in blocks:
                view = memoryview(block)
                while view:
                    put = os.write(self._writing, view)
                    self.written += put
                    view = view[put:]
        except BrokenPipeError:
            pass
        os.close(self._writing)

    def close(self) -> None:
        os.close(self.reading)
        self._thread.join(10)


def spool_bytes() -> int:
    """Of files in memory that hold input on its way."""
    found: Dict[int, int] = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            if "gristmill-spool" in os.readlink(f"/proc/self/fd/{fd}"):
                facts = os.stat(f"/proc/self/fd/{fd}")
                found[facts.st_ino] = facts.st_blocks * 512
        except FileNotFoundError:
            continue
    return sum(found.values())


def generator(engine: gm.Engine, arguments: argparse.Namespace) -> bool:
    pulled = itertools.count()
    items = (b"%0500d" % next(pulled) for _ in itertools.count())
    watch = Watch()
    with engine.stream(lambda item: item * 10, items) as stream:
        next(stream)
        time.sleep(arguments.seconds)
        held = next(pulled)
        limit = 32 * MIB // 500 + 1
        most = watch.end()
    print(f"generator  grew by {most / MIB:.1f} MiB of {ALLOWED / MIB:.0f}; {held:,} items pulled, {limit:,} may be; "
          f"spool afterwards {spool_bytes()} bytes")
    return most < ALLOWED and held <= limit and spool_bytes() == 0


def pipe(engine: gm.Engine, arguments: argparse.Namespace) -> bool:
    block = b"".join(b'{"id": %d, "text": "some text of a record"}\n' % i for i in range(20_000))
    count = (arguments.gib << 30) // len(block) + 1
    writer = Writer(itertools.repeat(block, count))
    watch = Watch()
    started, taken = time.monotonic(), 0
    with engine.stream("identity", writer.reading) as stream:
        for number, batch in enumerate(stream.batches(copy=False)):
            taken += len(batch)
            if number % 2000 == 0:
                time.sleep(0.5)
    most = watch.end()
    seconds = time.monotonic() - started
    writer.close()
    whole = count * len(block)
    print(f"pipe       {whole / 1e9:.1f} GB in {seconds:.0f} s, grew by {most / MIB:.1f} MiB of {ALLOWED / MIB:.0f} "
          f"({watch.samples} looks); {taken - whole:+d} bytes; spool afterwards {spool_bytes()} bytes")
    return most < ALLOWED and taken == whole and spool_bytes() == 0


def first(engine: gm.Engine, arguments: argparse.Namespace) -> bool:
    """Records of 300 KB. What others have finished is no input any more while record 0 still runs."""
    record = b"x" * 300_000
    lines = itertools.chain([b"slow\n"], itertools.repeat(record + b"\n", 1000))
    writer = Writer(lines)
    long = arguments.first_seconds

    def work(line: bytes) -> bytes:
        time.sleep(long if line == b"slow" else 0.001)
        return line[:10]

    watch = Watch()
    meanwhile: List[int] = []
    looking = threading.Timer(long * 0.8, lambda: meanwhile.extend([writer.written, spool_bytes()]))
    looking.start()
    with engine.stream(work, writer.reading) as stream:
        started = time.monotonic()
        results = list(stream)
        seconds = time.monotonic() - started
    most = watch.end()
    looking.join()
    writer.close()
    read, lying = meanwhile
    print(f"first      {len(results):,} results in {seconds:.1f} s, grew by {most / MIB:.1f} MiB of {ALLOWED / MIB:.0f}; "
          f"while record 0 ran {read / MIB:.0f} MiB had been read and {lying / MIB:.0f} MiB lay in the spool")
    return most < ALLOWED and len(results) == 1001 and results[0] == b"slow" and lying < read / 2


SCENES: Dict[str, Callable[[gm.Engine, argparse.Namespace], bool]] = {
    "generator": generator, "pipe": pipe, "first": first,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gib", type=int, default=20, help="through the pipe")
    parser.add_argument("--seconds", type=float, default=10, help="that the consumer of the generator sleeps")
    parser.add_argument("--first-seconds", type=float, default=30, help="that record 0 takes")
    parser.add_argument("--only", choices=tuple(SCENES), default=None)
    arguments = parser.parse_args()
    good = True
    for name, scene in SCENES.items():
        if arguments.only in (None, name):
            with gm.Engine(workers=WORKERS, memory=MEMORY) as engine:
                engine.run(bytes.upper, "/dev/null")
                list(engine.stream(bytes.upper, gm.items([b"a"])))
                engine.run("identity", "/dev/null")
                good = scene(engine, arguments) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
