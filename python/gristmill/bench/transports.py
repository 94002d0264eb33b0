"""Ways to send a message to another process and to get it back; each is made, used and ended by ``with``.

    with ways["pipe"](size) as exchange:
        assert exchange(message) == message         # bytes of this size

The other process copies a message out of the transport, and puts the copy back. It is forked when a way is opened,
so that no other may be open then.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import queue
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterator

import gristmill as gm

_PROCESSES = multiprocessing.get_context("fork")

Exchange = Callable[[bytes], bytes]
Way = Callable[[int], ContextManager[Exchange]]


class NotInstalled(Exception):
    """Says what is missing, and how to get it."""


@contextmanager
def _peer(body: Callable[..., None], *given: Any) -> Iterator[None]:
    """A process that serves until this ends. It ends by a signal: it waits, or spins, for the next message."""
    process = _PROCESSES.Process(target=body, args=given, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()
        process.close()


def _read(descriptor: int, size: int) -> bytes:
    """A large message comes in pieces."""
    found = os.read(descriptor, size)
    if len(found) == size:
        return found
    parts = [found]
    while found and sum(map(len, parts)) < size:
        found = os.read(descriptor, size - sum(map(len, parts)))
        parts.append(found)
    return b"".join(parts)


def _write(descriptor: int, message: bytes) -> None:
    written = os.write(descriptor, message)
    while written < len(message):
        written += os.write(descriptor, memoryview(message)[written:])


def _pipe(stack: ExitStack) -> Any:
    pair = os.pipe()
    for each in pair:
        stack.callback(os.close, each)
    return pair


@contextmanager
def pipe(size: int) -> Iterator[Exchange]:
    """A pipe there, a pipe back."""
    with ExitStack() as stack:
        (there, to_peer), (here, from_peer) = _pipe(stack), _pipe(stack)

        def serve() -> None:
            while True:
                _write(from_peer, _read(there, size))

        def exchange(message: bytes) -> bytes:
            _write(to_peer, message)
            return _read(here, size)

        stack.enter_context(_peer(serve))
        yield exchange


@contextmanager
def file(size: int) -> Iterator[Exchange]:
    """A file there, a file back, open in both processes and never synced. That one is written, a byte in a pipe
    says: who would look again and again would measure how often he looks."""
    with ExitStack() as stack:
        there = stack.enter_context(tempfile.TemporaryFile(buffering=0)).fileno()
        back = stack.enter_context(tempfile.TemporaryFile(buffering=0)).fileno()
        (asked, ask), (told, tell) = _pipe(stack), _pipe(stack)

        def serve() -> None:
            while os.read(asked, 1):
                os.pwrite(back, os.pread(there, size, 0), 0)
                os.write(tell, b"!")

        def exchange(message: bytes) -> bytes:
            os.pwrite(there, message, 0)
            os.write(ask, b"!")
            os.read(told, 1)
            return os.pread(back, size, 0)

        stack.enter_context(_peer(serve))
        yield exchange


_LOOKS = 200
_TURN = 0  # byte of the memory: whose turn it is
_BEGIN = 64


def _spin(memory: mmap.mmap, turn: int) -> None:
    """Until it is somebody's turn. It lets others have the core from time to time: there may be but one."""
    while True:
        for _ in range(_LOOKS):
            if memory[_TURN] == turn:
                return
        os.sched_yield()


@contextmanager
def mmap_spinning(size: int) -> Iterator[Exchange]:
    """Shared memory, and a byte in it that says whose turn it is; both look at it all the time, each on its core."""
    with mmap.mmap(-1, _BEGIN + size) as memory:
        end = _BEGIN + size

        def serve() -> None:
            while True:
                _spin(memory, 1)
                memory[_BEGIN:end] = memory[_BEGIN:end]
                memory[_TURN] = 2

        def exchange(message: bytes) -> bytes:
            memory[_BEGIN:end] = message
            memory[_TURN] = 1
            _spin(memory, 2)
            return memory[_BEGIN:end]

        with _peer(serve):
            yield exchange


@contextmanager
def mmap_sleeping(size: int) -> Iterator[Exchange]:
    """Shared memory, and two semaphores: who waits, sleeps (in futex(2))."""
    asked, told = _PROCESSES.Semaphore(0), _PROCESSES.Semaphore(0)
    with mmap.mmap(-1, size) as memory:

        def serve() -> None:
            while True:
                asked.acquire()
                memory[:] = memory[:]
                told.release()

        def exchange(message: bytes) -> bytes:
            memory[:] = message
            asked.release()
            told.acquire()
            return memory[:]

        with _peer(serve):
            yield exchange


