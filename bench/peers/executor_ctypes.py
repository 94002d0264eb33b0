"""ThreadPoolExecutor + ctypes: the same compiled plugin over byte ranges of the file, called without the GIL.

What one would write by hand. The ranges are found on the clock; executor_ctypes_given.py has them beforehand.
"""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List, Tuple

from compiling import compiled
from gristmill.bench.task import Task
from tuning import fastest, settings

name = "executor + ctypes"
payloads = ("plugin",)

__all__ = ["Ranges", "name", "output", "payloads", "ready", "settings"]

_SIZES = (256 << 10, 1 << 20, 4 << 20)
_TUNED_ON_BYTES = 64 << 20
Range = Tuple[int, int]


class Piece:
    """Output of one range, in memory of the C library."""

    def __init__(self, library: ctypes.CDLL, address: int, size: int) -> None:
        self._library, self._address, self._size = library, address, size

    def view(self) -> memoryview:
        return memoryview((ctypes.c_char * self._size).from_address(self._address))

    def __del__(self) -> None:
        self._library.range_free(ctypes.c_void_p(self._address))


class Ranges:
    """The plugin, a state of it for each thread of an executor, and the file."""

    def __init__(self, task: Task) -> None:
        self._library = ctypes.CDLL(compiled("plugin_ranges.c"))
        self._library.range_open.restype = self._library.range_run.restype = ctypes.c_void_p
        self._made_of = (task.plugin_path().encode(), task.plugin_config.encode())
        self._of_thread = threading.local()
        self._file = os.open(task.input.path, os.O_RDONLY)
        self._bytes = task.input.bytes

    def cut(self, size: int, whole: int = 0) -> List[Range]:
        """Ranges of whole lines of about ``size`` bytes: looks for the newline behind each place."""
        found, begin, whole = [], 0, whole or self._bytes
        while begin < whole:
            end = min(begin + size, self._bytes)
            while end < self._bytes:
                near = os.pread(self._file, 64 << 10, end - 1)
                at = near.find(b"\n")
                if at >= 0:
                    end += at
                    break
                end += len(near)
            found.append((begin, end - begin))
            begin = end
        return found

    def one(self, given: Range) -> Piece:
        worker = getattr(self._of_thread, "worker", None)
        if worker is None:
            worker = self._of_thread.worker = ctypes.c_void_p(self._library.range_open(*self._made_of))
        size = ctypes.c_uint64()
        where = (ctypes.c_uint64(given[0]), ctypes.c_uint64(given[1]))
        address = self._library.range_run(worker, self._file, *where, ctypes.byref(size))
        if not address:
            raise RuntimeError(f"the plugin failed at byte {given[0]}")
        return Piece(self._library, address, size.value)


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Piece]]]:
    ranges = Ranges(task)
    with ThreadPoolExecutor(task.workers) as executor:

        def run(size: int, whole: int = 0) -> List[Piece]:
            return list(executor.map(ranges.one, ranges.cut(size, whole)))

        best = fastest("range bytes", _SIZES, lambda size: run(size, min(_TUNED_ON_BYTES, task.input.bytes)))
        yield lambda: run(best)


def output(pieces: List[Piece]) -> Iterable[Any]:
    return (piece.view() for piece in pieces)
