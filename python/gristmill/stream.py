"""Streams: results while workers run, in bounded memory."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from contextlib import ExitStack
from typing import Any, Iterator, List, Optional, Tuple

from . import _core
from .errors import GristmillError, RecordError
from .report import Report, make_report

_open_runs: "weakref.WeakSet[OpenRun]" = weakref.WeakSet()


class OpenRun:
    """A run whose output is being taken, and what has to be let go when it ends. Private.

    A forked child has a copy that does nothing: the run is its parent's.
    """

    def __init__(
        self, core: _core.Stream, resources: ExitStack, items: bool, called_per_record: bool
    ) -> None:
        self._core = core
        self._resources = resources
        self.items = items
        self._called_per_record = called_per_record
        self._process = os.getpid()
        self._exporter: Any = None
        self._view: Optional[memoryview] = None
        self._taking = threading.RLock()
        self._inside = False  # of the core's next()
        self._closing = False
        self.closed = False
        close_parked()
        _open_runs.add(self)

    def next_list(self) -> Optional[List[Any]]:
        """The records of the next batch; None at the end."""
        return self.records() if self.advance() else None

    def advance(self) -> bool:
        """On to the next batch; False at the end, when everything is let go."""
        if os.getpid() != self._process:
            raise GristmillError(f"this stream belongs to process {self._process}, which forked this one")
        if not self._taking.acquire(blocking=False):
            if self._closing or self.closed:
                return False
            raise GristmillError("another thread is taking from this stream just now")
        try:
            if self._inside:
                raise GristmillError("a signal handler cannot take from the stream that it interrupts")
            self._release_view()
            return not self.closed and self._next()
        finally:
            self._taking.release()

    def _next(self) -> bool:
        more = False
        self._inside = True
        try:
            more = self._core.next(threading.current_thread() is threading.main_thread())
        finally:
            self._inside = False
            if not more:
                self.close()
        return more

    def records(self) -> List[Any]:
        return self._core.objects() if self.items else self._core.records()

    def view(self) -> memoryview:
        """Of the batch in hand."""
        self._exporter = self._core.view()
        self._view = memoryview(self._exporter)
        return self._view

    def _release_view(self) -> None:
        """Slices of the view, and arrays over it, keep it in use."""
        if self._view is not None:
            try:
                self._view.release()
            except BufferError:
                pass
            if self._exporter.views():
                raise BufferError(
                    "the last batch is still in use, and its memory is needed: copy what is to stay"
                    " (bytes(batch)), or take batches(copy=True)"
                )
        self._view = self._exporter = None

    def close(self) -> None:
        """Whichever thread takes from the stream just now gets no more."""
        if self.closed or os.getpid() != self._process:
            return
        if not self._taking.acquire(blocking=False):
            self._closing = True  # whoever comes to take finds the end
            self._core.cancel()
            self._taking.acquire()
        try:
            if self._inside:  # a signal handler's wish: the call that it interrupts closes
                self._core.cancel()
                return
            if self.closed:
                return
            self._release_view()
            self.closed = True
            _open_runs.discard(self)
            self._core.close()
            self._resources.close()
        finally:
            self._taking.release()

    def report(self) -> Report:
        return make_report(self._core.report(), self._core.errors(), self._called_per_record)

    def __del__(self) -> None:
        try:
            self.close()
        except BufferError:
            _parked.append((self._exporter, self._core, self._resources))


# Runs that nobody holds any more, while somebody still looks at their memory.
_parked: List[Tuple[Any, _core.Stream, ExitStack]] = []


def close_parked() -> None:
    for _ in range(len(_parked)):
        try:
            parked = _parked.pop(0)
        except IndexError:  # closing one closes an engine, which closes others
            return
        exporter, core, resources = parked
        if exporter.views():
            _parked.append(parked)
        else:
            core.close()
            resources.close()


@atexit.register
def _close_all() -> None:
    close_parked()
    for run in list(_open_runs):
        try:
            run.close()
        except BufferError:
            pass


class Stream:
    """Results of a run that goes on: an iterator of records, in order.

    Input is read, and workers work, between two records as well, no further ahead than ``memory``
    allows. Ends by itself when all is delivered; ``close()``, ``with``, or dropping it gives up the
    rest. One thread at a time. Made by gristmill.stream() and Engine.stream().
    """

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        # It knows the run, not this object: so dropping this object ends the run at once.
        self._records = _core.walk_lists(run.next_list)

    def __iter__(self) -> Iterator[Any]:
        records: Iterator[Any] = self._records
        return records

    def __next__(self) -> Any:
        return next(self._records)

    def batches(self, copy: bool = True) -> Iterator[Any]:
        """The output batch by batch, framed like the input: as bytes, or with ``copy=False`` as a
        memoryview of where it lies, which is valid until the next one is asked for. Asking for it
        while something else still uses the memory is a BufferError.

        Not for items, and not in the middle of a batch whose records are being taken one by one.
        """
        if self._run.items:
            raise TypeError("results of items are objects, not bytes: iterate over the stream")
        batches = _Batches(self._run, self._records, copy)
        batches.check()
        return batches

    @property
    def report(self) -> Report:
        """What the run did; while it goes on, so far."""
        return self._run.report()

    @property
    def errors(self) -> Tuple[RecordError, ...]:
        """The failed records under ``on_error="collect"``, when the stream has ended."""
        return self.report.errors

    @property
    def closed(self) -> bool:
        """Has it ended, or been closed?"""
        return self._run.closed

    def close(self) -> None:
        """Gives up what was not delivered yet. Closing twice does nothing.

        Raises BufferError while a view of the last batch is in use.
        """
        self._run.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gristmill.Stream: {'closed' if self.closed else 'open'}>"


class _Batches:
    """No generator: after a BufferError it can be asked again."""

    def __init__(self, run: OpenRun, records: Any, copy: bool) -> None:
        self._run = run
        self._records = records
        self._copy = copy

    def check(self) -> None:
        if self._records.left():
            raise GristmillError(
                f"{self._records.left()} records of the last batch have not been taken yet; take"
                " either records or batches"
            )

    def __iter__(self) -> "_Batches":
        return self

    def __next__(self) -> Any:
        self.check()
        if not self._run.advance():
            raise StopIteration
        view = self._run.view()
        return bytes(view) if self._copy else view


def items_of(iterable: Any, resources: ExitStack) -> _core.ItemPump:
    """Items that a daemon thread pulls, as they are wanted, until ``resources`` are let go."""
    pump = _core.ItemPump(iter(iterable))
    resources.callback(pump.give_up)
    threading.Thread(target=pump.serve, name="gristmill/items", daemon=True).start()
    return pump
