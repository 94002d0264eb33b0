"""The other end of libzmq's sockets: a process that takes messages, or gives each back."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import signal
import time
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence

PATIENCE_S = 30.0
"""Longer than that nothing takes; then something was lost."""


class Received(NamedTuple):
    """What a receiver counted."""

    records: int
    bytes: int
    seconds: float
    digest: str
    """SHA-256 of all records, one after the other; empty when nobody asked."""


class Way(NamedTuple):
    """How messages are sent."""

    transport: str
    """tcp, over loopback, or ipc: a socket of the file system."""
    limit: int = 1000
    """Messages that each side queues (ZMQ_SNDHWM, ZMQ_RCVHWM); 0: any number."""
    copy: bool = True
    """As in pyzmq's send() and recv()."""


class Pair:
    """This process, and one that it talks to by zmq; with ``with``."""

    def __init__(self, folder: Path) -> None:
        """``folder``: for the sockets of ipc."""
        import zmq

        self._zmq = zmq
        self._folder = folder
        self._orders, theirs = multiprocessing.Pipe()
        make = multiprocessing.get_context("spawn").Process  # fork would take threads' locks with it
        self._process = make(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._context = zmq.Context()

    def __enter__(self) -> "Pair":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(linger=0)
        self._orders.close()
        self._process.terminate()
        self._process.join()

    def push(self, records: Sequence[bytes], way: Way, digest: bool = False) -> Received:
        """PUSH to PULL; the receiver's clock runs from its first message to its last."""
        with self._socket(self._zmq.PUSH, "pull", way, digest) as socket:
            send, copy = socket.send, way.copy
            for record in records:
                send(record, copy=copy)
            send(b"")
            return Received(*self._answer())

    @contextlib.contextmanager
    def echo(self, way: Way) -> Iterator[Callable[[bytes], bytes]]:
        """REQ and REP: gives what sends a message and waits until it is back."""
        with self._socket(self._zmq.REQ, "reply", way) as socket:

            def call(record: bytes) -> bytes:
                socket.send(record)
                back: bytes = socket.recv()
                return back

            yield call
            call(b"")
            self._answer()

    @contextlib.contextmanager
    def _socket(self, kind: int, order: str, way: Way, *more: Any) -> Iterator[Any]:
        address = "tcp://127.0.0.1:*" if way.transport == "tcp" else f"ipc://{self._folder}/zmq"
        self._orders.send((order, address, way, *more))
        with self._context.socket(kind) as socket:
            socket.set_hwm(way.limit)
            socket.linger = 0
            socket.rcvtimeo = int(1000 * PATIENCE_S)
            socket.connect(self._answer())
            yield socket

    def _answer(self) -> Any:
        if not self._orders.poll(PATIENCE_S):
            raise TimeoutError("the receiver of zmq messages waits for some that do not come")
        return self._orders.recv()


def _serve(orders: Any) -> None:
    """The other process: one order after another until there is none."""
    import zmq

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this ends it
    with zmq.Context() as context, contextlib.suppress(EOFError):
        while True:
            order, address, way, *more = orders.recv()
            with context.socket(zmq.PULL if order == "pull" else zmq.REP) as socket:
                socket.set_hwm(way.limit)
                socket.bind(address)
                orders.send(socket.last_endpoint.decode())
                orders.send(_pull(socket, way.copy, *more) if order == "pull" else _reply(socket))


def _pull(socket: Any, copy: bool, digest: bool) -> Received:
    sha = hashlib.sha256()
    recv, count, size = socket.recv, 0, 0
    message = recv(copy=copy)
    started = time.perf_counter()
    while len(message):
        count += 1
        size += len(message)
        if digest:
            sha.update(message if copy else message.buffer)
        message = recv(copy=copy)
    seconds = time.perf_counter() - started
    return Received(count, size, seconds, sha.hexdigest() if digest else "")


def _reply(socket: Any) -> None:
    message = b" "
    while message:
        message = socket.recv()
        socket.send(message)
