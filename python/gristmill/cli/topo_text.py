"""What ``gristmill topo`` prints for people: tables, reasons, and an explanation of each term."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, Mapping, Sequence

from ..topology import NumaNode, Plan, PlannedNode, Topology, count

_SHOWN = 8  # nodes in a list of them
_STEPS = 5  # numbers at equal steps are written as one range from so many on
_TERMS = {
    "CPU": "a hardware thread; its number is the operating system's",
    "core": "a physical core; its CPUs share its arithmetic units and its L2 cache",
    "SMT sibling": "any CPU of a core but its first one; it gets work after all cores have some",
    "slower CPU": "a CPU of a slower kind of core; it gets work after the fast cores",
    "package": "a processor chip, in its socket",
    "node": "a NUMA node: CPUs, and the memory that is nearest to them",
    "machine's node": "a node by its number in the operating system; nodes of a plan count from 0",
    "logical node": "a part of the usable CPUs, treated as if it were a node of its own",
    "memory": "how much of it lies in the node",
    "memory on": "the machine's node where input and output of the plan's node should lie",
    "HBM": "fast memory inside the package, a node of its own",
    "distances": "how far memory of node 0, 1, ... is, in this order; 10: the node itself, 20: twice as far",
    "(assumed)": "nobody tells the distances; 10 and 20 stand for them",
    "L2 cache": "memory inside a core",
    "L3 cache": "memory inside a package, for several of its CPUs",
    "control group": "what the kernel limits together; a container is one",
    "CPU quota": "how much CPU time the control group may use, in CPUs",
    "cpuset.mems": "the control group's list of nodes whose memory it may use",
    "affinity mask": "the CPUs that a process may run on; taskset sets it, and workers never leave it",
    "hwloc": "the library that knows what machines look like inside",
    "worker": "a thread or process that runs the payload, bound to its CPU or to its node",
    "takes from": "whose batches the node's workers take when there are none of their own, in this order",
}


def lines(machine: Topology, plan: Plan, wish: Mapping[str, Any]) -> Iterator[str]:
    told = [*_machine_lines(machine), "", *_plan_lines(machine, plan, wish)]
    yield from told
    yield ""
    yield "terms"
    text = " ".join(told)
    shown = [term for term in _TERMS if term in text]
    width = max(map(len, shown))
    yield from (f"  {term:{width}}  {_TERMS[term]}" for term in shown)


def _machine_lines(machine: Topology) -> Iterator[str]:
    own = len(machine.cpus)
    usable = "all" if own >= machine.cpus_of_machine else str(own)
    yield f"machine: {count(machine.cpus_of_machine, 'CPU')}, of which this process may use {usable}"
    yield f"as told by {machine.origin}"
    yield ""
    yield from _table(_machine_row(machine, node) for node in machine.nodes)
    yield ""
    shared = f" for {count(machine.l3_cpus, 'CPU')}" if machine.l3_bytes else ""
    yield f"  L2 cache: {_size(machine.l2_bytes)}; L3 cache: {_size(machine.l3_bytes)}{shared}"
    quota = f"{machine.cpu_quota:g} CPUs, set by {machine.cpu_quota_file}" if machine.cpu_quota else "none"
    yield f"  CPU quota of the control group: {quota}"


def _plan_lines(machine: Topology, plan: Plan, wish: Mapping[str, Any]) -> Iterator[str]:
    wished = ", ".join(f"{name}={str(value).lower()}" for name, value in wish.items())
    yield f"plan{' for ' if wished else ''}{wished}: {plan}"
    yield ""
    yield from _table(_plan_row(machine, plan, number) for number in range(len(plan.nodes)))
    yield ""
    yield "because"
    yield from (f"  {reason}" for reason in plan.reasons)


def _machine_row(machine: Topology, node: NumaNode) -> Dict[str, str]:
    cpus = [cpu for cpu in machine.cpus if cpu.node == node.os_index]
    first = [cpu for cpu in cpus if cpu.smt_rank == 0]
    row = {
        "node": str(node.os_index),
        "package": numbers({cpu.package for cpu in cpus}) or "-",
        "cores": str(len({cpu.core for cpu in cpus})),
        "CPUs": numbers(cpu.os_index for cpu in first if cpu.core_kind == 0)
        or ("-" if first else "none allowed" if node.has_cpus else "none"),
    }
    if _is_hybrid(machine):
        row["slower CPUs"] = numbers(cpu.os_index for cpu in first if cpu.core_kind > 0) or "-"
    if _has_siblings(machine):
        row["SMT siblings"] = numbers(cpu.os_index for cpu in cpus if cpu.smt_rank > 0) or "-"
    row["memory"] = _memory(node)
    if len(machine.nodes) > 1:
        row["distances"] = " ".join(map(str, node.distances)) + ("" if machine.distances_known else " (assumed)")
    return row


def _plan_row(machine: Topology, plan: Plan, number: int) -> Dict[str, str]:
    node = plan.nodes[number]
    on = numbers({worker.cpu for worker in plan.workers if worker.node == number})
    row = {
        "node": str(number),
        "machine's node": numbers({cpu.node for cpu in machine.cpus if cpu.os_index in node.cpus}),
        "CPUs": numbers(node.cpus),
        "workers": str(node.workers),
        "on CPUs": on or "-",
        "memory on": "any node" if node.memory_node is None else f"node {node.memory_node}",
    }
    if len(plan.nodes) > 1:
        row["takes from"] = _taken(node)
    return row


def _taken(node: PlannedNode) -> str:
    others = node.steal_order[1:]
    return " ".join(map(str, others[:_SHOWN])) + (" ..." if len(others) > _SHOWN else "")


def _is_hybrid(machine: Topology) -> bool:
    return any(cpu.core_kind > 0 for cpu in machine.cpus)


def _has_siblings(machine: Topology) -> bool:
    return any(cpu.smt_rank > 0 for cpu in machine.cpus)


def _memory(node: NumaNode) -> str:
    if not node.memory_bytes:
        return "none"
    words = [f"{node.memory_bytes / 2**30:,.1f} GiB", node.memory_kind]
    words.append("" if node.memory_allowed else "(not allowed)")
    return " ".join(filter(None, words))


def _size(size: int) -> str:
    if not size:
        return "not known"
    return f"{size // 2**20:,} MiB" if size % 2**20 == 0 else f"{size // 2**10:,} KiB"


def numbers(given: Iterable[int]) -> str:
    """``0-3, 8``; ``0-30 step 2`` for every other one."""
    left = sorted(given)
    runs = []
    while left:
        step = left[1] - left[0] if len(left) > 1 else 1
        length = 1
        while length < len(left) and left[length] - left[length - 1] == step:
            length += 1
        if length < (3 if step == 1 else _STEPS):
            length = 1
        if length == 1:
            runs.append(str(left[0]))
        else:
            runs.append(f"{left[0]}-{left[length - 1]}" + (f" step {step}" if step > 1 else ""))
        left = left[length:]
    return ", ".join(runs)


def _table(given: Iterable[Dict[str, str]]) -> Iterator[str]:
    """Rows under the names of their columns; numbers to the right, words to the left."""
    rows = list(given)
    names: Sequence[str] = list(rows[0]) if rows else []
    for row in [{name: name for name in names}, *rows]:
        cells = []
        for name in names:
            width = max(len(name), *(len(each[name]) for each in rows))
            right = all(each[name].isdigit() for each in rows)
            cells.append(row[name].rjust(width) if right else row[name].ljust(width))
        yield "  " + "  ".join(cells).rstrip()
