"""Plugin and twin on the reference stream, whole and with spoilt records, and on the fast stream."""

import hashlib
from itertools import islice

import pytest
import record_makers

SETS = ["light", "medium", "heavy", "tokenize"]
DIGESTS = {  # of the first 50,000 lines
    "light": "9f6edb49c6ad7f2a04474e7f36b58723839c67192df8c72e59aa12f86112694d",
    "medium": "cdd6f5daa72f4af53c7d9432b0e959370c4ac360b21349dc40fde72f9ebc2f16",
    "heavy": "0e294e6db7acc18ebee1c02e94212b807015d8d20b3ca5cf2ef94bd9da410c99",
}
DROPPED = {"light": 0, "medium": 13, "heavy": 7}  # of the first 20,000


@pytest.mark.parametrize("name", DIGESTS)
def test_records_made_here_are_the_published_ones(name):
    digest = hashlib.sha256()
    for record in islice(record_makers.stream(name), 50000):
        digest.update(record + b"\n")
    assert digest.hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("name", SETS)
def test_reference_stream(pair_of, name):
    verdicts = pair_of(name).compare(islice(record_makers.stream(name), 20000))
    kinds = [verdict.kind for verdict in verdicts]
    assert "failed" not in kinds
    if name in DROPPED:
        assert kinds.count("filtered") == DROPPED[name]
    else:
        assert 0 < kinds.count("filtered") < 2000


@pytest.mark.parametrize("name", SETS)
def test_reference_stream_with_spoilt_records(pair_of, name):
    verdicts = pair_of(name).compare(islice(record_makers.stream(name, malformed_pct=20), 10000))
    kinds = [verdict.kind for verdict in verdicts]
    assert kinds.count("failed") > 500 and kinds.count("filtered") > 300 and kinds.count("emitted") > 7000


@pytest.mark.parametrize("malformed_pct", [0, 20])
@pytest.mark.parametrize("stream", ["reference", "fast"])
@pytest.mark.parametrize("name", SETS)
def test_generated_files(pair_of, tmp_path, name, stream, malformed_pct):
    datagen = pytest.importorskip("gristmill.datagen")
    if name not in datagen.SETS or stream not in datagen.STREAMS:
        pytest.skip(f"gristmill.datagen makes no {stream} stream of {name}")
    path = tmp_path / "records.jsonl"
    datagen.generate(name, path, records=5000, stream=stream, malformed_pct=malformed_pct)
    records = path.read_bytes().split(b"\n")
    assert records.pop() == b"" and len(records) == 5000
    pair_of(name).compare(records)
