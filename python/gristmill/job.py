"""One call, checked: what is to be run over which files, and where its output goes."""

from __future__ import annotations

import io
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, ContextManager, Iterator, List, Mapping, Union

from . import _core, _worker, options, payload, source
from . import option_values as read
from .batches import is_batch_function
from .errors import ArgumentTypeError, OptionError, UnsupportedError

Output = Union[str, "os.PathLike[str]", int, BinaryIO, None]


@dataclass(frozen=True)
class Job:
    """Everything that the core needs to be told. Made without starting or opening anything."""

    payload: payload.Resolved
    source: Union[List[_core.Source], source.Items]
    run: options.ParsedRun
    output: ContextManager[_core.OutputTarget]

    @classmethod
    def of(
        cls,
        what: payload.Payload,
        records: source.Source,
        given: Mapping[str, Any],
        output: Output = None,
    ) -> "Job":
        found = source.resolve(records)
        items = isinstance(found, source.Items)
        run = options.parse_run(given, items)
        resolved = payload.resolve(what, run.config)
        if not isinstance(resolved, payload.Function):
            options.refuse_function_options(run)
        _check_together(resolved, items, run, output)
        return cls(resolved, found, run, _target(output))

    @property
    def calls_per_record(self) -> bool:
        """Is a Python function called for each record of bytes?"""
        return (
            isinstance(self.payload, payload.Function)
            and not isinstance(self.source, source.Items)
            and not is_batch_function(self.payload.payload)
        )

    @property
    def sources(self) -> List[_core.Source]:
        """None for items."""
        return [] if isinstance(self.source, source.Items) else self.source

    @contextmanager
    def keeping_sources(self) -> Iterator[None]:
        """Lets the descriptors of the sources go at the end: the traceback of an error keeps this job, and
        whoever writes to a pipe is to see that nobody reads any more."""
        try:
            yield
        finally:
            self.sources.clear()

    @contextmanager
    def work(self, inherited: bool) -> Iterator[_core.Work]:
        """What the core is to run. ``inherited``: those who run it are this process, or forked from
        it while this lasts; otherwise a function travels as bytes."""
        if not isinstance(self.payload, payload.Function):
            yield self.payload
            return
        filtered = self.run.filtered
        of_function = {
            "items": isinstance(self.source, source.Items),
            "keeps_none": filtered != "drop",
            "blank": filtered == "blank",
            "retries": self.run.retries,
        }
        chosen = json.dumps(of_function).encode()
        what = _worker.Work(self.payload.payload, self.run.retry_exceptions)
        if not inherited:
            yield _core.Work.function([b"pickled", _pickled(self.payload, what), chosen])
            return
        token = os.urandom(16)
        _worker.remember(token, what)
        try:
            yield _core.Work.function([b"known", token, chosen])
        finally:
            _worker.forget(token)


def _check_together(
    what: payload.Resolved, items: bool, run: options.ParsedRun, output: Output
) -> None:
    if not items:
        if run.filtered == "keep":
            raise OptionError("filtered='keep' is for items: a record of bytes is dropped, or left blank")
        return
    if not isinstance(what, payload.Function):
        raise UnsupportedError(
            "this version maps items by Python functions only; for a plugin or a command save the"
            " records to a file and give its path"
        )
    if is_batch_function(what.payload):
        raise OptionError("a function of batches takes records of files; one of items takes an item")
    if output is not None:
        raise UnsupportedError(
            "this version writes no output file for items; gm.map() gives their results"
        )


def _pickled(function: payload.Function, what: _worker.Work) -> bytes:
    import cloudpickle  # takes some milliseconds, and not every run needs it

    try:
        data: bytes = cloudpickle.dumps((what.payload, what.retry_exceptions))
        return data
    except Exception as error:
        raise ArgumentTypeError(
            f"{function.name} cannot be sent to worker processes ({type(error).__name__}: {error});"
            " take what cannot be pickled out of its closure and make it inside the function, or"
            " give a class whose instances are made in the workers, or call gm.map(...,"
            " start='fork'), which needs no pickling"
        ) from error


@contextmanager
def _ready(output: Any, make: Any) -> Iterator[_core.OutputTarget]:
    if hasattr(output, "flush"):
        output.flush()  # what is in its buffer comes first
    yield make()


def _target(output: Output) -> ContextManager[_core.OutputTarget]:
    wanted = "a path, a descriptor, or a file opened for writing in binary mode"
    if output is None:
        return _ready(output, _core.OutputTarget.nowhere)
    if isinstance(output, (str, os.PathLike)):
        path = read.path("output", output)
        return _ready(output, lambda: _core.OutputTarget.path(path))
    if isinstance(output, io.TextIOBase) or hasattr(output, "encoding"):
        raise ArgumentTypeError(f"output is a file opened in text mode; it takes {wanted}")
    descriptor = read.integer("output", _descriptor(output, wanted), 0, wanted)
    return _ready(output, lambda: _core.OutputTarget.descriptor(descriptor))


def _descriptor(output: Any, wanted: str) -> Any:
    if not hasattr(output, "fileno"):
        return output
    try:
        return output.fileno()
    except (OSError, ValueError) as error:  # in memory, or closed
        raise ArgumentTypeError(f"output has no descriptor ({error}); it takes {wanted}") from None
