"""``gristmill gen``: record sets to try and measure payloads with."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from .. import datagen


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "gen",
        help="generate a record set",
        description="Writes one of the record sets as JSON lines. The arguments determine every byte.",
    )
    parser.add_argument("name", choices=datagen.SETS, help="the record set, from about 107 to 1344 bytes a record")
    parser.add_argument("--records", type=int, required=True, metavar="N", help="how many")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="appears only when it is complete")
    parser.add_argument("--seed", type=int, metavar="S", help="default: that of the published data")
    parser.add_argument("--malformed", type=float, default=0, metavar="PCT", help="share of spoilt records, 0 to 100")
    parser.add_argument(
        "--stream", choices=datagen.STREAMS, default="reference", help="reference (default): the published data"
    )
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    show = sys.stderr is not None and sys.stderr.isatty()
    progress = _ProgressLine(arguments.records) if show else None
    try:
        datagen.generate(
            arguments.name,
            arguments.output,
            records=arguments.records,
            seed=arguments.seed,
            malformed_pct=arguments.malformed,
            stream=arguments.stream,
            progress=progress,
        )
    finally:
        if progress is not None:
            progress.clear()
    return 0


class _ProgressLine:
    """A line on the terminal that is written over as the work goes on."""

    _INTERVAL_S = 0.1

    def __init__(self, records: int) -> None:
        self._records = records
        self._shown = time.monotonic()

    def __call__(self, records: int, size: int) -> None:
        now = time.monotonic()
        if now - self._shown < self._INTERVAL_S:
            return
        self._shown = now
        share = 100 * records // max(1, self._records)
        line = f"\r{share:3} %  {records:,} records, {size / 1e6:,.0f} MB"
        print(line, end="\x1b[K", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
