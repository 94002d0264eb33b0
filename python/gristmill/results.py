"""Results of a map: a sequence of output records, in memory that the engine filled."""

from __future__ import annotations

import builtins
import os
import pickle
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Iterator, List, NoReturn, Tuple, Union, overload

from . import _core
from . import option_values as read
from .errors import RecordError
from .report import Report, make_report

_RECORDS_AT_ONCE = 1024


class Results(Sequence[bytes]):
    """The output records, in input order (or as batches finished, under ``order="none"``).

    ``results[i]`` is a record as bytes, without its delimiter; a slice gives a list of them. The
    memory is shared, not copied, by batches(), and outlives the Engine. Any thread may read.
    """

    def __init__(self, core: _core.Results, called_per_record: bool = False) -> None:
        self._core = core
        self._called_per_record = called_per_record
        self._count = -1  # the core counts when it is first asked

    def __len__(self) -> int:
        if self._count < 0:
            self._count = len(self._core)
        return self._count

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> List[bytes]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[bytes, List[bytes]]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return self._core.record(places)
        return self._core.records(places.start, places.step, len(places))

    def __iter__(self) -> Iterator[bytes]:
        core, count = self._core, len(self)
        return chain.from_iterable(
            core.records(first, 1, min(_RECORDS_AT_ONCE, count - first))
            for first in range(0, count, _RECORDS_AT_ONCE)
        )

    def batches(self) -> Iterator[memoryview]:
        """The output of each batch that gave some, as a read-only memoryview of its bytes.

        Nothing is copied; each view keeps the memory of the whole results. Records are framed
        like the input, and under delimiter framing the last one always has its delimiter.
        """
        core = self._core
        return (memoryview(core.batch(i)) for i in range(core.batch_count()))

    def __bytes__(self) -> bytes:
        """All batches joined; without the last delimiter when the input lacked it too."""
        return self._core.to_bytes()

    def write(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes ``bytes(results)`` to a file, which appears under its name only when complete.

        Raises OutputError.
        """
        self._core.write(read.path("path", path))

    @cached_property
    def report(self) -> Report:
        """What the run did."""
        return make_report(self._core.report(), self._core.errors(), self._called_per_record)

    @property
    def errors(self) -> Tuple[RecordError, ...]:
        """The failed records under ``on_error="collect"``, in the order of the results."""
        return self.report.errors

    def __repr__(self) -> str:
        return f"<gristmill.Results: {len(self):,} records, {self._core.byte_size():,} bytes>"


class ItemResults(Results):
    """What a function gave for each item of an iterable, in the order of the items.

    ``results[i]`` is the object that belongs to item i; a slice gives a list of them. An item that
    failed (under ``on_error="skip"`` or ``"collect"``) has None, unless ``filtered="drop"``. Objects
    are made anew, from what the worker sent, each time they are asked for.
    """

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return _object(found) if isinstance(found, bytes) else [_object(each) for each in found]

    def __iter__(self) -> Iterator[Any]:
        return builtins.map(_object, super().__iter__())

    def batches(self) -> NoReturn:
        raise TypeError("results of items are objects, not bytes: iterate over the results")

    def __bytes__(self) -> NoReturn:
        raise TypeError("results of items are objects, not bytes: join them as they are to be joined")

    def write(self, path: Any) -> NoReturn:
        raise TypeError("results of items are objects, not bytes: write them as they are to be written")


def _object(record: bytes) -> Any:
    """A mark, then bytes that are the object, or its pickle."""
    return record[1:] if record[0] == 0 else pickle.loads(memoryview(record)[1:])
