"""The study: records/s of the C plugin for each node configuration.

    .venv/bin/python bench/numa_study.py [--records 1000000] [--trials 3] [--nodes 1,@2]
                                         [--tmpdir DIR]

Generates light records, maps them through the compiled `light` plugin once for each node
configuration and trial, in turn, and prints the totals and the median rate of each. Every output
is compared with the first one; a difference is an error (exit code 1).

With --tmpdir the records stay in DIR, and are used again when their manifest describes them and
every byte is as it says; otherwise they are generated anew.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import gristmill as gm


@dataclass
class Row:
    """One node configuration: its totals, and the seconds of each trial."""

    nodes: str
    read: int = 0
    output_records: int = 0
    valid: int = 0
    seconds: list[float] = field(default_factory=list)

    def rate(self, seconds: float) -> float:
        return self.read / seconds


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="light records to map")
    parser.add_argument("--trials", type=int, default=3, help="runs of each configuration")
    parser.add_argument("--nodes", default="1,@2", help="node configurations, comma-separated")
    parser.add_argument("--workers", type=int, default=None, help="default: the usable CPUs")
    parser.add_argument("--tmpdir", default=None, help="keep the records here, and use them again")
    arguments = parser.parse_args()
    if arguments.records < 1 or arguments.trials < 1:
        parser.error("--records and --trials must be at least 1")
    return arguments


def say(text: str) -> None:
    print(text, file=sys.stderr)


@contextlib.contextmanager
def study_input(records: int, folder: str | None) -> Iterator[str]:
    """The path of the records, in `folder`, or in one that is removed afterwards."""
    with contextlib.ExitStack() as stack:
        if folder is None:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="gristmill-study-"))
            path = os.path.join(made, "light.jsonl")
        else:
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, f"gristmill-study-light-{records}.jsonl")
        if reason := unusable(path, records):
            say(f"generating {records:,} light records" + (f": {reason}" if folder else ""))
            gm.datagen.generate("light", path, records=records, stream="reference")
        else:
            say(f"using {path}, which is as its manifest says")
        yield path


def unusable(path: str, records: int) -> str:
    """Why the study cannot use the file `path`; empty when it is the file that would be made."""
    if not os.path.exists(path):
        return "there are none"
    try:
        manifest = gm.datagen.verify(path)
    except gm.SourceError as error:
        return str(error)
    wanted = ("light", "reference", 42, 0, (0, records), "none")
    found = (manifest.name, manifest.stream, manifest.seed, manifest.malformed_pct,
             manifest.range, manifest.compress)
    return "" if found == wanted else f"'{path}' holds others: {found}"


def measure(row: Row, engine: gm.Engine, path: str) -> str:
    """One trial; the digest of its output. Only the call itself is timed."""
    started = time.perf_counter()
    results = engine.map("light", path, on_error="skip")
    row.seconds.append(time.perf_counter() - started)
    row.read = results.report.read
    row.valid = results.report.emitted
    row.output_records = len(results)
    digest = hashlib.sha256()
    for batch in results.batches():
        digest.update(batch)
    return digest.hexdigest()


def print_table(rows: list[Row], input_bytes: int, workers: int) -> None:
    print(f"{'nodes':>6} {'workers':>7} {'records in':>11} {'out':>11} {'valid':>11} "
          f"{'records/s':>12} {'min':>12} {'max':>12} {'MB/s':>8}")
    for row in rows:
        middle = statistics.median(row.seconds)
        print(f"{row.nodes:>6} {workers:>7} {row.read:>11,} {row.output_records:>11,} "
              f"{row.valid:>11,} {row.rate(middle):>12,.0f} "
              f"{row.rate(max(row.seconds)):>12,.0f} {row.rate(min(row.seconds)):>12,.0f} "
              f"{input_bytes / middle / 1e6:>8,.0f}")


def main() -> int:
    arguments = parse_arguments()
    rows = [Row(nodes) for nodes in arguments.nodes.split(",")]
    with study_input(arguments.records, arguments.tmpdir) as path:
        digests: set[str] = set()
        engines = [gm.Engine(workers=arguments.workers, nodes=row.nodes) for row in rows]
        try:
            for trial in range(arguments.trials + 1):
                for row, engine in zip(rows, engines):
                    digests.add(measure(row, engine, path))
                if trial == 0:  # the first round only warms up
                    for row in rows:
                        row.seconds.clear()
        finally:
            workers = len(engines[0].plan.workers)
            for engine in engines:
                engine.close()
        print_table(rows, os.path.getsize(path), workers)
    exact = all(row.read == row.output_records == arguments.records for row in rows)
    if exact and len(digests) == 1:
        print(f"totals exact: {arguments.records:,} in, {arguments.records:,} out, "
              "the same bytes in every configuration")
        return 0
    say("the totals are NOT exact, or the outputs differ")
    return 1


if __name__ == "__main__":
    sys.exit(main())
