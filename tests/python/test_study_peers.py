"""Peers of the study: those that need nothing installed, exact; and what becomes of one that is not."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).resolve().parents[2] / "bench" / "peers"
WITHOUT_PACKAGES = "serial_loop,multiprocessing_pool,process_pool_executor,executor_ctypes,executor_ctypes_given,tbb_pipeline"


def study(folder, *arguments, code=0, variants="light"):
    given = ["--parts", "c", "--variants", variants, "--records", 2000, "--docs", 300, "--trials", 1, "--workers", 2]
    command = [sys.executable, "-m", "gristmill", "study", *given, "--tmpdir", folder, "--json", folder / "r.json"]
    done = subprocess.run([*map(str, command), *map(str, arguments)], capture_output=True, text=True, timeout=250)
    assert done.returncode == code, done.stdout + done.stderr
    return done, json.loads((folder / "r.json").read_text())["rows"]


def test_peers_give_our_bytes(tmp_path):
    _, rows = study(tmp_path, "--peers-folder", PEERS, "--peers", WITHOUT_PACKAGES, variants="medium,tokenize")
    peers = [row for row in rows if row["subject"] != "gristmill"]
    assert len(peers) == 2 * 6 and all(row["exact"] and row["compared"] == "bytes" for row in rows)
    assert {row["workers"] for row in peers if row["subject"] == "serial loop"} == {1}
    assert all(row["settings"] for row in peers if row["subject"] != "serial loop")
    for rank in [{row["rank"] for row in rows if row["payload"] == payload} for payload in ("plugin", "function")]:
        assert rank == {1, 2, 3, 4}


@pytest.fixture
def folder_of_one(tmp_path):
    """A folder of peers with one file that begins with these lines."""

    def make(text):
        folder = tmp_path / "peers"
        folder.mkdir()
        (folder / "one.py").write_text('from contextlib import contextmanager\nname = "one"\n' + text)
        return ["--peers-folder", folder]

    return make


READY = """
@contextmanager
def ready(task):
    function = task.twin()
    yield lambda: [function(record) for record in task.records()]

def output(kept):
    return [line + b"\\n" for line in kept]
"""


def test_a_peer_that_is_not_installed_is_a_row_that_says_so(tmp_path, folder_of_one):
    done, rows = study(tmp_path, *folder_of_one('def available():\n    return "one is not installed"\n'))
    assert rows[-1]["absent"] and rows[-1]["note"] == "one is not installed" and rows[-1]["rank"] is None
    assert "not here: one is not installed" in done.stdout and "totals exact: 2,000 in" in done.stdout


@pytest.mark.parametrize(
    "change, note",
    [
        ("kept[-1]", "1 lines and 1 results instead of 2,000 and 2,000"),
        ("[b'x' + kept[0], *kept[1:]]", "the digest of the output differs"),
        ("kept[1:] + kept[:1]", "the digest of the output differs"),
    ],
)
def test_a_peer_with_another_output_is_not_ranked(tmp_path, folder_of_one, change, note):
    changed = READY.replace("in kept]", f"in ({change} if isinstance({change}, list) else [{change}])]")
    done, rows = study(tmp_path, *folder_of_one(changed), code=1)
    assert [row["rank"] for row in rows] == [1, None] and rows[-1]["note"] == note
    assert "NOT exact: light, function, one" in done.stderr


def test_a_peer_that_fails_says_how(tmp_path, folder_of_one):
    done, rows = study(tmp_path, *folder_of_one("def ready(task):\n    raise ValueError('no luck')\n"), code=1)
    assert "no luck" in rows[-1]["note"] and not rows[-1].get("absent")


@pytest.mark.parametrize(
    "change, differences",
    [("", 0), ('.replace(b\'"tier":0\', b\'"tier":1\')', None), ('.replace(b\'"rev":\', b\'"rew":\')', 1997)],
)
def test_values_are_compared_one_by_one(tmp_path, folder_of_one, change, differences):
    """Spaces and the number of digits do not matter; a value, and a name, does."""
    spaced = READY.replace("line + b", f'line{change}.replace(b":0,", b": 0.0,") + b').replace("in kept", "in kept if line")
    options = folder_of_one('payloads = ("expressions",)\nsets = ("medium",)\ncompared = "values"\n' + spaced)
    done, rows = study(tmp_path, *options, "--records", 10_000, variants="medium", code=1 if change else 0)
    assert rows[-1]["compared"] == "values" and rows[-1]["exact"] == (not change)
    assert [row["payload"] for row in rows] == ["expressions: plugin", "expressions"]
    assert ("; of 1 rows of peers the same values" in done.stdout) == (not change)
    if differences:
        assert rows[-1]["note"].startswith(f"{differences:,} lines differ, first ")


def test_from_a_wheel_there_are_no_peers(tmp_path):
    done, rows = study(tmp_path)
    assert rows[-1]["absent"] and "peers come with the source" in done.stdout
    done, rows = study(tmp_path, "--parts", "a", "--nodes", "1", "--sweep-workers", "none", "--peers", "none")
    assert {row["subject"] for row in rows} == {"gristmill"}


def test_an_unknown_peer_is_refused(tmp_path):
    command = [sys.executable, "-m", "gristmill", "study", "--parts", "c", "--peers", "nobody", "--peers-folder", PEERS]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 2 and "there is no 'nobody'; there are dask_bag" in done.stderr


def test_every_peer_is_documented():
    described = (PEERS / "README.md").read_text()
    peers = {}
    for path in PEERS.glob("*.py"):
        module = ast.parse(path.read_text())
        assert ast.get_docstring(module), path.name
        assigned = [node for node in module.body if isinstance(node, ast.Assign)]
        names = {node.targets[0].id: node.value for node in assigned if isinstance(node.targets[0], ast.Name)}
        if "name" in names:
            assert f"`{path.name}`" in described, path.name
            peers[ast.literal_eval(names["name"])] = path
    assert len(peers) == 17 and not any("," in name for name in peers)
    for name in re.findall(r"^\| `(\w+)[`( =]", described.partition("## One more")[2], re.MULTILINE):
        assert name in ("name", "payloads", "sets", "serial", "compared", "package", "available", "ready", "output", "settings")
