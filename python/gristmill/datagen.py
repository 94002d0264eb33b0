"""The record sets that payloads are tried and measured with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Callable, Optional, Tuple, Union

from . import _core
from . import option_values as read
from .errors import OptionError, SourceError

SETS = ("light", "medium", "heavy", "tokenize")
STREAMS = ("fast", "reference")
COMPRESSIONS = ("none", "zst", "gz")

Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[int, int], object]


class ManifestError(SourceError, root=True):
    """A file is not what its manifest says; or the manifest is none that this version knows."""


@dataclass(frozen=True)
class Manifest:
    """What a generated file holds. The first seven fields are those that generate() was called with."""

    name: str
    """Of the record set."""
    stream: str
    seed: int
    malformed_pct: float
    large_documents: bool
    range: Tuple[int, int]
    """Numbers of the records in the file: the first, and one past the last."""
    compress: str
    records: int
    """In the file."""
    valid: int
    """Of them, those that the set's payload has a result for."""
    bytes: int
    """Of the records, before compression."""
    xxh3_128: str
    """Digest of these bytes."""
    file_bytes: int
    """Of the file as it is."""


def generate(
    name: str,
    path: Path,
    *,
    records: int,
    seed: Optional[int] = None,
    malformed_pct: float = 0,
    stream: str = "fast",
    range: Optional[Tuple[int, int]] = None,
    threads: int = 0,
    compress: str = "none",
    large_documents: bool = False,
    progress: Optional[Progress] = None,
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
    tokenize the vocabulary, too, ``path + ".vocab"``. See verify().

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


def read_manifest(path: Path) -> Manifest:
    """What the manifest of the file ``path`` says; the file itself is not looked at.

    Raises SourceError when there is no manifest, or it cannot be read (a FileNotFoundError, and so
    on; ``filename`` is that of the manifest), and ManifestError when it is no manifest, or one of
    another version.
    """
    found = _core.read_manifest(read.path("path", path))
    if isinstance(found, str):
        raise ManifestError(found, os.fspath(path))
    return Manifest(**found)


def verify(path: Path, *, progress: Optional[Progress] = None) -> Manifest:
    """Reads a generated file, and returns its manifest if every byte is as it says.

    For tokenize the vocabulary beside the file is compared, too. ``progress`` is told (records,
    bytes) now and then, the records all at the end; what it raises ends the work.

    Raises ManifestError when the file differs from its manifest (the message says how), and what
    read_manifest() raises; SourceError when the file cannot be read.
    """
    manifest = read_manifest(path)
    difference = _core.verify(read.path("path", path), progress)
    if difference:
        raise ManifestError(difference, os.fspath(path))
    return manifest


def _range(given: Tuple[int, int]) -> Tuple[int, int]:
    try:
        begin, end = given
    except (TypeError, ValueError):
        raise OptionError(f"range={given!r} is not understood; give (first, one past the last)") from None
    return read.integer("range", begin), read.integer("range", end)
