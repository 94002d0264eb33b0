"""The benchmark of faults: a small run, and what it must not let pass."""

import json
import subprocess
import sys

import pytest

import gristmill as gm
from gristmill.bench import faults, faulty


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    return faulty.subjects(tmp_path_factory.mktemp("faulty"))


def test_a_small_run(tmp_path):
    kept = tmp_path / "kept.json"
    options = ["--records", "4000", "--kills", "2", "--trials", "1", "--big-gib", "0.01", "--hang-limit", "0.3"]
    command = [sys.executable, "-m", "gristmill", "bench", "faults", *options, "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(kept.read_text())
    rows = {name: [row for row in result["rows"] if row["table"] == name] for name in ("deaths", "failing", "isolation", "lost")}
    assert len(rows["deaths"]) == 12 and {row["deaths"] for row in rows["deaths"]} == {2}
    assert len(rows["failing"]) == 40
    assert {row["fault"].partition(",")[0] for row in rows["isolation"]} == {"SIGSEGV", "SIGKILL", "hang", "fails once"}
    ours, executor, pool = (row["outcome"] for row in rows["lost"])
    assert (ours, pool) == ("complete", "hangs") and executor in ("breaks, redone", "hangs")


@pytest.mark.parametrize("name", ["function, fork", "plugin"])
def test_function_and_plugin_do_what_records_say(tmp_path, subjects, name):
    subject = subjects[name]
    options = {"workers": 2, "on_error": "collect", **subject.options}
    for way, failed, deaths in ((faulty.KILL, 0, 3), (faulty.CRASH, 0, 3), (faulty.FAIL, 3, 0)):
        job = faulty.job(tmp_path / "records", 900, way, faulty.spread(900, 3))
        marks = tmp_path / f"marks{way.decode()[1:]}"
        marks.mkdir()
        results = gm.map(subject.payload(marks), job.path, batch_records=100, **options)
        assert bytes(results) == (job.output_without if failed else job.output)
        assert (results.report.failed, results.report.worker_deaths) == (failed, deaths)


def test_a_wrong_output_is_wrong(tmp_path, subjects, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["faults", "--records", "300", "--trials", "1"])
    bench = faults.Bench(faults.parse(), tmp_path)
    jobs = bench.two_jobs(faulty.KILL, 1)
    spoilt = faulty.Job(jobs[0].path, 300, (), jobs[0].output[:-1] + b"?", b"")
    with pytest.raises(faults.Wrong, match="plugin: wrong output without a fault"):
        bench.pairs(bench.subjects["plugin"], (spoilt, jobs[1]), lambda results: None)


def test_marked_records_are_spread():
    assert faulty.spread(100, 4) == (12, 37, 62, 87)
    assert faulty.spread(10, 5) == (1, 3, 5, 7, 9)
