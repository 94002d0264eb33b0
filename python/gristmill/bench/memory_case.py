"""The process of one case of memory: ``python -m gristmill.bench.memory_case SPEC``, watched from outside.

It turns records to upper case: in a file or a pipe by the plugin, as items by bytes.upper, which the executors of the
standard library get, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional

from ..engine import Engine
from ..errors import OptionError
from . import watching

MAP, RUN, STREAM, EXECUTOR, IMAP = "map", "run", "stream", "executor", "imap"
FILE, PIPE, ITEMS = "file", "pipe", "items"
KEPT, FAST, SLOW = "kept", "fast", "slow"
"""What becomes of the output: kept whole; or taken bit by bit, as fast as it comes or with pauses at first."""
_PAUSE_SECONDS, _ITEMS_AT_ONCE, _CHUNK = 0.05, 50, 1 << 20


@dataclass(frozen=True)
class Case:
    way: str
    source: str
    consumer: str
    path: str
    input_bytes: int
    workers: int
    memory_mib: int = 0
    """The option; 0: not given."""
    chunk: int = 0
    """Items that an executor sends at a time."""
    slow_seconds: float = 0.0
    """So long the slow consumer makes its pauses."""


class Taken:
    """Digest of the output, and when half of it was there."""

    def __init__(self, input_bytes: int) -> None:
        self._half = input_bytes // 2  # upper case is as long
        self._digest = hashlib.sha256()
        self.bytes = 0
        self.half_at: Optional[float] = None

    def add(self, chunk: Any) -> None:
        self._digest.update(chunk)
        self.bytes += len(chunk)
        if self.half_at is None and self.bytes >= self._half:
            self.half_at = time.monotonic()

    def as_fields(self) -> Dict[str, Any]:
        return {"digest": self._digest.hexdigest(), "output_bytes": self.bytes, "half_at": self.half_at}


def expected_digest(path: Path) -> str:
    """Of the output, made by this process alone."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            found.update(data.upper())
    return found.hexdigest()


def _records(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        for line in file:
            yield line[:-1]


def _lines(results: Iterable[bytes]) -> Iterator[bytes]:
    """Some at a time, as the lines that they are."""
    found = iter(results)
    return iter(lambda: b"".join(each + b"\n" for each in islice(found, _ITEMS_AT_ONCE)), b"")


def _take(chunks: Iterable[Any], case: Case) -> Taken:
    taken = Taken(case.input_bytes)
    slow_until = time.monotonic() + case.slow_seconds
    for chunk in chunks:
        taken.add(chunk)
        if case.consumer == SLOW and time.monotonic() < slow_until:
            time.sleep(_PAUSE_SECONDS)
    return taken


@contextlib.contextmanager
def _opened(case: Case) -> Iterator[Any]:
    if case.source == ITEMS:
        yield _records(case.path)
    elif case.source == FILE:
        yield case.path
    else:
        with subprocess.Popen(["cat", case.path], stdout=subprocess.PIPE) as cat:
            yield cat.stdout


def _ours(case: Case) -> Dict[str, Any]:
    options: Dict[str, Any] = {"memory": case.memory_mib << 20} if case.memory_mib else {}
    payload: Any = bytes.upper if case.source == ITEMS else "upper"
    with Engine(workers=case.workers, **options) as engine:
        try:
            list(engine.stream(payload, [b"a"] if case.source == ITEMS else "/dev/null"))
        except OptionError as error:
            watching.ready()
            return {"refused": str(error)}
        watching.ready()
        begun = time.perf_counter()
        with _opened(case) as source:
            if case.way == RUN:
                return _run(engine, payload, source, case)
            if case.way == MAP:
                results = engine.map(payload, source)
                took, report = time.perf_counter() - begun, results.report
                taken = _take(_lines(results) if case.source == ITEMS else results.batches(), case)
            else:
                with engine.stream(payload, source) as stream:
                    taken = _take(_lines(stream) if case.source == ITEMS else stream.batches(copy=False), case)
                    took, report = time.perf_counter() - begun, stream.report
    facts = {"wall_s": took, "punched_bytes": report.spool_bytes_punched, "spool_bytes": report.spool_bytes_max}
    return {**taken.as_fields(), **facts}


def _run(engine: Engine, payload: Any, source: Any, case: Case) -> Dict[str, Any]:
    target = Path(f"{case.path}.upper")
    report = engine.run(payload, source, output=target)
    digest = hashlib.sha256()
    with target.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    target.unlink()
    return {"digest": digest.hexdigest(), "output_bytes": report.output_bytes, "wall_s": report.wall_seconds,
            "punched_bytes": report.spool_bytes_punched, "spool_bytes": report.spool_bytes_max}  # fmt: skip


def _theirs(case: Case) -> Dict[str, Any]:
    make = ProcessPoolExecutor if case.way == EXECUTOR else multiprocessing.Pool
    with make(case.workers) as pool:
        call = pool.map if case.way == EXECUTOR else pool.imap
        list(call(bytes.upper, [b"a"] * 100 * case.workers))
        watching.ready()
        begun = time.perf_counter()
        results: Iterable[bytes] = call(bytes.upper, _records(case.path), chunksize=case.chunk)
        if case.consumer == KEPT:
            results = list(results)
            took = time.perf_counter() - begun
            taken = _take(_lines(results), case)
        else:
            taken = _take(_lines(results), case)
            took = time.perf_counter() - begun
    return {**taken.as_fields(), "wall_s": took}


def watch(case: Case) -> watching.Watched:
    """In the process that asks: runs the case in one of its own."""
    what = f"{case.way} of {case.source}, {case.consumer}"
    return watching.watch("memory_case", asdict(case), what, look_seconds=0.02)


def main() -> None:
    case = Case(**json.loads(sys.argv[1]))
    found = _theirs(case) if case.way in (EXECUTOR, IMAP) else _ours(case)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # who started this says so
        main()
