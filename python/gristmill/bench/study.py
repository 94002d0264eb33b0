"""The study: records/s for each node configuration, against others, and what memory a stream takes."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from . import arguments as options
from . import environment, outputs, peers, plan, reference, rows, running, slow_consumer, table
from .inputs import Input, prepare
from .page import write_html
from .plan import Configuration
from .progress_line import ProgressLine

SCHEMA = "gristmill-study/1"
_INEXACT = 1
_RECORDED_OPTIONS = ("quick", "parts", "variants", "records", "docs", "nodes", "workers", "sweep_workers", "isolation",
                     "trials", "peers")  # fmt: skip


def main() -> int:
    """From a clone: with its peers, in their environment where there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    options.add_to(parser)
    if environment.repository is not None:
        parser.set_defaults(peers_folder=environment.repository / "peers")
        python = environment.repository.parent / ".venv-peers" / "bin" / "python"
        parser.set_defaults(peers_python=str(python) if python.exists() else None)
    return run(parser.parse_args())


def run(arguments: argparse.Namespace) -> int:
    """``arguments``: see arguments.add_to(). 0 when every row is exact, else 1. Raises GristmillError, OSError."""
    options.settle(arguments)
    machine = environment.describe()
    print(table.environment(machine), flush=True)
    with ExitStack() as stack:
        folder = arguments.tmpdir
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gristmill-study-")))
        return _Study(arguments, folder, machine).run()


class _Study:
    def __init__(self, arguments: argparse.Namespace, folder: Path, machine: Dict[str, Any]) -> None:
        self._arguments = arguments
        self._folder = folder
        self._machine = machine
        self._kept = running.Kept(folder / "cells")
        self._inputs: Dict[Tuple[str, int], Input] = {}
        self._references: Dict[Tuple[str, str], Dict[str, Any]] = {}

    def run(self) -> int:
        started = time.time()
        python = sys.executable
        found: List[peers.Peer] = []
        if "c" in self._arguments.parts:
            asked = self._arguments.peers_python or python
            found = peers.find(self._arguments.peers_folder, self._arguments.peers, asked)
        wanted = plan.configurations(self._arguments, found, python, self._input)
        for each in wanted:
            self._reference(each)
        made = self._measure(wanted)
        rows.rank(made)
        streams = slow_consumer.measure(self._arguments, self._folder) if "d" in self._arguments.parts else []
        print(table.text(made))
        print(slow_consumer.text(streams), end="")
        result = self._result(made, streams, started)
        self._write(result)
        return self._verdict(made, streams)

    def _input(self, name: str, records: int) -> Input:
        if (name, records) not in self._inputs:
            self._inputs[name, records] = prepare(name, records, self._folder)
        return self._inputs[name, records]

    def _reference(self, each: Configuration) -> Dict[str, Any]:
        key = (each.task.input.path, reference.family(each.task))
        if key not in self._references:
            self._references[key] = reference.compute(each.task)
        return self._references[key]

    def _measure(self, wanted: List[Configuration]) -> List[rows.Row]:
        """Round after round, so that what else goes on in the machine meets all alike."""
        trials: Dict[Configuration, List[Dict[str, Any]]] = {each: [] for each in wanted}
        with ProgressLine(len(wanted) * self._arguments.trials) as line:
            for trial in range(self._arguments.trials):
                for each in wanted:
                    before = trials[each][-1:] or [{}]
                    if "wall_s" not in before[0] and trial > 0:
                        line.skip(each)
                        continue
                    line.show(each, trial)
                    trials[each].append(self._cell(each, trial))
                    line.done(each)
        return [rows.make(each, found, self._reference(each)) for each, found in trials.items()]

    def _cell(self, each: Configuration, trial: int) -> Dict[str, Any]:
        if each.absent:
            return {"absent": each.absent}
        peer = running.peer_identity(each.peer, each.python)
        if (found := self._kept.find(each.task, trial, peer)) is not None:
            return found
        found = running.measure(each.task, each.python, each.peer, self._arguments.cell_limit)
        if "wall_s" in found and not rows.inexact(found, each, self._reference(each)):
            self._kept.keep(each.task, trial, peer, found)
        return found

    def _result(self, made: List[rows.Row], streams: List[Dict[str, Any]], started: float) -> Dict[str, Any]:
        given = {name: value for name, value in vars(self._arguments).items() if name in _RECORDED_OPTIONS}
        return {
            "schema": SCHEMA,
            "command": outputs.command("study"),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "seconds": round(time.time() - started, 1),
            "environment": {**self._machine, "load_after": round(os.getloadavg()[0], 2)},
            "options": given,
            "inputs": [
                {"set": each.set, "records": each.records, "bytes": each.bytes, "valid": each.valid, "xxh3_128": each.digest}
                for each in self._inputs.values()
            ],
            "rows": made,
            "streams": streams,
        }

    def _write(self, result: Dict[str, Any]) -> None:
        outputs.write(self._arguments, {
            "csv": lambda path: rows.write_csv(result["rows"], path),
            "json": lambda path: path.write_text(json.dumps(result, indent=1) + "\n"),
            "html": lambda path: write_html(result, path),
        })  # fmt: skip

    def _verdict(self, made: List[rows.Row], streams: List[Dict[str, Any]]) -> int:
        asked = [row for row in made if not row.get("absent")]
        wrong = [row for row in asked if not row["exact"]]
        for row in wrong:
            place = f"{row['set']}, {row['payload']}, {table.who(row)}, nodes {row['nodes'] or '-'}"
            print(f"gristmill: NOT exact: {place}: {row['note']}", file=sys.stderr)
        beyond = [each for each in streams if not each["within"] or not each["exact"]]
        for each in beyond:
            print(f"gristmill: stream of {each['source']}: {slow_consumer.words(each)}", file=sys.stderr)
        if wrong or beyond:
            return _INEXACT
        if not asked:
            return 0
        values = sum(row["compared"] == "values" for row in asked)
        but = f"; of {values} rows of peers the same values" if values else ""
        counts = sorted({f"{row['records']:,}" for row in asked}, key=lambda text: -int(text.replace(",", "")))
        print(f"totals exact: {', '.join(counts)} in and out, the same bytes in every configuration" + but)
        return 0
