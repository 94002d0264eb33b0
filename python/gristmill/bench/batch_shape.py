"""What batches of a fixed number of records cost, against batches that adapt themselves.

For each record set and its plugin: the rate under batch_records=N by the rate of adaptive batches, medians of
interleaved trials of Engine.run() over one file.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

import gristmill as gm

from . import exclusive, sheet
from .sheet import Column, Lines

SHARES = {"light": 1, "medium": 2, "heavy": 4, "tokenize": 10}  # of 50,000 records several batches
SHAPES: List[Optional[int]] = [None, 100, 1000, 10_000, 50_000]
GOALS = {"light": 0.70, "medium": 0.70, "heavy": 0.85, "tokenize": 0.85}  # 100 and 50,000
COLUMNS = [
    Column("set", ""),
    Column("batch_records", "batch", ",d", "records of a batch, as asked; - : as they adapt", "same"),
    Column("records", "records", ",d", better="same"),
    Column("seconds", "s", ".4f", "median of the trials"),
    Column("records_per_s", "records/s", ",.0f", better="higher"),
    Column("ratio", "ratio", ".2f", "rate by that of batches that adapt", "higher"),
    Column("goal", "goal", ".2f", "least ratio wanted, where one is set"),
]


def compare(table: sheet.Table, name: str, folder: Path, arguments: argparse.Namespace) -> None:
    path = folder / f"{name}.jsonl"
    records = max(1000, arguments.records // SHARES[name])
    gm.datagen.generate(name, path, records=records)
    plugin = gm.Plugin("tokenize", config=f"{path}.vocab") if name == "tokenize" else name
    with contextlib.ExitStack() as stack:
        engines = {  # output rings are as large as batches ask for: each keeps its own
            shape: stack.enter_context(gm.Engine(workers=arguments.workers, isolation=arguments.isolation))
            for shape in SHAPES
        }
        stack.enter_context(exclusive.machine())
        times = sheet.interleaved(
            {
                str(shape): lambda shape=shape: engines[shape].run(
                    plugin, path, **({} if shape is None else {"batch_records": shape})
                )
                for shape in SHAPES
            },
            arguments.trials,
        )
    medians: Dict[str, float] = {shape: statistics.median(each) for shape, each in times.items()}
    for shape in SHAPES:
        table.add(
            set=name,
            batch_records=shape,
            records=records,
            seconds=medians[str(shape)],
            records_per_s=records / medians[str(shape)],
            ratio=medians["None"] / medians[str(shape)],
            goal=GOALS[name] if shape in (100, 50_000) else None,
            all_seconds=times[str(shape)],
        )


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=4_000_000, help="light records; fewer of the others")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--isolation", choices=("process", "thread"), default="process")
    arguments = parser.parse_args()
    found = sheet.Sheet("batch_shape", __doc__, arguments)
    table = found.table(
        "shapes", "Batches of a fixed number of records", COLUMNS, plots=[Lines("batch_records", "ratio", "set")]
    )
    with tempfile.TemporaryDirectory(prefix="gristmill-shape-") as folder:
        for name in SHARES:
            compare(table, name, Path(folder), arguments)
    return found.finish()
