"""What a run did: counts that add up, rates, and where the work was done."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, List, Mapping, Sequence, Tuple

from .errors import RecordError, collected


@dataclass(frozen=True)
class NodeReport:
    """The share of one node of the plan."""

    node: int
    """From 0, as in the plan."""
    workers: int
    batches: int
    records: int
    batches_home: int
    """Of the batches that had a home node: run on it."""
    batches_stolen: int
    """Of the batches that had a home node: run on another one."""
    busy_seconds: float
    """Sum over the node's workers."""


@dataclass(frozen=True)
class Report:
    """Figures of one run. ``read == emitted + filtered + failed``: every record is accounted for."""

    read: int
    """Input records."""
    emitted: int
    """Input records that gave their result."""
    filtered: int
    """Input records left out by intention."""
    failed: int
    """Input records that failed."""
    discarded: int
    """Input records read but not delivered; 0 for a run that completed."""
    output_records: int
    output_bytes: int
    input_bytes: int
    sources: int
    batches: int
    wall_seconds: float
    """From the call to its return."""
    cpu_seconds: float
    """Of all workers, inside batches."""
    workers: int
    batch_bytes_min: int
    """Input bytes of a batch, as the other three."""
    batch_bytes_mean: int
    batch_bytes_median: int
    batch_bytes_max: int
    overflow_batches: int
    """Batches whose output did not fit the output ring."""
    retries: int
    """Batches worked on again, because their worker died."""
    worker_deaths: int
    nodes: List[NodeReport]
    text: str = field(repr=False)
    """A few lines for people; str() gives the same."""
    errors: Tuple[RecordError, ...] = field(default=(), repr=False)
    """The failed records under ``on_error="collect"``, in the order of the results."""

    @property
    def records_per_second(self) -> float:
        """Input records per second of wall time; 0 when no time was taken."""
        return self.read / self.wall_seconds if self.wall_seconds else 0.0

    @property
    def input_bytes_per_second(self) -> float:
        """Input bytes per second of wall time; 0 when no time was taken."""
        return self.input_bytes / self.wall_seconds if self.wall_seconds else 0.0

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        rows = [
            ("records", f"{self.read:,} read"),
            ("", f"{self.emitted:,} emitted, {self.filtered:,} filtered, {self.failed:,} failed"),
            ("output", f"{self.output_records:,} records, {self.output_bytes:,} bytes"),
            ("time", f"{self.wall_seconds:.3f} s wall, {self.cpu_seconds:.3f} s CPU in workers"),
            ("rate", f"{self.records_per_second:,.0f} records/s"),
            ("batches", f"{self.batches:,}, median {self.batch_bytes_median:,} bytes"),
        ]
        for node in self.nodes:
            share = f"{node.workers} workers, {node.records:,} records, busy {node.busy_seconds:.3f} s"
            rows.append((f"node {node.node}", share))
        cells = (f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        return f"<table>{''.join(cells)}</table>"


def make_report(fields: Mapping[str, Any], failures: Sequence[Tuple[Any, ...]]) -> Report:
    """A Report from what the core tells: its fields, and the failed records."""
    nodes = [NodeReport(**node) for node in fields["nodes"]]
    return Report(**{**fields, "nodes": nodes}, errors=tuple(map(collected, failures)))
