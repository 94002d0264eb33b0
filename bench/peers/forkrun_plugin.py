"""forkrun in its plugin mode, given the same compiled plugin through an adapter: forkrun_adapter.c.

Its own plugins do not come with its package, so there is no row of them.
"""

from __future__ import annotations

import importlib.util
import os
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List, Optional

from compiling import compiled
from gristmill.bench.task import Task
from tuning import fastest, sample_file, settings

name = "forkrun (our plugin)"
package = "forkrun"
payloads = ("plugin",)

LINES = (None, 1000, 4000, 16_000)
"""Of a batch; None adapts."""

__all__ = ["LINES", "available", "name", "output", "package", "payloads", "ready", "settings"]


def available() -> str:
    return "" if importlib.util.find_spec("forkrun") else "forkrun is not installed: scripts/setup --peers"


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Any]]]:
    os.environ.update(GRISTMILL_PEER_PLUGIN=task.plugin_path(), GRISTMILL_PEER_CONFIG=task.plugin_config)
    import forkrun

    payload = compiled("forkrun_adapter.c") + ":process_batch"

    def run(path: str, lines: Optional[int]) -> List[Any]:
        found: List[Any] = forkrun.map(payload, path, mode="plugin", workers=task.workers, order="index", lines=lines,
                                       strict_poison=True)  # fmt: skip
        return found

    with sample_file(task) as first:
        best = fastest("order=index, lines", LINES, lambda lines: run(first, lines))
    yield lambda: run(task.input.path, best)


def output(kept: List[Any]) -> Iterable[Any]:
    return kept
