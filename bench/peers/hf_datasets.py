"""Hugging Face datasets: the text loader, then map() in batches on processes. Nothing is reused from call to call."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List

from gristmill.bench.task import Task
from gristmill.bench.twins import Twin

name = "HF datasets"
package = "datasets"

__all__ = ["available", "name", "output", "package", "ready", "settings"]

_BATCH = 1000


def available() -> str:
    return "" if importlib.util.find_spec("datasets") else "datasets is not installed: scripts/setup --peers"


def settings(task: Task) -> str:
    return f"load_dataset('text'), map(batched, batch_size={_BATCH}, num_proc={task.workers})"


def map_batch(batch: Dict[str, List[str]], function: Twin) -> Dict[str, List[bytes]]:
    return {"output": [function(text.encode()) for text in batch["text"]]}


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], Any]]:
    os.environ.update(HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    import datasets

    datasets.disable_progress_bars()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    calls = itertools.count()
    with tempfile.TemporaryDirectory(dir=memory, prefix="gristmill-datasets-") as folder:

        def run() -> Any:
            call = next(calls)
            shutil.rmtree(os.path.join(folder, str(call - 1)), ignore_errors=True)
            cache = os.path.join(folder, str(call))
            loaded = datasets.load_dataset("text", data_files=task.input.path, split="train", cache_dir=cache)
            return loaded.map(map_batch, batched=True, batch_size=_BATCH, num_proc=task.workers, remove_columns=["text"],
                              fn_kwargs={"function": task.twin()}, load_from_cache_file=False)  # fmt: skip

        yield run


def output(kept: Any) -> Iterable[bytes]:
    for column in kept.with_format("arrow").iter(batch_size=4096):
        yield b"".join(record.as_py() + b"\n" for record in column["output"])
