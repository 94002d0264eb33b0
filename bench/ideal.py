"""The engine against the loop that one would write by hand, on the same input and plugin.

    .venv/bin/python bench/ideal.py [--records 3000000] [--pairs 7] [--json PATH]

Runs `bench_ideal` of the release build for the plugins `light` and `identity` and prints one line
for each comparison: rates are medians over interleaved pairs, the ratio is above 1 where the
engine is faster. The loop uses the same system calls (pread of the engine's own median batch size
into one warm buffer a thread), the same plugin and keeps its output in the same way.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
import gristmill as gm

ROOT = Path(__file__).resolve().parent.parent


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=3_000_000, help="light records of input")
    parser.add_argument("--pairs", type=int, default=7, help="interleaved pairs of runs")
    parser.add_argument("--workers", default="1,2", help="worker counts, comma-separated")
    parser.add_argument("--plugins", default="light,identity", help="bundled plugins")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    return parser.parse_args()


def run(arguments: argparse.Namespace, path: Path) -> list[dict]:
    rows = []
    for plugin in arguments.plugins.split(","):
        command = [str(arguments.build / "bench" / "bench_ideal"),
                   str(arguments.build / "plugins" / f"{plugin}.so"), str(path),
                   "--pairs", str(arguments.pairs), "--workers", arguments.workers]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                row = json.loads(line) | {"plugin": plugin}
                rows.append(row)
                print(f"{plugin:<9} {row['workers']:>2} workers  {row['subject']:<9} "
                      f"{row['records_per_s'] / 1e6:7.2f} M/s {row['gb_per_s']:6.2f} GB/s   "
                      f"{row['against']:<45} {row['against_records_per_s'] / 1e6:7.2f} M/s   "
                      f"ratio {row['ratio']:.3f}", flush=True)
        if process.returncode != 0:
            sys.exit(f"bench_ideal failed for {plugin}")
    return rows


def main() -> None:
    arguments = parse_arguments()
    result = {"command": "bench/ideal.py " + " ".join(sys.argv[1:]),
              "environment": environment.describe(), "records": arguments.records}
    with tempfile.TemporaryDirectory(prefix="gristmill-ideal-") as folder:
        path = Path(folder) / "light.jsonl"
        gm.datagen.generate("light", path, records=arguments.records, stream="reference")
        result["rows"] = run(arguments, path)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
