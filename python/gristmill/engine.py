"""The engine: a warm pool of workers, and the calls it takes."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import Any, Iterator, Optional

from . import _core, options, topology
from .errors import GristmillError
from .job import Job, Output
from .payload import Payload
from .report import Report, make_report
from .results import Results
from .source import Source
from .stream import refuse_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack


class Engine:
    """Workers that stay between calls, so that a call starts at once.

    Takes the options of workers (``workers``, ``nodes``, ``smt``), and those of runs as defaults
    for its own. Any thread may call; calls of several threads queue. Close it, or use ``with``.

    A forked child cannot use its parent's engine: its threads stay behind.
    """

    def __init__(self, **given: Unpack[options.CallOptions]) -> None:
        of_engine, self._defaults = options.split(given)
        options.parse_run(self._defaults)
        self._core: Optional[_core.Engine] = _core.Engine(**options.parse_engine(of_engine))
        self._plan = topology.make_plan(self._core.plan())
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._caller: Optional[int] = None  # the thread whose turn it is

    def map(
        self, payload: Payload, source: Source, **given: Unpack[options.RunOptions]
    ) -> Results:
        """Like gristmill.map(), with this engine's workers."""
        options.refuse_engine_options(given)
        return self._map(Job.of(payload, source, options.with_defaults(self._defaults, given)))

    def run(
        self,
        payload: Payload,
        source: Source,
        *,
        output: Output = None,
        **given: Unpack[options.RunOptions],
    ) -> Report:
        """Like gristmill.run(), with this engine's workers."""
        options.refuse_engine_options(given)
        run = options.with_defaults(self._defaults, given)
        return self._run(Job.of(payload, source, run, output))

    stream = refuse_stream

    def _map(self, job: Job) -> Results:
        with self._turn_of_this_thread() as core:
            return Results(core.map(job.plugin, job.paths, job.options, _in_main_thread()))

    def _run(self, job: Job) -> Report:
        with self._turn_of_this_thread() as core, job.output as target:
            fields, failures = core.run(
                job.plugin, job.paths, target, job.options, _in_main_thread()
            )
        return make_report(fields, failures)

    @property
    def plan(self) -> topology.Plan:
        """Which worker runs on which CPU of which node, and why."""
        return self._plan

    @property
    def closed(self) -> bool:
        return self._core is None

    def close(self) -> None:
        """Ends the workers, after the runs that are queued. Closing twice does nothing."""
        if self._core is None:
            return
        if os.getpid() != self._process:
            self._core = None  # the threads are the parent's
            return
        with self._turn_of_this_thread() as core:
            self._core = None
            core.close()

    def __enter__(self) -> "Engine":
        self._usable_core()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._core is None:
            return "<gristmill.Engine: closed>"
        if os.getpid() != self._process:
            return f"<gristmill.Engine: of process {self._process}>"
        return f"<gristmill.Engine: {self._plan}>"

    def __reduce__(self) -> Any:
        raise TypeError("an Engine cannot be pickled: make one in each process")

    def _usable_core(self) -> _core.Engine:
        if self._core is None:
            raise GristmillError("this Engine is closed; make a new one")
        if os.getpid() != self._process:
            raise GristmillError(
                f"this Engine belongs to process {self._process}, of which this one is a fork without"
                " its worker threads; make an Engine here, or call gm.map()"
            )
        return self._core

    @contextmanager
    def _turn_of_this_thread(self) -> Iterator[_core.Engine]:
        """Waits until no other thread uses the engine; Ctrl-C ends the wait."""
        self._usable_core()
        this_thread = threading.get_ident()
        if self._caller == this_thread:
            raise GristmillError(
                "this thread is already inside a call of this Engine (is a signal handler calling"
                " it?); use another Engine, or gm.map()"
            )
        with self._turn:
            core = self._usable_core()
            self._caller = this_thread
            try:
                yield core
            finally:
                self._caller = None


def _in_main_thread() -> bool:
    """Only there Python runs signal handlers, so only there a run has to look for them."""
    return threading.current_thread() is threading.main_thread()
