"""The records of a study: generated once, verified by their manifest, used again."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from .. import datagen
from ..errors import SourceError

SETS = ("light", "medium", "heavy", "tokenize")
LARGE = "tokenize-large"
"""The record set tokenize with documents of 500 to 800 words."""

_SEEDS = {"tokenize": 2024, LARGE: 2024}
# Of the reference stream, so many records have no result: what is published of it.
_DROPPED = {
    "light": {20_000: 0, 50_000: 0, 100_000: 0, 200_000: 0, 500_000: 0, 1_000_000: 0, 5_000_000: 0, 20_000_000: 0},
    "medium": {20_000: 13, 50_000: 26, 100_000: 43, 200_000: 82, 500_000: 183, 1_000_000: 374,
               5_000_000: 2108, 20_000_000: 8360},
    "heavy": {20_000: 7, 50_000: 21, 100_000: 37, 200_000: 75, 500_000: 197, 1_000_000: 400,
              5_000_000: 2018, 20_000_000: 8342},
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A file of records, as its manifest says."""

    set: str
    path: str
    records: int
    bytes: int
    valid: int
    """Records that the payload has a result for."""
    digest: str

    @property
    def vocabulary(self) -> str:
        """Of tokenize, which needs one; else empty."""
        return f"{self.path}.vocab" if self.set in _SEEDS else ""


def prepare(name: str, records: int, folder: Path) -> Input:
    """The reference stream of a record set, in ``folder``; made anew unless every byte there is as it
    should be. Says on standard error which. Raises GristmillError, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"gristmill-study-{name}-{records}.jsonl"
    if reason := _unusable(path, name, records):
        print(f"generating {records:,} {name} records: {reason}", file=sys.stderr)
        base = "tokenize" if name == LARGE else name
        datagen.generate(base, path, records=records, stream="reference", large_documents=name == LARGE)
    else:
        print(f"using {path}, which is as its manifest says", file=sys.stderr)
    manifest = datagen.read_manifest(path)
    published = _DROPPED.get(name, {}).get(records)
    valid = manifest.valid if published is None else records - published
    return Input(name, str(path), records, os.path.getsize(path), valid, manifest.xxh3_128)


def _unusable(path: Path, name: str, records: int) -> str:
    """Why the study cannot use this file; empty when it is the file that would be made."""
    if not path.exists():
        return "there are none"
    try:
        manifest = datagen.verify(path)
    except SourceError as error:
        return str(error)
    base = "tokenize" if name == LARGE else name
    wanted = (base, "reference", _SEEDS.get(name, 42), 0, (0, records), "none", name == LARGE)
    found = (manifest.name, manifest.stream, manifest.seed, manifest.malformed_pct,
             manifest.range, manifest.compress, manifest.large_documents)  # fmt: skip
    return "" if found == wanted else f"'{path}' holds others: {found}"
