"""The package as it is installed: its version, its types, its parts."""

import ast
import re
from importlib import metadata
from pathlib import Path

import gristmill as gm
from gristmill import _core

INSTALLED = Path(_core.__file__).parent
SOURCES = Path(__file__).resolve().parents[2]


def test_the_version_has_one_source():
    found = re.search(r"project\(gristmill VERSION (\S+)", (SOURCES / "CMakeLists.txt").read_text())
    assert gm.__version__ == metadata.version("gristmill") == found[1]


def test_cloudpickle_is_all_that_is_needed_at_run_time():
    assert [re.match(r"\w+", each)[0] for each in metadata.requires("gristmill") or []] == ["cloudpickle"]


def test_typed_and_whole():
    for name in ("py.typed", "_core.pyi", "include/gristmill/plugin.h", "include/gristmill/plugin.hpp",
                 "bench/page.css", "bench/schema.md"):  # fmt: skip
        assert (INSTALLED / name).is_file() or (Path(gm.__file__).parent / name).is_file()


def test_everything_public_is_there_and_explained():
    for name in gm.__all__:
        assert hasattr(gm, name)
        assert name.startswith("__") or getattr(gm, name).__doc__


def _arguments(node) -> list[str]:
    """Argument names of a stub's function, without self."""
    given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    return [each.arg for each in given if each.arg != "self"]


def _stubbed() -> dict:
    """Name -> argument names, or for a class its methods likewise, or None for a variable."""
    tree = ast.parse((Path(gm.__file__).parent / "_core.pyi").read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = _arguments(node)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = {f.name: _arguments(f) for f in node.body if isinstance(f, ast.FunctionDef)}
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def _documented_arguments(function) -> list[str]:
    """Argument names as pybind11 prints them at the head of a docstring."""
    signature = function.__doc__.split("\n")[0]
    return [name for name in re.findall(r"[(,] ?(\w+): ", signature) if name not in ("self", "arg0")]


def test_the_stub_says_what_the_core_has():
    stub = _stubbed()
    public = {name for name in vars(_core) if not name.startswith("_")} | {"__version__"}
    assert set(stub) == public
    for name, said in stub.items():
        there = getattr(_core, name)
        if isinstance(said, list):
            assert said == _documented_arguments(there), name
        elif isinstance(said, dict):
            methods = {m for m in vars(there) if not m.startswith("_")}
            assert {m for m in said if not m.startswith("_")} == methods, name
            for method in {*methods, "__init__"} & set(said):
                assert said[method] == _documented_arguments(getattr(there, method)), f"{name}.{method}"
