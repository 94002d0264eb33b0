"""Rules of the engine: which room may include, call and order what."""

import re
from pathlib import PurePosixPath
from typing import Iterator

from tree import File, Finding, Rule, Tree, room_of

RANKS = {"input": 3, "work": 3, "output": 3, "ring": 2, "record": 2, "store": 2, "os": 1, "base": 0}
COMPOSITION_RANK = 4  # files that lie directly in engine/src
ROOMS_WITH_WEAK_ORDERS = {"ring"}


def include_arrows(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.is_cxx or not file.path.startswith(("engine/src/", "engine/include/")):
            continue
        if file.room and file.room not in RANKS:
            yield Finding(file.path, 1, "include-arrow", f"engine/src has no room '{file.room}': {_rooms()}")
            continue
        for number, line in enumerate(file.lines, 1):
            # The masked line tells an include from one in a comment; the plain one has its name.
            masked = file.masked_lines[number - 1].lstrip()
            found = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if found and masked.startswith("#"):
                if advice := _bad_include(tree, file, quoted=found[1] == '"', target=found[2]):
                    yield Finding(file.path, number, "include-arrow", advice)


def _rooms() -> str:
    return "the rooms are " + ", ".join(RANKS)


def _bad_include(tree: Tree, file: File, quoted: bool, target: str) -> str | None:
    """What to do about an include of an engine file, or None when it is allowed."""
    if target.startswith("gristmill/"):
        return None
    beside = str(PurePosixPath(file.path).parent / target)
    if ".." in target.split("/"):
        return f'write "{target}" from engine/src on, without ".."'
    if quoted and beside in tree.paths:
        return None  # a neighbour
    elif "engine/src/" + target in tree.paths or target.split("/")[0] in RANKS:
        there = room_of(target)
    else:
        return f'"{target}" is no file of the engine: include the world with <>' if quoted else None
    if file.room is None:
        return f"a public header includes only <...> and gristmill/...: take '{target}' out"
    if there == file.room:
        return None
    from_rank = RANKS.get(file.room, COMPOSITION_RANK)
    to_rank = RANKS.get(there, COMPOSITION_RANK)
    if to_rank < from_rank:
        return None
    what = "rooms of one rank never see each other" if to_rank == from_rank else "arrows point down"
    return (
        f"{file.room or 'engine.cpp'} (rank {from_rank}) may not include {target} (rank {to_rank}): {what};"
        " move what both need to a lower room, or pass it in from above"
    )


def _banned_text(rule: str, patterns: list[tuple[str, set[str], str]]) -> Rule:
    """A rule that bans patterns from the code below engine/src, but for the rooms that may use them."""

    def check(tree: Tree) -> Iterator[Finding]:
        for file in tree.files:
            if not file.is_cxx or file.room is None:
                continue
            stem = file.path.removeprefix("engine/src/").rsplit(".", 1)[0]
            for pattern, allowed, advice in patterns:
                if file.room in allowed or stem in allowed:
                    continue
                for number, line in enumerate(file.masked_lines, 1):
                    if found := re.search(pattern, line):
                        yield Finding(file.path, number, rule, f"'{found[0].strip()}': {advice}")

    return check


shared_ownership = _banned_text(
    "shared-ownership",
    [
        (
            r"\b(?:shared_ptr|make_shared|enable_shared_from_this)\b",
            set(),
            "one owner: hold it by value or unique_ptr",
        )
    ],
)

sleeps = _banned_text(
    "sleep",
    [
        (
            r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|sched_yield|pthread_yield"
            r"|this_thread::yield)\b|(?:^|[;{}])\s*(?:::)?sleep\s*\(",
            set(),
            "nothing polls: wait on an event count",
        )
    ],
)

printing = _banned_text(
    "print-or-exit",
    [
        (
            r"\b(?:(?:v?[fd]?printf|f?puts|putchar|fputc|perror)\s*\(|std::(?:cout|cerr|clog|print|println)\b)",
            {"base/check"},
            "the engine never prints: return it, or put it in the report",
        ),
        (
            r"(?<![\w.>])(?:exit|quick_exit|abort|std::terminate)\s*\(",
            {"base/check"},
            "the engine never exits: return a Result, or CHECK a programmer error",
        ),
        (r"\b_[eE]xit\s*\(", {"base/check", "os"}, "only os ends a process, a forked child of its own"),
    ],
)


def kernel_headers(tree: Tree) -> Iterator[Finding]:
    kernel = re.compile(
        r"\s*#\s*include\s*<((?:sys|linux|asm|net|netinet|arpa)/[^>]+|(?:unistd|fcntl|sched|dlfcn|poll|pthread|signal"
        r"|spawn|semaphore|mqueue|termios|pty|numa|numaif|hwloc)\.h|hwloc/[^>]+|csignal)>"
    )
    for file in tree.files:
        if file.is_cxx and file.path.startswith("engine/") and file.room != "os":
            for number, line in enumerate(file.masked_lines, 1):
                if found := kernel.match(line):
                    advice = f"<{found[1]}> is only for engine/src/os: call what os offers, or add it there"
                    yield Finding(file.path, number, "kernel-header", advice)


_WEAK_ORDER = re.compile(r"\bmemory_order(?:_|::\s*)(?:relaxed|acquire|release|acq_rel|consume)\b")
_ORDER_TAG = re.compile(r"//\s*order:\s*\S")


def memory_orders(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.is_cxx or not file.path.startswith("engine/"):
            continue
        tagged_before = -1  # the line, counted from 0, of the last weak order that was tagged
        for index, line in enumerate(file.masked_lines):
            if not (found := _WEAK_ORDER.search(line)):
                continue
            if file.room not in ROOMS_WITH_WEAK_ORDERS:
                advice = f"{found[0]} outside {_places()}: use seq_cst, or move the atomic there"
                yield Finding(file.path, index + 1, "memory-order", advice)
            if tagged_before == index - 1 >= 0 or _is_tagged(file, index):
                tagged_before = index
            else:
                advice = f"{found[0]}: say on this line, or right above, what it pairs with: // order: ..."
                yield Finding(file.path, index + 1, "memory-order", advice)


def _places() -> str:
    return ", ".join(f"engine/src/{room}" for room in sorted(ROOMS_WITH_WEAK_ORDERS))


def _is_tagged(file: File, index: int) -> bool:
    """Whether the statement around a line carries the tag, or directly follows a comment with it."""
    at = index
    while True:
        if _ORDER_TAG.search(file.lines[at]):
            return True
        above = file.masked_lines[at - 1].rstrip() if at > 0 else ""
        if not above or above.endswith((";", "{", "}", ":")):
            break
        at -= 1
    while at > 0 and file.lines[at - 1].lstrip().startswith("//"):
        at -= 1
        if _ORDER_TAG.search(file.lines[at]):
            return True
    return False
