"""``gristmill bench``: one question each, measured."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

_NAMES = {
    "totals": "the published totals of the record sets, through generator, plugin and engine",
    "udf": "Python functions, against the executors of the standard library",
    "streaming": "pipes against files, and results while workers run",
    "startup": "from a call to its first record, cold and warm",
    "latency": "a call of a kept engine, a cold start, a push into a stream",
    "transport": "round trips of a message: file, mmap, pipe, ZeroMQ, the batch ring",
    "batch_shape": "batches of a fixed number of records, against those that adapt",
    "record_size": "records of 1 B to 64 KiB, beside libzmq",
    "codecs": "objects to workers and back, by codec, beside ProcessPoolExecutor",
    "numa_overhead": "what logical nodes cost on one socket",
    "ideal": "the engine against a loop written by hand; needs the build of a clone, as the next two do",
    "kernels": "the payloads and the generator alone",
    "ring": "the batch ring alone",
    "scaling": "what more workers bring, against engines that share nothing",
    "memory": "how much memory maps, runs and streams take, over time",
    "faults": "what deaths of workers, failing records, and records that kill or hang cost",
    "compare": "two results of the study, or of one of these, side by side",
}


def add_to(commands: Any) -> None:
    listed = "\n".join(f"  {name:<14} {what}" for name, what in _NAMES.items())
    parser = commands.add_parser(
        "bench",
        help="measure one question: " + ", ".join(_NAMES),
        description="Runs one of the benchmarks; gristmill study is the large one.",
        epilog=f"benchmarks:\n{listed}\n\ngristmill bench NAME --help has the options of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=tuple(_NAMES), metavar="NAME", help="see below")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="...", help="of the benchmark")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    module = importlib.import_module(f"gristmill.bench.{arguments.name}")  # not for the other commands
    sys.argv = [f"gristmill bench {arguments.name}", *arguments.options]
    return int(module.main() or 0)
