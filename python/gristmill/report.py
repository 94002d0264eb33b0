"""What a run did: counts that add up, rates, and where the work was done."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from .errors import RecordError, collected

# A call and its bytes objects cost some 0.1 us a record: below four times that they dominate.
_DOMINATED_SECONDS = 0.4e-6
_HINT_RECORDS_MIN = 100_000


@dataclass(frozen=True)
class NodeReport:
    """The share of one node of the plan."""

    node: int
    """From 0, as in the plan."""
    workers: int
    batches: int
    records: int
    batches_home: int
    """Batches with a home node (all that lies in the spool: pipes, compressed files, items) that
    their home's workers ran. Files have none: they are read where they are worked on."""
    batches_head: int
    """Run here, away from home, for being the oldest: that batch waits for nobody."""
    batches_stolen: int
    """Run here, away from home, when this node's workers had nothing else to do."""
    busy_seconds: float
    """Sum over the node's workers: inside batches."""
    idle_seconds: float
    """Sum over the node's workers: without a batch."""
    memory_node: Optional[int]
    """The machine's node from which the node's memory is taken; None: not placed."""
    audited_bytes: int
    """Of buffers, output rings and spool slots, looked at when the run ended; 0 when not placed."""
    audited_local_bytes: int
    """Those of them that lie on ``memory_node``."""


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
    spool_slots: int
    """Pieces of memory made for input that cannot be read again: pipes, compressed files, items."""
    spool_bytes_max: int
    """Bytes of it that had memory at a time."""
    spool_bytes_punched: int
    """Bytes of it whose memory was given back while the run went on."""
    spool_punches_failed: int
    """1: the kernel refuses to take memory back before the end."""
    placement: str
    """Where memory is taken from, in a sentence; empty where the machine leaves no choice."""
    nodes: List[NodeReport]
    text: str = field(repr=False)
    """A few lines for people; str() gives the same."""
    errors: Tuple[RecordError, ...] = field(default=(), repr=False)
    """The failed records under ``on_error="collect"``, in the order of the results."""
    hint: str = field(default="", repr=False)
    """What would make such a run faster, if anything is known; part of str()."""

    @property
    def records_per_second(self) -> float:
        """Input records per second of wall time; 0 when no time was taken."""
        return self.read / self.wall_seconds if self.wall_seconds else 0.0

    @property
    def input_bytes_per_second(self) -> float:
        """Input bytes per second of wall time; 0 when no time was taken."""
        return self.input_bytes / self.wall_seconds if self.wall_seconds else 0.0

    def __str__(self) -> str:
        return f"{self.text}hint      {self.hint}\n" if self.hint else self.text

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
        if self.hint:
            rows.append(("hint", self.hint))
        cells = (f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        return f"<table>{''.join(cells)}</table>"


def make_report(
    fields: Mapping[str, Any], failures: Sequence[Tuple[Any, ...]], called_per_record: bool = False
) -> Report:
    """A Report from what the core tells: its fields, and the failed records.

    ``called_per_record``: the payload was a Python function of one record.
    """
    nodes = [NodeReport(**node) for node in fields["nodes"]]
    hint = _hint(fields["read"], fields["cpu_seconds"]) if called_per_record else ""
    failed = tuple(map(collected, failures))
    return Report(**{**fields, "nodes": nodes}, errors=failed, hint=hint)


def _hint(records: int, cpu_seconds: float) -> str:
    if records < _HINT_RECORDS_MIN or cpu_seconds > records * _DOMINATED_SECONDS:
        return ""
    return (
        f"{cpu_seconds / records * 1e6:.2f} us a record, much of it the cost of calling a function;"
        " one under @gristmill.batch is called once for a whole batch"
    )
