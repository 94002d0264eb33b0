"""The payloads of the record sets: a plugin, on both its paths, beside its twin in Python.

Plugins are those in the folder GRISTMILL_PLUGIN_DIR, the twins then those of this tree; without
the variable both are those of the installed package.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TREE / "tests" / "unit" / "plugins")]

import record_makers  # noqa: E402
from twin_comparison import Pair  # noqa: E402


def _from_tree():
    path = TREE / "python" / "gristmill" / "workloads.py"
    spec = importlib.util.spec_from_file_location("workloads", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def plugin_dir() -> Path:
    if folder := os.environ.get("GRISTMILL_PLUGIN_DIR"):
        return Path(folder)
    gristmill = pytest.importorskip("gristmill", reason="set GRISTMILL_PLUGIN_DIR, or install gristmill")
    return Path(gristmill.plugins.path("light")).parent


@pytest.fixture(scope="session")
def workloads(plugin_dir):
    if "GRISTMILL_PLUGIN_DIR" in os.environ:
        return _from_tree()
    return pytest.importorskip("gristmill.workloads")


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "words.vocab"
    path.write_bytes(record_makers.vocabulary())
    return path


@pytest.fixture(scope="session")
def pair_of(plugin_dir, workloads, vocabulary):
    """pair_of("medium"): the plugin and its twin."""
    pairs = {}

    def get(name: str) -> Pair:
        if name not in pairs:
            path = str(plugin_dir / f"{name}.so")
            if name == "tokenize":
                pairs[name] = Pair(path, workloads.Tokenize(vocabulary), str(vocabulary), f"strict:{vocabulary}")
            else:
                pairs[name] = Pair(path, getattr(workloads, name), "", "strict")
        return pairs[name]

    return get
