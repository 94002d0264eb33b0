"""The compiler of a plugin: which one, and what it is told."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Sequence

from .. import plugins
from ..errors import GristmillError, OptionError, SourceError

_SUFFIXES = {".c": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".C": "C++"}
_VARIABLE = {"C": "CC", "C++": "CXX"}
_USUAL = {"C": ("cc", "gcc", "clang"), "C++": ("c++", "g++", "clang++")}
_PACKAGE = {"C": "gcc", "C++": "g++"}
_STANDARD = {"C": ["-std=c99"], "C++": ["-std=c++20", "-fvisibility-inlines-hidden"]}
# Undefined symbols are errors of the build, with the compiler's explanation, not of the load.
_SHARED = ["-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"]
_COMPLETE = "-Wl,-z,defs"


@dataclass(frozen=True)
class Compiler:
    """A compiler that was found, as the words that start it."""

    language: str
    words: Sequence[str]

    def version(self) -> str:
        """What it says of itself, for people: the first line."""
        return (self.identity().splitlines() or [self.words[0]])[0]

    def identity(self) -> str:
        """What makes its output differ from another compiler's."""
        return "\n".join(_ask([*self.words, question]) for question in ("--version", "-dumpmachine"))

    def command(self, source: Path, target: Path, depfile: Path, flags: Sequence[str], extra: Sequence[str]) -> List[str]:
        """Compiles and links ``source``, and lists in ``depfile`` what it has read."""
        listing = ["-MD", "-MF", os.fspath(depfile)]
        return [*self.words, *flags, *listing, "-o", os.fspath(target), os.fspath(source), *extra, "-lm"]


def language_of(source: Path) -> str:
    """"C" or "C++", by the file's suffix. Raises SourceError for a file that is missing or neither."""
    if source.suffix not in _SUFFIXES:
        raise SourceError(
            f"'{source}' is neither C nor C++ by its name; known are {', '.join(_SUFFIXES)}", os.fspath(source)
        )
    try:
        with open(source, "rb"):
            return _SUFFIXES[source.suffix]
    except OSError as error:
        raise SourceError(
            f"'{source}' cannot be read: {error.strerror}", os.fspath(source), error.errno
        ) from None


def find(language: str) -> Compiler:
    """The compiler of CC or CXX, or the first of the usual names. Raises OptionError, GristmillError."""
    variable = _VARIABLE[language]
    if os.environ.get(variable, "").strip():
        words = shlex.split(os.environ[variable])
        if shutil.which(words[0]) is None:
            raise OptionError(f"{variable} names the compiler '{words[0]}', which cannot be found; correct or unset it")
        return Compiler(language, words)
    for name in _USUAL[language]:
        if shutil.which(name):
            return Compiler(language, [name])
    raise GristmillError(
        f"no {language} compiler: none of {', '.join(_USUAL[language])} can be found;"
        f" install one (apt-get install {_PACKAGE[language]}), or name yours in {variable}"
    )


def flags(language: str, debug: bool, native: bool, extra: Sequence[str]) -> List[str]:
    """What stands between the compiler and the source, in the order in which it counts."""
    chosen = ["-Og", "-g3"] if debug else ["-O3"]
    if native:
        chosen.append("-march=native")
    # A sanitizer's own symbols are there only when the program starts.
    complete = [] if any(word.startswith("-fsanitize") for word in extra) else [_COMPLETE]
    return [*_STANDARD[language], *_SHARED, *chosen, *complete, f"-I{plugins.include_dir()}"]


def processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    telling = ("model", "flags", "Features", "CPU")
    return platform.machine() + "\n".join(line for line in lines if line.startswith(telling) and "MHz" not in line)


def _ask(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace")
