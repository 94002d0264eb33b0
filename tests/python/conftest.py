"""What the tests of the Python package share: inputs and compiled plugins."""

import contextlib
import ctypes
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import gristmill as gm

_PR_SET_DUMPABLE = 4

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))


def _compiled(source: Path, to: Path) -> str:
    language = ["g++", "-std=c++20"] if source.suffix == ".cpp" else ["gcc", "-std=c99"]
    target = to / f"{source.stem}.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{gm.plugins.include_dir()}"]
    subprocess.run([*language, *flags, "-o", target, source], check=True)
    return str(target)


@pytest.fixture(scope="module", autouse=True)
def own_turn(request):
    """Benchmarks take turns on a machine, by a lock on the folder for temporary files. Tests of them measure nothing,
    and wait for nobody: they have a folder of their own."""
    if not request.path.name.startswith(("test_bench", "test_study")):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="gm-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        yield
        assert os.listdir(folder) == []


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    """plugin("picky"): the path of a test plugin, compiled with the installed headers only."""
    folder, compiled = tmp_path_factory.mktemp("plugins"), {}

    def path_of(name: str) -> str:
        if name not in compiled:
            (source,) = (HERE / "plugins").glob(f"{name}.c*")
            compiled[name] = _compiled(source, folder)
        return compiled[name]

    return path_of


@pytest.fixture(scope="session")
def faulty_io(tmp_path_factory):
    """The library that stands before the C library and lets calls fail."""
    target = tmp_path_factory.mktemp("faulty") / "faulty_io.so"
    folder = HERE.parent / "e2e" / "preload"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", target, folder / "faulty_io.c", "-lpthread"], check=True)
    return str(target)


@pytest.fixture(scope="session")
def lines() -> bytes:
    """20,000 records of 0 to 80 bytes: NUL, 0xff and CR among them, but neither failing nor filtered."""
    rng = random.Random(7)
    alphabet = bytes(set(range(256)) - set(b"\n!#"))
    return b"".join(bytes(rng.choices(alphabet, k=rng.randrange(80))) + b"\n" for _ in range(20_000))


@pytest.fixture
def file(tmp_path):
    """file(data): the path of a file that holds it."""
    made = []

    def write(data: bytes, name: str = "") -> str:
        path = tmp_path / (name or f"input-{len(made)}")
        path.write_bytes(data)
        made.append(path)
        return str(path)

    return write


@pytest.fixture
def unprivileged():
    """unprivileged(): a context in which we are not root, who may read and write everything."""

    @contextlib.contextmanager
    def somebody_else():
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)
                ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)  # the change has made us undumpable

    return somebody_else
