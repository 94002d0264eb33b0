"""oneTBB's parallel_pipeline around the same compiled plugin: tbb_pipeline.cpp, called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

from compiling import compiled
from gristmill.bench.task import Task
from tuning import fastest, settings

name = "oneTBB pipeline"
payloads = ("plugin",)

__all__ = ["available", "name", "output", "payloads", "ready", "settings"]

_CHUNKS = (256 << 10, 1 << 20, 4 << 20)
_TOKENS_A_WORKER = 4


def available() -> str:
    if not shutil.which("c++"):
        return "there is no C++ compiler"
    there = any(Path(folder, "oneapi/tbb/parallel_pipeline.h").exists() for folder in ("/usr/include", "/usr/local/include"))
    return "" if there else "oneTBB's headers are not installed: scripts/setup"


class Kept:
    def __init__(self, library: ctypes.CDLL, address: int) -> None:
        self._library, self._address = library, ctypes.c_void_p(address)

    def views(self) -> Iterator[memoryview]:
        size = ctypes.c_uint64()
        for at in range(self._library.tbb_count(self._address)):
            address = self._library.tbb_piece(self._address, ctypes.c_uint64(at), ctypes.byref(size))
            if address:
                yield memoryview((ctypes.c_char * size.value).from_address(address))

    def __del__(self) -> None:
        self._library.tbb_free(self._address)


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], Kept]]:
    library = ctypes.CDLL(compiled("tbb_pipeline.cpp", "-ltbb"))
    for function in (library.tbb_open, library.tbb_run, library.tbb_piece):
        function.restype = ctypes.c_void_p
    library.tbb_count.restype = ctypes.c_uint64
    runner = ctypes.c_void_p(library.tbb_open(task.plugin_path().encode(), task.plugin_config.encode()))

    def run(chunk: int) -> Kept:
        made = library.tbb_run(runner, task.input.path.encode(), task.workers, ctypes.c_uint64(chunk),
                               _TOKENS_A_WORKER * task.workers)  # fmt: skip
        if not made:
            raise RuntimeError("the pipeline failed")
        return Kept(library, made)

    best = fastest("chunk bytes", _CHUNKS, run) if task.input.bytes < 1 << 29 else _CHUNKS[1]
    yield lambda: run(best)


def output(kept: Kept) -> Iterable[Any]:
    return kept.views()
