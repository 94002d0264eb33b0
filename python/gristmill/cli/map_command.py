"""``gristmill map``: a plugin, a Python function or a command over files, pipes, standard input."""

from __future__ import annotations

import argparse
import codecs
import errno
import re
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .. import api, plugins
from ..errors import OptionError, OutputError, RecordError
from ..payload import Plugin, is_function_name

_ERRORS_SHOWN = 10
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.|$)", re.DOTALL)
_ESCAPED = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def delimiter(text: str) -> bytes:
    r"""Bytes from text with the escapes \n \t \r \0 \\ \xHH."""
    delimited, end = b"", 0
    for found in _ESCAPE.finditer(text):
        name = found[1]
        if not (name in _ESCAPED or (name.startswith("x") and len(name) == 3)):
            raise argparse.ArgumentTypeError(
                rf"{found[0]!r} is no escape; there are \n \t \r \0 \\ \xHH"
            )
        delimited += text[end : found.start()].encode("utf-8", "surrogateescape")
        delimited += _ESCAPED.get(name) or codecs.decode(name[1:], "hex")
        end = found.end()
    return delimited + text[end:].encode("utf-8", "surrogateescape")


def number_or_text(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() else text


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "map",
        help="run a payload over files or standard input",
        usage="gristmill map [OPTION ...] PAYLOAD [FILE ...]\n"
        "       gristmill map [OPTION ...] [FILE ...] -- COMMAND [ARGUMENT ...]",
        description="Runs a payload over every record of the files, or of standard input, and writes the"
        " output in order. Files may be pipes or devices, and compressed by gzip, zstd, xz or lz4.",
        epilog=f"bundled plugins: {', '.join(plugins.names())}. SIZE is bytes, or like 256KiB, 1GiB."
        " A command gets each batch on its standard input.",
    )
    parser.add_argument(
        "payload", metavar="PAYLOAD", nargs="?",
        help="a bundled plugin, FILE.so[:SYMBOL], or a Python function PACKAGE.MODULE:NAME",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="*",
        help="files with records; '-' or none: standard input",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", default="-", help="file to write, complete or not at all"
        " (default: standard output)"
    )
    parser.add_argument("--config", metavar="TEXT", help="text handed to the plugin")
    parser.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, default=None,
        help="show how far it is (default: when standard error is a terminal)",
    )
    parser.add_argument("--report", action="store_true", help="print figures of the run to standard error")
    _add_workers(parser.add_argument_group("workers"))
    _add_records(parser.add_argument_group("records"))
    _add_errors(parser.add_argument_group("failing records"))
    _add_processes(parser.add_argument_group("worker processes"))
    parser.set_defaults(command=run)


def _add_workers(group: Any) -> None:
    group.add_argument("--workers", type=int, metavar="N", help="default: one for each usable CPU; 0: no threads")
    group.add_argument("--nodes", metavar="SPEC", help="auto (default), N, 0,1 or @N for N logical nodes")
    group.add_argument("--no-smt", dest="smt", action="store_false", default=None, help="no SMT siblings")
    group.add_argument("--memory", metavar="SIZE", help="in flight, default 512MiB")


def _add_records(group: Any) -> None:
    group.add_argument("--order", choices=("index", "none"), help="of the output: the input's (default), or any")
    group.add_argument("--batch-records", type=int, metavar="N", help="records of a batch (default: adapts)")
    group.add_argument("--batch-bytes", metavar="SIZE", help="bytes of a batch, about (default: adapts)")
    group.add_argument(
        "--delimiter", type=delimiter, metavar="TEXT", help=r"ends a record, default \n; escapes: \n \t \r \0 \\ \xHH"
    )
    group.add_argument(
        "--framing", type=number_or_text, metavar="KIND",
        help="delimiter (default), u32le (length before each record), or bytes of a fixed-size record",
    )
    group.add_argument("--max-record", metavar="SIZE", help="longest record allowed, default 1GiB")


def _add_errors(group: Any) -> None:
    group.add_argument(
        "--on-error", choices=("raise", "skip", "collect"), help="stop (default), go on, or go on and list them"
    )
    group.add_argument("--errors-to", metavar="FILE", help="write failing records there, as JSON lines")
    group.add_argument("--max-errors", type=int, metavar="N", help="stop when more records fail")


def _add_processes(group: Any) -> None:
    group.add_argument(
        "--isolation", choices=("process", "thread"),
        help="where a plugin or command runs: in processes that may crash (default), or in threads",
    )
    group.add_argument("--start", choices=("auto", "fork", "fresh"), help="how workers of Python functions begin")
    group.add_argument("--timeout", type=float, metavar="S", help="end a worker that makes no progress for S seconds")
    group.add_argument("--retries", type=int, metavar="N", help="of a batch whose worker died, default 2")
    group.add_argument("--batches-per-worker", type=int, metavar="N", help="replace each worker after N batches")
    group.add_argument("--filtered", choices=("drop", "blank"), help="what None of a Python function leaves")


_NOT_OPTIONS = {"command", "payload", "files", "output", "config", "report", "command_line"}


def run(arguments: argparse.Namespace) -> int:
    given: Dict[str, Any] = {
        name: value
        for name, value in vars(arguments).items()
        if value is not None and name not in _NOT_OPTIONS
    }
    payload, files = _payload_and_files(arguments)
    given.setdefault("progress", sys.stderr is not None and sys.stderr.isatty())
    output = _standard_output() if arguments.output == "-" else arguments.output
    report = api.run(payload, files, output=output, **given)
    _list_errors(report.errors)
    if report.failed:
        print(f"gristmill: {report.failed:,} of {report.read:,} records failed", file=sys.stderr)
    if arguments.report:
        print(report, end="", file=sys.stderr)
    return 3 if report.failed else 0


def _payload_and_files(arguments: argparse.Namespace) -> Tuple[Any, List[str]]:
    command: Optional[List[str]] = arguments.command_line
    if command is not None:
        # There is no payload before the files.
        files = [name for name in (arguments.payload, *arguments.files) if name is not None]
        if not command:
            raise OptionError("a command is missing behind --: gristmill map FILE ... -- tr a-z A-Z")
        if arguments.config is not None:
            raise OptionError("--config belongs to plugins; a command has its arguments")
        return command, files or _standard_input()
    if arguments.payload is None:
        raise OptionError("map needs a payload: gristmill map PAYLOAD [FILE ...]")
    files = arguments.files or _standard_input()
    if is_function_name(arguments.payload):
        sys.path.insert(0, "")  # modules of the current directory, as `python -m` finds them
        return arguments.payload, files
    return Plugin(arguments.payload, config=arguments.config), files


def _standard_input() -> List[str]:
    """Whoever forgot the files should not wait for a terminal; ``-`` takes it all the same."""
    if sys.stdin is not None and sys.stdin.isatty():
        raise OptionError("map needs files, or records on standard input: gristmill map PAYLOAD FILE ...")
    return ["-"]


def _standard_output() -> Any:
    if sys.stdout is None:  # started with descriptor 1 closed, which any file may have become
        raise OutputError("standard output is closed", None, errno.EBADF)
    return sys.stdout.buffer


def _list_errors(errors: Sequence[RecordError]) -> None:
    for error in errors[:_ERRORS_SHOWN]:
        print(f"gristmill: {error}", file=sys.stderr)
    if len(errors) > _ERRORS_SHOWN:
        print(f"gristmill: ... and {len(errors) - _ERRORS_SHOWN:,} more", file=sys.stderr)
