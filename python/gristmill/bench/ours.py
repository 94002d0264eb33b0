"""gristmill as the subject of a cell."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Callable, Dict, Iterable, Iterator

from ..engine import Engine
from ..payload import Plugin
from ..results import Results
from . import twins
from .task import FUNCTION, OUR_EXPRESSIONS, PLUGIN, Task

_UPPER: Dict[str, Any] = {
    "upper: plugin": Plugin("upper"),
    "upper: function": bytes.upper,
    "upper: tr": ["tr", "a-z", "A-Z"],
}


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], Results]]:
    """A warm engine; what is given runs the task."""
    engine: Dict[str, Any] = {"workers": task.workers, "nodes": task.nodes}
    if task.isolation:
        engine["isolation"] = task.isolation
    options: Dict[str, Any] = {"on_error": "skip"}
    if called_per_record(task.payload):
        options["filtered"] = "blank"
    payload = _payload(task)
    with Engine(**engine) as made:
        yield lambda: made.map(payload, task.input.path, **options)


def called_per_record(payload: str) -> bool:
    return payload in (FUNCTION, "upper: function")


def _payload(task: Task) -> Any:
    if task.payload in (PLUGIN, OUR_EXPRESSIONS):
        return Plugin(task.plugin_name, config=task.plugin_config or None)
    if task.payload == FUNCTION:
        return twins.function(task.input.set, task.input.vocabulary)
    return _UPPER[task.payload]


def output(results: Results) -> Iterable[Any]:
    return results.batches()


def details(results: Results) -> Dict[str, Any]:
    """What the report says, as fields of a row."""
    told = results.report
    kept = ("read", "emitted", "filtered", "failed", "batches", "batch_bytes_min", "batch_bytes_mean",
            "batch_bytes_median", "batch_bytes_max", "retries", "worker_deaths")  # fmt: skip
    fields = {name: getattr(told, name) for name in kept}
    fields["batches_home"] = sum(node.batches_home for node in told.nodes)
    fields["batches_stolen"] = sum(node.batches_stolen for node in told.nodes)
    fields["per_node"] = [asdict(node) for node in told.nodes]
    return fields
