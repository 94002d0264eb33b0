"""joblib.Parallel on its own processes (loky), given chunks of records: one call for each record would be slower."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from itertools import chain
from typing import Callable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.task import lines as output
from gristmill.bench.twins import Twin
from tuning import CHUNKS, fastest, sample, settings

name = "joblib"
package = "joblib"

__all__ = ["available", "name", "output", "package", "ready", "settings"]


def available() -> str:
    return "" if importlib.util.find_spec("joblib") else "joblib is not installed: scripts/setup --peers"


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], List[bytes]]]:
    from joblib import Parallel, delayed

    function, first = task.twin(), sample(task)
    with Parallel(n_jobs=task.workers, batch_size=1, pre_dispatch="2*n_jobs") as parallel:

        def run(records: List[bytes], chunk: int) -> List[bytes]:
            chunks = (records[at : at + chunk] for at in range(0, len(records), chunk))
            return list(chain.from_iterable(parallel(delayed(Twin.many)(function, each) for each in chunks)))

        best = fastest("records of a task", CHUNKS, lambda size: run(first, size))
        yield lambda: run(task.records(), best)
