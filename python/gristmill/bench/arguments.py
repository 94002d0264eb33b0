"""The options of the study."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, List

from .. import topology
from ..errors import OptionError
from . import outputs
from .inputs import SETS

PARTS = ("a", "b", "c", "d")
ISOLATIONS = ("process", "thread")
_FULL = {"records": 5_000_000, "docs": 500_000, "trials": 3, "nodes": "1,@2,@4,auto", "parts": "a,b,c,d"}
_QUICK = {"records": 300_000, "docs": 15_000, "trials": 3, "nodes": "1,@2", "parts": "a,d"}
EPILOG = """\
parts:
  a  each record set by the compiled plugin and by the Python function that gives the same bytes, on each
     node configuration; then for each number of workers
  b  large documents through tokenize; upper case by a plugin, a function and a command
  c  the same by other systems (those in --peers-folder), each given the same plugin or function
  d  memory of a stream whose consumer is slow

Functions and peers that call them get fewer records: of N, N light ones, N/5 medium, N/10 heavy, and a
fifth of the documents. Every output is counted and digested, and compared with that of the plugin run by
one thread; a row that differs in a byte is not ranked, and the exit code is 1.
"""


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    what = parser.add_argument_group("what is measured")
    what.add_argument("--quick", action="store_true", help="small inputs, parts a and d: about two minutes")
    what.add_argument("--parts", metavar="LIST", help=f"default {_FULL['parts']}")
    what.add_argument("--variants", default=",".join(SETS), metavar="LIST", help="record sets, default all four")
    what.add_argument("--records", type=int, metavar="N", help=f"default {_FULL['records']:,}")
    what.add_argument("--docs", type=int, metavar="N", help=f"documents of tokenize, default {_FULL['docs']:,}")
    what.add_argument("--nodes", metavar="LIST", help=f"node configurations, default {_FULL['nodes']};"
                      " as 0+1: nodes 0 and 1")  # fmt: skip
    what.add_argument("--workers", metavar="N[,N]", help="default: the usable CPUs")
    what.add_argument("--sweep-workers", metavar="LIST", help="default: 1, 2, 4, ... up to the usable CPUs")
    what.add_argument("--isolation", default="process", metavar="LIST", help="of plugins: process (default), thread")
    what.add_argument("--trials", type=int, metavar="N", help=f"of each configuration, default {_FULL['trials']}")
    what.add_argument("--peers", metavar="LIST", help="of part c, default all; none: no peers")
    where = parser.add_argument_group("where")
    where.add_argument("--tmpdir", type=Path, metavar="DIR", help="keep inputs and finished cells here: a study"
                       " that is stopped goes on, and one that is run again takes what is there")  # fmt: skip
    outputs.add_to(where)
    where.add_argument("--peers-folder", type=Path, metavar="DIR", help="files of peers, as those in bench/peers")
    where.add_argument("--peers-python", metavar="PATH", help="the Python that peers are installed in")
    where.add_argument("--cell-limit", type=float, default=3600, metavar="S", help="a cell may take so long")


def settle(arguments: argparse.Namespace) -> None:
    """Fills in defaults and makes lists of lists. Raises OptionError."""
    for name, value in (_QUICK if arguments.quick else _FULL).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    cpus = len(topology.plan().workers)
    arguments.parts = _chosen("parts", arguments.parts, PARTS)
    arguments.variants = _chosen("variants", arguments.variants, SETS)
    arguments.isolation = _chosen("isolation", arguments.isolation, ISOLATIONS)
    arguments.nodes = [each.replace("+", ",") for each in _list(arguments.nodes)]
    arguments.workers = _numbers("workers", arguments.workers or str(cpus))
    for nodes in arguments.nodes:
        topology.plan(nodes=nodes, workers=arguments.workers[0])  # raises for one that makes no sense
    sweep = arguments.sweep_workers or ",".join(map(str, doubling(cpus)))
    arguments.sweep_workers = [] if sweep == "none" else _numbers("sweep-workers", sweep)
    for name in ("records", "docs", "trials"):
        if getattr(arguments, name) < 1:
            raise OptionError(f"--{name} must be at least 1")


def doubling(last: int) -> List[int]:
    """1, 2, 4, ... and the last."""
    return sorted({1 << exponent for exponent in range(last.bit_length()) if 1 << exponent <= last} | {last})


def _list(text: str) -> List[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _chosen(name: str, text: str, known: Any) -> List[str]:
    found = _list(text)
    if unknown := [each for each in found if each not in known]:
        raise OptionError(f"--{name}: there is no {unknown[0]!r}; there are {', '.join(known)}")
    if not found:
        raise OptionError(f"--{name} names nothing")
    return found


def _numbers(name: str, text: str) -> List[int]:
    found = _list(text)
    if not found or not all(each.isdecimal() and int(each) > 0 for each in found):
        raise OptionError(f"--{name} takes numbers from 1 on, with commas between them")
    return list(map(int, found))
