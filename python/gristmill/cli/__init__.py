"""The command ``gristmill``.

Exit codes: 0 done; 2 an error, a record failing under --on-error raise included; 3 done, but
records failed (skip, collect); 130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional, Sequence, Tuple

from .. import _core
from ..errors import GristmillError
from . import bench_command, gen_command, map_command, plugin_command, study_command, topo_command

_FAILED, _INTERRUPTED, _PIPE_CLOSED = 2, 130, 141
_EPILOG = """\
exit codes: 0 done; 2 error; 3 done, but records failed (--on-error skip or collect);
            130 interrupted; 141 the reader of the output went away
"""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command line (by default sys.argv) and returns its exit code."""
    if sys.stderr is None:  # closed: print() would take standard output instead
        sys.stderr = open(os.devnull, "w")
    try:
        given, command_line = _without_command(sys.argv[1:] if arguments is None else arguments)
        parsed = _parser().parse_args(given)
        parsed.command_line = command_line
        code: int = parsed.command(parsed)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return _PIPE_CLOSED
    except (GristmillError, OSError) as error:
        _say(str(error))
        return _FAILED


def _without_command(given: Sequence[str]) -> Tuple[List[str], Optional[List[str]]]:
    """What stands before ``--``, and for ``map`` the command behind it."""
    if "--" not in given or list(given[:1]) != ["map"]:
        return list(given), None
    at = list(given).index("--")
    return list(given[:at]), list(given[at + 1 :])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gristmill",
        description="Maps plugins, Python functions and commands over records: every core, in order.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gristmill {_core.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (map_command, gen_command, topo_command, plugin_command, study_command, bench_command):
        command.add_to(commands)
    return parser


def _say(message: str) -> None:
    """One line on standard error, whatever is in the message."""
    if sys.stderr is None:
        return
    try:
        print("gristmill: " + " ".join(message.split("\n")), file=sys.stderr, flush=True)
    except OSError:
        pass  # nobody to tell


def _forget_stdout() -> None:
    """Lets the interpreter's last flush go to nowhere, instead of complaining."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
