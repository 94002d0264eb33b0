"""The scripts in bench/ that generate, verify and count."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


def script(name, *arguments):
    command = [sys.executable, str(BENCH / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=250)


def study(folder, records=2000):
    shape = ["--parts", "a", "--variants", "light", "--nodes", "1", "--sweep-workers", "none"]
    done = script("numa_study.py", "--records", records, "--trials", 1, "--tmpdir", folder, *shape)
    assert done.returncode == 0, done.stderr
    assert f"totals exact: {records:,} in" in done.stdout
    return done.stderr


def test_the_study_uses_its_records_again(tmp_path):
    folder = tmp_path / "kept"
    assert study(folder).startswith("generating 2,000 light records: there are none")
    (records,) = folder.glob("*.jsonl")
    written = records.stat().st_mtime_ns
    assert "is as its manifest says" in study(folder)
    assert records.stat().st_mtime_ns == written


def test_the_study_trusts_no_file_that_differs(tmp_path):
    study(tmp_path)
    (records,) = tmp_path.glob("*.jsonl")
    sound = records.read_bytes()
    for spoilt, why in [(sound[:-1], "bytes instead of"), (b"?" + sound[1:], "digest")]:
        records.write_bytes(spoilt)
        said = study(tmp_path)
        assert said.startswith("generating 2,000 light records: ") and why in said
        assert records.read_bytes() == sound
    Path(f"{records}.manifest.json").unlink()
    assert "No such file" in study(tmp_path)
    assert "is as its manifest says" in study(tmp_path)


def test_the_study_takes_no_other_records(tmp_path):
    study(tmp_path, 1000)
    (records,) = tmp_path.glob("*.jsonl")
    for name in [records.name, records.name + ".manifest.json"]:
        (tmp_path / name).rename(tmp_path / name.replace("1000", "2000"))
    assert "holds others" in study(tmp_path, 2000)


@pytest.mark.parametrize("name", ["light", "medium", "heavy"])
def test_totals_are_as_published(tmp_path, name):
    done = script("totals.py", "--quick", "--sets", name, "--tmpdir", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name:<6}   100,000: read 100,000/100,000  lines out 100,000/100,000" in done.stdout
    assert done.stdout.count("  as published (") == 3 and "no difference" in done.stdout
    assert list(tmp_path.iterdir()) == []
