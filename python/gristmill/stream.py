"""Streaming results while workers run: not in this version."""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import UnsupportedError


def refuse_stream(*_: Any, **__: Any) -> NoReturn:
    """Not there yet: raises UnsupportedError."""
    raise UnsupportedError(
        "stream() is not in this version; map() keeps all results in memory,"
        " run(output=...) writes them to a file in bounded memory"
    )
