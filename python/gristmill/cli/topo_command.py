"""``gristmill topo``: the machine as the engine sees it, and the plan it makes."""

from __future__ import annotations

import argparse
import difflib
import json
from dataclasses import asdict
from typing import Any, Dict, List

from .. import topology
from ..errors import OptionError
from . import topo_text

_PLAN_TAKES = "it takes nodes=, workers= and smt=, as in nodes=@4,workers=7,smt=false"
_EPILOG = """\
examples:
  gristmill topo                                      this machine, and what an Engine makes of it
  gristmill topo --plan nodes=@4,workers=7            four logical nodes, seven workers
  gristmill topo --plan nodes=0,1,smt=false           two of the machine's nodes, no SMT siblings
  gristmill topo --machine 'pack:2 core:16 pu:2'      two sockets with 16 cores of two threads each
  lstopo --of xml there.xml                           on another machine; then here:
  gristmill topo --machine ./there.xml --json

keys of --json (those with "os" in them are numbers of the operating system):
  cpus             usable ones: os_index, core, smt_rank (0: the core's first thread), package, node,
                   core_kind (0: the fastest kind of core)
  cpus_of_machine  usable or not
  nodes            of the machine: os_index, memory_bytes, has_cpus, memory_allowed, memory_kind,
                   distances (to each of these nodes)
  distances_known  false: nobody tells them; 10 and 20 stand for "itself" and "another"
  cpu_quota        in CPUs, 0: none; cpu_quota_file sets it
  l2_bytes, l3_bytes, l3_cpus
                   one cache each, and how many CPUs share an L3; 0: not known
  origin           how all this was found
  plan             nodes: os_node, cpus, workers, memory_node (null: the kernel chooses), steal_order
                   (places in this list); workers: node (place in the list of nodes), cpu; reasons
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "topo",
        help="show CPUs, nodes and the plan in use",
        description="Shows CPUs and memory of the machine, and which worker an Engine would run where and why.\n"
        "Every term that is printed is explained below the tables.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--plan", metavar="TERMS", default="",
        help="all of the next three at once: nodes=SPEC,workers=N,smt=BOOL, each of them optional",
    )
    parser.add_argument(
        "--nodes", metavar="SPEC",
        help="auto (default): all; N: the first N; 0,1: those; @N: N logical nodes over whatever is there",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="default: one for each usable CPU")
    parser.add_argument("--no-smt", dest="smt", action="store_false", help="no SMT siblings")
    parser.add_argument(
        "--machine", metavar="WHICH",
        help="another machine: an XML file that lstopo wrote there, or hwloc's short text for one",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    wish = _wish(arguments)
    machine = topology.discover(arguments.machine)
    plan = topology.plan(machine=arguments.machine, **wish)
    if arguments.json:
        print(json.dumps({**asdict(machine), "plan": asdict(plan)}, indent=2))
    else:
        print("\n".join(topo_text.lines(machine, plan, wish)))
    return 0


def _wish(arguments: argparse.Namespace) -> Dict[str, Any]:
    """The options of the plan, from --plan or from the options that stand for one each."""
    single: Dict[str, Any] = {}
    if arguments.nodes is not None:
        single["nodes"] = arguments.nodes
    if arguments.workers is not None:
        single["workers"] = arguments.workers
    if not arguments.smt:
        single["smt"] = False
    if arguments.plan and single:
        raise OptionError("--plan says it all: leave out --nodes, --workers and --no-smt, or leave out --plan")
    return _parse_plan(arguments.plan) if arguments.plan else single


def _parse_plan(text: str) -> Dict[str, Any]:
    """``nodes=0,1,workers=7``: a list of nodes has commas of its own."""
    terms: List[List[str]] = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            terms.append([name.strip(), value.strip()])
        elif terms and terms[-1][0] == "nodes":
            terms[-1][1] += f",{part.strip()}"
        else:
            raise OptionError(f"--plan: {part!r} is no NAME=VALUE; {_PLAN_TAKES}")
    wish: Dict[str, Any] = {}
    for name, value in terms:
        if name in wish:
            raise OptionError(f"--plan: {name} is given twice")
        wish[name] = _term(name, value)
    return wish


def _term(name: str, value: str) -> Any:
    if name == "nodes":
        return value
    if name == "workers":
        if not (value.isascii() and value.isdigit()):
            raise OptionError(f"--plan: workers={value!r} is no number of workers; it takes 0, 1, 2, ...")
        return int(value)
    if name == "smt":
        if value not in ("true", "false"):
            raise OptionError(f"--plan: smt={value!r} is neither true nor false")
        return value == "true"
    close = difflib.get_close_matches(name, ["nodes", "workers", "smt"], n=1)
    hint = f"did you mean {close[0]}=? " if close else ""
    raise OptionError(f"--plan: {name!r} is no term of a plan; {hint}{_PLAN_TAKES}")
