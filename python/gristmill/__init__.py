"""gristmill maps compiled plugins over streams of records: on every core, in input order.

    import gristmill as gm

    results = gm.map("light", "events.jsonl")
    print(len(results), results[0], results.report)

Every record is accounted for: ``report.read == report.emitted + report.filtered + report.failed``.
"""

from . import datagen, plugins
from ._core import __version__
from .api import astream, map, run, stream
from .batches import Batch, batch
from .engine import Engine
from .errors import (
    AccountingError,
    ArgumentTypeError,
    BadReturnError,
    GristmillError,
    KernelError,
    OptionError,
    OutOfMemoryError,
    OutputError,
    PayloadTimeout,
    PluginError,
    PluginLoadError,
    RecordError,
    SourceError,
    TooManyErrors,
    UnsupportedError,
    WorkerCrashed,
)
from .payload import Plugin
from .report import NodeReport, Report
from .results import Results
from .source import items
from .stream import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .async_stream import AsyncStream

__all__ = [
    "AccountingError",
    "ArgumentTypeError",
    "AsyncStream",
    "BadReturnError",
    "Batch",
    "Engine",
    "GristmillError",
    "KernelError",
    "NodeReport",
    "OptionError",
    "OutOfMemoryError",
    "OutputError",
    "PayloadTimeout",
    "Plugin",
    "PluginError",
    "PluginLoadError",
    "RecordError",
    "Report",
    "Results",
    "SourceError",
    "Stream",
    "TooManyErrors",
    "UnsupportedError",
    "WorkerCrashed",
    "__version__",
    "astream",
    "batch",
    "datagen",
    "items",
    "map",
    "plugins",
    "run",
    "stream",
]


def __getattr__(name: str) -> object:
    if name == "AsyncStream":  # asyncio takes longer to import than all the rest
        from .async_stream import AsyncStream

        return AsyncStream
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
