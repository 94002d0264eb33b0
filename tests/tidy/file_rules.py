"""Rules of every file: size, names, and what must not be left behind."""

import ast
import re
from pathlib import PurePosixPath
from typing import Iterator

import cxx
from tree import PROSE_SUFFIXES, File, Finding, Tree

FILE_LINES_AIM, FILE_LINES_LIMIT = 300, 500
FUNCTION_LINES_AIM, FUNCTION_LINES_LIMIT = 40, 70
BANNED_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}



def _length(rule: str, path: str, line: int, what: str, lines: int, aim: int, limit: int) -> Iterator[Finding]:
    if lines > limit:
        yield Finding(path, line, rule, f"{what} has {lines} lines, the limit is {limit}: split it by topic")
    elif lines > aim:
        yield Finding(path, line, rule, f"{what} has {lines} lines, aim for {aim}", fatal=False)


def file_length(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.is_code:
            count = len(file.lines)
            yield from _length("file-length", file.path, 1, "the file", count, FILE_LINES_AIM, FILE_LINES_LIMIT)


def function_length(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.is_cxx:
            found = cxx.functions(file.masked)
        elif file.is_python:
            found = _python_functions(file)
        else:
            continue
        for name, first, last in found:
            count, what = last - first + 1, f"{name}()"
            yield from _length(
                "function-length", file.path, first, what, count, FUNCTION_LINES_AIM, FUNCTION_LINES_LIMIT
            )


def _python_functions(file: File) -> Iterator[cxx.Function]:
    """Every function, from its `def` or the end of its docstring (a contract, not code) to its last line."""
    try:
        module = ast.parse(file.text)
    except SyntaxError:
        return  # `syntax` reports it
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.lineno
            if ast.get_docstring(node, clean=False) is not None:
                first = node.body[0].end_lineno or first
            yield cxx.Function(node.name, first, node.end_lineno or first)


def syntax(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if file.is_python:
            try:
                ast.parse(file.text)
            except SyntaxError as error:
                yield Finding(file.path, error.lineno or 1, "syntax", f"Python cannot read this: {error.msg}")


def banned_names(tree: Tree) -> Iterator[Finding]:
    for path in sorted(tree.paths):
        for part in PurePosixPath(path).parts:
            if words := BANNED_NAMES.intersection(re.split(r"[_.\-]", part.lower())):
                advice = f"'{words.pop()}' names no topic: call it after what it does"
                yield Finding(path, 1, "banned-name", advice)
                break


# Written in small letters, so that this file does not find itself.
_MARKERS = "|".join("todo fixme xxx hack wip tbd nocommit".upper().split())
_LEFTOVERS = [
    (re.compile(rf"\b(?:{_MARKERS})\b"), "do it now, or file it as an issue"),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)"), "finish the merge"),
    (re.compile(r"^\s*#\s*if\s+0\b"), "delete dead code: git remembers it"),
    (re.compile(r"\b(?:breakpoint|pdb\.set_trace)\s*[(]"), "take the debugger out"),
]


def leftovers(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        if not file.is_code and file.suffix not in PROSE_SUFFIXES:
            continue
        for number, line in enumerate(file.lines, 1):
            for pattern, advice in _LEFTOVERS:
                if found := pattern.search(line):
                    yield Finding(file.path, number, "leftover", f"'{found[0].strip()}': {advice}")


def machine_paths(tree: Tree) -> Iterator[Finding]:
    places = [re.escape(tree.root) if tree.root.count("/") > 1 else None]
    places += [r"/[w]ork/\w*", r"/[t]mp/h\d*", r"/root/\w+", r"/home/[a-z]\w*"]  # [ ]: not to find this line
    pattern = re.compile(r"(?<![\w.})\]*$/-])(?:" + "|".join(filter(None, places)) + r")(?!\w)")
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            if found := pattern.search(line):
                advice = f"'{found[0]}' is a path of one machine: make it relative, or find it at run time"
                yield Finding(file.path, number, "machine-path", advice)
