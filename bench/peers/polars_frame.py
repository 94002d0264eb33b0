"""Polars: medium as expressions over a lazily scanned NDJSON file, written to memory as NDJSON.

It prints numbers in its own way, and leaves filtered records out: compared value by value.
"""

from __future__ import annotations

import importlib.util
import io
import os
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator

from gristmill.bench.task import Task

name = "Polars"
package = "polars"
sets = ("medium",)
payloads = ("expressions",)
compared = "values"

__all__ = ["available", "compared", "name", "output", "package", "payloads", "ready", "sets", "settings"]

_EVENTS = {"view": 0, "click": 1, "scroll": 2, "hover": 3, "purchase": 4, "skip": 5}
_DEVICES = {"ios": 0, "android": 1, "web": 2, "desktop": 3, "tablet": 4}
_TIERS = {"free": 0, "basic": 1, "premium": 2}
_ORIGIN, _DAY, _HOUR = 1_700_000_000, 86_400, 3600


def available() -> str:
    return "" if importlib.util.find_spec("polars") else "Polars is not installed: scripts/setup --peers"


def settings(task: Task) -> str:
    return f"scan_ndjson with a schema, {task.workers} threads"


def schema(pl: Any) -> Any:
    user = {"num_prev_sessions": pl.Int64, "user_tier": pl.String, "days_since_signup": pl.Int64}
    item = {"price_cents": pl.Int64, "rating": pl.Float64}
    text = dict.fromkeys(("event_id", "user_id", "item_id", "event_type", "device"), pl.String)
    numbers = {"timestamp": pl.Int64, "duration_ms": pl.Int64, "scroll_depth": pl.Float64, "revenue_cents": pl.Int64}
    return {**text, **numbers, "user_context": pl.Struct(user), "item_context": pl.Struct(item)}


def features(pl: Any, frame: Any) -> Any:
    column, user, item = pl.col, pl.col("user_context").struct.field, pl.col("item_context").struct.field
    seconds = column("timestamp")
    return frame.filter((column("duration_ms") >= 100) & column("event_type").is_in(list(_EVENTS))).select(
        eid="event_id",
        uid="user_id",
        iid="item_id",
        ts_n=(seconds - _ORIGIN) / _DAY,
        hod=seconds % _DAY // _HOUR,
        dow=seconds // _DAY % 7,
        et=column("event_type").replace_strict(_EVENTS, return_dtype=pl.Int64),
        dev=column("device").replace_strict(_DEVICES, default=-1, return_dtype=pl.Int64),
        log_dur=column("duration_ms").log1p().round(4),
        scr="scroll_depth",
        rev=(column("revenue_cents") > 0).cast(pl.Int64),
        tier=user("user_tier").replace_strict(_TIERS, default=0, return_dtype=pl.Int64),
        sess=user("num_prev_sessions"),
        dss=user("days_since_signup"),
        log_pr=item("price_cents").log1p().round(4),
        rate=item("rating"),
    )


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], io.BytesIO]]:
    os.environ["POLARS_MAX_THREADS"] = str(task.workers)
    import polars as pl

    def run() -> io.BytesIO:
        kept = io.BytesIO()
        features(pl, pl.scan_ndjson(task.input.path, schema=schema(pl))).collect().write_ndjson(kept)
        return kept

    yield run


def output(kept: io.BytesIO) -> Iterable[Any]:
    kept.seek(0)
    return kept
