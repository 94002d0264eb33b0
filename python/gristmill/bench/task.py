"""What one cell has to do, and what came of it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List

from .. import plugins
from . import twins
from .inputs import Input

PLUGIN, FUNCTION = "plugin", "function"
EXPRESSIONS = "expressions"
"""What the payload does, written in a peer's own language; gristmill's plugin beside it has OUR_EXPRESSIONS."""
OUR_EXPRESSIONS = "expressions: plugin"
UPPER = ("upper: plugin", "upper: function", "upper: tr")
"""Payloads that do not belong to a record set: upper case, by a plugin, a function and a command."""

_BLANK_LINE = re.compile(rb"\n(?=\n)")  # but for one at the beginning
_LINES_AT_ONCE = 4096


@dataclass(frozen=True)
class Task:
    """From a file of records to their output in memory, in order: by whom, with what, how."""

    subject: str
    """"gristmill", or the name of a peer."""
    payload: str
    """PLUGIN, FUNCTION, EXPRESSIONS, OUR_EXPRESSIONS, or one of UPPER."""
    input: Input
    workers: int
    nodes: str = ""
    """As gristmill takes it; of peers empty."""
    isolation: str = ""
    """Of gristmill's plugins and commands."""
    work_folder: str = ""
    """Where a peer may keep what it compiles."""

    def records(self) -> List[bytes]:
        """The input as a list of lines, read and split now."""
        return Path(self.input.path).read_bytes().split(b"\n")[:-1]

    def twin(self) -> twins.Twin:
        return twins.twin(self.input.set, self.input.vocabulary)

    @property
    def plugin_name(self) -> str:
        return "upper" if self.payload in UPPER else self.input.set.partition("-")[0]

    def plugin_path(self) -> str:
        """The compiled plugin that gristmill runs."""
        return plugins.path(self.plugin_name)

    @property
    def plugin_config(self) -> str:
        return self.input.vocabulary


@dataclass
class Output:
    """Counts and digest of output lines."""

    total: int = 0
    """Lines."""
    valid: int = 0
    """Of them, those that are not empty."""
    bytes: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, chunk: Any) -> None:
        """Whole lines, each with its newline."""
        data = bytes(chunk)
        lines = data.count(b"\n")
        self.total += lines
        self.valid += lines - len(_BLANK_LINE.findall(data)) - data.startswith(b"\n")
        self.bytes += len(data)
        self.digest.update(data)

    def as_fields(self) -> Dict[str, Any]:
        fields = {"total": self.total, "valid": self.valid, "output_bytes": self.bytes}
        return {**fields, "digest": self.digest.hexdigest()}


def counted(chunks: Iterable[Any]) -> Output:
    """``chunks``: bytes-like, each of whole lines."""
    output = Output()
    for chunk in chunks:
        output.add(chunk)
    return output


def lines(results: List[bytes]) -> Iterable[bytes]:
    """Chunks of the lines that a list of output records makes."""
    for first in range(0, len(results), _LINES_AT_ONCE):
        yield b"\n".join(results[first : first + _LINES_AT_ONCE]) + b"\n"
