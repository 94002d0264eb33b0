"""Streams that are fed a few bytes at a time: how long whoever feeds them is kept by each push."""

from __future__ import annotations

import multiprocessing
import os
import random
import socket
import time
from array import array
from contextlib import ExitStack
from typing import Any, Callable, Iterator, List, Tuple

import gristmill as gm

_PROCESSES = multiprocessing.get_context("fork")

Consume = Callable[[gm.Engine, int], bytes]


class Text:
    """Lines of lower case letters, seeded: some shorter than a fragment, most longer."""

    def __init__(self, pushes: int, fragment_bytes: int) -> None:
        random_of = random.Random(8)
        letters = "abcdefghijklmnopqrstuvwxyz"
        line = "".join(random_of.choice(letters) for _ in range(64))
        wanted, lines, size = pushes * fragment_bytes, [], 0
        while size < wanted:
            lines.append(line[: random_of.randrange(61)] + "\n")
            size += len(lines[-1])
        self.data = "".join(lines).encode()[: wanted - 1] + b"\n"
        self.fragments = [self.data[i : i + fragment_bytes] for i in range(0, wanted, fragment_bytes)]
        self.expected = self.data.upper()


Trial = Tuple["array[float]", float, bytes]
"""Seconds of each push; seconds from the first push until all output was there; that output."""


def _feed(descriptor: int, fragments: List[bytes], reports: Any) -> None:
    """In a process of its own: writes one fragment after the other."""
    took, now = array("d"), time.perf_counter
    reports.send(None)
    reports.recv()
    started = now()
    for fragment in fragments:
        before = now()
        if os.write(descriptor, fragment) != len(fragment):
            raise OSError("a fragment was written in part")  # cannot be: a pipe takes 4096 bytes at once
        took.append(now() - before)
    os.close(descriptor)
    reports.send((took.tobytes(), started))


def through_descriptor(
    make: Callable[[], Tuple[int, int]], consume: Consume, engine: Callable[[], Any], text: Text
) -> Trial:
    """``make``: gives the descriptors of a pipe or socket, reading first. ``engine``: makes one, or what consume
    takes instead, after the process that feeds was forked."""
    reading, writing = make()
    ours, theirs = _PROCESSES.Pipe()
    feeder = _PROCESSES.Process(target=_feed, args=(writing, text.fragments, theirs), daemon=True)
    with ExitStack() as stack:
        stack.callback(os.close, reading)
        feeder.start()
        stack.callback(feeder.join)
        stack.callback(feeder.terminate)
        os.close(writing)
        theirs.close()
        used = stack.enter_context(engine())
        ours.recv()
        ours.send(None)
        output = consume(used, reading)
        ended = time.perf_counter()  # of one clock for all processes
        raw, started = ours.recv()
        took = array("d")
        took.frombytes(raw)
    return took, ended - started, output


def through_items(
    consume: Callable[[gm.Engine, Iterator[bytes]], bytes], engine: Callable[[], Any], text: Text
) -> Trial:
    """A push is the time from an item that was given to the wish for the next one."""
    took, now = array("d"), time.perf_counter

    def items() -> Iterator[bytes]:
        for fragment in text.fragments:
            before = now()
            yield fragment
            took.append(now() - before)

    with engine() as used:
        started = now()
        output = consume(used, items())
        return took, now() - started, output


def sockets() -> Tuple[int, int]:
    reading, writing = socket.socketpair()
    return reading.detach(), writing.detach()


def read_plainly(_: Any, descriptor: int) -> bytes:
    """What one would write by hand, on one core: read what is there, work on it, keep the output."""
    parts = []
    while True:
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part.upper())


def call_plainly(_: Any, items: Iterator[bytes]) -> bytes:
    return b"".join(map(bytes.upper, items))


def stream_of_plugin(isolation: str) -> Consume:
    def consume(engine: gm.Engine, descriptor: int) -> bytes:
        with engine.stream("upper", descriptor, isolation=isolation) as stream:
            return b"".join(stream.batches())

    return consume


def stream_of_items(engine: gm.Engine, items: Iterator[bytes]) -> bytes:
    with engine.stream(bytes.upper, items) as stream:
        return b"".join(stream)


def map_of_items(engine: gm.Engine, items: Iterator[bytes]) -> bytes:
    return b"".join(engine.map(bytes.upper, gm.items(items)))
