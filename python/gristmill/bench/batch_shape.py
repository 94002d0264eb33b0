"""What batches of a fixed number of records cost, against batches that adapt themselves.

    gristmill bench batch_shape [--records 2000000] [--trials 5] [--workers 2] [--json PATH]

For each record set and its plugin: the rate under batch_records=N by the rate of adaptive batches,
medians of interleaved trials of Engine.run() over one file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

import gristmill as gm

from . import environment

SHARES = {"light": 1, "medium": 2, "heavy": 4, "tokenize": 10}  # of 50,000 records several batches
SHAPES: List[Optional[int]] = [None, 100, 1000, 10_000, 50_000]
GOALS = {"light": 0.70, "medium": 0.70, "heavy": 0.85, "tokenize": 0.85}  # 100 and 50,000


def compare(name: str, folder: Path, arguments: argparse.Namespace) -> Dict[str, Any]:
    path = folder / f"{name}.jsonl"
    gm.datagen.generate(name, path, records=max(1000, arguments.records // SHARES[name]))
    plugin = gm.Plugin("tokenize", config=f"{path}.vocab") if name == "tokenize" else name
    times: Dict[Optional[int], List[float]] = {shape: [] for shape in SHAPES}
    with contextlib.ExitStack() as stack:
        engines = {  # output rings are as large as batches ask for: each keeps its own
            shape: stack.enter_context(gm.Engine(workers=arguments.workers, isolation=arguments.isolation))
            for shape in SHAPES
        }
        for trial in range(-1, arguments.trials):
            for shape in SHAPES:
                given = {} if shape is None else {"batch_records": shape}
                started = time.perf_counter()
                engines[shape].run(plugin, path, **given)
                if trial >= 0:
                    times[shape].append(time.perf_counter() - started)
    medians = {shape: statistics.median(each) for shape, each in times.items()}
    ratios = {shape: medians[None] / medians[shape] for shape in SHAPES if shape}
    text = "".join(f"   {shape:,}: {ratio:.2f}" for shape, ratio in ratios.items())
    print(f"{name:<9}{text}   goal: 100 and 50,000 >= {GOALS[name]:.2f}", flush=True)
    return {
        "set": name,
        "seconds": {str(shape): median for shape, median in medians.items()},
        "ratios": {str(shape): ratio for shape, ratio in ratios.items()},
        "goal": GOALS[name],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=4_000_000, help="light records; fewer of the others")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--isolation", choices=("process", "thread"), default="process")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gristmill-shape-") as folder:
        result = {
            "command": "gristmill bench batch_shape " + " ".join(sys.argv[1:]),
            "environment": environment.describe(),
            "rows": [compare(name, Path(folder), arguments) for name in SHARES],
        }
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
