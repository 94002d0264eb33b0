"""Functions that take a batch of records at a time."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Batch:
    """Some whole records, as they lie one after the other in a source.

    ``data``: read-only memoryview of all bytes, delimiters included; valid during the call only.
    ``records``: how many there are. ``sequence``: number of the batch within the run, from 0.
    ``offset``: of the first byte within its source.
    """

    __slots__ = ("data", "records", "sequence", "offset")

    def __init__(self, data: memoryview, records: int, sequence: int, offset: int) -> None:
        self.data = data
        self.records = records
        self.sequence = sequence
        self.offset = offset

    def __len__(self) -> int:
        return self.records

    def __repr__(self) -> str:
        return f"<gristmill.Batch {self.sequence}: {self.records} records at byte {self.offset}>"


def batch(function: _Function) -> _Function:
    """Marks a function as one of batches: it is called once for each Batch.

    It returns bytes (framed like the input), which stand for the whole batch, or a list with one
    item per record, each as a function of records would return it.

        @gm.batch
        def upper(batch):
            return bytes(batch.data).upper()

    A batch that it fails is tried again, at last record by record.
    """
    try:
        function.__gristmill_batch__ = True  # type: ignore[attr-defined]
        return function
    except AttributeError:  # a method, or what is built in
        return _Marked(function)  # type: ignore[return-value]


class _Marked:
    __gristmill_batch__ = True

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, batch: Batch) -> Any:
        return self._function(batch)


def is_batch_function(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return bool(getattr(function, "__gristmill_batch__", False))
