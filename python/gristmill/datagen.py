"""The record sets that payloads are tried and measured with."""

from __future__ import annotations

import os
from typing import Callable, Optional, Union

from . import _core
from . import option_values as read
from .errors import OptionError

SETS = ("light", "medium", "heavy")
STREAMS = ("reference",)


def generate(
    name: str,
    path: Union[str, "os.PathLike[str]"],
    *,
    records: int,
    seed: Optional[int] = None,
    malformed_pct: float = 0,
    stream: str = "reference",
    progress: Optional[Callable[[int, int], object]] = None,
) -> None:
    """Writes a record set as JSON lines to a file, which appears only when it is complete.

    ``name``: "light", "medium" or "heavy". ``seed``: by default that of the published data.
    ``malformed_pct``: share of spoilt records, 0 to 100. ``progress``: told (records, bytes) now
    and then; what it raises ends the work. The arguments determine every byte.

    Raises OptionError, OutputError.
    """
    read.choice("name", name, SETS)
    read.choice("stream", stream, STREAMS)
    if not 0 <= malformed_pct <= 100:
        raise OptionError(f"malformed_pct={malformed_pct} is out of range: it takes 0 to 100")
    count = read.integer("records", records)
    chosen = None if seed is None else read.integer("seed", seed)
    _core.generate(name, read.path("path", path), count, chosen, float(malformed_pct), progress)
