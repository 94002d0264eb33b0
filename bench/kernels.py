"""The kernels of the bundled payloads and the generator, without an engine around them.

    .venv/bin/python bench/kernels.py [--repetitions 9] [--sets light,medium] [--json PATH]

Runs `bench_kernels` and `bench_generator` of the release build, their benchmarks interleaved at
random, and prints medians. A kernel runs on one thread, over input in memory: on its usual path, on
its strict one, and beside them simdjson's bare parse of the same bytes. The generator writes to
memory, on one thread and on two.
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
SETS = ("light", "medium", "heavy", "tokenize")
KERNEL_GOALS = {"light": 12e6, "medium": 3.5e6, "heavy": 0.8e6, "tokenize": 350e3}  # records/s
GENERATOR_GOALS = {("light", "fast"): 1.0, ("medium", "fast"): 1.0}  # GB/s of one thread


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repetitions", type=int, default=9, help="of each benchmark, at least 2")
    parser.add_argument("--min-time", type=float, default=0.3, help="seconds of each repetition")
    parser.add_argument("--sets", default=",".join(SETS), help="record sets, comma-separated")
    parser.add_argument("--only", choices=("kernels", "generator"), help="leave the other out")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    arguments = parser.parse_args()
    arguments.sets = arguments.sets.split(",")
    if unknown := set(arguments.sets) - set(SETS):
        parser.error(f"there is no record set {', '.join(sorted(unknown))}")
    if arguments.repetitions < 2:
        parser.error("--repetitions must be at least 2")
    return arguments


def medians(arguments: argparse.Namespace, program: str) -> dict[str, dict]:
    """What Google Benchmark says of each benchmark of `program`, by name."""
    command = [str(arguments.build / "bench" / program), "--benchmark_format=json",
               f"--benchmark_filter=^({'|'.join(arguments.sets)})(/|$)",
               f"--benchmark_repetitions={arguments.repetitions}",
               f"--benchmark_min_time={arguments.min_time}",
               "--benchmark_enable_random_interleaving=true",
               "--benchmark_report_aggregates_only=true"]
    print(f"running {program}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} failed")
    found = json.loads(done.stdout)["benchmarks"]
    if failed := [each for each in found if each.get("error_occurred")]:
        sys.exit(f"{failed[0]['run_name']}: {failed[0]['error_message']}")
    return {each["run_name"]: each for each in found if each["aggregate_name"] == "median"}


def kernel_rows(arguments: argparse.Namespace) -> list[dict]:
    rows, found = [], medians(arguments, "bench_kernels")
    for name in arguments.sets:
        bare = found[f"{name}/simdjson"]["records"]
        usual = found[name]["records"]
        for path in ("usual", "strict", "simdjson"):
            measured = found[name if path == "usual" else f"{name}/{path}"]
            row = {"set": name, "path": path, "records_per_s": round(measured["records"]),
                   "gb_per_s": round(measured["bytes"] / 1e9, 3),
                   "ratio_to_simdjson": round(measured["records"] / bare, 3)}
            if path == "usual":
                row["goal_records_per_s"] = KERNEL_GOALS[name]
            if path == "strict":
                row["usual_to_strict"] = round(usual / measured["records"], 2)
            rows.append(row)
    return rows


def print_kernels(rows: list[dict]) -> None:
    print(f"\n{'kernel':<9} {'path':<9} {'records/s':>11} {'GB/s':>6} {'to simdjson':>12}")
    for row in rows:
        note = ""
        if goal := row.get("goal_records_per_s"):
            note = f"   goal {goal:,.0f}: {verdict(row['records_per_s'] >= goal)}"
        if slower := row.get("usual_to_strict"):
            note = f"   usual is {slower:.2f} times as fast"
        print(f"{row['set']:<9} {row['path']:<9} {row['records_per_s']:>11,} "
              f"{row['gb_per_s']:>6.2f} {row['ratio_to_simdjson']:>12.2f}{note}")


def generator_rows(arguments: argparse.Namespace) -> list[dict]:
    """A row for each set and stream; the reference stream has one thread only."""
    found, rows = medians(arguments, "bench_generator"), []
    for name in arguments.sets:
        for stream in ("fast", "reference"):
            one = found[f"{name}/{stream}/threads:1/real_time"]["bytes_per_second"]
            row = {"set": name, "stream": stream, "gb_per_s_1_thread": round(one / 1e9, 3)}
            if two := found.get(f"{name}/{stream}/threads:2/real_time"):
                row["gb_per_s_2_threads"] = round(two["bytes_per_second"] / 1e9, 3)
                row["scaling"] = round(two["bytes_per_second"] / one, 2)
            if goal := GENERATOR_GOALS.get((name, stream)):
                row["goal_gb_per_s"] = goal
            rows.append(row)
    return rows


def print_generator(rows: list[dict]) -> None:
    print(f"\n{'generator':<9} {'stream':<9} {'GB/s, 1 thread':>15} {'2 threads':>10} "
          f"{'scaling':>8}")
    for row in rows:
        two = note = ""
        if "scaling" in row:
            two = f" {row['gb_per_s_2_threads']:>10.2f} {row['scaling']:>8.2f}"
        if goal := row.get("goal_gb_per_s"):
            note = f"   goal {goal:.1f}: {verdict(row['gb_per_s_1_thread'] >= goal)}"
        print(f"{row['set']:<9} {row['stream']:<9} {row['gb_per_s_1_thread']:>15.2f}{two}{note}")


def verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def main() -> None:
    arguments = parse_arguments()
    result = {"command": "bench/kernels.py " + " ".join(sys.argv[1:]),
              "environment": environment.describe(), "repetitions": arguments.repetitions}
    if arguments.only != "generator":
        result["kernels"] = kernel_rows(arguments)
        print_kernels(result["kernels"])
    if arguments.only != "kernels":
        result["generator"] = generator_rows(arguments)
        print_generator(result["generator"])
    result["load_after"] = os.getloadavg()[0]
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
