"""``gristmill map``: a plugin over files, to a file or standard output."""

from __future__ import annotations

import argparse
import codecs
import errno
import re
import sys
from typing import Any, Dict, Sequence

from .. import api, plugins
from ..errors import OutputError, RecordError
from ..payload import Plugin

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
        help="run a plugin over files",
        description="Runs a plugin over every record of the files and writes the output in order.",
        epilog=f"bundled plugins: {', '.join(plugins.names())}. SIZE is bytes, or like 256KiB, 1GiB.",
    )
    parser.add_argument("plugin", metavar="PLUGIN", help="name of a bundled plugin, or FILE.so[:SYMBOL]")
    parser.add_argument("files", metavar="FILE", nargs="+", help="regular files with records")
    parser.add_argument(
        "-o", "--output", metavar="OUT", default="-", help="file to write, complete or not at all"
        " (default: standard output)"
    )
    parser.add_argument("--config", metavar="TEXT", help="text handed to the plugin")
    parser.add_argument("--report", action="store_true", help="print figures of the run to standard error")
    _add_workers(parser.add_argument_group("workers"))
    _add_records(parser.add_argument_group("records"))
    _add_errors(parser.add_argument_group("failing records"))
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


_NOT_OPTIONS = {"command", "plugin", "files", "output", "config", "report"}


def run(arguments: argparse.Namespace) -> int:
    given: Dict[str, Any] = {
        name: value
        for name, value in vars(arguments).items()
        if value is not None and name not in _NOT_OPTIONS
    }
    plugin = Plugin(arguments.plugin, config=arguments.config)
    output = _standard_output() if arguments.output == "-" else arguments.output
    report = api.run(plugin, arguments.files, output=output, **given)
    _list_errors(report.errors)
    if report.failed:
        print(f"gristmill: {report.failed:,} of {report.read:,} records failed", file=sys.stderr)
    if arguments.report:
        print(report, end="", file=sys.stderr)
    return 3 if report.failed else 0


def _standard_output() -> Any:
    if sys.stdout is None:  # started with descriptor 1 closed, which any file may have become
        raise OutputError("standard output is closed", None, errno.EBADF)
    return sys.stdout.buffer


def _list_errors(errors: Sequence[RecordError]) -> None:
    for error in errors[:_ERRORS_SHOWN]:
        print(f"gristmill: {error}", file=sys.stderr)
    if len(errors) > _ERRORS_SHOWN:
        print(f"gristmill: ... and {len(errors) - _ERRORS_SHOWN:,} more", file=sys.stderr)
