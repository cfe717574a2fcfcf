# SPDX-License-Identifier: Apache-2.0
"""C++ as text: enough of its grammar to leave things out and to nest namespaces, and no more."""

import re
from collections.abc import Callable, Iterator

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
PAIRS = {"(": ")", "{": "}", "[": "]"}


def blank(text: str) -> str:
    """The same length, with comments, strings and characters as spaces between quotes: brackets can be counted."""

    def hide(match: re.Match[str]) -> str:
        found = match[0]
        if found.startswith("'") and match.start() > 0 and text[match.start() - 1].isalnum():
            return found  # a separator of digits
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        return '"' + re.sub(r"[^\n]", " ", found[1:-1]) + '"'

    return TOKEN.sub(hide, text)


def without_comments(text: str) -> str:
    def drop(match: re.Match[str]) -> str:
        return "" if match[0].startswith(("//", "/*")) else match[0]

    lines = TOKEN.sub(drop, text).split("\n")
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def closing(masked: str, at: int) -> int:
    """Where the bracket at `at` closes."""
    opener, closer, depth = masked[at], PAIRS[masked[at]], 0
    for i in range(at, len(masked)):
        if masked[i] == opener:
            depth += 1
        elif masked[i] == closer:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError(f"a bracket does not close: {masked[at : at + 80]!r}")


def without_calls(text: str, names: list[str]) -> str:
    """Leaves out the links `.name(...)` of chains of calls."""
    pattern = re.compile(rf"\s*\.(?:{'|'.join(names)})\(")
    masked = blank(text)
    kept, last = [], 0
    for match in pattern.finditer(masked):
        if match.start() < last:
            continue
        kept.append(text[last : match.start()])
        last = closing(masked, match.end() - 1) + 1
    return "".join(kept) + text[last:]


def statements(masked: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The statements between two places inside a body, each up to its semicolon or closing brace."""
    start = i = begin
    while i < end:
        if masked[i] in "([":
            i = closing(masked, i)
        elif masked[i] == "{":
            i = closing(masked, i)
            after = masked[i + 1 : end].lstrip()[:1]
            if after not in {";", ",", ")", ".", "("}:
                yield start, i + 1
                start = i + 1
        elif masked[i] == ";":
            yield start, i + 1
            start = i + 1
        i += 1


def kind_of(head: str) -> str:
    head = head.strip()
    if re.search(r"\bnamespace(\s+[\w:]+)?$", head):
        return "anonymous" if head.endswith("namespace") else "namespace"
    if head.startswith('extern "'):
        return "namespace"
    if (
        re.search(r"^(template\s*<.*>\s*)?(\[\[\w+\]\]\s*)?(class|struct|union|enum)\b", head, re.DOTALL)
        and "(" not in head
    ):
        return "type"
    if head.endswith(("=", "return")) or not re.search(r"\)", head):
        return "value"
    return "function"


def walk_namespaces(
    text: str,
    on_function: Callable[[int, int, str], None],
    on_anonymous: Callable[[int, int, int, str], None],
) -> None:
    """Tells of functions that stand in named namespaces (where they begin, their opening brace), and of anonymous
    namespaces (their word, their braces), with the namespace around them."""
    masked = blank(text)
    # Directives are no part of heads.
    masked = re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), masked, flags=re.MULTILINE
    )

    def walk(begin: int, end: int, path: str) -> None:
        start = i = begin
        while i < end:
            if masked[i] == "(":
                i = closing(masked, i)
            elif masked[i] == ";":
                start = i + 1
            elif masked[i] == "{":
                close = closing(masked, i)
                head = masked[start:i]
                kind = kind_of(head)
                if kind == "namespace":
                    inner = re.search(r"namespace\s+([\w:]+)$", head.strip())
                    walk(i + 1, close, f"{path}::{inner[1]}" if inner else path)
                elif kind == "anonymous":
                    on_anonymous(start + head.rindex("namespace"), i, close, path)
                elif kind == "function":
                    on_function(start, i, path)
                i = close
                if kind in {"namespace", "anonymous", "function"}:
                    start = i + 1
            i += 1

    walk(0, len(text), "")


def edit(text: str, edits: list[tuple[int, int, str]]) -> str:
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def with_own_names(text: str, name: str) -> str:
    """Gives a file's anonymous namespaces a name, which the file's other functions use: what several files call the
    same stays apart when they are one."""
    edits: list[tuple[int, int, str]] = []
    bodies: list[tuple[int, str]] = []
    paths: list[str] = []

    def anonymous(word: int, opens: int, closes: int, path: str) -> None:
        edits.append((word, opens + 1, f"namespace {name} {{"))
        edits.append((closes, closes + 1, "}"))
        paths.append(path)

    walk_namespaces(text, lambda _, body, path: bodies.append((body, path)), anonymous)
    if not edits:
        return text
    first = min(begin for begin, _, _ in edits)  # a function before it cannot use it
    for body, path in bodies:
        if body < first:
            continue
        known = [p for p in paths if path.startswith(p) or p.startswith(path)]
        uses = "".join(
            f" using namespace {p}::{name};" if p != path else f" using namespace {name};"
            for p in sorted(set(known))
        )
        edits.append((body + 1, body + 1, uses))
    return edit(text, edits)


def without_functions(text: str, names: list[str]) -> str:
    """Leaves out functions, and classes, that are called so."""
    masked = blank(text)
    edits = []
    for name in names:
        found = False
        for match in re.finditer(
            rf"^(?=\S)(?:[\w:<>,&* \[\]]*\b)?{re.escape(name)}\b[^;{{}}]*\{{", masked, re.MULTILINE
        ):
            end = closing(masked, match.end() - 1) + 1
            while masked[end : end + 1] in {";", "\n"}:
                end += 1
            begin = match.start()
            template = re.search(r"^template <[^\n]*>\n\Z", masked[:begin], re.MULTILINE)
            edits.append((template.start() if template else begin, end, ""))
            found = True
        if not found:
            raise ValueError(f"there is no function {name} to leave out")
    return edit(text, sorted(set(edits)))
