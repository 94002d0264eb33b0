"""What the standard library does about failing records and lost workers, for faults."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Callable, Iterable, List, Tuple

from .faulty import Faulty, Guarded, Job

COMPLETE, REDONE, HANGS = "complete", "breaks, redone", "hangs"
_CHUNKS = (500, 2000, 8000)
Body = Callable[[Job, Path], Tuple[str, List[bytes]]]


def _records(job: Job) -> List[bytes]:
    return job.path.read_bytes().split(b"\n")[:-1]


def _joined(results: Iterable[bytes]) -> bytes:
    return b"".join(each + b"\n" for each in results)


def best_chunk(workers: int, job: Job, marks: Path) -> int:
    """The chunk size that is fastest for the executor."""
    with ProcessPoolExecutor(workers) as pool:
        times = {}
        for chunk in _CHUNKS:
            started = time.perf_counter()
            list(pool.map(Faulty(str(marks)), _records(job), chunksize=chunk))
            times[chunk] = time.perf_counter() - started
    return min(_CHUNKS, key=lambda chunk: times[chunk])


class Executor:
    """One that is kept, for records that fail."""

    def __init__(self, workers: int, clean: Job, marks: Path) -> None:
        self.chunk = best_chunk(workers, clean, marks)
        self._marks = str(marks)
        self._pool = ProcessPoolExecutor(workers)

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def failing(self, job: Job, on_error: str) -> Tuple[int, Callable[[], bytes], List[int]]:
        """How many results came, and what they are; which failed it does not tell."""
        function = Faulty(self._marks) if on_error == "raise" else Guarded(self._marks)
        results: List[bytes] = []
        try:
            results.extend(each for each in self._pool.map(function, _records(job), chunksize=self.chunk) if each is not None)
        except ValueError:
            pass
        return len(results), lambda: _joined(results), []


@dataclass(frozen=True)
class Outcome:
    """Of one job that may have lost a worker."""

    what: str
    """COMPLETE, REDONE or HANGS."""
    seconds: float
    exact: bool
    """Whether the output is what it has to be; nothing is told of one that did not come."""


class LostWorkers:
    """Jobs in which a worker may be killed; each makes its workers.

    Each job has a process of its own, which is ended after ``hang_limit`` seconds: a pool waits for ever for what a lost
    worker had, and an executor too, when it was about to send a worker more than a pipe holds (CPython issue 94777).
    """

    def __init__(self, workers: int, chunk: int, hang_limit: float) -> None:
        self._workers = workers
        self._chunk = chunk
        self._hang_limit = hang_limit

    def executor(self, job: Job, marks: Path) -> Outcome:
        """Redone as a whole when it breaks: what was done until then is lost."""
        return self._bounded(self._by_executor, job, marks)

    def pool(self, job: Job, marks: Path) -> Outcome:
        return self._bounded(self._by_pool, job, marks)

    def _by_executor(self, job: Job, marks: Path) -> Tuple[str, List[bytes]]:
        what = COMPLETE
        while True:
            try:
                with ProcessPoolExecutor(self._workers) as pool:
                    return what, list(pool.map(Faulty(str(marks)), _records(job), chunksize=self._chunk))
            except BrokenProcessPool:
                what = REDONE

    def _by_pool(self, job: Job, marks: Path) -> Tuple[str, List[bytes]]:
        with multiprocessing.Pool(self._workers) as pool:
            return COMPLETE, pool.map(Faulty(str(marks)), _records(job), chunksize=self._chunk)

    def _bounded(self, body: Body, job: Job, marks: Path) -> Outcome:
        receiving, sending = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=_alone, args=(body, job, marks, sending))
        child.start()
        sending.close()
        try:
            return receiving.recv() if receiving.poll(self._hang_limit) else Outcome(HANGS, self._hang_limit, True)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid or 0, signal.SIGKILL)
            child.kill()
            child.join()
            receiving.close()


def _alone(body: Body, job: Job, marks: Path, sending: Connection) -> None:
    """In the process of one job, whose workers end with it."""
    os.setsid()
    started = time.perf_counter()
    what, results = body(job, marks)
    took = time.perf_counter() - started
    sending.send(Outcome(what, took, _joined(results) == job.output))