def zeromq(address: str) -> Way:
    """REQ here, REP there; ``{folder}`` in the address is an empty folder."""

    @contextmanager
    def way(size: int) -> Iterator[Exchange]:
        try:
            import zmq
        except ImportError:
            raise NotInstalled("pyzmq is not installed; pip install pyzmq") from None
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gristmill-zmq-"))
            ours, theirs = _PROCESSES.Pipe()

            def serve() -> None:
                socket = zmq.Context().socket(zmq.REP)
                socket.bind(address.format(folder=folder))
                theirs.send(socket.getsockopt_string(zmq.LAST_ENDPOINT))
                while True:
                    socket.send(socket.recv())

            stack.enter_context(_peer(serve))  # before there is a context, which has threads
            socket = stack.enter_context(zmq.Context()).socket(zmq.REQ)
            stack.callback(socket.close, 0)
            socket.connect(ours.recv())

            def exchange(message: bytes) -> bytes:
                socket.send(message)
                return bytes(socket.recv())

            yield exchange

    return way


def ring_of_plugin(isolation: str) -> Way:
    """An open stream over a pipe, batch_records=1: a batch is published as soon as it has its record, and nothing
    waits for the flush interval. Write to the pipe, the ingress thread reads it into the spool and publishes it, a
    worker claims it and runs the identity plugin, this thread retires it, and takes the record."""

    @contextmanager
    def way(size: int) -> Iterator[Exchange]:
        with ExitStack() as stack:
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            engine = stack.enter_context(gm.Engine(workers=1))
            stream = stack.enter_context(
                engine.stream("identity", reading, isolation=isolation, framing=size, batch_records=1)
            )
            stack.callback(os.close, writing)  # before the stream: its input ends

            def exchange(message: bytes) -> bytes:
                _write(writing, message)
                return bytes(next(stream))

            yield exchange

    return way


@contextmanager
def ring_of_function(size: int) -> Iterator[Exchange]:
    """An open stream over an iterable, batch_records=1. The item goes through a queue to the thread that pulls the
    iterable, to ingress, which copies it into the spool and publishes it, to a worker process, which calls a Python
    function that gives it back, and to this thread."""
    waiting: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    with ExitStack() as stack:
        engine = stack.enter_context(gm.Engine(workers=1))
        stream = stack.enter_context(engine.stream(bytes, iter(waiting.get, None), batch_records=1))
        stack.callback(waiting.put, None)

        def exchange(message: bytes) -> bytes:
            waiting.put(message)
            return bytes(next(stream))

        yield exchange


@contextmanager
def map_of_file(size: int) -> Iterator[Exchange]:
    """A run for each message: it is written to a file, Engine.map() runs the identity plugin over it in a worker
    process, and the results, one record, are dropped with their memory. Nothing of the run is kept but the engine."""
    with tempfile.TemporaryDirectory(prefix="gristmill-transport-") as folder, gm.Engine(workers=1) as engine:
        path = Path(folder) / "message"
        with open(path, "wb", buffering=0) as written:

            def exchange(message: bytes) -> bytes:
                os.pwrite(written.fileno(), message, 0)
                return engine.map("identity", path, framing=size)[0]

            yield exchange


@contextmanager
def map_of_item(size: int) -> Iterator[Exchange]:
    """A run for each message: Engine.map() of a list of one item, through a function in a worker process."""
    with gm.Engine(workers=1) as engine:
        yield lambda message: bytes(engine.map(bytes, gm.items([message]))[0])


WAYS: Dict[str, Way] = {
    "mmap, spinning": mmap_spinning,
    "mmap, semaphores": mmap_sleeping,
    "pipe pair": pipe,
    "file": file,
    "ZeroMQ, ipc": zeromq("ipc://{folder}/socket"),
    "ZeroMQ, tcp": zeromq("tcp://127.0.0.1:*"),
    "gristmill ring, thread": ring_of_plugin("thread"),
    "gristmill ring, process": ring_of_plugin("process"),
    "gristmill ring, function": ring_of_function,
    "gristmill map of a file": map_of_file,
    "gristmill map of an item": map_of_item,
}
