"""DuckDB: medium as SQL over read_json(), copied to NDJSON in a file in memory, in the order of the input; without
PRESERVE_ORDER version 2.0 gives another.

It prints numbers in its own way, and leaves filtered records out: compared value by value.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from contextlib import contextmanager
from typing import IO, Callable, Iterable, Iterator

from gristmill.bench.task import Task

name = "DuckDB"
package = "duckdb"
sets = ("medium",)
payloads = ("expressions",)
compared = "values"

__all__ = ["available", "compared", "name", "output", "package", "payloads", "ready", "sets", "settings"]

_COLUMNS = """{event_id: 'VARCHAR', user_id: 'VARCHAR', item_id: 'VARCHAR', event_type: 'VARCHAR', device: 'VARCHAR',
  timestamp: 'BIGINT', duration_ms: 'BIGINT', scroll_depth: 'DOUBLE', revenue_cents: 'BIGINT',
  user_context: 'STRUCT(num_prev_sessions BIGINT, user_tier VARCHAR, days_since_signup BIGINT)',
  item_context: 'STRUCT(price_cents BIGINT, rating DOUBLE)'}"""
_EVENTS = "['view', 'click', 'scroll', 'hover', 'purchase', 'skip']"
_QUERY = f"""
COPY (
  SELECT event_id AS eid, user_id AS uid, item_id AS iid, ("timestamp" - 1700000000) / 86400 AS ts_n,
    "timestamp" % 86400 // 3600 AS hod, "timestamp" // 86400 % 7 AS dow,
    list_position({_EVENTS}, event_type) - 1 AS et,
    coalesce(list_position(['ios', 'android', 'web', 'desktop', 'tablet'], device), 0) - 1 AS dev,
    round(ln(1 + duration_ms), 4) AS log_dur, scroll_depth AS scr, (revenue_cents > 0)::INT AS rev,
    coalesce(list_position(['basic', 'premium'], user_context.user_tier), 0) AS tier,
    user_context.num_prev_sessions AS sess, user_context.days_since_signup AS dss,
    round(ln(1 + item_context.price_cents), 4) AS log_pr, item_context.rating AS rate
  FROM read_json(?, format = 'newline_delimited', columns = {_COLUMNS})
  WHERE duration_ms >= 100 AND list_contains({_EVENTS}, event_type)
) TO '@' (FORMAT json, PRESERVE_ORDER true)
"""


def available() -> str:
    return "" if importlib.util.find_spec("duckdb") else "DuckDB is not installed: scripts/setup --peers"


def settings(task: Task) -> str:
    return f"read_json with columns, PRESERVE_ORDER, threads={task.workers}"


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], IO[bytes]]]:
    import duckdb

    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="gristmill-duckdb-") as folder:
        connection = duckdb.connect(config={"threads": task.workers})
        target = os.path.join(folder, "output.json")

        def run() -> IO[bytes]:
            connection.execute(_QUERY.replace("@", target), [task.input.path])
            return open(target, "rb")

        yield run


def output(kept: IO[bytes]) -> Iterable[bytes]:
    return kept
