"""The sections of the page that are plots."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, Optional, Sequence

from . import svg
from .rows import Row, grouped
from .table import payload_words, size, who

_KEY = '<div class="key"><span><i class="ours"></i>compiled plugin</span><span><i class="function"></i>Python function</span></div>'
_PEER_KEY = ('<div class="key"><span><i class="ours"></i>gristmill</span><span><i class="peer"></i>others, given the same'
             " plugin or function</span></div>")  # fmt: skip


def rate(value: float) -> str:
    """Records per second in words: 24.9M, 480k."""
    for unit, word in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            digits = f"{value / unit:.3g}" if value < 1000 * unit else f"{value / unit:,.0f}"
            return digits + word
    return f"{value:.3g}"


def by_nodes(made: List[Row], workers: Sequence[int]) -> str:
    """``workers``: the counts that every configuration has; others belong to the sweep."""
    found = [row for row in made if row["part"] == "a" and row["subject"] == "gristmill" and row["workers"] in workers]
    return _bars_of(found, "By node configuration",
                    "Median records/s of the trials, with the slowest and the fastest. @N is N logical nodes over"
                    " whatever is there; auto takes the nodes of the machine.", _shape)  # fmt: skip


def _shape(row: Row) -> str:
    one, kind = row["workers"] == 1, "thread" if row["isolation"] == "thread" else "worker"
    return f"nodes {row['nodes']} · {row['workers']} {kind}{'' if one else 's'}"


def _bars_of(found: List[Row], title: str, about: str, label: Any) -> str:
    plots = []
    for group in grouped(found, lambda row: (row["set"], row["payload"].partition(":")[0], row["records"])):
        bars = [_bar(row, label(row), "function" if row["payload"].endswith("function") else "ours") for row in group]
        plots.append(_plot(group, svg.bars(bars, rate)))
    return _section(title, about, plots, _KEY)


def _bar(row: Row, label: str, kind: str) -> svg.Bar:
    if row["wall_s"] is None or not row["exact"]:
        note = ("not here: " if row.get("absent") else "not exact: ") + str(row["note"])
        return svg.Bar(label, None, note=note)
    return svg.Bar(label, row["records_per_s"], row["records_per_s_min"], row["records_per_s_max"], kind)


def by_workers(made: List[Row]) -> str:
    """How many times faster than one worker."""
    found = [row for row in made if row["exact"] and row["subject"] == "gristmill" and row["nodes"] == "auto"]
    found = [row for row in found if row["isolation"] != "thread" and ":" not in row["payload"]]
    plots = []
    for of_set in grouped(found, lambda row: (row["set"],)):
        series = [line for group in grouped(of_set, lambda row: (row["payload"],)) if (line := _speedup(group))]
        counts = sorted({row["workers"] for row in of_set})
        if series and len(counts) > 1:
            drawn = svg.lines(series, lambda x: f"{x:g}", lambda y: f"{y:g}×", x_ticks=counts, ideal=True)
            plots.append(f'<div class="plot"><h3>{escape(of_set[0]["set"])}</h3>'
                         f'<div class="about">{" · ".join(escape(line.label) for line in series)}</div>{drawn}</div>')  # fmt: skip
    return _section("Scaling with workers", "How many times the median rate of one worker, over the number of workers, nodes"
                    " as the machine has them; dashed: as many times as there are workers.", plots, _KEY)  # fmt: skip


def _speedup(group: List[Row]) -> Optional[svg.Series]:
    by_count = {row["workers"]: row for row in sorted(group, key=lambda row: row["workers"])}
    if 1 not in by_count or len(by_count) < 2:
        return None
    one = by_count[1]["records_per_s"]
    points = [(float(count), row["records_per_s"] / one) for count, row in by_count.items()]
    ranges = [(row["records_per_s_min"] / one, row["records_per_s_max"] / one) for row in by_count.values()]
    payload = group[0]["payload"]
    label = f"{payload} {points[-1][1]:.2f}× with {points[-1][0]:g}"
    return svg.Series(label, points, ranges, "function" if payload == "function" else "ours")


def by_peer(made: List[Row]) -> str:
    """Of ours, the one that peers are compared with: nodes as the machine has them, all workers."""
    plots = []
    for group in grouped(made, lambda row: (row["set"], row["payload"].partition(":")[0], row["records"])):
        others = [row for row in group if row["subject"] != "gristmill"]
        if not others:
            continue
        workers = max(row["workers"] for row in group)
        ours = [row for row in group if row["subject"] == "gristmill" and (row["nodes"], row["workers"]) == ("auto", workers)]
        measured = sorted((row for row in ours + others if row["exact"]), key=lambda row: -row["records_per_s"])
        rest = [row for row in ours + others if not row["exact"]]
        bars = [_bar(row, who(row), "ours" if row["subject"] == "gristmill" else "peer") for row in measured + rest]
        plots.append(_plot(group, svg.bars(bars, rate)))
    return _section("Against other systems", "Each is given the same function, or the same compiled plugin, or says in its own"
                    " expressions what the plugin does; tuned, with as many workers, from the file to the output in memory and in input order.", plots, _PEER_KEY)  # fmt: skip


def batch_shape(made: List[Row]) -> str:
    found = [row for row in made if row["subject"] == "gristmill" and row["batches"] and row["part"] == "a"]
    found = [row for row in found if row["isolation"] != "thread"]
    shapes = sorted({(row["nodes"] == "auto", row["workers"], row["nodes"]) for row in found})
    found = [row for row in found if (row["nodes"] == "auto", row["workers"], row["nodes"]) == shapes[-1]]
    bars = [
        svg.Bar(f"{row['set']}, {row['payload']}", row["batch_bytes_median"], row["batch_bytes_min"], row["batch_bytes_max"],
                "function" if row["payload"] == "function" else "ours")
        for row in found
    ]  # fmt: skip
    plots = [f'<div class="plot">{svg.spans(bars, size, width=1180)}</div>'] if bars else []
    return _section("Batch shape", "Input bytes of a batch: the smallest, the median (dot) and the largest, as batches adapt;"
                    " all workers, nodes as the machine has them where that was measured.",
                    plots, _KEY)  # fmt: skip


def memory_over_time(streams: Sequence[Dict[str, Any]]) -> str:
    plots = []
    for each in streams:
        series = svg.Series(f"stream of {each['source']}", [(float(x), float(y)) for x, y in each["samples"]])
        limit = (float(each["limit_bytes"]), f"limit {size(each['limit_bytes'])}")
        drawn = svg.lines([series], lambda x: f"{x:g} s", lambda y: size(y) if y else "0", limit=limit, width=420)
        about = (f"{each['records']:,} records, {size(each['bytes'])} in, {size(each['output_bytes'])} out; grew by"
                 f" {size(each['growth_bytes'])}")  # fmt: skip
        plots.append(f'<div class="plot"><h3>{escape(each["source"])}</h3><div class="about">{about}</div>{drawn}</div>')
    return _section("Memory of a stream with a slow consumer", "Over the idle engine, all processes together, with"
                    " memory=\"64MiB\". The consumer first pauses after each batch, then takes the rest as fast as it comes.",
                    plots, "", "plots narrow")  # fmt: skip


def _plot(group: Sequence[Row], drawn: str) -> str:
    first = group[0]
    about = f"{payload_words(group)}; {first['records']:,} records, {size(first['bytes'])}"
    return f'<div class="plot"><h3>{escape(first["set"])}</h3><div class="about">{about}</div>{drawn}</div>'


def _section(title: str, about: str, plots: List[str], key: str, kind: str = "plots") -> str:
    """Nothing when there is nothing to show."""
    if not plots:
        return ""
    return f'<h2>{escape(title)}</h2><p>{escape(about)}</p>{key}<div class="{kind}">{"".join(plots)}</div>'
