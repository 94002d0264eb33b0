"""Streams: results while workers run, in bounded memory."""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from contextlib import ExitStack
from itertools import chain
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, Tuple

from . import _core
from .errors import GristmillError, RecordError
from .report import Report, make_report

_open_runs: "weakref.WeakSet[OpenRun]" = weakref.WeakSet()


class OpenRun:
    """A run whose output is being taken, and what has to be let go when it ends. Private."""

    def __init__(
        self, core: _core.Stream, resources: ExitStack, items: bool, called_per_record: bool
    ) -> None:
        self._core = core
        self._resources = resources
        self._items = items
        self._called_per_record = called_per_record
        self._view: Optional[memoryview] = None
        self._exporter: Any = None
        self._taking = threading.RLock()
        self.closed = False
        close_parked()
        _open_runs.add(self)

    def advance(self) -> bool:
        """On to the next batch; False at the end, when everything is let go."""
        if not self._taking.acquire(blocking=False):
            raise GristmillError("another thread is taking from this stream just now")
        try:
            self._release_view()
            if self.closed:
                return False
            more = False
            try:
                more = self._core.next(threading.current_thread() is threading.main_thread())
            finally:
                if not more:
                    self.close()
            return more
        finally:
            self._taking.release()

    def records(self) -> List[Any]:
        return self._core.objects() if self._items else self._core.records()

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
        self._core.cancel()
        with self._taking:
            if self.closed:
                return
            self._release_view()
            self.closed = True
            _open_runs.discard(self)
            self._core.close()
            self._resources.close()

    def report(self) -> Report:
        return make_report(self._core.report(), self._core.errors(), self._called_per_record)

    def __del__(self) -> None:
        try:
            self.close()
        except BufferError:
            _park(self)


# Runs that nobody holds any more, while somebody still looks at their memory.
_parked: List[Tuple[Any, ...]] = []


def _park(run: OpenRun) -> None:
    _parked.append((run._exporter, run._core, run._resources))


def close_parked() -> None:
    for parked in list(_parked):
        exporter, core, resources = parked
        if not exporter.views():
            _parked.remove(parked)
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
        self._records = chain.from_iterable(_lists(run))

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Any:
        return next(self._records)

    def batches(self, copy: bool = True) -> Iterator[Any]:
        """The output batch by batch, framed like the input: as bytes, or with ``copy=False`` as a
        memoryview of where it lies, which is valid until the next one is asked for. Asking for it
        while something else still uses the memory is a BufferError.

        Records that were taken one by one before are not repeated. Not for items.
        """
        if self._run._items:
            raise TypeError("results of items are objects, not bytes: iterate over the stream")
        return _Batches(self._run, copy)

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
        """Gives up what was not delivered yet. Closing twice does nothing."""
        self._run.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gristmill.Stream: {'closed' if self.closed else 'open'}>"


def _lists(run: OpenRun) -> Iterator[List[Any]]:
    while run.advance():
        yield run.records()


class _Batches:
    """No generator: after a BufferError it can be asked again."""

    def __init__(self, run: OpenRun, copy: bool) -> None:
        self._run = run
        self._copy = copy

    def __iter__(self) -> "_Batches":
        return self

    def __next__(self) -> Any:
        if not self._run.advance():
            raise StopIteration
        view = self._run.view()
        return bytes(view) if self._copy else view


class AsyncStream:
    """A Stream for ``async for``; waiting for workers leaves the event loop free."""

    def __init__(self, make: Callable[[], Stream]) -> None:
        self._make = make
        self._stream: Optional[Stream] = None
        self._batch: Iterator[Any] = iter(())

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        for record in self._batch:
            return record
        loop = asyncio.get_running_loop()
        records = await loop.run_in_executor(None, self._take)
        while records is not None:
            self._batch = iter(records)
            for record in self._batch:
                return record
            records = await loop.run_in_executor(None, self._take)
        raise StopAsyncIteration

    def _take(self) -> Optional[List[Any]]:
        if self._stream is None:
            self._stream = self._make()
        run = self._stream._run
        return run.records() if run.advance() else None

    @property
    def report(self) -> Report:
        """What the run did; while it goes on, so far."""
        if self._stream is None:
            raise GristmillError("the stream has not begun: take a record first")
        return self._stream.report

    async def aclose(self) -> None:
        """Gives up what was not delivered yet."""
        if self._stream is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._stream.close)

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def items_of(iterable: Any) -> _core.ItemPump:
    """Items that a daemon thread pulls, as they are wanted."""
    pump = _core.ItemPump(iter(iterable))
    threading.Thread(target=pump.serve, name="gristmill/items", daemon=True).start()
    return pump
