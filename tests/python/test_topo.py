"""gristmill topo and gm.topology: what they say of this machine and of others."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gristmill as gm

MACHINES = Path(__file__).resolve().parents[1] / "unit" / "work" / "machines"
TWO_SOCKETS = "pack:2 [numa(memory=8GB)] core:2 pu:2"


def topo(*arguments, **options) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gristmill", "topo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, **options)


def printed(*arguments) -> str:
    done = topo(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def told(*arguments) -> dict:
    return json.loads(printed("--json", *arguments))


def refused(*arguments) -> str:
    done = topo(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gristmill: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_this_machine_for_programs():
    found = told("--nodes", "@2", "--workers", 3)
    assert {cpu["os_index"] for cpu in found["cpus"]} == os.sched_getaffinity(0)
    assert [worker["node"] for worker in found["plan"]["workers"]] == [0, 1, 0]
    assert len(found["plan"]["nodes"]) == 2 and found["plan"]["reasons"]
    assert all(node["memory_bytes"] > 0 for node in found["nodes"] if node["has_cpus"])


def test_each_key_for_programs_is_documented():
    described = set(re.findall(r"\w+", printed("--help").partition("keys of --json")[2]))
    found = told()
    keys = {*found, *found["cpus"][0], *found["nodes"][0], *found["plan"], *found["plan"]["nodes"][0]}
    assert keys | {*found["plan"]["workers"][0]} <= described


def test_each_term_for_people_is_explained():
    text, _, terms = printed("--plan", "nodes=@2,workers=3").partition("\nterms\n")
    for term in ("CPU", "core", "package", "node", "machine's node", "logical node", "memory on", "L3 cache", "CPU quota",
                 "control group", "worker", "takes from"):
        assert term in text and f"\n  {term}  " in f"\n{terms}"
    assert "SMT" not in terms or "SMT" in text
    assert "because" in text


def test_the_plan_in_one_option():
    assert told("--plan", "nodes=@4,workers=7,smt=false") == told("--nodes", "@4", "--workers", 7, "--no-smt")
    listed = told("--machine", TWO_SOCKETS, "--plan", "nodes=1,0,workers=2")["plan"]
    assert [node["os_node"] for node in listed["nodes"]] == [1, 0]
    assert told("--plan", "smt=true") == told()


@pytest.mark.parametrize(
    ("terms", "way_out"),
    [
        ("workers", "'workers' is no NAME=VALUE; it takes nodes=, workers= and smt=, as in nodes=@4"),
        ("node=2", "'node' is no term of a plan; did you mean nodes=? it takes nodes=, workers= and smt="),
        ("workers=many", "workers='many' is no number of workers"),
        ("workers=-1", "workers='-1' is no number of workers"),
        ("workers=99999", "workers=99999 is out of range"),
        ("smt=yes", "smt='yes' is neither true nor false"),
        ("nodes=two", "nodes='two' is not understood; use 'auto'"),
        ("nodes=1,nodes=2", "nodes is given twice"),
        ("nodes=64", "nodes='@64' makes logical ones"),
        ("nodes=0,99", "node 99 has no CPU that this process may use; it has CPUs of node"),
    ],
)
def test_a_bad_term_is_named_with_the_way_out(terms, way_out):
    assert way_out in refused("--plan", terms)


def test_a_plan_given_twice_is_refused():
    assert "leave out --nodes" in refused("--plan", "workers=2", "--nodes", 1)


def test_a_machine_described_in_words():
    found = told("--machine", TWO_SOCKETS)
    assert found["cpus_of_machine"] == 8 and found["cpu_quota"] == 0
    assert [node["memory_bytes"] for node in found["nodes"]] == [8_000_000_000] * 2
    assert [node["steal_order"] for node in found["plan"]["nodes"]] == [[0, 1], [1, 0]]
    assert [node["memory_node"] for node in found["plan"]["nodes"]] == [0, 1]
    assert [worker["cpu"] for worker in found["plan"]["workers"]] == [0, 4, 2, 6, 1, 5, 3, 7]


def test_a_machine_described_by_a_file():
    text = printed("--machine", MACHINES / "container-3-of-64-cpus.xml")
    assert "64 CPUs, of which this process may use 3" in text
    assert "64.0 GiB (not allowed)" in text and "\n  cpuset.mems  " in text
    text = printed("--machine", MACHINES / "hybrid-laptop.xml")
    assert "slower CPUs" in text and "\n  slower CPU  " in text
    text = printed("--machine", MACHINES / "two-sockets-with-hbm.xml", "--plan", "nodes=@1")
    assert "16.0 GiB HBM" in text and "any node" in text and "10 21 13 23" in text


def test_descriptions_that_are_none(tmp_path):
    assert "'my laptop' is no machine that hwloc understands" in refused("--machine", "my laptop")
    assert "No such file" in refused("--machine", "/nowhere.xml")
    (tmp_path / "page.xml").write_text("<html></html>")
    assert "lstopo --of xml" in refused("--machine", tmp_path / "page.xml")
    assert "machine=''" in refused("--machine", "")


def test_hwloc_is_told_to_describe_another_machine():
    environment = {**os.environ, "HWLOC_SYNTHETIC": "pack:4 core:8 pu:2"}
    done = topo(env=environment)
    assert (done.returncode, done.stdout) == (2, "") and "unset HWLOC_SYNTHETIC" in done.stderr
    done = topo("--machine", TWO_SOCKETS, "--json", env=environment)
    assert json.loads(done.stdout) == told("--machine", TWO_SOCKETS)


def test_numbers_are_short():
    from gristmill.cli.topo_text import numbers

    for given, text in [
        ([], ""),
        ([3], "3"),
        ([1, 0], "0, 1"),
        ([0, 1, 2, 3, 8], "0-3, 8"),
        ([0, 2, 4, 6], "0, 2, 4, 6"),
        (range(0, 32, 2), "0-30 step 2"),
        ([0, 4, 5, 6, 9, 12, 15, 18, 21], "0, 4-6, 9-21 step 3"),
    ]:
        assert numbers(given) == text


def test_help_has_examples():
    assert "gristmill topo --plan nodes=@4,workers=7" in printed("--help")


def test_from_python():
    machine = gm.topology.discover()
    assert {cpu.os_index for cpu in machine.cpus} == os.sched_getaffinity(0)
    assert all(len(node.distances) == len(machine.nodes) for node in machine.nodes)
    ring = MACHINES / "ring-of-four.xml"
    assert gm.topology.discover(ring).nodes[1].distances == [22, 10, 16, 32]
    plan = gm.topology.plan(machine=ring, workers=4)
    assert [node.steal_order for node in plan.nodes] == [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    assert str(plan) == "4 workers on 4 nodes"
    with pytest.raises(gm.OptionError, match="node 7 has no CPU"):
        gm.topology.plan(machine=str(ring), nodes="7,")
    with pytest.raises(gm.SourceError) as caught:
        gm.topology.discover("/nowhere/at-all.xml")
    assert caught.value.filename == "/nowhere/at-all.xml"
    with pytest.raises(gm.OptionError, match="is no machine"):
        gm.topology.discover("")


def test_an_engine_keeps_to_the_plan():
    with gm.Engine(workers=3, nodes="@2") as engine:
        assert engine.plan == gm.topology.plan(workers=3, nodes="@2")
