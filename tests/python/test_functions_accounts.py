"""Whatever becomes of each record, in whatever batches: the accounts add up, and the results are those
of a plain loop."""

import random

import pytest
from record_plays import OUTCOMES, play

import gristmill as gm

KINDS = {
    "raise": "ValueError", "bad": "BadReturnError", "exit": "SystemExit", "die": "WorkerCrashed", "stop": "PayloadTimeout",
}  # fmt: skip


def plain_loop(records, blank):
    """Results, failures as (index, kind), and counts of emitted, filtered and failed."""
    results, failures, counts = [], [], [0, 0, 0]
    for index, record in enumerate(records):
        outcome = record.split()[1].decode()
        if outcome in KINDS:
            failures.append((index, KINDS[outcome]))
            counts[2] += 1
            result = None
        else:
            result = play(record)
            counts[result is None] += 1
        if result is not None:
            results.append(result.encode() if isinstance(result, str) else result)
        elif blank:
            results.append(b"")
    return results, failures, counts


@pytest.mark.parametrize("seed", range(16))
def test_accounts_and_results_are_those_of_a_plain_loop(tmp_path, file, seed):
    rng = random.Random(seed)
    stuck = 0.4 if seed % 8 == 0 else 0
    weights = [rng.random() for _ in OUTCOMES[:-2]] + [rng.choice([0, 0.1]), stuck / 10]
    records = [b"%d %s" % (n, rng.choices(OUTCOMES, weights)[0].encode()) for n in range(rng.randrange(200))]
    if stuck:
        records = records[:60]
    blank = rng.random() < 0.5
    options = {
        "filtered": "blank" if blank else "drop", "workers": rng.choice([1, 2, 7]), "retries": rng.choice([0, 1, 2]),
        "order": rng.choice(["index", "index", "none"]), "start": "fork" if stuck else rng.choice(["fork", "fork", "fresh"]),
        **rng.choice([{"batch_records": 1}, {"batch_records": 7}, {"batch_records": 1000}, {"batches_per_worker": 1},
                      {"batch_records": 20, "batches_per_worker": 1}]),
        "timeout": 0.15 if stuck else None,
    }  # fmt: skip
    source = file(b"".join(record + b"\n" for record in records))
    results, failures, (emitted, filtered, failed) = plain_loop(records, blank)
    found = gm.map(play, source, on_error="collect", **options)
    report = found.report
    assert (report.read, report.emitted, report.filtered, report.failed) == (len(records), emitted, filtered, failed)
    if options["order"] == "index":
        assert list(found) == results
        assert [(error.index, error.kind) for error in found.errors] == failures
        assert bytes(found) == b"".join(result + b"\n" for result in results)
    else:
        assert sorted(found) == sorted(results)
        starts = [sum(len(r) + 1 for r in records[:index]) for index, _ in failures]
        assert sorted(error.offset for error in found.errors) == starts
    assert sum(node.records for node in report.nodes) == len(records)
    if not stuck:
        written = gm.run(play, source, on_error="skip", output=tmp_path / "out", errors_to=tmp_path / "dead", **options)
        assert (written.read, written.emitted, written.filtered, written.failed) == (
            len(records), emitted, filtered, failed,
        )  # fmt: skip
        if options["order"] == "index":
            assert (tmp_path / "out").read_bytes() == bytes(found)
        assert len((tmp_path / "dead").read_text().splitlines()) == failed


@pytest.mark.parametrize("seed", range(10))
def test_what_was_before_the_first_failure_is_delivered(tmp_path, file, seed):
    rng = random.Random(seed)
    weights = [10, 10, 10, 1, 10, 0.5, 0.5, 0.5, 0.5, 0]
    records = [b"%d %s" % (n, rng.choices(OUTCOMES, weights)[0].encode()) for n in range(150)]
    _, failures, _ = plain_loop(records, False)
    source = file(b"".join(record + b"\n" for record in records))
    first, kind = failures[0]
    with open(tmp_path / "out", "wb") as out, pytest.raises(gm.GristmillError) as caught:
        gm.run(play, source, output=out, workers=2, batch_records=rng.choice([1, 10, 1000]), retries=0)
    assert (caught.value.index, caught.value.kind) == (first, kind)
    before, _, _ = plain_loop(records[:first], False)
    assert (tmp_path / "out").read_bytes() == b"".join(result + b"\n" for result in before)
