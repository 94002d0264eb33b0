"""How long something took that was done very often."""

from __future__ import annotations

import statistics
from typing import Dict, List, Sequence, Tuple

from .sheet import Column

COLUMNS = [
    Column("p50_us", "p50 us", ",.2f", "half of them took no longer"),
    Column("p90_us", "p90 us", ",.2f"),
    Column("p99_us", "p99 us", ",.2f"),
    Column("max_us", "max us", ",.2f", "longest of all"),
    Column("mean_us", "mean us", ",.2f"),
]


def spread_us(seconds: Sequence[float]) -> Dict[str, float]:
    """The values of COLUMNS."""
    ordered = sorted(seconds)
    found = {f"p{q}_us": at(ordered, q) * 1e6 for q in (50, 90, 99)}
    return {**found, "max_us": ordered[-1] * 1e6, "mean_us": statistics.fmean(ordered) * 1e6}


def at(ordered: Sequence[float], percent: int) -> float:
    """The least value that so many percent do not exceed. ``ordered``: rising, not empty."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def medians_us(trials: Sequence[Sequence[float]]) -> Tuple[float, float, float]:
    """Of the trials' medians the median, the least and the largest."""
    medians: List[float] = [statistics.median(each) * 1e6 for each in trials]
    return statistics.median(medians), min(medians), max(medians)
