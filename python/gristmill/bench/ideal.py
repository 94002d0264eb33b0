"""The engine against the loop that one would write by hand, on the same input and plugin.

Runs `bench_ideal` of the release build for each record set and its plugin, and `identity`: rates are medians over
interleaved pairs, the ratio is above 1 where the engine is faster. The loop uses the same system calls (pread of the
engine's own median batch size into one warm buffer a thread), the same plugin and keeps its output in the same
way; its threads are compared with the engine's, and with its processes. Engine and loop have to give as many bytes
before they are timed. The loop over memory, which reads nothing, has no goal: it shows what reading costs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import gristmill as gm

from ..errors import OptionError
from . import exclusive, programs, sheet
from .sheet import Bars, Column

SHARES = {"light": 1, "medium": 4, "heavy": 10, "tokenize": 30, "identity": 1}  # files of about one size
GOAL = 0.97
PREAD = "loop with pread"
SHORT = {PREAD: "pread", "loop with pread, batches without record_count": "uncounted", "loop over memory": "memory"}
COLUMNS = [
    Column("set", ""),
    Column("workers", "workers", ",d", better="same"),
    Column("subject", "subject", width=20),
    Column("against", "against", width=45),
    Column("records", "records", ",d", better="same"),
    Column("batch_bytes", "batch bytes", ",d", "median of the engine, and what the loop reads at a time"),
    Column("records_per_s", "records/s", ",.0f", "of the engine, median", "higher"),
    Column("against_records_per_s", "against", ",.0f", "of what it is compared with, median"),
    Column("gb_per_s", "GB/s", ".2f", "10^9 input bytes a second of the engine"),
    Column("ratio", "ratio", ".3f", "rate of the engine by that of the other, of the medians", "higher"),
    Column("ratio_of_pairs", "of pairs", ".3f", "median of the pairs' ratios"),
    Column("ratio_min", "min", ".3f", "the lowest of the pairs' ratios"),
    Column("ratio_max", "max", ".3f", "the highest of the pairs' ratios"),
]
LOOPS = [*COLUMNS, Column("goal", "goal", ".2f", "least ratio wanted: of sets against the loop that reads as the engine does")]


def found_of(program: Path, plugin: str, path: Path, config: str, arguments: argparse.Namespace) -> Iterator[Dict[str, Any]]:
    """What bench_ideal says, comparison by comparison."""
    command = [str(program), plugin, str(path), "--pairs", str(arguments.pairs), "--workers", arguments.workers]
    command += ["--config", config] if config else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode != 0:
        raise OptionError(f"{program.name} failed for {path.name}, with exit code {process.returncode}")


def row_of(name: str, said: Dict[str, Any]) -> sheet.Row:
    ratios = [other / ours for ours, other in zip(said["all_seconds"], said["against_all_seconds"])]
    row = {"set": name, **said, "subject": f"gristmill, {said['subject']}", "ratio_min": min(ratios), "ratio_max": max(ratios)}
    row["bar"] = f"{said['workers']} {said['subject']}, {SHORT.get(said['against'], said['against'])}"
    return {**row, "goal": GOAL} if said["against"] == PREAD and name != "identity" else row


def input_of(name: str, folder: Path, records: int) -> Path:
    set_name = "light" if name == "identity" else name
    path = folder / f"{set_name}.jsonl"
    if not path.exists():
        gm.datagen.generate(set_name, path, records=max(1000, records // SHARES[name]), stream="reference")
    return path


def plugin_of(name: str, given: Optional[Path]) -> str:
    """Of the folder ``given``, else of the clone's build, else the package's."""
    folder = given or (programs.build() or Path()) / "plugins"
    return str(folder / f"{name}.so") if given or (folder / f"{name}.so").exists() else gm.plugins.path(name)


def compare(loops: sheet.Table, name: str, program: Path, folder: Path, arguments: argparse.Namespace) -> List[sheet.Row]:
    """Fills the table of loops; gives the rows of the other one."""
    plugin = plugin_of(name, arguments.plugins_folder)
    path, others = input_of(name, folder, arguments.records), []
    config = f"{path}.vocab" if name == "tokenize" else ""
    with exclusive.machine():
        for said in found_of(program, plugin, path, config, arguments):
            row = row_of(name, said)
            if said["against"].startswith("loop"):
                loops.add(**row)
            else:
                others.append(row)
    return others


def parse_arguments() -> argparse.Namespace:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=3_000_000, help="light records of input; fewer of the others")
    parser.add_argument("--pairs", type=int, default=7, help="interleaved pairs of runs")
    parser.add_argument("--workers", default="1,2", help="worker counts, comma-separated")
    parser.add_argument("--sets", default=",".join(SHARES), help="record sets, comma-separated; or identity")
    programs.add_to(parser)
    parser.add_argument("--plugins-folder", type=Path, metavar="DIR", help="of the bundled plugins; default: those of the"
                        " clone's release build, else of the package")  # fmt: skip
    arguments = parser.parse_args()
    arguments.sets = arguments.sets.split(",")
    if unknown := set(arguments.sets) - set(SHARES):
        parser.error(f"there is no record set {', '.join(sorted(unknown))}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    program = programs.find("bench_ideal", arguments.program)
    found = sheet.Sheet("ideal", __doc__, arguments)
    loops = found.table("loops", "The engine against a loop written by hand", LOOPS, plots=[
        Bars(("bar",), "ratio_of_pairs", "ratio_min", "ratio_max", of="set")])  # fmt: skip
    engines = found.table("engines", "The engine against itself: processes and threads, nodes and one node", COLUMNS)
    with tempfile.TemporaryDirectory(prefix="gristmill-ideal-") as folder:
        for row in [row for name in arguments.sets for row in compare(loops, name, program, Path(folder), arguments)]:
            engines.add(**row)
    return found.finish()
