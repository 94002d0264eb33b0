"""``gristmill plugin new`` and ``build``: what they make works and is up to date. For ``check`` see
test_plugin_workshop_check.py."""

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import gristmill as gm
from gristmill import workshop
from gristmill.workshop.building import dependencies

SHOUT = """
#include "greeting.h"
#include <gristmill/plugin.h>
static int process(void *state, const gm_batch *batch, gm_output *out) {
    (void)state; (void)batch; (void)out;
    return GM_OK;
}
GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION, .struct_size = sizeof(struct gm_plugin),
    .name = GREETING, .process = process};
"""


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder to be in, with a cache of its own and the usual compilers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def shout(workplace):
    (workplace / "greeting.h").write_text('#define GREETING "hello"\n')
    source = workplace / "shout.c"
    source.write_text(SHOUT)
    for file in workplace.glob("*.[ch]"):
        os.utime(file, (time.time() - 60, time.time() - 60))  # edited before the build, not during it
    return source


def gristmill(*arguments, **options):
    """Runs the installed command; stdout and stderr as text."""
    command = [str(Path(sys.executable).parent / "gristmill"), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, text=True, **options)


# --- new


@pytest.mark.parametrize("option, suffix", [((), "c"), (("--c",), "c"), (("--cpp",), "cpp")])
def test_a_new_plugin_works_as_it_is(workplace, option, suffix):
    made = gristmill("plugin", "new", "my_plugin", *option)
    assert (made.returncode, made.stderr) == (0, "")
    assert sorted(os.listdir("my_plugin")) == ["expected.txt", f"my_plugin.{suffix}", "sample.txt"]
    script = "\n".join(line for line in made.stdout.splitlines() if line.startswith("    "))
    assert "plugin build" in script and "plugin check" in script and "map" in script
    folder = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script.replace("--on-error skip |", "--on-error skip 2>errors |")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PATH": folder},
    )
    assert "keeps the plugin ABI: 18 steps, 18 ok" in done.stdout
    assert done.returncode == 3 and "as expected" not in done.stdout  # pipefail: a record failed, as it should
    done = subprocess.run(["bash", "-e", "-c", script], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PATH": folder}, stderr=subprocess.PIPE)
    assert done.returncode == 0 and done.stdout.endswith("as expected\n")
    assert done.stderr == "gristmill: 1 of 5 records failed\n"


@pytest.mark.parametrize("suffix", ["c", "cpp"])
def test_a_new_plugin_shows_every_outcome(workplace, suffix):
    source, sample, expected = workshop.create("mine", suffix)
    assert not workshop.build(source).warnings
    results = gm.map("mine/mine.so", str(sample), on_error="collect", delimiter=b"\n")
    report = results.report
    assert (report.read, report.emitted, report.filtered, report.failed) == (5, 3, 1, 1)
    assert b"".join(record + b"\n" for record in results) == expected.read_bytes()
    assert results.errors[0].index == 3 and results.errors[0].reason == "the record is empty"
    with pytest.raises(gm.PluginError, match="mine takes no configuration"):
        gm.map("mine/mine.so", str(sample), config="x")


def test_new_overwrites_nothing(workplace):
    assert gristmill("plugin", "new", "mine").returncode == 0
    Path("mine/mine.c").write_text("precious")
    again = gristmill("plugin", "new", "mine", "--cpp")
    assert (again.returncode, again.stdout) == (2, "") and "'mine' exists already" in again.stderr
    assert Path("mine/mine.c").read_text() == "precious" and not Path("mine/mine.cpp").exists()


@pytest.mark.parametrize("name", ["", "-x", "a/b", "..", "a.so", "a b", "1st", "ä", "a\n", "x" * 64])
def test_new_refuses_bad_names(workplace, name):
    with pytest.raises(gm.OptionError, match="no name for a plugin"):
        workshop.create(name)
    assert not os.listdir(workplace)


def test_new_goes_where_it_is_told(workplace):
    assert "no-such/mine' cannot be made: No such file" in gristmill("plugin", "new", "mine", "--dir", "no-such").stderr
    Path("there now").mkdir()
    made = gristmill("plugin", "new", "mine", "--dir", "there now")
    assert Path("there now/mine/mine.c").is_file() and "cd 'there now/mine'" in made.stdout


# --- build


def test_build_says_what_it_did(shout):
    done = gristmill("plugin", "build", "shout.c")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("built shout.so (by ")
    again = gristmill("plugin", "build", "shout.c", "-o", "other.so")
    assert "built other.so (from the cache" in again.stdout
    assert Path("other.so").read_bytes() == Path("shout.so").read_bytes()
    assert os.access("other.so", os.X_OK)


def test_the_cache_knows_all_that_goes_in(shout, monkeypatch):
    def cached(**options):
        return workshop.build(shout, **options).cached

    assert not cached() and cached()
    shout.with_name("greeting.h").write_text('#define GREETING "hallo"\n')
    os.utime("greeting.h", (1, 1))  # older than what was built: the content counts, not the time
    assert not cached() and cached()
    assert b"hallo" in Path("shout.so").read_bytes()
    shout.write_text(SHOUT + "/* longer */\n")
    os.utime(shout, (1, 1))
    assert not cached() and cached()
    assert not cached(debug=True) and not cached(native=True) and not cached(extra=["-DX"])
    assert cached(debug=True) and cached(native=True) and cached(extra=["-DX"]) and cached()
    monkeypatch.setenv("CC", "cc -DY")
    assert not cached()


def test_another_compiler_under_the_same_name_builds_anew(shout, workplace, monkeypatch):
    version = workplace / "version"
    version.write_text("mycc 1")
    wrapper = workplace / "mycc"
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec cat {version}\nexec cc "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    assert not workshop.build(shout).cached
    assert workshop.build(shout).cached and workshop.build(shout).by == "mycc 1"
    version.write_text("mycc 2")
    assert not workshop.build(shout).cached


@pytest.mark.parametrize("spoil", [
    lambda entry: entry.with_suffix(".so").write_bytes(b"\x7fELF"),
    lambda entry: entry.with_suffix(".so").unlink(),
    lambda entry: entry.write_text("{"),
    lambda entry: entry.write_text("[]"),
    lambda entry: entry.write_text('{"inputs": {}}'),
])
def test_a_spoilt_cache_costs_time_only(shout, workplace, spoil):
    good = workshop.build(shout).path.read_bytes()
    (entry,) = (workplace / "cache/gristmill/plugins").glob("*.json")
    spoil(entry)
    built = workshop.build(shout)
    assert not built.cached and built.path.read_bytes() == good
    assert workshop.build(shout).cached


def test_without_a_cache_it_builds_all_the_same(shout, workplace, monkeypatch):
    (workplace / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(workplace / "file"))
    assert not workshop.build(shout).cached and not workshop.build(shout).cached


def test_a_file_that_changes_during_the_build_is_not_kept(shout, monkeypatch):
    wrapper = shout.with_name("editing")
    wrapper.write_text('#!/bin/sh\ncase $1 in --version) exec cc "$@";; esac\ncc "$@"\n'
                       "echo '#define GREETING \"late\"' > greeting.h\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    workshop.build(shout)
    assert not workshop.build(shout).cached


def test_warnings_are_shown_from_the_cache_too(shout):
    shout.write_text(SHOUT + "static int unused(void) { return 0; }\n")
    os.utime(shout, (1, 1))
    for cached in (False, True):
        built = workshop.build(shout)
        assert built.cached == cached and "unused" in built.warnings


def test_the_cache_stays_small(shout, workplace, monkeypatch):
    monkeypatch.setattr("gristmill.workshop.cache._ENTRIES_MAX", 3)
    for number in range(5):
        workshop.build(shout, extra=[f"-DN={number}"])
    assert len(list((workplace / "cache/gristmill/plugins").iterdir())) == 6
    assert workshop.build(shout, extra=["-DN=4"]).cached


def test_many_builds_at_once(shout):
    targets = [f"{number}.so" for number in range(6)]
    threads = [threading.Thread(target=workshop.build, args=(shout, target)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({Path(target).read_bytes() for target in targets}) == 1
    assert not list(shout.parent.glob(".*"))


def test_arguments_for_the_compiler(shout):
    shout.write_text(SHOUT.replace("return GM_OK", "return LIMIT"))
    failed = gristmill("plugin", "build", "shout.c")
    assert failed.returncode == 2 and "LIMIT" in failed.stderr
    assert gristmill("plugin", "build", "shout.c", "-o", "x.so", "--", "-DLIMIT=0", "-lm").returncode == 0
    assert gristmill("plugin", "build", "--debug", "shout.c", "--", "-DLIMIT=0").returncode == 0
    assert b".debug_info" in Path("shout.so").read_bytes() and b".debug_info" not in Path("x.so").read_bytes()
    assert gristmill("plugin", "build", "shout.c", "-DLIMIT=0").returncode == 2  # not behind --


@pytest.mark.parametrize("edit, said, way_out", [
    (lambda text: text.replace("return GM_OK;", "return GM_OK"), "error: expected", "first error above"),
    (lambda text: '#include "nowhere.h"\n' + text, "nowhere.h", "a header is missing"),
    (lambda text: text.replace("return GM_OK", "extern int far(void); return far()"), "far", "-- -lNAME"),
])
def test_what_does_not_compile(shout, edit, said, way_out):
    Path("shout.so").write_bytes(b"the one before")
    shout.write_text(edit(SHOUT))
    failed = gristmill("plugin", "build", "shout.c")
    *compiler, last = failed.stderr.splitlines()
    assert failed.returncode == 2 and failed.stdout == ""
    assert said in "\n".join(compiler) and "shout.c" in failed.stderr
    assert last.startswith("gristmill: 'shout.c' does not compile: ") and way_out in last
    assert Path("shout.so").read_bytes() == b"the one before"
    assert sorted(path.name for path in shout.parent.iterdir()) == ["greeting.h", "shout.c", "shout.so"]


def test_missing_compilers_are_named(shout, monkeypatch):
    monkeypatch.setenv("CC", "no-such-cc -O2")
    with pytest.raises(gm.OptionError, match="CC names the compiler 'no-such-cc', which cannot be found"):
        workshop.build(shout)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(gm.GristmillError, match="none of cc, gcc, clang can be found; install one .apt-get install gcc"):
        workshop.build(shout)


@pytest.mark.parametrize("name, said", [
    ("absent.c", "cannot be read: No such file"),
    ("shout.py", "neither C nor C.. by its name"),
    ("folder.c", "cannot be read: Is a directory"),
])
def test_sources_that_are_none(shout, name, said):
    Path("shout.py").write_text("")
    Path("folder.c").mkdir()
    with pytest.raises(gm.SourceError, match=said):
        workshop.build(name)


def test_targets_that_are_none(shout):
    with pytest.raises(gm.OutputError, match="is the source itself"):
        workshop.build(shout, shout)
    with pytest.raises(gm.OutputError, match="no-such/x.so' cannot be written: No such file"):
        workshop.build(shout, "no-such/x.so")
    assert shout.read_text() == SHOUT


def test_odd_names(workplace):
    folder = workplace / "a $folder #1"
    folder.mkdir()
    (folder / "a header.h").write_text('#define GREETING "hello"\n')
    source = folder / "it's.c"
    source.write_text(SHOUT.replace("greeting.h", "a header.h"))
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    assert not workshop.build(source).cached and workshop.build(source).cached
    (folder / "a header.h").write_text('#define GREETING "changed"\n')
    assert not workshop.build(source).cached


def test_dependencies_of_a_make_rule():
    rule = "out.so: a.c my\\ header.h \\\n cost$$.h \\\n  odd\\#1.h\n"
    assert dependencies(rule) == ("a.c", "my header.h", "cost$.h", "odd#1.h")
    assert dependencies("") == ()


def test_a_sanitizer_may_be_asked_for(shout):
    assert workshop.build(shout, extra=["-fsanitize=undefined"]).path.is_file()


# --- where it all lies


def test_the_installed_parts():
    assert os.stat(workshop.checker()).st_mode & stat.S_IXUSR
    assert (Path(gm.plugins.include_dir()) / "gristmill" / "plugin.hpp").is_file()
    assert subprocess.run([workshop.checker(), "--help"], stdout=subprocess.PIPE).returncode == 0


def test_the_checker_does_not_know_the_engine():
    sources = list((Path(__file__).resolve().parents[2] / "plugins" / "workshop").glob("*.?pp"))
    included = {name for file in sources for name in re.findall(r"#include (\S+)", file.read_text())}
    assert {name for name in included if "/" in name and not name.startswith("<sys/")} == {"<gristmill/plugin.h>"}
    assert {name.strip('"') for name in included if name.startswith('"')} <= {file.name for file in sources}


def test_a_build_tree_has_them_elsewhere(tmp_path):
    installed, clone, build = Path(gm._core.__file__).parent, tmp_path / "clone", tmp_path / "build"
    shutil.copytree(Path(gm.__file__).parent, clone / "python" / "gristmill",
                    ignore=shutil.ignore_patterns("_core*.so", "include", "plugins", "plugin_check", "skeletons"))
    for source, target in [("include", clone / "engine" / "include"), ("plugins", build / "plugins"),
                           ("skeletons", clone / "plugins" / "workshop" / "skeletons")]:
        shutil.copytree(installed / source, target)
    (build / "python").mkdir()
    (build / "plugins" / "workshop").mkdir()
    shutil.copy(installed / "plugin_check", build / "plugins" / "workshop")
    core = shutil.copy(gm._core.__file__, build / "python")
    (clone / "python" / "gristmill" / Path(core).name).symlink_to(core)
    script = ("import sys, gristmill as gm; from gristmill import workshop, cli; print(gm.__file__);"
              "source, *_ = workshop.create('mine', 'cpp'); built = workshop.build(source);"
              "sys.exit(cli.main(['plugin', 'check', str(built.path)]) or cli.main(['plugin', 'check', 'upper']))")
    environment = {**os.environ, "PYTHONPATH": str(clone / "python"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stdout.startswith(str(clone)) and done.stdout.count("18 ok") == 2
    shutil.rmtree(build / "plugins" / "workshop")
    missing = subprocess.run([sys.executable, "-m", "gristmill", "plugin", "check", "upper"], cwd=tmp_path,
                             env=environment, stderr=subprocess.PIPE, text=True)
    assert missing.returncode == 2 and "plugin_check is missing from this installation" in missing.stderr
