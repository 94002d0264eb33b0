"""The compiled benchmarks of a release build, for the modules that run them."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

from ..errors import OptionError
from . import environment


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--program", type=Path, metavar="PATH", help="the compiled benchmark, or the folder that has it;"
                        " default: that of the clone's release build")  # fmt: skip


def build() -> Optional[Path]:
    """The release build of the clone whose script runs."""
    return environment.repository.resolve().parent / "build" / "release" if environment.repository else None


def find(name: str, given: Optional[Path]) -> Path:
    """``given``: a program or a folder. Raises OptionError, which says what is missing and what to do."""
    folder = build()
    place = given or (folder / "bench" if folder else None)
    if place is None:
        raise OptionError(f"{name} does not come with the package: compile it in a clone, by scripts/setup, and run"
                          f" bench/ there; or name it by --program PATH")  # fmt: skip
    path = place / name if place.is_dir() or not given else place
    if not os.access(path, os.X_OK) or path.is_dir():
        raise OptionError(f"there is no program {os.fspath(path)!r}: scripts/setup compiles it, as part of the release"
                          " preset; or name another by --program PATH")  # fmt: skip
    return path


def repetitions(program: Path, wanted: str, count: int, seconds: float) -> Dict[str, List[Dict[str, Any]]]:
    """Runs those of a program's benchmarks whose names match, each ``count`` times for so many seconds, at random.
    What Google Benchmark says of each repetition, by the benchmark's name. Raises OptionError when one fails."""
    command = [
        str(program),
        "--benchmark_format=json",
        f"--benchmark_filter={wanted}",
        f"--benchmark_repetitions={count}",
        f"--benchmark_min_time={seconds}",
        "--benchmark_enable_random_interleaving=true",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise OptionError(f"{program.name} failed, with exit code {done.returncode}")
    found: Dict[str, List[Dict[str, Any]]] = {}
    for each in json.loads(done.stdout)["benchmarks"]:
        if each.get("error_occurred"):
            raise OptionError(f"{each['run_name']}: {each['error_message']}")
        if each["run_type"] == "iteration":
            found.setdefault(each["run_name"], []).append(each)
    return found
