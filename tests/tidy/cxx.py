"""Just enough C++ to check house rules: text without comments and literals, and where functions are."""

import re
from typing import Iterator, NamedTuple

_LITERAL = re.compile(
    r"""
      (?P<line>   //(?:\\\n|[^\n])* )
    | (?P<block>  /\*.*?(?:\*/|\Z) )
    | (?P<raw>    R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)" )
    | (?P<string> "(?:\\.|[^"\\\n])*" )
    | (?P<char>   (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+' )
    """,
    re.DOTALL | re.VERBOSE,
)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_NOT_NEWLINE = re.compile(r"[^\n]")


class Function(NamedTuple):
    name: str
    first_line: int  # the line of the opening brace
    last_line: int  # the line of the closing brace

    @property
    def length(self) -> int:
        return self.last_line - self.first_line + 1


def mask(source: str) -> str:
    """The source with comments and literals blanked; every line and column stays where it was."""

    def blank(found: re.Match[str]) -> str:
        text = found.group()
        if found.lastgroup in ("line", "block"):
            return _NOT_NEWLINE.sub(" ", text)
        return '"' + _NOT_NEWLINE.sub(" ", text[1:-1]) + '"'

    return _LITERAL.sub(blank, source)


def functions(masked: str) -> Iterator[Function]:
    """The outermost function bodies of a masked source; a lambda or local class belongs to its function.

    A heuristic, not a parser: a brace opens a body when the text before it, back to the last
    statement or scope, has a parameter list and is neither a type, a namespace nor an initialiser.
    """
    text = _PREPROCESSOR.sub(lambda found: _NOT_NEWLINE.sub(" ", found.group()), masked)
    start = 0  # where the text before the next brace begins
    at = 0
    while at < len(text):
        letter = text[at]
        if letter in ";}":
            start = at + 1
        elif letter == "{":
            kind = _kind(text[start:at])
            if kind == "scope":
                start = at + 1
            else:
                end = _closing(text, at)
                if kind == "body":
                    yield Function(
                        _name(text[start:at]), text.count("\n", 0, at) + 1, text.count("\n", 0, end) + 1
                    )
                    start = end + 1
                at = end
        at += 1


def _closing(text: str, opening: int) -> int:
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.start()
    return len(text) - 1


def _flat(head: str) -> str:
    """`head` with what stands in parentheses, braces and template parameter lists taken out."""
    kept, depth = [], 0
    for letter in head:
        depth -= letter in ")}"
        if depth <= 0:
            kept.append(letter)
        depth += letter in "({"
    head = "".join(kept)
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\(\)", " ", head)
    while found := re.search(r"\btemplate\s*<", head):
        depth, end = 1, found.end()
        while end < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: found.start()] + " " + head[end:]
    return re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", head).strip()


def _kind(head: str) -> str:
    """What the brace after `head` opens: a "scope" to look into, a function "body", or a "value"."""
    flat = _flat(head)
    if re.match(r"(?:inline\s+)?namespace\b|extern\s*\"[^\"]*\"$", flat):
        return "scope"
    if re.match(r"(?:typedef\s+)?(?:class|struct|union|enum)\b(?![^(:]*\()", flat):
        return "value" if flat.startswith("enum") else "scope"
    if "()" not in flat or flat.count("(") != flat.count(")") or re.search(r"(?:=|,|\breturn)$", flat):
        return "value"
    if re.search(r"\)[^:]*(?<!:):(?!:).*[\w>]$", flat, re.DOTALL):
        return "value"  # a member that a constructor initialises with braces
    if re.search(r"\)\s*>[^()]*\w$", flat):
        return "value"  # a variable whose type has a signature in it
    return "body"


def _name(head: str) -> str:
    for found in re.finditer(r"(operator\s*\S+?|[\w:~]+)\s*\(", _flat(head)):
        if found[1] not in ("requires", "explicit", "decltype", "noexcept"):
            return found[1]
    return "function"
