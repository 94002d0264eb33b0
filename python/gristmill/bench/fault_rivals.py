"""What the standard library does about failing records and lost workers, for faults."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Callable, Iterable, List, Tuple

from .faulty import Faulty, Guarded, Job

COMPLETE, REDONE, HANGS = "complete", "breaks, redone", "hangs"
Outcome = Tuple[str, Callable[[], bytes]]
"""One of these, and what the output is: to be made when no clock runs."""

_CHUNKS = (500, 2000, 8000)


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


class LostWorkers:
    """Jobs in which a worker may be killed; each makes its workers."""

    def __init__(self, workers: int, chunk: int, hang_limit: float) -> None:
        self._workers = workers
        self._chunk = chunk
        self._hang_limit = hang_limit

    def executor(self, job: Job, marks: Path) -> Outcome:
        """Redone as a whole when it breaks: what was done until then is lost."""
        outcome = COMPLETE
        try:
            results = self._by_executor(job, marks)
        except BrokenProcessPool:
            results = self._by_executor(job, marks)
            outcome = REDONE
        return outcome, lambda: _joined(results)

    def _by_executor(self, job: Job, marks: Path) -> List[bytes]:
        with ProcessPoolExecutor(self._workers) as pool:
            return list(pool.map(Faulty(str(marks)), _records(job), chunksize=self._chunk))

    def pool(self, job: Job, marks: Path) -> Outcome:
        with multiprocessing.Pool(self._workers) as pool:
            waiting: Any = pool.map_async(Faulty(str(marks)), _records(job), chunksize=self._chunk)
            try:
                results: List[bytes] = waiting.get(self._hang_limit)
            except multiprocessing.TimeoutError:
                return HANGS, bytes
        return COMPLETE, lambda: _joined(results)
