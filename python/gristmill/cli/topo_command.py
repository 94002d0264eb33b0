"""``gristmill topo``: the machine as the engine sees it, and the plan it makes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any, Iterator

from .. import topology

_TERMS = """\
CPU      a hardware thread; its number is the operating system's
core     a physical core; its CPUs share its arithmetic units and caches
SMT      place of the CPU among those of its core: 0 gets work first
package  a processor chip
node     a NUMA node: CPUs, and the memory that is nearest to them
worker   a thread of gristmill, bound to one CPU"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "topo",
        help="show CPUs, nodes and the plan in use",
        description="Shows the CPUs that this process may use, and which worker would run where and why.",
    )
    parser.add_argument(
        "--nodes", default="auto", metavar="SPEC", help="auto (default), N, 0,1 or @N for N logical nodes"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="default: one for each usable CPU")
    parser.add_argument("--no-smt", dest="smt", action="store_false", help="no SMT siblings")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    machine = topology.discover()
    plan = topology.plan(workers=arguments.workers, nodes=arguments.nodes, smt=arguments.smt)
    if arguments.json:
        print(json.dumps({**asdict(machine), "plan": asdict(plan)}, indent=2))
    else:
        print("\n".join([*_machine_lines(machine), "", *_plan_lines(plan), "", _TERMS]))
    return 0


def _machine_lines(machine: topology.Topology) -> Iterator[str]:
    yield f"{topology.count(len(machine.cpus), 'CPU')} this process may use (found by: {machine.origin})"
    yield "  CPU  core  SMT  package  node"
    for cpu in machine.cpus:
        yield f"  {cpu.os_index:3}  {cpu.core:4}  {cpu.smt_rank:3}  {cpu.package:7}  {cpu.node:4}"
    quota = f"{machine.cpu_quota:g} CPUs" if machine.cpu_quota else "none"
    yield f"CPU quota of the control group: {quota}"
    cache = f"{machine.l2_bytes // 1024:,} KiB" if machine.l2_bytes else "not known"
    yield f"L2 cache of a core: {cache}"


def _plan_lines(plan: topology.Plan) -> Iterator[str]:
    yield f"plan: {plan}"
    for number, node in enumerate(plan.nodes):
        placed = [str(worker.cpu) for worker in plan.workers if worker.node == number]
        where = f"on CPU {' '.join(placed)}" if placed else "none"
        cpus = " ".join(map(str, node.cpus))
        yield f"  node {number}: CPUs {cpus} (operating system's node {node.os_node}); workers: {where}"
    yield "because"
    yield from (f"  {reason}" for reason in plan.reasons)
