"""Ray Data: byte ranges as items, each read and mapped by a task; order preserved; the output gathered as blocks.

read_text() of one file is one task on one CPU, so the ranges are given. Ray is started beforehand.
"""

from __future__ import annotations

import importlib.util
import os
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.twins import Twin
from ranges import cut, read_lines

name = "Ray Data"
package = "ray"

__all__ = ["available", "name", "output", "package", "ready", "settings"]

_STORE_BYTES = 2 << 30
_RANGE_BYTES = 2 << 20


def available() -> str:
    return "" if importlib.util.find_spec("ray") else "Ray is not installed: scripts/setup --peers"


def settings(_: Task) -> str:
    return f"ranges of {_RANGE_BYTES >> 20} MiB, preserve_order, tasks of one CPU"


def map_range(batch: Dict[str, Any], function: Twin) -> Dict[str, Any]:
    """One range for each call."""
    records = read_lines(str(batch["path"][0]), int(batch["begin"][0]), int(batch["size"][0]))
    return {"output": [b"".join(function(record) + b"\n" for record in records)]}


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Any]]]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    # Its workers import this file, too.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    import ray

    ray.init(num_cpus=task.workers, include_dashboard=False, object_store_memory=_STORE_BYTES, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    given = [{"path": task.input.path, "begin": begin, "size": size} for begin, size in cut(task.input.path, _RANGE_BYTES)]

    def run() -> List[Any]:
        items = ray.data.from_items(given, override_num_blocks=min(len(given), 16 * task.workers))
        mapped = items.map_batches(map_range, batch_size=1, fn_kwargs={"function": task.twin()})
        return [batch["output"] for batch in mapped.iter_batches(batch_size=None, batch_format="pyarrow")]

    try:
        yield run
    finally:
        ray.shutdown()


def output(kept: List[Any]) -> Iterable[bytes]:
    return (piece.as_py() for column in kept for piece in column)
