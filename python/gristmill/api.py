"""The calls of the module: each makes an Engine for itself."""

from __future__ import annotations

from . import options
from .engine import Engine
from .job import Job, Output
from .payload import Payload
from .report import Report
from .results import Results
from .source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack


def map(payload: Payload, source: Source, **given: Unpack[options.CallOptions]) -> Results:
    """Runs a payload over every record of a source, on all CPUs, and keeps the output in memory.

    ``payload``: a bundled plugin's name (``"light"``), the path of a compiled one
    (``"./mine.so"``, ``"./mine.so:symbol"``), or ``gm.Plugin(path, symbol, config)``.

    ``source``: a path; a pattern (``"logs/*.jsonl"``, ``**`` for any depth), when no file has
    that name, for the files it matches, sorted; or a list of paths.

    Options, all by keyword; sizes are bytes, or texts like ``"256KiB"``:

    workers         int, default: one for each CPU we may use; 0: the calling thread does the work
    nodes           "auto" (default), a number N of nodes, a list "0,1", or "@N": N logical nodes
    smt             False: leave SMT siblings unused (default: used after all physical cores)
    order           "index" (default): results as in the input; "none": as batches finish
    batch_records   records of a batch, exactly, but for the last one of each source
    batch_bytes     bytes of a batch, about; cut at a record's end (default: adapts itself)
    delimiter       bytes or str that end a record, default b"\\n"; never part of a record
    framing         "delimiter" (default); "u32le": each record follows its length, 4 bytes little
                    endian; or an int: the length of fixed-size records
    max_record      size of the longest record allowed, default "1GiB"; a longer one fails
    on_error        "raise" (default): the first failing record ends the run; "skip": failing
                    records are counted; "collect": and described in results.errors
    errors_to       path of a file for the failing records, as JSON lines (skip, collect)
    max_errors      int: end the run when more records fail (skip, collect)
    memory          size of what is in flight, default "512MiB": half of it input, half output
    config          text, or a path, handed to the plugin

    ``isolation="thread"``, ``start="auto"`` and ``progress=False`` are taken and change nothing;
    other values, and ``timeout``, ``retries``, ``retry_exceptions``, ``batches_per_worker``, are
    checked, then refused: this version does not have those parts.

    Returns Results, a sequence of bytes with one item for each output record.

    Raises RecordError for the first failing record (``on_error="raise"``), SourceError,
    PluginError, OptionError, TooManyErrors, OutOfMemoryError, UnsupportedError; all of them
    GristmillError.
    """
    of_engine, of_run = options.split(given)
    job = Job.of(payload, source, of_run)  # refuses before anything is started
    with Engine(**of_engine) as engine:
        return engine._map(job)


def run(
    payload: Payload,
    source: Source,
    *,
    output: Output = None,
    **given: Unpack[options.CallOptions],
) -> Report:
    """Runs a payload over every record of a source and writes the output to a file, in order.

    ``output``: a path, which appears, or is replaced, only when the run succeeded; an open
    descriptor or binary file, written from its position on; None throws the output away. The
    rest is as in map(), but memory is bounded by ``memory`` whatever the size of the output.

    Returns a Report. Raises what map() raises, and OutputError.
    """
    of_engine, of_run = options.split(given)
    job = Job.of(payload, source, of_run, output)
    with Engine(**of_engine) as engine:
        return engine._run(job)
