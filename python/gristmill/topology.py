"""The machine, and the plan: which worker runs on which CPU of which node, and why.

    >>> import gristmill as gm
    >>> machine = gm.topology.discover()
    >>> print(gm.topology.plan(nodes="@2", workers=4))
    4 workers on 2 nodes

Both can be asked of another machine, too, described as hwloc does: see discover().
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Union

from . import _core, options
from .errors import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack

Machine = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Cpu:
    """One CPU (hardware thread) that this process may use."""

    os_index: int
    """Its number, as in /sys/devices/system/cpu."""
    core: int
    """Its physical core, from 0."""
    smt_rank: int
    """0 for the first hardware thread of its core, of those we may use; 1 for its sibling, ..."""
    package: int
    """Its processor chip, from 0."""
    node: int
    """NUMA node of the operating system."""
    core_kind: int
    """0 for the machine's fastest kind of core, 1 for the next, ...; 0 everywhere but on hybrids."""


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node of the operating system: CPUs and memory, or only one of them."""

    os_index: int
    """Its number, as in /sys/devices/system/node."""
    memory_bytes: int
    """0: it has no memory."""
    has_cpus: bool
    """Whether this process may use them or not."""
    memory_allowed: bool
    """False: a control group keeps its memory from this process (cpuset.mems)."""
    memory_kind: str
    """As hwloc names it: "HBM", "NVM", ...; empty for ordinary memory."""
    distances: List[int]
    """To each of Topology.nodes, in their order; 10 means itself, 20 twice as far."""


@dataclass(frozen=True)
class Topology:
    """The CPUs that this process may use, where memory is, and what limits both."""

    cpus: List[Cpu]
    """Those that this process may use."""
    cpus_of_machine: int
    """Usable or not."""
    nodes: List[NumaNode]
    """Of the machine, usable or not."""
    distances_known: bool
    """False: nobody tells them; 10 and 20 stand for "itself" and "another"."""
    cpu_quota: float
    """Of the control group, in CPUs; 0: no limit."""
    cpu_quota_file: str
    """The file that sets the quota: of the group itself, or of an ancestor."""
    l2_bytes: int
    """L2 cache of one core; 0: not known."""
    l3_bytes: int
    """One L3 cache; 0: not known, or there is none."""
    l3_cpus: int
    """How many of the machine's CPUs share one L3 cache."""
    origin: str
    """How all this was found."""


@dataclass(frozen=True)
class PlannedNode:
    os_node: int
    """Where its CPUs lie; for a logical node, where the first one does."""
    cpus: List[int]
    """In the order in which they get workers."""
    workers: int
    """May be 0: then the workers of other nodes take its batches."""
    memory_node: Optional[int]
    """The operating system's node where its memory should lie. None: the kernel chooses."""
    steal_order: List[int]
    """Whose batches its workers take, as indices into Plan.nodes: its own first, then the nearest."""


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


def discover(machine: Optional[Machine] = None) -> Topology:
    """Asks the kernel and hwloc about this machine; takes some milliseconds.

    ``machine`` asks about another one instead: the path of an XML file that ``lstopo --of xml FILE``
    wrote there (it ends in .xml or has a "/"), or hwloc's short text, such as ``"pack:2 core:8 pu:2"``
    for two sockets with eight cores of two threads each. The affinity mask and the control group of
    this process do not count there.

    Raises SourceError for a file that cannot be read, OptionError for a text that hwloc does not
    understand.
    """
    fields = _core.topology(_described(machine))
    cpus = [Cpu(**cpu) for cpu in fields["cpus"]]
    nodes = [NumaNode(**node) for node in fields["nodes"]]
    return Topology(**{**fields, "cpus": cpus, "nodes": nodes})


def plan(*, machine: Optional[Machine] = None, **given: Unpack[options.EngineOptions]) -> Plan:
    """The plan of an Engine with these options (workers, nodes, smt).

    ``machine`` as in discover(): the plan that an Engine would make there. Raises OptionError for
    options that make no sense, or name nodes that are not there.
    """
    options.refuse_unknown(given, options.EngineOptions.__annotations__)
    return make_plan(_core.plan(**options.parse_engine(given), machine=_described(machine)))


def make_plan(fields: Mapping[str, Any]) -> Plan:
    """A Plan from what the core tells."""
    return Plan(
        nodes=[PlannedNode(**node) for node in fields["nodes"]],
        workers=[PlannedWorker(**worker) for worker in fields["workers"]],
        reasons=list(fields["reasons"]),
    )


def _described(machine: Optional[Machine]) -> bytes:
    if machine is None:
        return b""
    path = os.fspath(machine)
    if not path:
        raise OptionError("machine='' is no machine: it takes a path, or a text like 'pack:2 core:8 pu:2'")
    if isinstance(machine, os.PathLike) and "/" not in path:
        path = f"./{path}"  # a path, whatever it is called
    return os.fsencode(path)
