"""The engine: a warm pool of workers, and the calls it takes."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from contextlib import ExitStack, contextmanager
from typing import Any, ContextManager, Iterator, Optional

from . import _core, _launcher, _worker, options, progress, topology
from .errors import GristmillError, OptionError
from .job import Job, Output
from .payload import Function, Payload
from .report import Report, make_report
from .results import ItemResults, Results
from .source import Items, Source
from .stream import OpenRun, Stream, close_parked, items_of

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
        if _worker.inside:
            of_engine.setdefault("workers", 0)  # the other CPUs have their own workers
        options.parse_run(self._defaults)
        self._launcher = _launcher.Launcher()
        self._one_shot = False  # made for a single call
        self._core: Optional[_core.Engine] = _core.Engine(
            **options.parse_engine(of_engine), launcher=self._launcher
        )
        self._plan = topology.make_plan(self._core.plan())
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._caller: Optional[threading.Thread] = None  # whose turn it is
        self._open_runs: "weakref.WeakSet[OpenRun]" = weakref.WeakSet()

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

    def stream(
        self, payload: Payload, source: Source, **given: Unpack[options.RunOptions]
    ) -> Stream:
        """Like gristmill.stream(), with this engine's workers, which have no time for other calls
        until the stream has ended or is closed."""
        options.refuse_engine_options(given)
        return self._stream(Job.of(payload, source, options.with_defaults(self._defaults, given)))

    def _map(self, job: Job) -> Results:
        with job.keeping_sources(), self._turn_of_this_thread() as core, self._work(
            job
        ) as work, self._shown(job) as tell:
            main = _in_main_thread()
            if isinstance(job.source, Items):
                found = core.map_items(work, iter(job.source.iterable), job.run.core, main, tell)
                return ItemResults(found)
            found = core.map(work, job.sources, job.run.core, main, tell)
            return Results(found, job.calls_per_record)

    def _run(self, job: Job) -> Report:
        with job.keeping_sources(), self._turn_of_this_thread() as core, job.output as target:
            with self._work(job) as work, self._shown(job) as tell:
                main = _in_main_thread()
                if isinstance(job.source, Items):
                    items = iter(job.source.iterable)
                    told = core.run_items(work, items, job.run.core, main, tell)
                else:
                    told = core.run(work, job.sources, target, job.run.core, main, tell)
        return make_report(*told, called_per_record=job.calls_per_record)

    def _stream(self, job: Job) -> Stream:
        with ExitStack() as resources:
            resources.enter_context(job.keeping_sources())
            if self._one_shot:
                resources.enter_context(self)
            core = resources.enter_context(self._turn_of_this_thread())
            work = resources.enter_context(self._work(job))
            tell = resources.enter_context(self._shown(job))
            if isinstance(job.source, Items):
                pump = items_of(job.source.iterable, resources)
                found = core.stream_items(work, pump, job.run.core, _in_main_thread(), tell)
            else:
                found = core.stream(work, job.sources, job.run.core, _in_main_thread(), tell)
            items = isinstance(job.source, Items)
            resources.callback(found.close)  # before the engine goes
            run = OpenRun(found, resources.pop_all(), items, job.calls_per_record)
            if not self._one_shot:
                self._open_runs.add(run)
            return Stream(run)

    def _shown(self, job: Job) -> ContextManager[Optional[progress.Tell]]:
        return progress.shown(job.run.progress, job.sources, len(self._plan.workers))

    def _work(self, job: Job) -> ContextManager[_core.Work]:
        """The payload, in the form in which it reaches those who run it."""
        _refuse_while_importing()
        if not isinstance(job.payload, Function) or not self._plan.workers:
            return job.work(inherited=True)
        if job.run.isolation == "thread":
            raise OptionError(
                "isolation='thread' is refused for Python functions: one interpreter lock would"
                " let one thread work at a time; use isolation='process', or workers=0"
            )
        self._choose_start(job.run.start)
        inherited = self._one_shot and self._launcher.start == "fork"
        return job.work(inherited)

    def _choose_start(self, wanted: str) -> None:
        launched = self._launcher.launched
        if launched is None:
            self._launcher.start, _ = _launcher.choose(wanted)
        elif wanted not in ("auto", launched):
            raise OptionError(
                f"start={wanted!r} comes too late: this Engine's worker processes were started by"
                f" {launched!r}, and stay; make another Engine"
            )

    @property
    def plan(self) -> topology.Plan:
        """Which worker runs on which CPU of which node, and why."""
        return self._plan

    @property
    def closed(self) -> bool:
        return self._core is None

    def close(self) -> None:
        """Ends open streams, and the workers after the runs that are queued. Closing twice does
        nothing."""
        if self._core is None:
            return
        if os.getpid() != self._process:
            self._core = None  # the threads are the parent's
            return
        for run in list(self._open_runs):
            run.close()
        close_parked()
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
        close_parked()
        this_thread = threading.current_thread()
        if self._caller is this_thread:
            raise GristmillError(
                "this thread is already inside a call of this Engine, or holds an open stream of it"
                " (close() it first); use another Engine, or gm.map()"
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


def _refuse_while_importing() -> None:
    """A child that multiprocessing spawned imports the main module first: a call there would run
    everything once more, in every child."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and getattr(processes.current_process(), "_inheriting", False):
        raise GristmillError(
            "gristmill was called while a child process imports the main module; put the call under"
            " `if __name__ == '__main__':`"
        )
