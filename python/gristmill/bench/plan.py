"""Which configurations a study has: pure functions of its options."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, Iterator, List

from .inputs import LARGE, Input
from .peers import Peer
from .task import EXPRESSIONS, FUNCTION, OUR_EXPRESSIONS, PLUGIN, UPPER, Task

_FUNCTION_SHARES = {"light": 1, "medium": 5, "heavy": 10, "tokenize": 5, LARGE: 5}
_LARGE_SHARE = 5  # large documents: so many times fewer

InputOf = Callable[[str, int], Input]
"""The input of so many records of a set."""


@dataclass(frozen=True)
class Configuration:
    """What is measured trials times. Two that have the same task are the same, in whichever part."""

    part: str
    task: Task
    python: str
    peer: str = ""
    """The file of a peer."""
    absent: str = ""
    """Why it cannot be measured."""


def configurations(arguments: argparse.Namespace, peers: List[Peer], python: str, inputs: InputOf) -> List[Configuration]:
    """All of a study, none twice."""
    made: Dict[Task, Configuration] = {}
    parts = {
        "a": lambda: _part_a(arguments, python, inputs),
        "b": lambda: _part_b(arguments, python, inputs),
        "c": lambda: _part_c(arguments, peers, python, inputs),
    }
    for part in arguments.parts:
        for each in parts[part]() if part in parts else ():
            made.setdefault(each.task, each)
    return list(made.values())


def records_of(arguments: argparse.Namespace, name: str, payload: str) -> int:
    """How many records of a set a payload gets."""
    whole: int = arguments.docs if name.startswith("tokenize") else arguments.records
    if name == LARGE:
        whole //= _LARGE_SHARE
    return max(1, whole // (_FUNCTION_SHARES[name] if payload in (FUNCTION, EXPRESSIONS) else 1))


def _isolations(arguments: argparse.Namespace, payload: str) -> List[str]:
    return [""] if payload.endswith("function") else list(arguments.isolation)


def _part_a(arguments: argparse.Namespace, python: str, inputs: InputOf) -> Iterator[Configuration]:
    shapes = [(nodes, workers) for nodes in arguments.nodes for workers in arguments.workers]
    shapes += [("auto", workers) for workers in arguments.sweep_workers]
    for name in arguments.variants:
        for payload in (PLUGIN, FUNCTION):
            given = inputs(name, records_of(arguments, name, payload))
            for nodes, workers in shapes:
                for isolation in _isolations(arguments, payload):
                    yield Configuration("a", Task("gristmill", payload, given, workers, nodes, isolation), python)


def _part_b(arguments: argparse.Namespace, python: str, inputs: InputOf) -> Iterator[Configuration]:
    wanted = [(LARGE, PLUGIN), (LARGE, FUNCTION)] if "tokenize" in arguments.variants else []
    for name, payload in [*wanted, *(("light", each) for each in UPPER)]:
        given = inputs(name, records_of(arguments, name, payload))
        for nodes in dict.fromkeys([arguments.nodes[0], "auto"]):
            for isolation in _isolations(arguments, payload):
                task = Task("gristmill", payload, given, arguments.workers[-1], nodes, isolation)
                yield Configuration("b", task, python)


def _part_c(
    arguments: argparse.Namespace, peers: Iterable[Peer], python: str, inputs: InputOf
) -> Iterator[Configuration]:
    workers = arguments.workers[-1]
    for name in arguments.variants:
        for payload in (PLUGIN, FUNCTION, EXPRESSIONS):
            rivals = [peer for peer in peers if name in peer.sets and payload in peer.payloads]
            if not rivals:
                continue
            given = inputs(name, records_of(arguments, name, payload))
            ours = OUR_EXPRESSIONS if payload == EXPRESSIONS else payload
            isolation = _isolations(arguments, ours)[0]
            yield Configuration("c", Task("gristmill", ours, given, workers, "auto", isolation), python)
            for peer in rivals:
                task = Task(peer.name, payload, given, 1 if peer.serial else workers)
                yield Configuration("c", task, peer.python, peer.file, peer.absent)
