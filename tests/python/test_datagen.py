"""Generated files and their manifests."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gristmill as gm
from gristmill import datagen


@pytest.fixture
def generated(tmp_path):
    path = tmp_path / "records.jsonl"
    datagen.generate("medium", path, records=3000, seed=5, malformed_pct=12.5, range=(500, 2500))
    return path


def manifest_file(path: Path) -> Path:
    return Path(f"{path}.manifest.json")


def change(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_manifest_says_what_the_file_holds(generated):
    manifest = datagen.verify(generated)
    assert manifest == datagen.read_manifest(str(generated))
    assert (manifest.name, manifest.stream, manifest.seed) == ("medium", "fast", 5)
    assert (manifest.malformed_pct, manifest.large_documents, manifest.compress) == (12.5, False, "none")
    assert (manifest.range, manifest.records) == ((500, 2500), 2000)
    assert manifest.bytes == manifest.file_bytes == generated.stat().st_size
    assert 1600 < manifest.valid < 1900 and len(manifest.xxh3_128) == 32
    assert gm.run("medium", generated, on_error="skip").emitted == manifest.valid


def test_a_manifest_makes_the_file_again(generated, tmp_path):
    made = datagen.read_manifest(generated)
    datagen.generate(
        made.name, tmp_path / "again", records=made.range[1], range=made.range, seed=made.seed,
        malformed_pct=made.malformed_pct, stream=made.stream, compress=made.compress,
        large_documents=made.large_documents,
    )
    assert (tmp_path / "again").read_bytes() == generated.read_bytes()


@pytest.mark.parametrize("compress", ["zst", "gz"])
def test_compressed_files_are_verified_unpacked(tmp_path, compress):
    path = tmp_path / "records"
    datagen.generate("heavy", path, records=500, compress=compress)
    manifest = datagen.verify(path)
    assert manifest.compress == compress and manifest.file_bytes < manifest.bytes


@pytest.mark.parametrize("at", [0, 1000, -1])
def test_a_changed_byte_is_found(generated, at):
    change(generated, at)
    with pytest.raises(datagen.ManifestError, match="digest") as caught:
        datagen.verify(generated)
    assert caught.value.filename == str(generated)
    assert str(generated) in str(caught.value)
    change(generated, at)
    datagen.verify(generated)


@pytest.mark.parametrize("cut", [1, 1000])
def test_a_truncated_file_is_found(generated, cut):
    size = generated.stat().st_size
    generated.write_bytes(generated.read_bytes()[:-cut])
    with pytest.raises(datagen.ManifestError, match=f"{size - cut} bytes instead of {size}"):
        datagen.verify(generated)


@pytest.mark.parametrize("call", [datagen.verify, datagen.read_manifest])
def test_a_missing_manifest(generated, call):
    manifest_file(generated).unlink()
    with pytest.raises(gm.SourceError, match="No such file") as caught:
        call(generated)
    assert isinstance(caught.value, FileNotFoundError)
    assert not isinstance(caught.value, datagen.ManifestError)
    assert caught.value.filename == str(manifest_file(generated))


def test_a_missing_file(generated):
    generated.unlink()
    datagen.read_manifest(generated)
    with pytest.raises(FileNotFoundError) as caught:
        datagen.verify(generated)
    assert caught.value.filename == str(generated)


@pytest.mark.parametrize("call", [datagen.verify, datagen.read_manifest])
def test_a_manifest_of_another_version(generated, call):
    fields = json.loads(manifest_file(generated).read_text())
    manifest_file(generated).write_text(json.dumps(fields | {"format": fields["format"] + 1}))
    with pytest.raises(datagen.ManifestError, match="format 2; this version knows format 1"):
        call(generated)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 1}', '{"format": 1, "set": "dark"}', "\xff"])
def test_what_is_no_manifest(generated, text):
    manifest_file(generated).write_text(text, encoding="latin-1")
    with pytest.raises(datagen.ManifestError, match="is no manifest"):
        datagen.verify(generated)


def test_the_vocabulary_is_verified_too(tmp_path):
    path, vocabulary = tmp_path / "corpus", tmp_path / "corpus.vocab"
    datagen.generate("tokenize", path, records=20)
    datagen.verify(path)
    change(vocabulary, 100)
    with pytest.raises(datagen.ManifestError, match="vocabulary"):
        datagen.verify(path)
    vocabulary.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        datagen.verify(path)
    assert caught.value.filename == str(vocabulary)


def test_errors_are_of_a_kind_and_can_be_pickled(generated):
    change(generated, 7)
    with pytest.raises(gm.GristmillError) as caught:
        datagen.verify(generated)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is datagen.ManifestError and issubclass(datagen.ManifestError, (gm.SourceError, OSError))
    assert (str(again), again.filename, again.errno) == (str(caught.value), str(generated), None)


def test_progress_of_verify(generated):
    told = []
    datagen.verify(generated, progress=lambda *done: told.append(done))
    assert told[-1] == (2000, generated.stat().st_size)
    with pytest.raises(ZeroDivisionError):
        datagen.verify(generated, progress=lambda *_: 1 // 0)


@pytest.mark.parametrize("bad", [None, 3, ""])
def test_what_is_no_path(bad):
    with pytest.raises(gm.OptionError, match="path"):
        datagen.verify(bad)


def test_a_range_is_for_the_fast_stream_alone(tmp_path):
    with pytest.raises(gm.OptionError, match="fast stream"):
        datagen.generate("light", tmp_path / "x", records=10, range=(2, 5), stream="reference")
    assert list(tmp_path.iterdir()) == []


def gen(*arguments):
    command = [sys.executable, "-m", "gristmill", "gen", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=50)


@pytest.mark.parametrize("name", datagen.SETS)
def test_gen_makes_a_range_of_the_fast_stream(tmp_path, name):
    whole, parts = tmp_path / "whole", []
    assert gen(name, "--records", 300, "-o", whole).returncode == 0
    for begin, end in [(0, 1), (1, 200), (200, 300)]:
        part = tmp_path / f"from-{begin}"
        done = gen(name, "--records", 300, "--range", f"{begin}:{end}", "-o", part)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert datagen.verify(part).range == (begin, end)
        parts.append(part.read_bytes())
    assert b"".join(parts) == whole.read_bytes()


def test_gen_refuses_a_range_of_the_reference_stream(tmp_path):
    done = gen("light", "--records", 300, "--range", "0:10", "--stream", "reference", "-o", tmp_path / "x")
    assert (done.returncode, done.stdout) == (2, b"") and b"fast stream" in done.stderr
    assert list(tmp_path.iterdir()) == []
