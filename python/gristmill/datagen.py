"""The record sets that payloads are tried and measured with."""

from __future__ import annotations

import os
from typing import Callable, Optional, Tuple, Union

from . import _core
from . import option_values as read
from .errors import OptionError

SETS = ("light", "medium", "heavy", "tokenize")
STREAMS = ("fast", "reference")
COMPRESSIONS = ("none", "zst", "gz")


def generate(
    name: str,
    path: Union[str, "os.PathLike[str]"],
    *,
    records: int,
    seed: Optional[int] = None,
    malformed_pct: float = 0,
    stream: str = "fast",
    range: Optional[Tuple[int, int]] = None,
    threads: int = 0,
    compress: str = "none",
    large_documents: bool = False,
    progress: Optional[Callable[[int, int], object]] = None,
) -> None:
    """Writes a record set as JSON lines to a file, which appears only when it is complete.

    ``name``: "light", "medium", "heavy" or "tokenize". ``stream``: "fast" (record i depends on the
    seed and i alone, made by several threads) or "reference" (sequential, the published data).
    ``seed``: by default that of the published data. ``malformed_pct``: share of spoilt records, 0
    to 100. ``range``: (A, B) makes records A to B-1 of the ``records`` alone; fast stream only.
    ``threads``: 0 is one for each usable CPU; the bytes are the same for any number. ``compress``:
    "zst" or "gz". ``large_documents``: tokenize with 500 to 800 words. ``progress``: told
    (records, bytes) now and then; what it raises ends the work.

    A manifest with sizes and a digest is written beside the file, ``path + ".manifest.json"``; for
    tokenize the vocabulary, too, ``path + ".vocab"``.

    Raises OptionError, OutputError.
    """
    read.choice("name", name, SETS)
    read.choice("stream", stream, STREAMS)
    read.choice("compress", compress, COMPRESSIONS)
    if not 0 <= malformed_pct <= 100:
        raise OptionError(f"malformed_pct={malformed_pct} is out of range: it takes 0 to 100")
    _core.generate(
        name,
        read.path("path", path),
        read.integer("records", records),
        None if seed is None else read.integer("seed", seed),
        float(malformed_pct),
        stream,
        None if range is None else _range(range),
        read.integer("threads", threads),
        compress,
        bool(large_documents),
        progress,
    )


def _range(given: Tuple[int, int]) -> Tuple[int, int]:
    try:
        begin, end = given
    except (TypeError, ValueError):
        raise OptionError(f"range={given!r} is not understood; give (first, one past the last)") from None
    return read.integer("range", begin), read.integer("range", end)
