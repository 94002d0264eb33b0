"""Writes PERFORMANCE.md: the text of bench/PERFORMANCE.template.md with the numbers of bench/results.

    .venv/bin/python bench/performance.py [--check]

The template is Jinja. In it each file FOLDER/NAME.json of the results is `NAME`, as schema.md describes it; below are
the functions that make tables of them. A number that no result has is an error, so that none is invented.
With --check nothing is written: exit code 1 when PERFORMANCE.md is not what would be.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any, Callable

import jinja2

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "2026-11-30-epyc-2cpu"
SETS = ("light", "medium", "heavy", "tokenize")

Row = dict[str, Any]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def written(value: Any, show: str) -> str:
    if value is None:
        return "-"
    return format(value, show) if show and not isinstance(value, str) else str(value)


def rate(value: float) -> str:
    """Records per second: 24.9M, 480k."""
    for unit, word in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return (f"{value / unit:.3g}" if value < 1000 * unit else f"{value / unit:,.0f}") + word
    return f"{value:.3g}"


def mib(count: float) -> str:
    return f"{count / 2**20:,.0f} MiB" if count < 10 * 2**30 else f"{count / 2**30:,.1f} GiB"


def table_of(sheet: dict[str, Any], name: str) -> dict[str, Any]:
    found = next((each for each in sheet["tables"] if each["name"] == name), None)
    if found is None:
        raise KeyError(f"{sheet['name']} has no table {name!r}")
    return found


def rows_of(sheet: dict[str, Any], name: str, **wanted: Any) -> list[Row]:
    """Rows of a benchmark's table that have these values."""
    table_of(sheet, name)
    rows = [row for row in sheet["rows"] if row["table"] == name]
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def one(sheet: dict[str, Any], table: str, value: str, **wanted: Any) -> Any:
    """The value of the one row that has these values."""
    rows = rows_of(sheet, table, **wanted)
    if len(rows) != 1:
        raise KeyError(f"{sheet['name']}: {len(rows)} rows of {table} have {wanted}")
    return rows[0][value]


def values(sheet: dict[str, Any], table: str, value: str, show: str = "", **wanted: Any) -> str:
    """One value of all rows that have these values, in words: "0.99 / 1.01"."""
    found = [row[value] for row in rows_of(sheet, table, **wanted) if row.get(value) is not None]
    if not found:
        raise KeyError(f"{sheet['name']}: no row of {table} has {wanted}")
    return " / ".join(written(each, show) for each in found)


def extreme(sheet: dict[str, Any], table: str, value: str, which: str, **wanted: Any) -> Any:
    """The least (``min``) or largest (``max``) value of the rows that have these values."""
    found = [row[value] for row in rows_of(sheet, table, **wanted) if row.get(value) is not None]
    return {"min": min, "max": max}[which](found)


def how(sheet: dict[str, Any]) -> str:
    """The command behind a result, and its file."""
    words = sheet["command"].split()
    script, rest = ("numa_study", words[2:]) if words[1] == "study" else (words[2], words[3:])
    return f"`{' '.join([f'bench/{script}.py', *rest])}` (`{sheet['file']}`)"


def sheet_table(sheet: dict[str, Any], name: str, columns: str = "", **wanted: Any) -> str:
    """A table as it was printed; ``columns``: only these, with commas between."""
    known = {each["name"]: each for each in table_of(sheet, name)["columns"]}
    chosen = [known[each.strip()] for each in columns.split(",")] if columns else list(known.values())
    rows = [[written(row.get(each["name"]), each["show"]) for each in chosen] for row in rows_of(sheet, name, **wanted)]
    return markdown([each["head"] or each["name"] for each in chosen], rows)


