"""The calls of the module: each makes an Engine for itself."""

from __future__ import annotations

from typing import Any, Dict

from . import options
from .engine import Engine
from .job import Job, Output
from .payload import Payload
from .report import Report
from .results import Results
from .source import Source
from .stream import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .async_stream import AsyncStream


def map(payload: Payload, source: Source, **given: Unpack[options.CallOptions]) -> Results:
    """Runs a payload over every record of a source, on all CPUs, and keeps the output in memory.

    ``payload``, one of

    - a function, called once for each record with its bytes; it returns bytes, bytearray, memoryview
      or str, or None to leave the record out. Also ``"package.module:name"``, and a class whose
      instances are callable: one for each worker, whose close(), if it has one, ends it
    - a function marked with ``@gm.batch``, called once for each Batch
    - a compiled plugin: the path of one (``"./mine.so"``, ``"./mine.so:symbol"``), a bundled one's
      name (``"light"``), or ``gm.Plugin(path, symbol, config)``
    - a command, as a list of str: each batch is its standard input, its standard output the result

    ``source``, one of

    - a path, also of a FIFO or a device, or ``"-"`` for standard input; a pattern (``"logs/*.jsonl"``, ``**`` for any depth), when no file has that name, for
      the files it matches, sorted; or a list of paths
    - a descriptor, or a binary file object (a pipe, a socket, an open file): what is left of it
    - any other iterable: items, for functions only. The function gets each item as it is and may
      return anything that can be pickled; results[i] belongs to item i. The calling thread pulls
      them, a few batches ahead of the workers. ``gm.items(x)`` forces items

    What is compressed by gzip, zstd, xz or lz4 is recognised by its content, and decompressed.

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

    progress        True: show on standard error how far it is

    Of worker processes, which functions always have:

    isolation       "process" (default): payloads may crash; "thread": plugins and commands only
    retries         int, default 2: how often a batch whose worker died is tried again as a whole,
                    before its records are fed one at a time and the one that did it has failed
    timeout         seconds without progress after which a worker is ended; progress is a record of
                    a function, a batch of anything else. Making a payload may take
                    20 times as long. Default: none
    batches_per_worker  int: a worker process is replaced after so many batches

    Of functions:

    filtered        what None leaves: "drop" (default for bytes): nothing; "blank": an empty record,
                    also for one that failed, so that output i belongs to input i; "keep" (default
                    for items): None itself
    retry_exceptions  an exception class, or a tuple: the record is tried again, ``retries`` times
    start           "fork": workers are forked from this process as it is; "fresh": from a new
                    interpreter, to which the function is sent by cloudpickle; "auto" (default):
                    fork, unless this process has other threads, is larger than 2 GiB, or uses CUDA

    Returns Results, a sequence of bytes with one item for each output record; for items, of objects.

    Raises RecordError for the first failing record (``on_error="raise"``), WorkerCrashed or
    PayloadTimeout for one that killed or held up its worker, SourceError, PluginError,
    OptionError, TooManyErrors, OutOfMemoryError, UnsupportedError; all of them GristmillError. An
    exception of a function is the ``__cause__`` where it can be sent, and always in ``traceback``.
    An exception of the iterable is raised as it is.
    """
    of_engine, of_run = options.split(given)
    job = Job.of(payload, source, of_run)  # refuses before anything is started
    with _one_shot_engine(of_engine) as engine:
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
    with _one_shot_engine(of_engine) as engine:
        return engine._run(job)


def stream(payload: Payload, source: Source, **given: Unpack[options.CallOptions]) -> Stream:
    """Runs a payload over every record of a source; gives the results while workers run, in order.

    Returns a Stream: iterate over it, or over its ``batches()``. Memory is bounded by ``memory``,
    however slow the consumer and however long the input is. Payloads, sources and options are those
    of map(), and so are the errors: everything before the first failing record is delivered, then the
    error is raised. Items are pulled by a thread of their own, no further ahead than memory allows;
    what waits to be sent waits 5 ms at most.
    """
    of_engine, of_run = options.split(given)
    job = Job.of(payload, source, of_run)
    return _one_shot_engine(of_engine)._stream(job)


def astream(
    payload: Payload, source: Source, **given: Unpack[options.CallOptions]
) -> AsyncStream:
    """stream() for ``async for``; the run begins with the first record that is asked for."""
    of_engine, of_run = options.split(given)
    job = Job.of(payload, source, of_run)
    from .async_stream import AsyncStream  # asyncio takes longer to import than all the rest

    return AsyncStream(lambda: _one_shot_engine(of_engine)._stream(job))


def _one_shot_engine(of_engine: Dict[str, Any]) -> Engine:
    engine = Engine(**of_engine)
    engine._one_shot = True
    return engine
