"""``gristmill gen``: record sets to try and measure payloads with."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Tuple

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
        "--stream",
        choices=datagen.STREAMS,
        default="fast",
        help="fast (default): made in parallel; reference: the published data",
    )
    parser.add_argument("--range", type=_range, metavar="A:B", help="records A to B-1 alone; fast stream only")
    parser.add_argument("--threads", type=int, default=0, metavar="T", help="default: one for each usable CPU")
    parser.add_argument("--compress", choices=datagen.COMPRESSIONS[1:], default="none", help="default: not at all")
    parser.add_argument("--large-documents", action="store_true", help="tokenize: 500 to 800 words each")
    parser.set_defaults(command=run)


def _range(text: str) -> Tuple[int, int]:
    begin, colon, end = text.partition(":")
    if not colon or not begin.isdecimal() or not end.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not A:B, two numbers of records")
    return int(begin), int(end)


def run(arguments: argparse.Namespace) -> int:
    show = sys.stderr is not None and sys.stderr.isatty()
    progress = _ProgressLine(_records(arguments)) if show else None
    try:
        datagen.generate(
            arguments.name,
            arguments.output,
            records=arguments.records,
            seed=arguments.seed,
            malformed_pct=arguments.malformed,
            stream=arguments.stream,
            range=arguments.range,
            threads=arguments.threads,
            compress=arguments.compress,
            large_documents=arguments.large_documents,
            progress=progress,
        )
    finally:
        if progress is not None:
            progress.clear()
    return 0


def _records(arguments: argparse.Namespace) -> int:
    if arguments.range is None:
        return arguments.records
    begin, end = arguments.range
    return max(0, end - begin)


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
