"""The benchmark of scaling: a small run, and what it must not let pass."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.bench import scaling
from gristmill.bench.inputs import prepare


def test_a_small_run(tmp_path):
    kept = tmp_path / "kept.json"
    options = ["--records", "20000", "--trials", "1", "--max-workers", "2", "--sets", "light", "tokenize", "--json", str(kept)]
    command = [sys.executable, "-m", "gristmill", "bench", "scaling", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(kept.read_text())["rows"]
    assert [(row["set"], row["kind"], row["workers"]) for row in rows] == [
        (name, kind, workers) for name in ("light", "tokenize") for kind in scaling.KINDS for workers in (1, 2)
    ]
    assert all(row["speedup"] == 1 for row in rows if row["workers"] == 1)
    assert all(row["ratio"] > 0 and row["cpu_s_per_million"] > 0 for row in rows)


def test_workers_double():
    assert scaling.counts_to(1) == [1] and scaling.counts_to(4) == [1, 2, 4] and scaling.counts_to(6) == [1, 2, 4, 6]


@pytest.mark.parametrize("spoilt", ["whole", "part"])
def test_a_wrong_output_is_wrong(tmp_path, spoilt):
    work = scaling.divided(prepare("medium", 1000, tmp_path), [1, 2])
    assert b"".join(Path(part.path).read_bytes() for part in work.parts[2]) == Path(work.whole.path).read_bytes()
    assert list(scaling.compare(work, "function", [2], 1)) == [2]
    work.digests[work.whole.path if spoilt == "whole" else work.parts[2][1].path] = "another"
    with pytest.raises(scaling.Wrong, match="medium, function, 2 workers: wrong output"):
        scaling.compare(work, "function", [2], 1)
