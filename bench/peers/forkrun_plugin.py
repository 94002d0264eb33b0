"""forkrun in its plugin mode, given the same compiled plugin through an adapter: forkrun_adapter.c.

Its own plugins do not come with its package, so there is no row of them.
"""

from __future__ import annotations

import importlib.util
import os
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List

from compiling import compiled
from gristmill.bench.task import Task

name = "forkrun (our plugin)"
package = "forkrun"
payloads = ("plugin",)

__all__ = ["available", "name", "output", "package", "payloads", "ready", "settings"]


def available() -> str:
    return "" if importlib.util.find_spec("forkrun") else "forkrun is not installed: scripts/setup --peers"


def settings(_: Task) -> str:
    return "mode=plugin, order=index, adaptive batches"


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[Any]]]:
    os.environ.update(GRISTMILL_PEER_PLUGIN=task.plugin_path(), GRISTMILL_PEER_CONFIG=task.plugin_config)
    import forkrun

    payload = compiled("forkrun_adapter.c") + ":process_batch"

    def run() -> List[Any]:
        found: List[Any] = forkrun.map(payload, task.input.path, mode="plugin", workers=task.workers, order="index",
                                       strict_poison=True)  # fmt: skip
        return found

    yield run


def output(kept: List[Any]) -> Iterable[Any]:
    return kept
