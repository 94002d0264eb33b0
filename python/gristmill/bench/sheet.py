"""What a benchmark found: tables that are printed as they fill, and kept as CSV, JSON and HTML.

    parser = sheet.parser(__doc__)                 # with --csv, --json, --html
    parser.add_argument("--trials", ...)
    found = sheet.Sheet("latency", __doc__, parser.parse_args())
    calls = found.table("calls", "Calls of a kept engine", [Column("subject", ""), Column("p50_us", "p50 us", ".1f")])
    calls.add(subject="threads", p50_us=181.3)
    return found.finish()

schema.md says what the files hold.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import environment, outputs

SCHEMA = "gristmill-bench/1"
_WIDTH_OF_FIRST = 26

Row = Dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A field of a table's rows."""

    name: str
    """The key in each row; ends in its unit (_s, _us, _bytes, _per_s) where it has one."""
    head: str
    """What stands above it."""
    show: str = ""
    """How a number is written, as in format(): ".1f", ",.0f"."""
    about: str = ""
    """What it means, for who reads the file."""
    better: str = ""
    """What ``compare`` makes of two results: "higher" or "lower" is better; "same": a setting, rows belong together
    when it is equal, as all texts have to be; "": it does not look."""
    width: int = 9
    """At least so many characters in print."""


@dataclass(frozen=True)
class Bars:
    """A plot: a bar for each row."""

    label: Tuple[str, ...]
    """Columns whose values name a bar."""
    value: str
    low: str = ""
    high: str = ""
    """Columns of the range that the value was seen in."""
    of: str = ""
    """A column; rows with the same value there make a plot of their own."""


@dataclass(frozen=True)
class Lines:
    """A plot: a line for each value of ``series``."""

    x: str
    y: str
    series: str
    of: str = ""
    logarithmic: bool = False
    """Both axes."""


Plot = Union[Bars, Lines]


@dataclass
class Table:
    name: str
    title: str
    columns: Sequence[Column]
    about: str = ""
    plots: Sequence[Plot] = ()
    rows: List[Row] = field(default_factory=list)

    def add(self, **row: Any) -> Row:
        """Keeps a row, and prints it. Fields beyond the columns are kept in JSON only. A row with a ``note``
        says why it has no numbers."""
        if not self.rows:
            self._print_head()
        self.rows.append({"table": self.name, **row})
        cells = self.cells(row)
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells[1:], self._widths()[1:]))
        print(f"  {cells[0]:<{_WIDTH_OF_FIRST}}  {line}  {row.get('note', '')}".rstrip(), flush=True)
        return self.rows[-1]

    def cells(self, row: Row) -> List[str]:
        """As they are shown."""
        return [written(row.get(column.name), column.show) for column in self.columns]

    def _widths(self) -> List[int]:
        return [max(len(column.head), column.width) for column in self.columns]

    def _print_head(self) -> None:
        first, *others = (column.head for column in self.columns)
        line = "  ".join(head.rjust(width) for head, width in zip(others, self._widths()[1:]))
        print(f"\n{self.title}\n  {first:<{_WIDTH_OF_FIRST}}  {line}".rstrip(), flush=True)


def written(value: Any, show: str) -> str:
    if value is None:
        return "-"
    return format(value, show) if show and not isinstance(value, str) else str(value)


def parser(about: str) -> argparse.ArgumentParser:
    """``about``: the docstring of a benchmark; its first paragraph describes it, the others are its epilogue."""
    first, _, rest = about.strip().partition("\n\n")
    made = argparse.ArgumentParser(description=first, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter)
    outputs.add_to(made.add_argument_group("results"))
    return made


class Sheet:
    """Everything that one benchmark found."""

    def __init__(self, name: str, about: str, arguments: argparse.Namespace) -> None:
        """``name``: as in gristmill bench NAME."""
        self.name = name
        self.about = about.strip().partition("\n\n")[0]
        self.tables: List[Table] = []
        self._arguments = arguments
        self._started = time.time()
        self._environment = environment.describe()

    def table(
        self, name: str, title: str, columns: Sequence[Column], about: str = "", plots: Sequence[Plot] = ()
    ) -> Table:
        made = Table(name, title, columns, about, plots)
        self.tables.append(made)
        return made

    def say(self, what: str) -> None:
        """What is being done, for who waits at a terminal."""
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r\x1b[K{what}\r", end="", file=sys.stderr, flush=True)

    def finish(self, code: int = 0, wrong: str = "") -> int:
        """Writes the files that were asked for; gives the exit code. ``wrong``: what is not as it has to be."""
        self.say("")
        found = self.result()
        found["wrong"] = wrong
        outputs.write(self._arguments, {
            "csv": self._write_csv,
            "json": lambda path: path.write_text(json.dumps(found, indent=1) + "\n"),
            "html": lambda path: path.write_text(_page(found), encoding="utf-8"),
        })  # fmt: skip
        if wrong:
            print(f"gristmill bench {self.name}: {wrong}", file=sys.stderr)
        return code or (1 if wrong else 0)

    def result(self) -> Dict[str, Any]:
        name = f"bench {self.name}"
        return {
            "schema": SCHEMA,
            "name": self.name,
            "about": self.about,
            "command": outputs.command(name),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            "seconds": round(time.time() - self._started, 1),
            "environment": {**self._environment, "load_after": round(os.getloadavg()[0], 2)},
            "options": outputs.recorded(self._arguments),
            "tables": [_described(each) for each in self.tables],
            "rows": [row for each in self.tables for row in each.rows],
        }

    def _write_csv(self, path: Any) -> None:
        names = dict.fromkeys(column.name for each in self.tables for column in each.columns)
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, ["table", *names, "note"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(row for each in self.tables for row in each.rows)


def _described(each: Table) -> Dict[str, Any]:
    return {
        "name": each.name,
        "title": each.title,
        "about": each.about,
        "columns": [asdict(column) for column in each.columns],
        "plots": [{"kind": type(plot).__name__.lower(), **asdict(plot)} for plot in each.plots],
    }


def _page(found: Dict[str, Any]) -> str:
    from .sheet_page import html  # only who asks for a page needs it

    return html(found)


def interleaved(bodies: Dict[str, Callable[[], Any]], trials: int, warm: int = 1) -> Dict[str, List[float]]:
    """Seconds of each body in each trial: round after round, so that what else goes on meets all alike."""
    times: Dict[str, List[float]] = {name: [] for name in bodies}
    for trial in range(-warm, trials):
        for name, body in bodies.items():
            started = time.perf_counter()
            body()
            took = time.perf_counter() - started
            if trial >= 0:
                times[name].append(took)
    return times


RATES = (
    Column("records_per_s", "records/s", ",.0f", "of the median trial", "higher"),
    Column("records_per_s_min", "min", ",.0f", "of the slowest trial"),
    Column("records_per_s_max", "max", ",.0f", "of the fastest trial"),
)
"""The columns of rates()."""


def rates(records: int, seconds: Sequence[float]) -> Row:
    """Of so many records in each trial; with all trials, for JSON."""
    spread = {"": statistics.median(seconds), "_min": max(seconds), "_max": min(seconds)}
    found: Row = {f"records_per_s{which}": records / each for which, each in spread.items()}
    return {**found, "all_seconds": [round(each, 6) for each in seconds]}


def first(rows: Sequence[Row], **wanted: Any) -> Optional[Row]:
    """The first row that has these values."""
    return next((row for row in rows if all(row.get(name) == value for name, value in wanted.items())), None)
