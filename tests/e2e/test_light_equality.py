"""The light plugin, in every configuration, against its specification written in Python."""

import itertools
import json
import random
import sys
from pathlib import Path

import pytest

gm = pytest.importorskip("gristmill")

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import light_oracle  # noqa: E402

RECORDS = 4000
SPOILT = [b"", b"{", b"[]", b'{"eid":1}', b"nul", b"\xff\xfe", b'{"eid":"a","et":"view"}', b"{}x", b'"text"']


def record(draw: random.Random) -> bytes:
    """One event; of a hundred some are too short to count and some are no events at all."""
    kind = draw.randrange(100)
    if kind < 3:
        return draw.choice(SPOILT)
    event = {
        "eid": f"{draw.getrandbits(48):012x}" + draw.choice(["", "\u00e9", '"', "\\", "\x01", "\U0001f600"]),
        "uid": draw.randrange(1, 10**6),
        "iid": draw.randrange(1, 50_000),
        "et": draw.choice([*light_oracle.EVENTS, "nap"]),
        "ts": 1_700_000_000 + draw.randrange(10**7),
        "dur": draw.randrange(40, 120_000) if kind < 90 else draw.randrange(50),
        "dev": draw.choice([*light_oracle.DEVICES, "toaster"]),
    }
    separators = draw.choice([(",", ":"), (", ", ": ")])
    return json.dumps(event, ensure_ascii=draw.random() < 0.5, separators=separators).encode()


def expected(line: bytes) -> tuple[bytes, str]:
    """The output line, and what the record counts as."""
    try:
        result = light_oracle.light(line)
    except ValueError:
        return b"", "failed"
    return (b"", "filtered") if result is None else (result, "emitted")


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    draw = random.Random(20)
    return [record(draw) for _ in range(RECORDS)]


@pytest.fixture(scope="module")
def source(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("light") / "light.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@pytest.mark.parametrize("batch", [{"batch_records": 1}, {}, {"batch_bytes": 1 << 20}], ids=str)
def test_every_configuration_gives_the_same(batch: dict, lines: list[bytes], source: Path) -> None:
    rows = [expected(line) for line in lines]
    fates = [fate for _, fate in rows]
    whole = b"".join(row + b"\n" for row, _ in rows)
    for workers, nodes in itertools.product((0, 1, 2, 7), ("1", "@2", "@4")):
        results = gm.map("light", source, workers=workers, nodes=nodes, on_error="skip", **batch)
        assert list(results) == [row for row, _ in rows], (workers, nodes)
        assert bytes(results) == whole
        report = results.report
        counts = (report.read, report.emitted, report.filtered, report.failed)
        assert counts == (RECORDS, *(fates.count(fate) for fate in ("emitted", "filtered", "failed")))


def test_errors_name_the_malformed_records(lines: list[bytes], source: Path) -> None:
    spoilt = [i for i, line in enumerate(lines) if expected(line)[1] == "failed"]
    results = gm.map("light", source, workers=2, on_error="collect", batch_records=100)
    assert [error.index for error in results.errors] == spoilt