def pivot(
    sheet: dict[str, Any], name: str, down: str, across: str, value: str, show: str = "", **wanted: Any
) -> str:  # fmt: skip
    """One value of each row, by the values of two columns."""
    rows = [row for row in rows_of(sheet, name, **wanted) if row.get(value) is not None]
    lines, heads = (list(dict.fromkeys(row[column] for row in rows)) for column in (down, across))
    cells = {(row[down], row[across]): row[value] for row in rows}
    body = [[str(each), *(written(cells.get((each, head)), show) for head in heads)] for each in lines]
    return markdown([down, *(f"{head:,}" if isinstance(head, int) else str(head) for head in heads)], body)


def study_rows(study: dict[str, Any], **wanted: Any) -> list[Row]:
    rows = [row for row in study["rows"] if all(row[key] == value for key, value in wanted.items())]
    if not rows:
        raise KeyError(f"the study has no row with {wanted}")
    return rows


def ours(study: dict[str, Any], name: str, payload: str, nodes: str = "auto", workers: int = 0) -> Row:
    """Our row; ``workers`` 0: the most."""
    rows = study_rows(study, set=name, payload=payload, subject="gristmill", nodes=nodes)
    return max(
        (row for row in rows if row["exact"] and workers in (0, row["workers"])), key=lambda row: row["workers"]
    )


def by_nodes(study: dict[str, Any], payload: str) -> str:
    """Node configurations with the most workers, and fewer workers on the nodes of the machine."""
    body = []
    for name in SETS:
        rows = [row for row in study_rows(study, set=name, payload=payload, subject="gristmill") if row["part"] == "a"]
        for row in rows:
            body.append([name, row["nodes"], str(row["workers"]), rate(row["records_per_s"]), span(row),
                         f"{row['mb_per_s']:,.0f}", f"{row['wall_s']:.2f}", f"{row['cpu_s']:.2f}", mib(row["peak_memory_bytes"]),
                         f"{row['total']:,}", f"{row['valid']:,}"])  # fmt: skip
    head = ["set", "nodes", "workers", "records/s", "least to most", "MB/s", "wall s", "CPU s", "memory", "total", "valid"]
    return markdown(head, body)


def span(row: Row) -> str:
    return f"{rate(row['records_per_s_min'])} - {rate(row['records_per_s_max'])}"


def upper(study: dict[str, Any]) -> str:
    """Part b."""
    body = []
    for row in study["rows"]:
        if row["part"] == "b" and row["exact"]:
            body.append([row["set"], row["payload"], row["nodes"], f"{row['records']:,}", rate(row["records_per_s"]), span(row),
                         f"{row['mb_per_s']:,.0f}", f"{row['cpu_s']:.2f}", mib(row["peak_memory_bytes"])])  # fmt: skip
    return markdown(["set", "payload", "nodes", "records", "records/s", "least to most", "MB/s", "CPU s", "memory"], body)


def rivals(study: dict[str, Any], name: str, payload: str) -> tuple[Row, list[Row]]:
    """Ours, and all others that were given the same, the fastest first."""
    mine = ours(study, name, "expressions: plugin" if payload == "expressions" else payload)
    others = [row for row in study["rows"] if row["set"] == name and row["payload"] == payload and row["subject"] != "gristmill"]
    return mine, sorted(others, key=lambda row: -(row["records_per_s"] or 0))


def peers(study: dict[str, Any], payload: str, sets: tuple[str, ...] = SETS) -> str:
    """How many times our rate is that of each peer, set by set; below 1 the peer is faster."""
    names: dict[str, None] = {}
    cells: dict[tuple[str, str], str] = {}
    for name in sets:
        mine, others = rivals(study, name, payload)
        for row in others:
            names[row["subject"]] = None
            cells[row["subject"], name] = _cell(mine, row)
    first = ["**gristmill**", *(rate(rivals(study, name, payload)[0]["records_per_s"]) for name in sets)]
    order = sorted(names, key=lambda who: _place(study, payload, sets, who))
    return markdown(["", *sets], [first, *([who, *(cells.get((who, name), "") for name in sets)] for who in order)])


