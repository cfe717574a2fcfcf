#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/cpp_reference.md: what the headers of loomix/nn.h declare, with their comments and without bodies.

python tools/cpp_reference.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "bindings/cpp/include/loomix/nn"
PAGE = ROOT / "docs/cpp_reference.md"
ORDER = "array autograd linalg block parameter layers recurrent loss metric data loader files trainer model".split()

TOKEN = re.compile(
    r'//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[(){}\[\];]|\n|[^\S\n]+|[^\s(){}\[\];"\'/]+|/'
)


def closing(tokens: list[str], at: int) -> int:
    """Where the brace at `at` ends."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i] == "{") - (tokens[i] == "}")
        if depth == 0:
            return i
    raise ValueError("a brace has no end")


def is_scope(head: str) -> bool:
    return bool(re.match(r"\s*(?:template\s*<[^{]*>\s*)?(?:class|struct|union)\b", head)) and "(" not in head


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def end_of_signature(text: str) -> str:
    """Without the list of a constructor's initializers."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        lone = letter == ":" and text[i - 1] != ":" and text[i + 1 : i + 2] != ":"
        if lone and depth == 0 and ")" in text[:i] and "//" not in text[:i].rsplit("\n", 1)[-1]:
            return text[:i].rstrip()
    return text.rstrip()


def rest_of_line(tokens: list[str], at: int) -> tuple[str, int]:
    """The comment that follows on the line, and where it ends."""
    text, i = "", at
    while (
        i + 1 < len(tokens)
        and tokens[i + 1] != "\n"
        and (tokens[i + 1].isspace() or tokens[i + 1][:2] == "//")
    ):
        i += 1
        text += tokens[i]
    return (text.rstrip(), i) if "//" in text else ("", at)


def condensed(tokens: list[str], indent: str, public: bool) -> list[str]:
    """Declarations of a scope, one text each; bodies and what is not public are left out."""
    made, held, depth, i = [], "", 0, 0

    def keep(text: str) -> None:
        text = text.strip("\n").rstrip()
        plain = without_comments(text).strip()
        if public and plain not in ("", ";") and not plain.startswith(("friend", "using namespace", "#")):
            made.append(text)

    while i < len(tokens):
        token = tokens[i]
        label = without_comments(held).strip()
        if token.endswith(":") and label == "" and token in ("public:", "private:", "protected:"):
            public, held = token != "private:", ""
            i += 1
            continue
        depth += (token in "([") - (token in ")]") if token in ("(", ")", "[", "]") else 0
        if token == "{" and depth == 0:
            end = closing(tokens, i)
            head = without_comments(held)
            inner = tokens[i + 1 : end]
            if re.match(r"\s*(?:inline\s+)?namespace\b", head):
                if not re.search(r"\bdetail\b|namespace\s*$", head):
                    made.extend(condensed(inner, indent, public))
                held = ""
            elif is_scope(head):
                base = "struct" not in head.split("{")[0].split(":")[0]
                body = condensed(inner, indent + "  ", not base)
                keep(held.rstrip() + " {\n" + "\n".join(body) + f"\n{indent}}};")
                held = ""
                end += 1  # the semicolon
            elif "=" in head.split(")")[-1] or "(" not in head or re.search(r"\benum\b", head):
                held += "".join(tokens[i : end + 1])
            else:
                rest, end = rest_of_line(tokens, end)
                keep(end_of_signature(held) + ";" + rest)
                held = ""
            i = end + 1
            continue
        if token == ";" and depth == 0:
            rest, i = rest_of_line(tokens, i)
            keep(held.rstrip() + ";" + rest)
            held = ""
        elif token == "\n" and re.match(r"\s*#", without_comments(held)):
            held = ""
        elif token == "\n" and held.endswith("\n"):
            held = ""  # a comment that stands alone
        else:
            held += token
        i += 1
    return made


def declarations(path: Path) -> tuple[str, str]:
    """The sentence about a header, and what it declares."""
    text = path.read_text(encoding="utf-8")
    about = re.search(r"((?:^//[^\n]*\n)+)(?=namespace loomix)", text, re.MULTILINE)
    sentence = " ".join(line[2:].strip() for line in about[1].splitlines()) if about else ""
    text = text[text.index("namespace loomix") :]
    text = re.sub(r"\[\[(?:gnu::|nodiscard|noreturn)[^\]]*\]\]\s*", "", text)
    text = re.sub(r"\s*// NOLINT[^\n]*", "", text)
    made = condensed(TOKEN.findall(text), "", True)
    spaced = [("\n" if i > 0 and "\n" in one + made[i - 1] else "") + one for i, one in enumerate(made)]
    return sentence, "\n".join(spaced)


def page() -> str:
    parts = [
        "# C++ reference",
        "",
        "What `loomix/nn.h` declares, in `loomix::nn`; made from the headers by `tools/cpp_reference.py`. Operators "
        "are functions in `loomix::nn::op`, with the parameters of [their pages](operators/index.md). "
        "[C++ in ten minutes](cpp_nn.md) is for reading first.",
    ]
    for name in ORDER:
        sentence, text = declarations(HEADERS / f"{name}.h")
        parts += ["", f"## {name}.h", "", *([sentence, ""] if sentence else []), "```cpp", text, "```"]
    return "\n".join(parts) + "\n"


def main() -> int:
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    if not same:
        print(
            "docs/cpp_reference.md is not what the headers say; run tools/cpp_reference.py", file=sys.stderr
        )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
