"""Outputs that cannot be written: one error that names them, and nothing under the final name."""

import errno
import os
import subprocess

import pytest

import gristmill as gm


@pytest.fixture
def full_disk(tmp_path):
    """A file system with room for 256 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "gristmill-test", folder], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small tmpfs here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def used(folder) -> int:
    facts = os.statvfs(folder)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


def test_a_full_disk(full_disk, file, lines):
    target, source = full_disk / "out", file(lines)
    results = gm.map("identity", source)
    for write in (
        lambda: gm.run("identity", source, output=target),
        lambda: results.write(target),
        lambda: gm.datagen.generate("light", target, records=100_000),
    ):
        with pytest.raises(gm.OutputError) as caught:
            write()
        assert caught.value.errno == errno.ENOSPC
        assert (caught.value.filename, str(target) in str(caught.value)) == (str(target), True)
        assert os.listdir(full_disk) == []
        assert used(full_disk) == 0


def test_a_full_disk_keeps_what_was_there(full_disk, file, lines):
    target = full_disk / "out"
    target.write_bytes(b"before")
    with pytest.raises(gm.OutputError):
        gm.run("identity", file(lines), output=target)
    assert target.read_bytes() == b"before"


def test_dead_letters_on_a_full_disk(full_disk, file, plugin):
    source = file(b"!" + b"x" * 1000 + b"\n" + b"".join(b"!%d\n" % n for n in range(20_000)))
    with pytest.raises(gm.OutputError) as caught:
        gm.run(plugin("picky"), source, on_error="skip", errors_to=full_disk / "dead")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    "where, number, builtin",
    [
        ("no/such/out", errno.ENOENT, FileNotFoundError),
        ("file/out", errno.ENOTDIR, NotADirectoryError),
        (".", errno.EISDIR, IsADirectoryError),
    ],
)
def test_paths_that_cannot_be_written(tmp_path, file, where, number, builtin):
    file(b"", "file")
    target = str(tmp_path / where)
    source = file(b"a\n")
    for write in (
        lambda: gm.run("identity", source, output=target),
        lambda: gm.run("identity", source, on_error="skip", errors_to=target),
        lambda: gm.map("identity", source).write(target),
        lambda: gm.datagen.generate("light", target, records=1),
    ):
        with pytest.raises(builtin) as caught:
            write()
        assert isinstance(caught.value, gm.OutputError)
        assert (caught.value.errno, caught.value.filename) == (number, target)


def test_a_folder_that_we_may_not_write(tmp_path, unprivileged):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with unprivileged(), pytest.raises(PermissionError) as caught:
        gm.run("identity", [], output=folder / "out")
    assert isinstance(caught.value, gm.OutputError)
    assert (caught.value.filename, caught.value.errno) == (str(folder / "out"), errno.EACCES)


def test_a_device_that_is_full(file):
    with pytest.raises(gm.OutputError) as caught:
        gm.run("identity", file(b"a\n"), output="/dev/full")
    assert caught.value.errno == errno.ENOSPC


def test_a_descriptor_that_is_not_open(file):
    with pytest.raises(gm.OutputError) as caught:
        gm.run("identity", file(b"a\n"), output=9999)
    assert caught.value.errno == errno.EBADF


@pytest.mark.parametrize("fault", ["record", "source", "plugin"])
@pytest.mark.parametrize("existing", [None, b"before"])
def test_no_file_appears_under_the_final_name_on_error(tmp_path, file, plugin, fault, existing):
    target = tmp_path / "out"
    if existing is not None:
        target.write_bytes(existing)
    sources = [file(b"a\n" * 100_000), file(b"!b\n")] if fault == "record" else [file(b"a\n" * 100_000)]
    sources += [str(tmp_path / "missing")] if fault == "source" else []
    config = "spoil" if fault == "plugin" else ""
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(gm.GristmillError):
        gm.run(plugin("picky"), sources, output=target, config=config)
    assert sorted(os.listdir(tmp_path)) == before
    assert existing is None or target.read_bytes() == existing


def test_outputs_in_place(tmp_path, file):
    assert gm.run("identity", file(b"a\n"), output="/dev/null").output_records == 1
    (tmp_path / "link").symlink_to("real")
    gm.run("identity", file(b"b\n"), output=tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"b\n"


def test_dead_letters_are_private_and_follow_no_link(tmp_path, file, plugin):
    source, dead = file(b"!a\n"), tmp_path / "dead"
    gm.run(plugin("picky"), source, on_error="skip", errors_to=dead)
    assert dead.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(dead)
    with pytest.raises(gm.OutputError):
        gm.run(plugin("picky"), source, on_error="skip", errors_to=tmp_path / "link")
