"""Plots as SVG, written by hand: bars with ranges, lines, spans. No library: a page needs nothing else.

Each function returns one <svg> element as text. Colours are classes of page.css, so that plots follow the
page into its dark colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Callable, List, Optional, Sequence, Tuple

Words = Callable[[float], str]

_ROW, _BAR = 30, 16
_TOP, _BOTTOM, _RIGHT = 10, 30, 76
_CHARACTER = 6.6


@dataclass(frozen=True)
class Bar:
    """A value with the range that it was seen in; or, without one, a note in its place."""

    label: str
    value: Optional[float]
    low: float = 0
    high: float = 0
    kind: str = "ours"
    note: str = ""


@dataclass(frozen=True)
class Series:
    """Points of a line, with their ranges, if they have any."""

    label: str
    points: Sequence[Tuple[float, float]]
    ranges: Sequence[Tuple[float, float]] = ()
    kind: str = "ours"


def bars(given: Sequence[Bar], words: Words, width: int = 560) -> str:
    """Horizontal bars from 0, the range of each as a whisker."""
    left = _label_width([bar.label for bar in given], width)
    top = max([bar.high for bar in given if bar.value is not None], default=1.0) or 1.0
    ticks = _ticks(top)
    scale = (width - left - _RIGHT) / max(top, ticks[-1])
    height = _TOP + _ROW * len(given) + _BOTTOM
    out = [_open(width, height)]
    out += _vertical_grid(ticks, lambda value: left + value * scale, _TOP, height - _BOTTOM, words)
    for at, bar in enumerate(given):
        middle = _TOP + _ROW * at + _ROW / 2
        out.append(_text(left - 10, middle + 4, bar.label, "label end"))
        if bar.value is None:
            out.append(_text(left + 6, middle + 4, _cut(bar.note, int((width - left) / _CHARACTER)), "note"))
            continue
        tip = f"{bar.label}: {words(bar.value)} ({words(bar.low)} to {words(bar.high)})"
        out.append(f'<g><title>{escape(tip)}</title><rect class="fill-{bar.kind}" rx="2" x="{left}"'
                   f' y="{middle - _BAR / 2:.1f}" width="{max(1.0, bar.value * scale):.1f}" height="{_BAR}"/>')  # fmt: skip
        out += _whisker(left + bar.low * scale, left + bar.high * scale, middle)
        out.append("</g>")
        out.append(_text(left + bar.high * scale + 8, middle + 4, words(bar.value), "value"))
    return "".join([*out, "</svg>"])


def spans(given: Sequence[Bar], words: Words, width: int = 560) -> str:
    """From the least to the most on a logarithmic axis of powers of two, the value as a dot."""
    left = _label_width([bar.label for bar in given], width)
    low = math.floor(math.log2(max(1.0, min(bar.low for bar in given))))
    high = math.ceil(math.log2(max(2.0, max(bar.high for bar in given))))
    scale = (width - left - _RIGHT) / max(1, high - low)
    height = _TOP + _ROW * len(given) + _BOTTOM

    def place(value: float) -> float:
        return left + (math.log2(max(1.0, value)) - low) * scale

    step = max(1, math.ceil((high - low) / 6))
    out = [_open(width, height)]
    out += _vertical_grid([2.0**power for power in range(low, high + 1, step)], place, _TOP, height - _BOTTOM, words)
    for at, bar in enumerate(given):
        middle = _TOP + _ROW * at + _ROW / 2
        assert bar.value is not None
        out.append(_text(left - 10, middle + 4, bar.label, "label end"))
        tip = f"{bar.label}: median {words(bar.value)}, {words(bar.low)} to {words(bar.high)}"
        out.append(f'<g><title>{escape(tip)}</title><line class="span-{bar.kind}" x1="{place(bar.low):.1f}"'
                   f' x2="{place(bar.high):.1f}" y1="{middle}" y2="{middle}"/><circle class="dot-{bar.kind}"'
                   f' cx="{place(bar.value):.1f}" cy="{middle}" r="5.5"/></g>')  # fmt: skip
        out.append(_text(place(bar.high) + 10, middle + 4, words(bar.value), "value"))
    return "".join([*out, "</svg>"])


def lines(
    given: Sequence[Series], x_words: Words, y_words: Words, x_ticks: Sequence[float] = (),
    limit: Optional[Tuple[float, str]] = None, ideal: bool = False, width: int = 560, height: int = 250,
    logarithmic: bool = False,
) -> str:  # fmt: skip
    """Lines over a common x; ``limit``: a value that is not to be passed, and its name; ``ideal``: a line
    through the origin and the first point of each series' axis, y = x; ``logarithmic``: both axes, by powers
    of two and of ten, all values above 0, without limit and ideal."""
    if logarithmic:
        return _logarithmic_lines(given, x_words, y_words, width, height)
    left, right, top, bottom = 64, 20, 16, 34
    x_most = max([x for one in given for x, _ in one.points], default=1.0) or 1.0
    highest = [y for one in given for _, y in one.points] + [high for one in given for _, high in one.ranges]
    y_most = max([*highest, limit[0] * 1.08 if limit else 0.0, x_most if ideal else 0.0]) or 1.0
    ticks = _ticks(y_most)
    y_most = max(y_most, ticks[-1])

    def x(value: float) -> float:
        return left + value / x_most * (width - left - right)

    def y(value: float) -> float:
        return height - bottom - max(0.0, value) / y_most * (height - top - bottom)

    out = [_open(width, height)]
    for tick in ticks:
        out.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        out.append(_text(left - 8, y(tick) + 4, y_words(tick), "tick end"))
    free_from = 0.0
    for tick in x_ticks or _ticks(x_most):
        if x(tick) >= free_from:
            out.append(_text(x(tick), height - bottom + 18, x_words(tick), "tick middle"))
            free_from = x(tick) + 8 + _CHARACTER * len(x_words(tick))
    if ideal:
        out.append(f'<line class="ideal" x1="{x(0)}" y1="{y(0)}" x2="{x(x_most):.1f}" y2="{y(x_most):.1f}"/>')
    if limit:
        out.append(f'<line class="limit" x1="{left}" x2="{width - right}" y1="{y(limit[0]):.1f}" y2="{y(limit[0]):.1f}"/>')
        out.append(_text(width - right, y(limit[0]) - 6, limit[1], "limit-name end"))
    for one in given:
        out += _series(one, x, y)
    return "".join([*out, "</svg>"])


def _logarithmic_lines(given: Sequence[Series], x_words: Words, y_words: Words, width: int, height: int) -> str:
    left, right, top, bottom = 64, 20, 16, 34
    xs = [math.log2(x) for one in given for x, _ in one.points]
    ys = [math.log10(y) for one in given for _, y in one.points]
    x_low, x_most = min(xs), max(max(xs), min(xs) + 1)
    y_low, y_most = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)

    def x(value: float) -> float:
        return left + (math.log2(value) - x_low) / (x_most - x_low) * (width - left - right)

    def y(value: float) -> float:
        return height - bottom - (math.log10(value) - y_low) / (y_most - y_low) * (height - top - bottom)

    out = [_open(width, height)]
    for power in range(y_low, y_most + 1):
        at = y(10.0**power)
        out.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        out.append(_text(left - 8, at + 4, y_words(10.0**power), "tick end"))
    step = max(1, math.ceil((x_most - x_low) / 6))
    for power in range(math.ceil(x_low), math.floor(x_most) + 1, step):
        out.append(_text(x(2.0**power), height - bottom + 18, x_words(2.0**power), "tick middle"))
    for one in given:
        out += _series(one, x, y)
    return "".join([*out, "</svg>"])


def _series(one: Series, x: Callable[[float], float], y: Callable[[float], float]) -> List[str]:
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in one.points)
    out = [f'<g><title>{escape(one.label)}</title><polyline class="line-{one.kind}" points="{path}"/>']
    for (a, _), (low, high) in zip(one.points, one.ranges):
        out.append(f'<line class="whisker" x1="{x(a):.1f}" x2="{x(a):.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}"/>')
    if len(one.points) <= 16:
        out += [f'<circle class="dot-{one.kind}" cx="{x(a):.1f}" cy="{y(b):.1f}" r="4.5"/>' for a, b in one.points]
    return [*out, "</g>"]


def _open(width: float, height: float) -> str:
    return f'<svg viewBox="0 0 {width} {height:.0f}" role="img" xmlns="http://www.w3.org/2000/svg">'


def _text(x: float, y: float, words: str, kinds: str) -> str:
    return f'<text class="{kinds}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


def _label_width(labels: Sequence[str], width: int) -> int:
    return int(min(width * 0.42, 22 + _CHARACTER * max(map(len, labels), default=4)))


def _whisker(low: float, high: float, middle: float) -> List[str]:
    ends = "".join(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{middle - 4}" y2="{middle + 4}"/>' for x in (low, high))
    return [f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>', ends]


def _vertical_grid(
    ticks: Sequence[float], place: Callable[[float], float], top: float, bottom: float, words: Words
) -> List[str]:
    out = []
    for tick in ticks:
        at = place(tick)
        out.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        out.append(_text(at, bottom + 18, words(tick), "tick middle"))
    return out


def _ticks(most: float) -> List[float]:
    """From 0 to near ``most``, four or so, round."""
    step = 10.0 ** math.floor(math.log10(most / 3))
    step *= next(times for times in (1, 2, 2.5, 5, 10) if most / (step * times) <= 4.5)
    return [step * at for at in range(int(most / step + 1e-9) + 1)]
