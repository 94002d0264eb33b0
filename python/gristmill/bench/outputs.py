"""Where a benchmark writes what it found: the options, and the command as a result keeps it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

KINDS = ("csv", "json", "html")
_PATH_OPTIONS = {*(f"--{kind}" for kind in KINDS), "--tmpdir", "--peers-folder", "--peers-python", "--program",
                 "--plugins-folder"}  # fmt: skip


def add_to(parser: Any) -> None:
    """``parser``: or a group of one."""
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=Path, metavar="PATH", help=f"write the result as {kind.upper()}")


def command(name: str) -> str:
    """The command that runs, without paths: a result is kept for others, who have other folders."""
    given, words, at = sys.argv[1:], ["gristmill", name], 0
    if given[:1] == [name]:  # from the command line of the package
        at = 1
    while at < len(given):
        option = given[at].partition("=")[0]
        if option in _PATH_OPTIONS:
            at += 1 if "=" in given[at] else 2
        else:
            words.append(given[at])
            at += 1
    return " ".join(words)


def write(arguments: argparse.Namespace, writers: Dict[str, Callable[[Path], Any]]) -> None:
    """``writers``: for each kind, what writes it to a path."""
    for kind in KINDS:
        path: Path = getattr(arguments, kind)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            writers[kind](path)
            print(f"{kind.upper():<5} {path.resolve()}")


def recorded(arguments: argparse.Namespace) -> Dict[str, Any]:
    """The options, without paths."""
    hidden: List[str] = [*KINDS, "command", "name", "options"]
    return {name: value for name, value in vars(arguments).items() if name not in hidden and not isinstance(value, Path)}