def _cell(mine: Row, row: Row) -> str:
    if row["records_per_s"] is None or not row["exact"]:
        return "not here" if row.get("absent") else "not exact"
    return f"{rate(row['records_per_s'])} ({mine['records_per_s'] / row['records_per_s']:.2f})"


def _place(study: dict[str, Any], payload: str, sets: tuple[str, ...], who: str) -> float:
    """The mean of our ratios: the strongest peer first, those without a number last."""
    ratios = []
    for name in sets:
        mine, others = rivals(study, name, payload)
        ratios += [mine["records_per_s"] / row["records_per_s"] for row in others if row["subject"] == who and row["exact"]]
    return statistics.geometric_mean(ratios) if ratios else float("inf")


def best_peer(study: dict[str, Any], name: str, payload: str) -> tuple[str, float]:
    """The fastest peer that was right, and how many times its rate ours is."""
    mine, others = rivals(study, name, payload)
    best = next(row for row in others if row["exact"])
    return best["subject"], mine["records_per_s"] / best["records_per_s"]


def near_or_ahead(study: dict[str, Any], below: float = 1.05) -> str:
    """Peers that are faster than gristmill, or not slower by much."""
    body = []
    for payload in ("plugin", "function", "expressions"):
        for name in SETS if payload != "expressions" else ("medium",):
            mine, others = rivals(study, name, payload)
            for row in others:
                if row["exact"] and (ratio := mine["records_per_s"] / row["records_per_s"]) < below:
                    body.append([name, payload, row["subject"], rate(row["records_per_s"]), span(row), rate(mine["records_per_s"]),
                                 span(mine), f"{ratio:.2f}", mib(row["peak_memory_bytes"]), mib(mine["peak_memory_bytes"])])  # fmt: skip
    head = ["set", "given", "peer", "records/s", "least to most", "gristmill", "least to most", "ratio", "its memory", "ours"]
    return markdown(head, body)


def against(study: dict[str, Any], name: str, payload: str, who: str) -> float:
    mine, others = rivals(study, name, payload)
    return next(mine["records_per_s"] / row["records_per_s"] for row in others if row["subject"] == who and row["exact"])


def streams(study: dict[str, Any]) -> str:
    body = [
        [each["source"], f"{each['records']:,}", mib(each["bytes"]), mib(each["output_bytes"]), f"{each['growth_bytes'] / 2**20:.1f} MiB",
         mib(each["limit_bytes"])]
        for each in study["streams"]
    ]  # fmt: skip
    return markdown(["source", "records", "in", "out", "most over the idle engine", "limit"], body)


def functions() -> dict[str, Callable[..., Any]]:
    found = (rows_of, one, values, extreme, how, sheet_table, pivot, study_rows, ours, by_nodes, upper, peers, best_peer, near_or_ahead, against, streams)
    return {each.__name__: each for each in found}


def render(template: Path, results: Path) -> str:
    loader = jinja2.FileSystemLoader(template.parent)
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True,
                                     lstrip_blocks=True, keep_trailing_newline=True)  # fmt: skip
    environment.filters.update(rate=rate, mib=mib, show=written)
    given = {path.stem: {**json.loads(path.read_text()), "file": path.name} for path in sorted(results.glob("*.json"))}
    return environment.get_template(template.name).render(
        **given, **functions(), sets=SETS, folder=RESULTS.relative_to(HERE.parent).as_posix()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="only look whether PERFORMANCE.md is up to date")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--template", type=Path, default=HERE / "PERFORMANCE.template.md", metavar="FILE")
    parser.add_argument("--output", type=Path, default=HERE.parent / "PERFORMANCE.md", metavar="FILE")
    arguments = parser.parse_args()
    text = render(arguments.template.resolve(), arguments.results.resolve())
    if not arguments.check:
        arguments.output.write_text(text)
        return 0
    if arguments.output.read_text() != text:
        print(f"{arguments.output.name} is not what its template and results give: run bench/performance.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
