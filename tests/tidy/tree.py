"""What the rules look at, and what they say."""

import re
from pathlib import PurePosixPath
from typing import Callable, Iterator, NamedTuple

import cxx

CXX_SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}
CODE_SUFFIXES = CXX_SUFFIXES | {".py", ".pyi", ".sh", ".bash", ".cmake", ".pml"}
PROSE_SUFFIXES = {".md", ".toml", ".json", ".yml", ".yaml", ".cfg", ".ini"}


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    advice: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.advice}" + ("" if self.fatal else " (aim)")


class File:
    """One text file of the repository; the path is relative to its root."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = _lines(text)
        self.suffix = PurePosixPath(path).suffix
        self.is_cxx = self.suffix in CXX_SUFFIXES
        self.is_python = self.suffix == ".py" or bool(re.match(r"#!.*\bpython", text))
        self.is_code = (
            self.suffix in CODE_SUFFIXES or path.endswith("CMakeLists.txt") or text.startswith("#!")
        )
        self.masked = cxx.mask(text) if self.is_cxx else ""
        self.masked_lines = _lines(self.masked)

    @property
    def room(self) -> str | None:
        """The room of a file below engine/src; "" for one directly in it; None for all others."""
        return room_of(self.path.removeprefix("engine/src/")) if self.path.startswith("engine/src/") else None


class Tree(NamedTuple):
    files: list[File]
    paths: set[str]  # of every file, the binary ones too
    root: str  # the absolute path of the clone


Rule = Callable[[Tree], Iterator[Finding]]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def room_of(path_in_src: str) -> str:
    return path_in_src.split("/")[0] if "/" in path_in_src else ""
