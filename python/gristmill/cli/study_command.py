"""``gristmill study``: the node configurations of this machine, measured."""

from __future__ import annotations

import argparse
from typing import Any

from ..bench import arguments as options


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "study",
        help="measure every payload on each node configuration",
        description="Measures records/s of every payload on each node configuration of this machine, checks each"
        " byte of the output, and prints a table; CSV, JSON and a page with plots on request.",
    )
    options.add_to(parser)
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    from ..bench import study  # not for the other commands

    return study.run(arguments)
