"""The benchmark of memory: small runs, and what it must not let pass."""

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from gristmill.bench import memory, memory_case, sheet, watching

MIB = 1 << 20


def test_small_jobs_are_measured(tmp_path):
    kept = tmp_path / "kept.json"
    options = ["--sizes", "1", "2", "--memory", "16", "--slow-seconds", "0.1", "--json", str(kept)]
    command = [sys.executable, "-m", "gristmill", "bench", "memory", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [row for row in json.loads(kept.read_text())["rows"] if row["table"] == "cases"]
    streams = [row for row in rows if row["subject"] == "gristmill stream"]
    assert {(row["source"], row["consumer"]) for row in streams} == {
        (source, consumer) for source in ("file", "pipe", "items") for consumer in ("fast", "slow")
    }
    assert all(row["verdict"] == "within" and row["limit_mib"] == 16 + 16 + 4 * 2 for row in streams)
    assert {"gristmill map", "gristmill run", "executor", "imap"} <= {row["subject"] for row in rows}


@pytest.mark.parametrize(
    "growth, digest, verdict",
    [(87 * MIB, "", "within"), (88 * MIB, "", "BEYOND"), (4 * MIB, "another", "WRONG OUTPUT")],
)
def test_growth_and_output_are_judged(tmp_path, monkeypatch, capsys, growth, digest, verdict):
    arguments = Namespace(sizes=[0.1], memory=[64], workers=2, slow_seconds=0, csv=None, json=None, html=None)
    found = sheet.Sheet("memory", memory.__doc__, arguments)
    bench = memory.Bench(arguments, tmp_path, found)
    case = bench.case(0.1, memory_case.STREAM, memory_case.PIPE, memory_case.FAST, memory_mib=64)
    told = {"digest": digest or bench.digests[case.path], "half_at": 12.0, "wall_s": 1.0, "punched_bytes": MIB}
    samples = [(0.5, MIB), (1.5, 3 * MIB), (2.5, growth)]
    monkeypatch.setattr(memory, "watch", lambda case: watching.Watched(MIB, 10.0, samples, told))
    bench.measure(case, shown=True)
    (row,) = bench.cases.rows
    assert row["verdict"] == verdict and verdict in capsys.readouterr().out
    assert (row["half_mib"], row["growth_mib"], row["punched_mib"]) == (3, growth / MIB, 1)
    assert len(bench.over_time.rows) == 3
    assert len(bench.wrong) == (verdict != "within")


def test_what_is_watched_may_end_too_early():
    spec = {"way": "stream", "source": "file", "consumer": "fast", "path": "nowhere", "input_bytes": 1, "workers": 1}
    with pytest.raises(RuntimeError, match="the case ended without a result"):
        watching.watch("memory_case", spec, "the case")
    with pytest.raises(RuntimeError, match="the case did not begin"):
        watching.watch("memory_case", {}, "the case")


def test_the_expected_output_is_upper_case(tmp_path):
    path = tmp_path / "records"
    size = memory.write_records(path, 0.01)
    data = path.read_bytes()
    assert size == len(data) == 500 * data.count(b"\n") and data != data.upper()
    taken = memory_case.Taken(size)
    taken.add(data[: size // 2 - 1].upper())
    assert taken.half_at is None
    taken.add(data[size // 2 - 1 :].upper())
    assert taken.half_at is not None and taken.as_fields()["digest"] == memory_case.expected_digest(Path(path))
