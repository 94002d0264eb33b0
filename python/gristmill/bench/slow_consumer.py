"""Part d: the memory of streams whose consumer is slow, over time.

Each stream runs in a process of its own, ``python -m gristmill.bench.slow_consumer``: it makes a warm engine,
says so, and takes a batch now and then; later the rest as fast as it comes, so that all of it can be counted.
Meanwhile this process looks at its memory. What counts is the growth over the idle engine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterator, List

from ..engine import Engine
from ..payload import Plugin
from ..stream import Stream
from . import plan, reference, watching
from .inputs import prepare
from .table import size
from .task import PLUGIN, Output, Task, counted

_MIB = 1 << 20
_MEMORY = 64 * _MIB
_LOOK_SECONDS, _PAUSE_SECONDS = 0.04, 0.05
_ITEMS, _ITEM_BYTES, _TIMES = 200_000, 500, 10
_SOURCES = ("file", "pipe", "items")


def measure(arguments: argparse.Namespace, folder: Path) -> List[Dict[str, Any]]:
    """One stream from each kind of source: a file and a pipe through a plugin, items through a function whose
    results are ten times as large."""
    name = "medium" if "medium" in arguments.variants else arguments.variants[0]
    given = prepare(name, plan.records_of(arguments, name, PLUGIN), folder)
    task = Task("gristmill", PLUGIN, given, arguments.workers[-1])
    expected = {"file": reference.compute(task)}
    expected["pipe"] = expected["file"]
    expected["items"] = counted(line * _TIMES + b"\n" for line in _items()).as_fields()
    seconds = 3.0 if arguments.quick else 15.0
    return [_watch(source, task, seconds, expected[source]) for source in _SOURCES]


def _items() -> Iterator[bytes]:
    return (b"%0*d" % (_ITEM_BYTES, number) for number in range(_ITEMS))


def _watch(source: str, task: Task, seconds: float, expected: Dict[str, Any]) -> Dict[str, Any]:
    spec = {"source": source, "plugin": task.plugin_name, "config": task.plugin_config, "path": task.input.path,
            "workers": task.workers, "seconds": seconds}  # fmt: skip
    seen = watching.watch("slow_consumer", spec, f"the stream of {source}", _LOOK_SECONDS)
    found = seen.found
    limit = _MEMORY + 16 * _MIB + 4 * _MIB * task.workers
    exact = all(found[name] == expected[name] for name in ("total", "valid", "digest"))
    of_set = {"set": task.input.set, "records": task.input.records, "bytes": task.input.bytes}
    of_items = {"set": "", "records": _ITEMS, "bytes": _ITEMS * _ITEM_BYTES}
    return {
        **(of_items if source == "items" else of_set),
        "source": source,
        "workers": task.workers,
        "memory": _MEMORY,
        "idle_bytes": seen.idle_bytes,
        "growth_bytes": seen.growth_bytes,
        "limit_bytes": limit,
        "within": seen.growth_bytes < limit,
        "slow_seconds": seconds,
        "samples": seen.samples,
        "exact": exact,
        **{name: found[name] for name in ("total", "valid", "digest", "output_bytes", "wall_s")},
    }


def words(stream: Dict[str, Any]) -> str:
    verdict = "within" if stream["within"] else "BEYOND"
    exact = "totals exact" if stream["exact"] else "totals NOT exact"
    return (f"grew by {size(stream['growth_bytes'])}, {verdict} {size(stream['limit_bytes'])}"
            f" (memory=\"64MiB\", {stream['workers']} workers); {exact}: {stream['total']:,} records")  # fmt: skip


def text(streams: List[Dict[str, Any]]) -> str:
    if not streams:
        return ""
    lines = [f"  {stream['source']:<6} {words(stream)}" for stream in streams]
    return "streams with a slow consumer, memory over the idle engine\n" + "\n".join(lines) + "\n\n"


def many_times(record: bytes) -> bytes:
    return record * _TIMES


def consume(spec: Dict[str, Any]) -> Dict[str, Any]:
    """In the process of the stream."""
    options: Dict[str, Any] = {"memory": _MEMORY, "on_error": "skip"}
    with Engine(workers=spec["workers"]) as engine:
        if spec["source"] == "items":
            payload: Any = many_times
            list(engine.stream(payload, [b"a"], **options))
        else:
            payload = Plugin(spec["plugin"], config=spec["config"] or None)
            engine.run(payload, "/dev/null", **options)
        watching.ready()
        begun = time.perf_counter()
        with _opened(spec) as source, engine.stream(payload, source, **options) as stream:
            output = Output()
            for chunk in _slowly(stream, spec):
                output.add(chunk)
        return {**output.as_fields(), "wall_s": time.perf_counter() - begun}


@contextmanager
def _opened(spec: Dict[str, Any]) -> Iterator[Any]:
    if spec["source"] == "items":
        yield _items()
    elif spec["source"] == "file":
        yield spec["path"]
    else:
        with subprocess.Popen(["cat", spec["path"]], stdout=subprocess.PIPE) as cat:
            yield cat.stdout


def _slowly(stream: Stream, spec: Dict[str, Any]) -> Iterator[Any]:
    """Whole lines: some, then a pause, again and again; then the rest."""
    if spec["source"] == "items":
        results = iter(stream)
        chunks: Iterator[Any] = iter(lambda: b"".join(each + b"\n" for each in islice(results, 50)), b"")
    else:
        chunks = stream.batches(copy=False)
    slow_until = time.monotonic() + spec["seconds"]
    for chunk in chunks:
        yield chunk
        if time.monotonic() < slow_until:
            time.sleep(_PAUSE_SECONDS)


def main() -> None:
    found = consume(json.loads(sys.argv[1]))
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
