"""The result of a study as one HTML file that needs nothing else: tables, and plots as inline SVG."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, Dict, Iterable, List, Sequence

from . import plots
from .rows import Row, grouped
from .table import HEAD, cells, payload_words, size

_STYLE = Path(__file__).with_name("page.css")


def write_html(result: Dict[str, Any], path: Path) -> None:
    """``result``: as in schema.md."""
    path.write_text(html(result), encoding="utf-8")


def html(result: Dict[str, Any]) -> str:
    made = result["rows"]
    title = "gristmill: records per second by node configuration"
    parts = [
        head(title),
        _opening(result),
        _figures(made),
        plots.by_nodes(made, result["options"]["workers"]),
        plots.by_workers(made),
        plots.by_peer(made),
        plots.batch_shape(made),
        plots.memory_over_time(result["streams"]),
        _tables(made),
        facts(result["environment"], result["inputs"]),
        _ending(result),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def head(title: str) -> str:
    """The beginning of a page, up to and with <main>."""
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE.read_text()}</style></head><body><main>"
    )


def machine_words(machine: Dict[str, Any]) -> str:
    """What the machine is, in a line."""
    nodes = machine["numa_nodes"]
    return (
        f"{escape(str(machine['cpu']))}, {machine['cpus']} CPUs on {machine['cores']} cores,"
        f" {nodes} NUMA node{'' if nodes == 1 else 's'}, {size(machine['memory_bytes'])}; Linux {escape(machine['kernel'])};"
        f" gristmill {escape(machine['gristmill'])} ({escape(machine['commit'])})"
    )


def _opening(result: Dict[str, Any]) -> str:
    asked = [row for row in result["rows"] if not row.get("absent")]
    wrong = [row for row in asked if not row["exact"]]
    beyond = [each for each in result["streams"] if not (each["exact"] and each["within"])]
    if wrong or beyond:
        badge = f'<span class="badge bad">{len(wrong) + len(beyond)} of {len(asked)} rows are not as they have to be</span>'
    else:
        values = sum(row["compared"] == "values" for row in asked)
        but = f" (of {values} rows every value)" if values else ""
        badge = f'<span class="badge">totals exact: all {len(asked)} rows, every byte{but}</span>'
    return (
        "<h1>Records per second, by node configuration</h1>"
        f"<p>{machine_words(result['environment'])}; {escape(result['started'])}</p>{badge}"
    )


def _figures(made: List[Row]) -> str:
    """The best rate of each set, by plugin and by function."""
    out = []
    exact = [row for row in made if row["exact"] and row["subject"] == "gristmill" and ":" not in row["payload"]]
    for group in grouped(exact, lambda row: (row["set"],)):
        best = {payload: max((row["records_per_s"], row["mb_per_s"]) for row in group if row["payload"] == payload)
                for payload in ("plugin", "function") if any(row["payload"] == payload for row in group)}  # fmt: skip
        plugin, function = best.get("plugin"), best.get("function")
        number = f'<div class="number">{plots.rate(plugin[0])} <small>records/s</small></div>' if plugin else ""
        also = f"{plugin[1]:,.0f} MB/s" if plugin else ""
        if function:
            also += f" &nbsp;·&nbsp; <b>{plots.rate(function[0])}</b> function"
        out.append(f'<div class="figure"><div class="what">{escape(group[0]["set"])}, best{" by plugin" if plugin else ""}</div>{number}'
                   f'<div class="also">{also}</div></div>')  # fmt: skip
    return f'<div class="figures">{"".join(out)}</div>' if out else ""


def _tables(made: List[Row]) -> str:
    out = ["<h2>Every row</h2><p>Medians of interleaved trials, each in a fresh process; rank among the exact rows of one table."
           " Memory is that of all processes together.</p>"]  # fmt: skip
    for group in grouped(made, lambda row: (row["set"], row["payload"].partition(":")[0], row["records"])):
        first = group[0]
        caption = f"{first['set']}, {payload_words(group)} <span>{first['records']:,} records, {size(first['bytes'])}</span>"
        body = "".join(_table_row(row) for row in sorted(group, key=lambda row: row["rank"] or len(group) + 1))
        head = "".join(f"<th>{escape(word)}</th>" for word in HEAD)
        out.append(f'<div class="scroll"><table><caption>{caption}</caption><tr>{head}</tr>{body}</table></div>')
    return "".join(out)


def _table_row(row: Row) -> str:
    found: Sequence[str] = cells(row)
    kind = "first" if row["rank"] == 1 else "" if row["exact"] or row.get("absent") else "wrong"
    if len(found) < len(HEAD):
        note = f'<td class="note" colspan="{len(HEAD) - len(found) + 1}">{escape(found[-1])}</td>'
        return f'<tr class="{kind}">{_tds(found[:-1])}{note}</tr>'
    settings = f'<div class="settings">{escape(row["settings"])}</div>' if row.get("settings") else ""
    return f'<tr class="{kind}"><td>{escape(found[0])}{settings}</td>{_tds(found[1:])}</tr>'


def _tds(found: Iterable[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in found)


def facts(machine: Dict[str, Any], inputs: Iterable[Dict[str, Any]]) -> str:
    """The section that says where and on what it was measured."""
    found = {name.replace("_", " "): value for name, value in machine.items()}
    found["memory"] = size(found.pop("memory bytes"))
    for each in inputs:
        found[f"input {each['set']}, {each['records']:,}"] = (
            f"{each['bytes']:,} bytes, {each['valid']:,} valid, xxh3 {each['xxh3_128']}"
        )
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(_plain(value))}</td></tr>" for name, value in found.items())
    return f'<h2>Where this was measured</h2><div class="scroll"><table class="facts">{rows}</table></div>'


def _ending(result: Dict[str, Any]) -> str:
    return (
        f"<footer><code>{escape(result['command'])}</code><br/>{result['seconds']:,.0f} s in all. Each row: a fresh process,"
        " one run to warm up, in which memory is looked at, one run on the clock; the output is counted and compared"
        " byte by byte with that of the plugin run by one thread.</footer>"
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {each}" for name, each in value.items())
    return str(value)
