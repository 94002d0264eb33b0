"""How plugins are named, found, loaded and configured."""

import shutil
from pathlib import Path

import pytest
from expected_records import picky

import gristmill as gm

DATA = b"one\ntwo\n"


@pytest.fixture
def source(file):
    return file(DATA)


def test_bundled_plugins(source):
    assert {"count", "identity", "light", "upper"} <= set(gm.plugins.names())
    for name in gm.plugins.names():
        assert Path(gm.plugins.path(name)).is_file()
    assert list(gm.map("upper", source)) == list(gm.map(gm.plugins.path("upper"), source)) == [b"ONE", b"TWO"]


def test_an_unknown_bundled_plugin_names_those_there_are(source):
    for call in (lambda: gm.map("lihgt", source), lambda: gm.plugins.path("lihgt")):
        with pytest.raises(gm.PluginError, match="identity, light") as caught:
            call()
        assert isinstance(caught.value, ImportError)
    with pytest.raises(gm.PluginError):
        gm.plugins.path("../plugins/light")


@pytest.mark.parametrize("kind", [str, Path, gm.Plugin, lambda path: gm.Plugin(Path(path))])
def test_paths(source, plugin, kind):
    assert list(gm.map(kind(plugin("picky")), source)) == [b"one", b"two"]


def test_a_path_beside_us_needs_no_slash(source, plugin, monkeypatch, tmp_path):
    shutil.copy(plugin("picky"), tmp_path / "mine.so")
    monkeypatch.chdir(tmp_path)
    assert list(gm.map("mine.so", source, config="-")) == [b"-one", b"-two"]


def test_home_is_expanded(source, plugin, monkeypatch, tmp_path):
    shutil.copy(plugin("picky"), tmp_path / "mine.so")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(gm.map("~/mine.so", source)) == len(gm.map("~/mine.so:other", source)) == 2


def test_symbols(source, plugin):
    path = plugin("picky")
    for payload in (f"{path}:other", gm.Plugin(path, "other"), gm.Plugin(path, symbol="gm_plugin")):
        assert len(gm.map(payload, source)) == 2
    for payload in (f"{path}:absent", gm.Plugin(path, symbol="absent")):
        with pytest.raises(gm.PluginLoadError, match="'absent'"):
            gm.map(payload, source)
    with pytest.raises(gm.OptionError, match="symbol is given twice"):
        gm.map(gm.Plugin(f"{path}:other", symbol="other"), source)


def test_a_file_whose_name_looks_like_a_symbol(source, plugin, tmp_path):
    odd = tmp_path / "a.so:other"
    shutil.copy(plugin("picky"), odd)
    assert len(gm.map(str(odd), source)) == 2


def test_configuration(source, plugin):
    path = plugin("picky")
    wanted = picky(DATA, b"> ")
    assert list(gm.map(path, source, config="> ")) == wanted
    assert list(gm.map(gm.Plugin(path, config="> "), source)) == wanted
    with gm.Engine(config="> ", workers=1) as engine:
        assert list(engine.map(path, source)) == wanted
        assert list(engine.map(path, source, config="")) == [b"one", b"two"]
    with pytest.raises(gm.OptionError, match="config is given twice"):
        gm.map(gm.Plugin(path, config="a"), source, config="b")


@pytest.mark.parametrize(
    "made, said",
    [
        (lambda path: None, "No such file"),
        (lambda path: path.mkdir(), "directory"),
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_text("int main;"), "not a shared object"),
        (lambda path: path.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(200)), "compiled for"),
    ],
)
def test_files_that_are_no_plugin(source, tmp_path, made, said):
    path = tmp_path / "bad.so"
    made(path)
    with pytest.raises(gm.PluginLoadError, match=said) as caught:
        gm.map(str(path), source)
    assert str(path) in str(caught.value) and caught.value.path == str(path)


@pytest.mark.parametrize("payload", [None, 3, b"light", {}, [], ()])
def test_payloads_of_a_wrong_type(source, payload):
    with pytest.raises(TypeError, match="payload takes a function, a plugin .* or a command"):
        gm.map(payload, source)


def test_a_plugin_that_refuses_to_start(source, plugin):
    with pytest.raises(gm.PluginError, match="refused by its configuration") as caught:
        gm.map(plugin("picky"), source, config="refuse")
    assert not isinstance(caught.value, gm.RecordError)


def test_a_plugin_that_fails_whole_batches(source, plugin):
    # It is asked again record by record, and fails each.
    with pytest.raises(gm.RecordError, match="failed the batch") as caught:
        gm.map(plugin("picky"), source, config="spoil")
    assert caught.value.index == 0
    results = gm.map(plugin("picky"), source, config="spoil", on_error="skip")
    assert (len(results), results.report.failed) == (0, 2)


def test_the_installed_headers_are_enough_for_cxx(source, plugin):
    assert list(gm.map(plugin("doubled"), source)) == [b"oneone", b"twotwo"]


def test_plugins_are_values():
    assert gm.Plugin("a.so", config="x") == gm.Plugin("a.so", None, "x")
    with pytest.raises(AttributeError):
        gm.Plugin("a.so").path = "b.so"
