"""The batch ring alone: publish, claim, done and retire, with up to 64 claimers on however many cores.

    .venv/bin/python bench/ring.py [--repetitions 5] [--only cycle,sleeping] [--json PATH]

Runs `bench_ring` of the release build, its benchmarks interleaved at random, and prints medians; what
each of them does stands at the top of ring.cpp.

    cycle, steals    ns of each step, one thread; `batch_ns`: of all four
    small, sleeping  claims/s; of one batch, the CPU time of all threads and of the one that publishes
                     and retires, and how often that one slept; `occupied`: share of the claimers' time
                     in which they had a batch
    budget           ns of the question whether another batch fits
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import environment

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("cycle", "steals", "small", "sleeping", "budget")
NAMED = ("nodes", "workers", "claimers", "in_flight")
DIGITS = {"claims_per_s": 0, "coordinator_sleeps": 4, "occupied": 4}  # of all else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repetitions", type=int, default=5, help="of each benchmark, at least 2")
    parser.add_argument("--min-time", type=float, default=0.2, help="seconds of each repetition")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups of benchmarks, comma-separated")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    arguments = parser.parse_args()
    if unknown := set(arguments.only.split(",")) - set(GROUPS):
        parser.error(f"there is no group {', '.join(sorted(unknown))}")
    if arguments.repetitions < 2:
        parser.error("--repetitions must be at least 2")
    return arguments


def run(arguments: argparse.Namespace) -> list[dict]:
    command = [str(arguments.build / "bench" / "bench_ring"), "--benchmark_format=json",
               f"--benchmark_filter=^({arguments.only.replace(',', '|')})/",
               f"--benchmark_repetitions={arguments.repetitions}",
               f"--benchmark_min_time={arguments.min_time}",
               "--benchmark_enable_random_interleaving=true",
               "--benchmark_report_aggregates_only=true"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("bench_ring failed")
    found = json.loads(done.stdout)["benchmarks"]
    if failed := [each for each in found if each.get("error_occurred")]:
        sys.exit(f"{failed[0]['run_name']}: {failed[0]['error_message']}")
    return sorted((row(each) for each in found if each["aggregate_name"] == "median"), key=place)


def place(made: dict) -> tuple:
    """Groups as above, and in them by their arguments; the measurements come at random."""
    group = made["group"]
    return (GROUPS.index(group.split("/")[0]), group, *(made.get(name, 0) for name in NAMED))


def row(measured: dict) -> dict:
    """Of one benchmark: its group, its arguments, its figures."""
    words = measured["run_name"].removesuffix("/manual_time").split("/")
    made = {"group": "/".join(word for word in words if ":" not in word)}
    made |= {name: int(value) for name, _, value in (word.partition(":") for word in words if ":" in word)}
    counted = [name for name in measured if name in DIGITS or name.endswith("_ns")]
    made |= {name: round(measured[name], DIGITS.get(name, 1)) for name in counted}
    if not counted:
        made["ns"] = round(measured["real_time"], 1)
    return made


def show(made: dict) -> None:
    arguments = " ".join(f"{name} {made[name]}" for name in NAMED if name in made)
    figures = [f"{name} {value:,}" for name, value in made.items()
               if name != "group" and name not in NAMED]
    print(f"{made['group']:<14} {arguments:<22} {'   '.join(figures)}")


def main() -> None:
    arguments = parse_arguments()
    result = {"command": "bench/ring.py " + " ".join(sys.argv[1:]),
              "environment": environment.describe(), "repetitions": arguments.repetitions}
    result["rows"] = run(arguments)
    result["load_after"] = round(os.getloadavg()[0], 2)
    for made in result["rows"]:
        show(made)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
