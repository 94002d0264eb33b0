"""``gristmill plugin``: to begin a plugin, to build it, to check it."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple

from .. import plugins, workshop
from ..errors import WorkerCrashed

_BUILD_HELP = """\
Compiles one C or C++ file to a plugin, with
  all       -shared -fPIC -fvisibility=hidden -pthread -Wall -Wextra -Wl,-z,defs -IHEADERS
  C         -std=c99, by $CC, or else cc, gcc, clang
  C++       -std=c++20 -fvisibility-inlines-hidden, by $CXX, or else c++, g++, clang++
and -O3, or -Og -g3 with --debug. The plugin runs on every machine of this kind; --native adds
-march=native: often faster, but it may crash on older processors, and the last digits of floating
point results may differ. What is behind -- comes last and so overrides all of this."""
_BUILD_EPILOG = """\
Nothing is compiled when source, headers, flags and compiler are those of an earlier build: the result
is kept in $XDG_CACHE_HOME/gristmill/plugins (default ~/.cache/gristmill/plugins).

  gristmill plugin build mine.cpp
  gristmill plugin build mine.c -o build/mine.so --debug -- -DLIMIT=10 -lz"""
_CHECK_HELP = """\
Walks the whole life of a plugin as the engine might, each step in a process of its own, so that a
plugin that crashes, hangs or exits is a finding and not the end. Looks at memory (guards around every
batch and reservation), counts, framing, failing records, leaks, threads, and whether the output depends
on how batches are cut."""
_CHECK_EPILOG = """\
exit codes: 0 it keeps the plugin ABI; 2 it breaks it, or cannot be checked"""


class _Parser(argparse.ArgumentParser):
    """Keeps what follows ``--`` apart, whatever options stand before it."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Tuple[Any, List[str]]:
        words = list(args if args is not None else sys.argv[1:])
        if "--" not in words or self.get_default("extra") is None:
            return super().parse_known_args(words, namespace)
        at = words.index("--")
        parsed, unknown = super().parse_known_args(words[:at], namespace)
        parsed.extra = words[at + 1 :]
        return parsed, unknown


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "plugin",
        help="begin, build and check a plugin of your own",
        description="Begins, builds and checks plugins: functions in C or C++ that work on batches of records.",
        epilog="in ten minutes: plugin new NAME, and do what it says.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, parser_class=_Parser)
    _add_new(actions)
    _add_build(actions)
    _add_check(actions)


def _add_new(actions: Any) -> None:
    parser = actions.add_parser(
        "new",
        help="make a folder with a plugin that works",
        description="Makes the folder NAME: a short plugin that works, a sample input, and the output it gives.",
    )
    parser.add_argument("name", metavar="NAME", help="letters, digits, '_' and '-'")
    language = parser.add_mutually_exclusive_group()
    language.add_argument("--c", dest="language", action="store_const", const="c", help="in C99 (default)")
    language.add_argument("--cpp", dest="language", action="store_const", const="cpp", help="in C++20")
    parser.add_argument("--dir", metavar="DIR", default=".", help="where the folder is made (default: here)")
    parser.set_defaults(command=_new, language="c")


def _add_build(actions: Any) -> None:
    parser = actions.add_parser(
        "build",
        help="compile a plugin",
        usage="gristmill plugin build FILE [-o OUT] [--debug] [--native] [-- COMPILER_ARGUMENT ...]",
        description=_BUILD_HELP,
        epilog=_BUILD_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="FILE", help="mine.c, or mine.cpp, .cc, .cxx, .C")
    parser.add_argument("-o", "--output", metavar="OUT", help="the plugin (default: FILE with .so, beside it)")
    parser.add_argument("--debug", action="store_true", help="for the debugger: -Og -g3")
    parser.add_argument("--native", action="store_true", help="for this processor: -march=native")
    parser.set_defaults(command=_build, extra=[])


def _add_check(actions: Any) -> None:
    parser = actions.add_parser(
        "check",
        help="find out whether a plugin keeps the plugin ABI",
        description=_CHECK_HELP,
        epilog=_CHECK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plugin", metavar="PLUGIN", help="FILE.so[:SYMBOL], or name of a bundled plugin")
    parser.add_argument("--config", metavar="TEXT", help="text handed to the plugin")
    parser.add_argument("--input", metavar="FILE", help="records of its own kind; the first 5,000 or 8 MiB are tried")
    parser.add_argument(
        "--delimiter", metavar="D", help=r"ends a record, default \n; escapes: \n \t \r \0 \\ \xHH"
    )
    parser.add_argument("--framing", metavar="KIND", help="u32le, or bytes of a fixed-size record")
    parser.add_argument("--seed", metavar="N", help="of samples and cuts, to repeat a check (default: another each time)")
    parser.add_argument("--step-seconds", metavar="S", help="a step that takes longer hangs (default 20)")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(command=_check)


def _new(arguments: argparse.Namespace) -> int:
    source, sample, expected = workshop.create(arguments.name, arguments.language, arguments.dir)
    plugin = f"./{source.stem}.so"
    print(f"made {source}, {sample} and {expected}. Next:\n")
    print(f"    cd {shlex.quote(os.fspath(source.parent))}")
    print(f"    gristmill plugin build {source.name}")
    print(f"    gristmill plugin check {plugin} --input {sample.name}")
    print(f"    gristmill map {plugin} {sample.name} --on-error skip | diff {expected.name} - && echo as expected")
    return 0


def _build(arguments: argparse.Namespace) -> int:
    try:
        built = workshop.build(
            arguments.source, arguments.output, arguments.debug, arguments.native, arguments.extra
        )
    except workshop.BuildFailed as failure:
        print(failure.said, end="", file=sys.stderr)
        raise
    print(built.warnings, end="", file=sys.stderr)
    how = "from the cache: nothing has changed" if built.cached else f"by {built.by}, {built.seconds:.1f} s"
    print(f"built {built.path} ({how})")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    command = [workshop.checker(), _located(arguments.plugin)]
    for option in ("config", "input", "delimiter", "framing", "seed", "step_seconds"):
        value: Optional[str] = getattr(arguments, option)
        if value is not None:
            command += [f"--{option.replace('_', '-')}", value]
    return _exit_code(subprocess.run([*command, "--json"] if arguments.json else command).returncode)


def _located(plugin: str) -> str:
    """As ``gristmill map`` understands it: a bare name is a bundled plugin's."""
    if "/" not in plugin and ".so" not in plugin and not Path(plugin).exists():
        return plugins.path(plugin)
    return os.path.abspath(os.path.expanduser(plugin))


def _exit_code(status: int) -> int:
    if status == -signal.SIGINT:
        raise KeyboardInterrupt
    if status == -signal.SIGPIPE:
        raise BrokenPipeError
    if status < 0:
        raise WorkerCrashed(f"the checker itself was ended by {signal.Signals(-status).name}")
    return status
