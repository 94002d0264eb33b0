"""One call, checked: what is to be run over which files, and where its output goes."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, ContextManager, Iterator, List, Mapping, Union

from . import _core, options, payload, source
from . import option_values as read
from .errors import ArgumentTypeError

Output = Union[str, "os.PathLike[str]", int, BinaryIO, None]


@dataclass(frozen=True)
class Job:
    """Everything that the core needs to be told. Made without starting or opening anything."""

    plugin: _core.PluginSpec
    paths: List[bytes]
    options: _core.RunOptions
    output: ContextManager[_core.OutputTarget]

    @classmethod
    def of(
        cls,
        what: payload.Payload,
        records: source.Source,
        given: Mapping[str, Any],
        output: Output = None,
    ) -> "Job":
        run, config = options.parse_run(given)
        return cls(payload.resolve(what, config), source.resolve(records), run, _target(output))


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
