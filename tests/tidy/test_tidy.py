"""The repository keeps the house rules, and each rule can fail."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cxx  # noqa: E402
import tidy  # noqa: E402


def make_tree(root: Path, files: dict[str, str]) -> None:
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def broken(root: Path, files: dict[str, str]) -> list[tuple[str, int, str]]:
    make_tree(root, files)
    return [(found.path, found.line, found.rule) for found in tidy.findings(root) if found.fatal]


def test_the_repository_is_tidy() -> None:
    found = [str(finding) for finding in tidy.findings(HERE.parent.parent) if finding.fatal]
    assert not found, "\n".join(["house rules broken:", *found])


SRC = "engine/src/"
LONG_CXX = "int f() {\n" + "    g();\n" * 69 + "}\n"
LONG_PYTHON = "def f():\n" + "    g()\n" * 70
MARKER = "fixme".upper()

# What is wrong: rule, file, its text, and the line that must be named.
BAD = {
    "upward include": ("include-arrow", SRC + "ring/a.hpp", '#include "work/loop.hpp"\n', 1),
    "include of an equal rank": ("include-arrow", SRC + "work/a.cpp", '\n#include "output/egress.hpp"\n', 2),
    "upward include in <>": ("include-arrow", SRC + "base/a.hpp", "#include <os/futex.hpp>\n", 1),
    "include of the composition": ("include-arrow", SRC + "work/a.cpp", '#include "engine.hpp"\n', 1),
    "include through ..": ("include-arrow", SRC + "work/a.cpp", '#include "../ring/ring.hpp"\n', 1),
    "include of the unknown": ("include-arrow", SRC + "work/a.cpp", '#include "elsewhere.hpp"\n', 1),
    "public header looks inside": ("include-arrow", "engine/include/gristmill/a.hpp", '#include "base/clock.hpp"\n', 1),
    "room that does not exist": ("include-arrow", SRC + "attic/a.cpp", "int a;\n", 1),
    "kernel header": ("kernel-header", SRC + "work/a.cpp", "#include <vector>\n#include <sys/mman.h>\n", 2),
    "kernel header in public": ("kernel-header", "engine/include/gristmill/a.hpp", "#include <unistd.h>\n", 1),
    "loader outside os": ("kernel-header", SRC + "work/a.cpp", "#include <dlfcn.h>\n", 1),
    "weak order without a tag": ("memory-order", SRC + "ring/a.cpp", "a.load(std::memory_order_relaxed);\n", 1),
    "weak order, enum spelling": ("memory-order", SRC + "ring/a.cpp", "a.load(std::memory_order::acquire);\n", 1),
    "tag too far above": (
        "memory-order",
        SRC + "ring/a.cpp",
        "// order: pairs with b\nint x = 0;\na.load(std::memory_order_acquire);\n",
        3,
    ),
    "weak order outside the ring": (
        "memory-order",
        SRC + "work/a.cpp",
        "a.load(std::memory_order_relaxed);  // order: counter\n",
        1,
    ),
    "shared ownership": ("shared-ownership", SRC + "work/a.cpp", "std::shared_ptr<int> a;\n", 1),
    "sleeping": ("sleep", SRC + "work/a.cpp", "std::this_thread::sleep_for(1ms);\n", 1),
    "yielding": ("sleep", SRC + "os/a.cpp", "std::this_thread::yield();\n", 1),
    "plain sleep": ("sleep", SRC + "os/a.cpp", "    ::sleep(1);\n", 1),
    "printf": ("print-or-exit", SRC + "os/a.cpp", 'printf("x");\n', 1),
    "cerr": ("print-or-exit", SRC + "work/a.cpp", 'std::cerr << "x";\n', 1),
    "exit": ("print-or-exit", SRC + "os/a.cpp", "std::exit(1);\n", 1),
    "_exit outside os": ("print-or-exit", SRC + "work/a.cpp", "_exit(1);\n", 1),
    "long file": ("file-length", "bench/a.py", "a = 1\n" * 501, 1),
    "long C++ function": ("function-length", "plugins/a.cpp", "int a;\n" + LONG_CXX, 2),
    "long Python function": ("function-length", "bench/a.py", LONG_PYTHON, 1),
    "unreadable Python": ("syntax", "bench/a.py", "a = 1\ndef (:\n", 2),
    "name without a topic": ("banned-name", SRC + "base/string_utils.hpp", "", 1),
    "folder without a topic": ("banned-name", "python/gristmill/helpers/a.py", "", 1),
    "marker": ("leftover", SRC + "base/a.hpp", f"int a;\n// {MARKER}: later\n", 2),
    "marker in prose": ("leftover", "README.md", f"{MARKER}\n", 1),
    "conflict": ("leftover", "engine/CMakeLists.txt", "<" * 7 + " HEAD\n", 1),
    "dead code": ("leftover", "plugins/a.c", "#if 0\n#endif\n", 1),
    "workplace path": ("machine-path", "scripts/run", "#!/bin/sh\ncd /" + "work/main\n", 2),
    "home path": ("machine-path", "README.md", "see /" + "home/someone/notes\n", 1),
}


@pytest.mark.parametrize("case", BAD)
def test_each_rule_can_fail(case: str, tmp_path: Path) -> None:
    rule, path, text, line = BAD[case]
    assert broken(tmp_path, {path: text}) == [(path, line, rule)]


def test_every_rule_has_a_case_that_fails() -> None:
    named = {rule for rule, *_ in BAD.values()}
    assert len(named) == len(tidy.RULES), sorted(named)


def test_the_path_of_the_clone_is_found(tmp_path: Path) -> None:
    text = f"build in {tmp_path.resolve()}/build\n"
    assert broken(tmp_path, {"README.md": text}) == [("README.md", 1, "machine-path")]


GOOD = {
    SRC + "engine.cpp": '#include "work/loop.hpp"\n#include "base/clock.hpp"\n#include "gristmill/engine.hpp"\n',
    SRC + "work/loop.hpp": '#include "ring/ring.hpp"\n#include "work/payload.hpp"\n#include "steal.hpp"\n',
    SRC + "work/steal.hpp": '// #include "output/egress.hpp"\n#include <vector>\n',
    SRC + "os/process.cpp": "#include <unistd.h>\nvoid f() { _exit(127); }\n",
    SRC + "base/check.cpp": 'void f() { std::fprintf(stderr, "x"); std::abort(); }\n',
    SRC + "base/bytes.hpp": 'auto s = "std::cout << 1; sleep_for(shared_ptr)";  // printf() and exit()\n'
    + 'int n = snprintf(b, 9, "%d", 1'
    + "'000);\n",
    SRC + "ring/ring.hpp": """
        a.store(1, std::memory_order_release);  // order: pairs with the load in claim()

        // order: pairs with the store in publish(),
        // which wrote the fields first
        if (a.compare_exchange_strong(
                b, c, std::memory_order_acq_rel, std::memory_order_relaxed)) {}

        // order: pure counters
        n.fetch_add(1, std::memory_order_relaxed);
        m.fetch_add(1, std::memory_order_relaxed);
        """,
    "bench/long_contract.py": 'def f():\n    """' + "contract\n" * 90 + '    """\n    return 1\n',
    "README.md": "see engine/src/work/ and build/release, or XXXX\n",
    "tests/data.bin": "\0" + MARKER,
}


def test_a_good_tree_passes(tmp_path: Path) -> None:
    assert broken(tmp_path, GOOD) == []


def test_ignored_files_are_not_looked_at(tmp_path: Path) -> None:
    assert broken(tmp_path, {".gitignore": "build/\n", "build/utils.md": MARKER}) == []


def test_lengths_over_the_aim_only_warn(tmp_path: Path) -> None:
    make_tree(tmp_path, {"bench/a.py": "def f():\n" + "    g()\n" * 41 + "a = 1\n" * 260})
    assert [(found.rule, found.fatal) for found in tidy.findings(tmp_path)] == [
        ("file-length", False),
        ("function-length", False),
    ]


def test_command_exits_1_on_a_finding(tmp_path: Path) -> None:
    make_tree(tmp_path, {"a.md": f"{MARKER}\n"})
    run = subprocess.run([sys.executable, str(HERE / "tidy.py"), str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stdout.startswith("a.md:1: leftover: ")


FUNCTIONS = '''
#define BROKEN {
namespace a::inner {
template <class T, int n = f(1)>
class alignas(64) Box final : public Base<T> {
public:
    explicit Box(int a) noexcept : x_{a}, y_(b), z_{} {
        auto f = [&] { return "}"; };
    }
    ~Box() override;
    bool operator()(int) const { return '{'; }
private:
    std::array<int, size()> x_ = {
        1, 2};
    int y_{f(3)};
    std::function<bool(int)> z_{};
};
template <class T>
    requires(sizeof(T) > 1)
void pick(T t) {
}
enum class Kind : uint8_t { one, two };
static const struct gm_plugin plugin = {sizeof(int), {1}};
auto raw() -> std::vector<int> {
    return R"x({{{)x";  // {
}
}  // namespace
extern "C" {
struct gm_state *make(void) {
    if (x) {
        for (;;) {}
    }
}
}
TEST(Ring, Claims) {
}
'''


def test_functions_of_cxx_are_found() -> None:
    found = [(function.name, function.length) for function in cxx.functions(cxx.mask(FUNCTIONS))]
    assert found == [
        ("Box", 3),
        ("operator()", 1),
        ("pick", 2),
        ("raw", 3),
        ("make", 5),
        ("TEST", 2),
    ]
