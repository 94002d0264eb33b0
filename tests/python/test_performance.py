"""PERFORMANCE.md says what the committed results say."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
RESULTS = sorted((BENCH / "results").glob("*/"))[-1]


def performance(*arguments):
    command = [sys.executable, str(BENCH / "performance.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_it_is_what_template_and_results_give():
    done = performance("--check")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def copied(tmp_path):
    """A folder of results of our own."""
    folder = tmp_path / "results"
    shutil.copytree(RESULTS, folder)
    return folder


def test_a_number_that_changed_is_seen(copied):
    study = json.loads((copied / "study.json").read_text())
    for row in study["rows"]:
        if row["records_per_s"]:
            row["records_per_s"] *= 2
    (copied / "study.json").write_text(json.dumps(study))
    done = performance("--check", "--results", copied)
    assert done.returncode == 1 and "run bench/performance.py" in done.stderr


def test_a_number_that_is_not_there_is_an_error(copied, tmp_path):
    (copied / "udf.json").unlink()
    done = performance("--results", copied, "--output", tmp_path / "out.md")
    assert done.returncode != 0 and "udf" in done.stderr and not (tmp_path / "out.md").exists()

