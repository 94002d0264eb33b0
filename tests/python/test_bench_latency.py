"""The benchmarks of small things: gristmill bench latency, gristmill bench transport."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

from gristmill.bench import latency, percentiles, pushes, transport, transports


def bench(name, folder, *arguments):
    kept = folder / "found.json"
    command = [sys.executable, "-m", "gristmill", "bench", name, *map(str, arguments), "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=folder)
    return done, json.loads(kept.read_text()) if kept.exists() else None


def rows_of(found, table):
    return [row for row in found["rows"] if row["table"] == table]


def test_latency_measures_calls_starts_and_pushes(tmp_path):
    done, found = bench("latency", tmp_path, "--calls", 20, "--warm", 2, "--starts", 1, "--pushes", 400, "--rounds", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = rows_of(found, "calls")
    assert [row["clock"] for row in calls] == ["call", "engine"] * 3 + ["call"]
    assert all(row["calls"] == 20 and 0 < row["p50_us"] <= row["p99_us"] <= row["max_us"] for row in calls)
    for call, engine in zip(calls[0:6:2], calls[1:6:2]):
        assert engine["mean_us"] < call["mean_us"]  # the report's clock runs inside the call
    starts = {row["subject"]: row for row in rows_of(found, "cold")}
    assert set(starts) == set(latency.STARTS) and "first_ms" not in starts["nothing"]
    for subject, row in starts.items():
        assert sum(row.get(step, 0) for step in latency.STEPS) < row["process_ms"], subject
    assert len(rows_of(found, "pushes")) == 8 and all(row["pushes_per_s"] > 0 for row in rows_of(found, "pushes"))


def test_transport_measures_every_way(tmp_path):
    done, found = bench("transport", tmp_path, "--sizes", "64,65536", "--iterations", 20, "--repetitions", 2,
                        "--turns", 2, "--warm", 2)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(found, "round_trips")
    assert [(row["message_bytes"], row["subject"]) for row in rows] == [
        (size, name) for size in (64, 65536) for name in transports.WAYS
    ]
    for row in rows:
        if "note" in row:
            assert row["subject"].startswith("ZeroMQ") and "pip install pyzmq" in row["note"]
            continue
        assert len(row["all_p50_us"]) == 4 and row["p50_us_min"] <= row["p50_us"] <= row["p50_us_max"]


def test_a_wrong_echo_has_no_row(monkeypatch, capsys):
    @contextmanager
    def stale(size):
        yield lambda message: bytes(size)

    monkeypatch.setattr(transport, "WAYS", {"pipe pair": stale})
    monkeypatch.setattr(sys, "argv", ["transport", "--sizes", "64", "--iterations", "2"])
    assert transport.main() == 1
    said = capsys.readouterr()
    assert "pipe pair: the echo of 64 bytes differs" in said.err and "by pipe" not in said.out


def test_a_wrong_stream_has_no_row(monkeypatch, capsys):
    monkeypatch.setattr(pushes, "call_plainly", lambda _, items: b"".join(items))
    monkeypatch.setattr(sys, "argv", ["latency", "--calls", "2", "--starts", "1", "--pushes", "50", "--rounds", "1"])
    assert latency.main() == 1
    said = capsys.readouterr()
    assert "items, plain loop: the output is not as expected" in said.err and "pushes/s" not in said.out


@pytest.mark.parametrize("count, p50, p99", [(1, 0, 0), (2, 0, 1), (100, 49, 98), (1000, 499, 989)])
def test_percentiles(count, p50, p99):
    assert percentiles.at(range(count), 50) == p50
    assert percentiles.at(range(count), 99) == p99


def test_a_text_is_cut_inside_its_lines():
    text = pushes.Text(500, 8)
    assert b"".join(text.fragments) == text.data and {len(each) for each in text.fragments} == {8}
    assert text.data.endswith(b"\n") and sum(each.endswith(b"\n") for each in text.fragments) < 250
