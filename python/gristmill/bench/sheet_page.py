"""A sheet as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List

from . import page, svg
from .plots import rate
from .rows import grouped
from .sheet import Row, written
from .table import size

_KINDS = ("ours", "function", "peer", "fourth", "fifth", "sixth", "seventh", "eighth")


def html(found: Dict[str, Any]) -> str:
    """``found``: as in schema.md."""
    machine = found["environment"]
    parts = [
        page.head(f"gristmill bench {found['name']}"),
        f"<h1>{escape(found['name'].replace('_', ' ').capitalize())}</h1><p>{escape(found['about'])}</p>",
        f"<p>{page.machine_words(machine)}; {escape(found['started'])}</p>",
        f'<span class="badge bad">{escape(found["wrong"])}</span>' if found.get("wrong") else "",
        *(_section(each, [row for row in found["rows"] if row["table"] == each["name"]]) for each in found["tables"]),
        page.facts(machine, []),
        f"<footer><code>{escape(found['command'])}</code><br/>{found['seconds']:,.0f} s in all.</footer>",
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _section(table: Dict[str, Any], rows: List[Row]) -> str:
    if not rows:
        return ""
    drawn = "".join(_plots(plot, table, rows) for plot in table["plots"])
    head = "".join(f'<th title="{escape(each["about"])}">{escape(each["head"])}</th>' for each in table["columns"])
    body = "".join(_row(table["columns"], row) for row in rows)
    about = f"<p>{escape(table['about'])}</p>" if table["about"] else ""
    return (f"<h2>{escape(table['title'])}</h2>{about}{drawn}"
            f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>')  # fmt: skip


def _row(columns: List[Dict[str, Any]], row: Row) -> str:
    if row.get("note"):
        known = [column for column in columns if row.get(column["name"]) is not None]
        cells = "".join(f"<td>{escape(written(row[each['name']], each['show']))}</td>" for each in known)
        return f'<tr>{cells}<td class="note" colspan="{max(1, len(columns) - len(known))}">{escape(row["note"])}</td></tr>'
    return "<tr>" + "".join(f"<td>{escape(written(row.get(each['name']), each['show']))}</td>" for each in columns) + "</tr>"


def _plots(plot: Dict[str, Any], table: Dict[str, Any], rows: List[Row]) -> str:
    wanted = [plot["value"]] if plot["kind"] == "bars" else [plot["x"], plot["y"]]
    numbers = [row for row in rows if all(row.get(name) is not None for name in wanted)]
    draw = _bars if plot["kind"] == "bars" else _lines
    names = list(dict.fromkeys(str(row[plot["series"]]) for row in numbers)) if plot["kind"] == "lines" else []
    drawn = []
    for group in grouped(numbers, lambda row: (row.get(plot["of"]),)):
        title = f"<h3>{escape(str(group[0][plot['of']]))}</h3>" if plot["of"] else ""
        drawn.append(f'<div class="plot">{title}<div class="about">{escape(_axes(plot, table))}</div>{draw(plot, group, names)}</div>')
    key = "".join(f'<span><i class="{_kind(at)}"></i>{escape(name)}</span>' for at, name in enumerate(names))
    return (f'<div class="key">{key}</div>' if key else "") + f'<div class="plots">{"".join(drawn)}</div>'


def _axes(plot: Dict[str, Any], table: Dict[str, Any]) -> str:
    heads = {each["name"]: each["head"] or each["name"] for each in table["columns"]}
    if plot["kind"] == "bars":
        return heads.get(plot["value"], plot["value"])
    return f"{heads.get(plot['y'], plot['y'])} over {heads.get(plot['x'], plot['x'])}"


def _bars(plot: Dict[str, Any], rows: List[Row], _: List[str]) -> str:
    bars = [
        svg.Bar(" ".join(str(row[name]) for name in plot["label"]), row[plot["value"]],
                row.get(plot["low"], row[plot["value"]]), row.get(plot["high"], row[plot["value"]]),
                "ours" if "gristmill" in str(row.get("subject", "gristmill")) else "peer")
        for row in rows
    ]  # fmt: skip
    return svg.bars(bars, _words(plot["value"]))


def _lines(plot: Dict[str, Any], rows: List[Row], names: List[str]) -> str:
    series = []
    for at, name in enumerate(names):
        points = [(float(row[plot["x"]]), float(row[plot["y"]])) for row in rows if str(row[plot["series"]]) == name]
        if points:
            series.append(svg.Series(name, sorted(points), kind=_kind(at)))
    return svg.lines(series, _words(plot["x"]), _words(plot["y"]), logarithmic=plot["logarithmic"])


def _kind(at: int) -> str:
    return _KINDS[at % len(_KINDS)]


def _words(column: str) -> svg.Words:
    """By the unit that its name ends in."""
    if column.endswith("_bytes"):
        return lambda value: size(value) if value else "0"
    if column.endswith("_per_s"):
        return rate
    for unit in ("us", "ms", "ns", "s"):
        if column.endswith("_" + unit):
            return lambda value: f"{value:,.3g} {unit}"
    return lambda value: f"{value:,.3g}"
