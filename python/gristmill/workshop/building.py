"""From a plugin's source to its shared object."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Optional, Sequence, Tuple, Union

from ..errors import GristmillError, OutputError
from . import cache, compiler


@dataclass(frozen=True)
class Built:
    """A plugin that is ready."""

    path: Path
    warnings: str
    """What the compiler said, though it compiled."""
    cached: bool
    """Taken from the cache: nothing that goes into it has changed."""
    seconds: float
    by: str
    """The compiler, as it names itself."""


class BuildFailed(GristmillError):
    """The compiler refused; ``said`` is its own output."""

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


def build(
    source: Union[str, "os.PathLike[str]"],
    output: Union[str, "os.PathLike[str]", None] = None,
    debug: bool = False,
    native: bool = False,
    extra: Sequence[str] = (),
) -> Built:
    """Compiles ``source`` to ``output``, by default beside it: ``mine.c`` gives ``mine.so``.

    ``output`` appears only when it is complete; one that exists stays when the compiler refuses.
    ``extra`` goes to the compiler, behind the source. Raises BuildFailed, or another GristmillError
    when the source, the compiler or the target's folder is missing.
    """
    started = time.monotonic()
    source = Path(source)
    language = compiler.language_of(source)
    target = source.with_suffix(".so") if output is None else Path(output)
    if target.exists() and target.samefile(source):
        raise OutputError(f"'{target}' is the source itself; name another file with -o", os.fspath(target))
    found = compiler.find(language)
    flags = compiler.flags(language, debug, native, extra)
    wanted = _key(source, found, flags, extra, native)
    cached = cache.look_up(wanted)
    try:
        if cached is not None:
            cache.write_whole(target, Path(cached["plugin"]).read_bytes())
            warnings = cached["warnings"]
        else:
            warnings = _compile(source, target, found, flags, extra, wanted)
    except OSError as error:
        raise OutputError(f"'{target}' cannot be written: {error.strerror}", os.fspath(target), error.errno) from None
    return Built(target, warnings, cached is not None, time.monotonic() - started, found.version())


def _key(source: Path, found: compiler.Compiler, flags: Sequence[str], extra: Sequence[str], native: bool) -> str:
    # The folders count because relative includes and __FILE__ depend on them, the variables because
    # the compiler reads them.
    variables = [f"{name}={os.environ.get(name)}" for name in ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
                                                              "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")]
    parts = [os.path.abspath(source), os.fspath(source), os.getcwd(), str(cache.digest(source)),
             *found.words, found.identity(), *flags, "--", *extra, *variables]
    if native or any(word.startswith(("-march", "-mcpu", "-mtune")) for word in extra):
        parts.append(compiler.processor())
    return cache.key(parts)


def _compile(source: Path, target: Path, found: compiler.Compiler, flags: Sequence[str], extra: Sequence[str],
             wanted: str) -> str:
    before, started_ns = cache.digest(source), time.time_ns()
    with tempfile.TemporaryDirectory(prefix="gristmill-build-") as folder:
        made, depfile = Path(folder) / target.name, Path(folder) / "read.d"
        command = found.command(source, made, depfile, flags, extra)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        said = done.stdout.decode("utf-8", "replace")
        if done.returncode != 0 or not made.exists():
            raise BuildFailed(f"'{source}' does not compile: {_way_out(said)}", said)
        cache.write_whole(target, made.read_bytes())
        inputs = _inputs(depfile, started_ns)
        if inputs is not None and cache.digest(source) == before:
            cache.store(wanted, made, inputs, said)
    return said


def _inputs(depfile: Path, started_ns: int) -> Optional[Dict[str, str]]:
    """The files that the compiler has read; None when one changed meanwhile."""
    inputs: Dict[str, str] = {}
    for file in dependencies(depfile.read_text("utf-8", "surrogateescape") if depfile.exists() else ""):
        content = cache.digest(Path(file))
        if content is None or os.stat(file).st_mtime_ns >= started_ns:
            return None
        inputs[os.path.abspath(file)] = content
    return inputs or None


def dependencies(rule: str) -> Tuple[str, ...]:
    """The prerequisites of a rule for make: ``out: a.c my\\ header.h \\``."""
    _, _, listed = rule.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", listed, re.DOTALL)
    return tuple(re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words)


_WAYS_OUT = (
    (r"gristmill/plugin\.hpp?.{0,9}: No such file", "the plugin headers are missing; install gristmill again"),
    (r": No such file or directory|file not found", "a header is missing; install it, or name its folder: -- -IFOLDER"),
    (r"undefined reference|undefined symbol", "a function has no definition; name its library: -- -lNAME"),
    (r"cannot find -l|unable to find library", "a library is missing; install its development package, or name its folder: -- -LFOLDER"),
    (r"unrecognized (?:command|argument)|unknown argument", "the compiler does not know an option; look at CC, CXX and what stands behind --"),
)


def _way_out(said: str) -> str:
    for pattern, way_out in _WAYS_OUT:
        if re.search(pattern, said):
            return way_out
    return "see the compiler's first error above"
