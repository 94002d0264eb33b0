"""The compiled core. Private: use the package."""

from __future__ import annotations

from typing import Any, Callable, Iterator

__version__: str
WORKERS_MAX: int

class RunOptions:
    def __init__(
        self,
        *,
        order: str,
        framing: str,
        delimiter: bytes,
        record_bytes: int,
        batch_records: int | None,
        batch_bytes: int | None,
        max_record: int,
        on_error: str,
        errors_to: bytes,
        max_errors: int | None,
        memory: int,
        isolation: str,
        retries: int,
        timeout_seconds: float,
        batches_per_worker: int,
    ) -> None: ...

class Work:
    @staticmethod
    def plugin(path: bytes, symbol: bytes, config: bytes) -> Work: ...
    @staticmethod
    def command(arguments: list[bytes]) -> Work: ...
    @staticmethod
    def function(texts: list[bytes]) -> Work: ...

class OutputTarget:
    @staticmethod
    def nowhere() -> OutputTarget: ...
    @staticmethod
    def path(path: bytes) -> OutputTarget: ...
    @staticmethod
    def descriptor(descriptor: int) -> OutputTarget: ...

class BatchBuffer:
    """Read-only bytes, by the buffer protocol."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

class Results:
    def __len__(self) -> int: ...
    def record(self, index: int) -> bytes: ...
    def records(self, first: int, step: int, count: int) -> list[bytes]: ...
    def batch_count(self) -> int: ...
    def batch(self, index: int) -> BatchBuffer: ...
    def byte_size(self) -> int: ...
    def to_bytes(self) -> bytes: ...
    def write(self, path: bytes) -> None: ...
    def report(self) -> dict[str, Any]: ...
    def errors(self) -> list[tuple[Any, ...]]: ...

class Engine:
    def __init__(
        self, workers: int | None, nodes: str, smt: bool, launcher: object
    ) -> None: ...
    def map(
        self,
        work: Work,
        paths: list[bytes],
        options: RunOptions,
        interruptible: bool,
        progress: Callable[[int, int, int, int, int, float], object] | None,
    ) -> Results: ...
    def run(
        self,
        work: Work,
        paths: list[bytes],
        output: OutputTarget,
        options: RunOptions,
        interruptible: bool,
        progress: Callable[[int, int, int, int, int, float], object] | None,
    ) -> tuple[dict[str, Any], list[tuple[Any, ...]]]: ...
    def map_items(
        self,
        work: Work,
        iterator: Iterator[Any],
        options: RunOptions,
        interruptible: bool,
        progress: Callable[[int, int, int, int, int, float], object] | None,
    ) -> Results: ...
    def run_items(
        self,
        work: Work,
        iterator: Iterator[Any],
        options: RunOptions,
        interruptible: bool,
        progress: Callable[[int, int, int, int, int, float], object] | None,
    ) -> tuple[dict[str, Any], list[tuple[Any, ...]]]: ...
    def plan(self) -> dict[str, Any]: ...
    def close(self) -> None: ...

def fork_nursery(inherited: list[int]) -> int: ...
def spawn_nursery(arguments: list[str], inherited: list[int]) -> int: ...
def serve_fresh_nursery() -> None: ...
def topology() -> dict[str, Any]: ...
def plan(workers: int | None, nodes: str, smt: bool) -> dict[str, Any]: ...
def generate(
    set: str,
    path: bytes,
    records: int,
    seed: int | None,
    malformed_pct: float,
    stream: str,
    range: tuple[int, int] | None,
    threads: int,
    compression: str,
    large_documents: bool,
    progress: Callable[[int, int], object] | None,
) -> None: ...
def read_manifest(path: bytes) -> dict[str, Any] | str: ...
def verify(path: bytes, progress: Callable[[int, int], object] | None) -> str: ...
