"""The machine, and the plan: which worker runs on which CPU of which node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Mapping

from . import _core, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Cpu:
    """One CPU (hardware thread) that this process may use."""

    os_index: int
    """Its number, as in /sys/devices/system/cpu."""
    core: int
    """Its physical core, from 0."""
    smt_rank: int
    """0 for the first hardware thread of its core, 1 for its sibling, ..."""
    package: int
    node: int
    """NUMA node of the operating system."""


@dataclass(frozen=True)
class Topology:
    """The CPUs that this process may use, and what limits them."""

    cpus: List[Cpu]
    cpu_quota: float
    """Of the control group, in CPUs; 0: no limit."""
    l2_bytes: int
    """L2 cache of one core; 0: not known."""
    origin: str
    """How all this was found."""


@dataclass(frozen=True)
class PlannedNode:
    os_node: int
    """Where its CPUs lie; for a logical node, where the first one does."""
    cpus: List[int]
    """In the order in which they get workers."""
    workers: int


@dataclass(frozen=True)
class PlannedWorker:
    node: int
    """Index into Plan.nodes."""
    cpu: int
    """The CPU that it runs on."""


@dataclass(frozen=True)
class Plan:
    nodes: List[PlannedNode]
    workers: List[PlannedWorker]
    """Empty for workers=0: the calling thread does the work."""
    reasons: List[str]
    """One sentence for each choice."""

    def __str__(self) -> str:
        return f"{count(len(self.workers), 'worker')} on {count(len(self.nodes), 'node')}"


def count(number: int, word: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def discover() -> Topology:
    """Asks the kernel and hwloc; takes some milliseconds."""
    fields = _core.topology()
    return Topology(**{**fields, "cpus": [Cpu(**cpu) for cpu in fields["cpus"]]})


def plan(**given: Unpack[options.EngineOptions]) -> Plan:
    """The plan of an Engine with these options. Raises OptionError."""
    options.refuse_unknown(given, options.EngineOptions.__annotations__)
    return make_plan(_core.plan(**options.parse_engine(given)))


def make_plan(fields: Mapping[str, Any]) -> Plan:
    """A Plan from what the core tells."""
    return Plan(
        nodes=[PlannedNode(**node) for node in fields["nodes"]],
        workers=[PlannedWorker(**worker) for worker in fields["workers"]],
        reasons=list(fields["reasons"]),
    )
