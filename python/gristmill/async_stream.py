"""Streams for ``async for``."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, Tuple

from .errors import GristmillError
from .report import Report
from .stream import Stream

_Wish = Tuple[asyncio.AbstractEventLoop, "asyncio.Future[Optional[List[Any]]]"]


class _Taker:
    """A thread that waits for batches, so that the event loop does not.

    It is no thread of the loop's executor: it may wait as long as the input takes to come, and must
    hold up nothing else meanwhile, nor the end of the loop.
    """

    def __init__(self, make: Callable[[], Stream]) -> None:
        self._make = make
        self.stream: Optional[Stream] = None
        self._closed = False
        self._wishes: "queue.SimpleQueue[Optional[_Wish]]" = queue.SimpleQueue()

    def ask(self, wish: _Wish) -> None:
        if self.stream is None and not self._closed:
            self.stream = self._make()
            thread = threading.Thread(target=self._serve, name="gristmill/astream", daemon=True)
            thread.start()
        self._wishes.put(wish)

    def close(self) -> None:
        self._closed = True
        self._wishes.put(None)
        if self.stream is not None:
            self.stream.close()

    def _serve(self) -> None:
        while True:
            wish = self._wishes.get()
            if wish is None:
                return
            loop, future = wish
            try:
                self._answer(loop, future.set_result, self.stream._run.next_list())  # type: ignore[union-attr]
            except BaseException as error:
                self._answer(loop, future.set_exception, error)

    @staticmethod
    def _answer(loop: asyncio.AbstractEventLoop, answer: Callable[[Any], None], what: Any) -> None:
        try:
            loop.call_soon_threadsafe(answer, what)
        except RuntimeError:  # the loop has ended, and whoever waited with it
            pass


class AsyncStream:
    """A Stream for ``async for``. Waiting for workers leaves the event loop free; a task that is
    cancelled while it waits loses no record. Made by gristmill.astream().
    """

    def __init__(self, make: Callable[[], Stream]) -> None:
        self._taker = _Taker(make)
        self._batch: Iterator[Any] = iter(())
        self._wanted: Optional["asyncio.Future[Optional[List[Any]]]"] = None
        self._one_at_a_time = asyncio.Lock()
        self._ended = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        async with self._one_at_a_time:
            while not self._ended:
                for record in self._batch:
                    return record
                records = await self._next_list()
                self._ended = records is None
                self._batch = iter(records or ())
        raise StopAsyncIteration

    async def _next_list(self) -> Optional[List[Any]]:
        if self._wanted is None:
            loop = asyncio.get_running_loop()
            self._wanted = loop.create_future()
            self._taker.ask((loop, self._wanted))
        wanted = self._wanted
        try:
            records = await asyncio.shield(wanted)
        except asyncio.CancelledError:  # of this task: what it waited for is for the next to ask
            raise
        except BaseException:
            self._wanted = None
            raise
        self._wanted = None
        return records

    @property
    def report(self) -> Report:
        """What the run did; while it goes on, so far."""
        if self._taker.stream is None:
            raise GristmillError("the stream has not begun: take a record first")
        return self._taker.stream.report

    async def aclose(self) -> None:
        """Gives up what was not delivered yet."""
        self._ended = True
        await asyncio.get_running_loop().run_in_executor(None, self._taker.close)

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self._taker.close()
