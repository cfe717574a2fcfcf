# SPDX-License-Identifier: Apache-2.0
"""The pages in docs/operators: one for each topic of topics.txt, one for internal operators, and an index."""

import importlib
import inspect
import re

from loomix import _operators
from loomix.ndarray import ndarray as arrays

WRITTEN = "<!-- Written by tools/generate_ops.py from the operator table and topics.txt. -->"
INTRODUCTION = """\
Every operator is a function on arrays in `mx.nd` and, unless its page says "arrays only", one on symbols in `mx.sym`.
[By topic](#operators-by-topic) below has one page for each topic; [A to Z](#operators-a-to-z) lists all functions of
`mx.nd` by name, the ones written in Python as well. `help(mx.nd.topk)` shows the same text in Python.

## How to call an operator

Positional arguments are the inputs, then the parameters in the order of the signature. `out` is an array, or a list
of arrays, to write the result to; `name` is for symbols. In the examples `mx` is `loomix`; many round results.

Inputs whose shapes do not fit raise [`ShapeError`](../reference/tools.md#errors), which is a `ValueError`. A parameter
that is missing, of a wrong type or out of its range raises `MXNetTypeError` or `MXNetValueError`, which are a
`TypeError` and a `ValueError`. The message names operator and parameter, what was given and what is allowed."""
INTERNAL = """\
Operators without a public name. Python's operators and functions call them, and saved symbols name them: `x + 1` is
`_plus_scalar`, `mx.nd.zeros` is `_zeros`. They are in `mx.nd._internal` and `mx.sym._internal`."""
# Modules of the reference with functions of mx.nd that are written in Python, and the folder of mx.nd that has them.
PYTHON = {
    "loomix.ndarray.ndarray": "",
    "loomix.ndarray.utils": "",
    "loomix.ndarray.random": "random",
    "loomix.ndarray.control_flow": "contrib",
    "loomix.ndarray.optimizer_steps": "contrib",
    "loomix.ndarray.contrib": "contrib",
    "loomix.ndarray.sparse": "sparse",
}


def read_topics(path):
    """(file, title, opening text, names) of each topic, in order."""
    text = path.read_text(encoding="utf-8")
    topics = []
    for entry in text.split("\n== ")[1:]:
        head, _, body = entry.partition("\n")
        file, _, title = head.partition(": ")
        opening, _, names = body.strip().rpartition("\n\n")
        topics.append((file, title, opening, names.split()))
    return topics


def anchor(name):
    """What myst-parser makes of a heading."""
    return re.sub(r"[^\w-]", "", name.lower())


def sentence(text):
    """The first sentence, for a table."""
    paragraph = re.sub(r":\w+:`", "`", " ".join(text.partition("\n\n")[0].split()))
    return re.split(r"(?<=[.:;])\s", paragraph)[0].rstrip(":;.").replace("|", "\\|") + "."


def section(name, info):
    """The lines about one operator."""
    function = f"mx.nd.{name}" if _operators.public_names(info) else name
    lines = ["", f"## {name}", "", f"`{function}{_operators.signature(info)}`", "", info["doc"]]
    rows = [param for param in info["params"] if param["name"] != info["variadic"]]
    if rows:
        lines += ["", "| parameter | type | default | meaning |", "|---|---|---|---|"]
        for param in rows:
            default = "required" if param["required"] else f"`{param['default'] or repr('')}`"
            kind = param["type"].replace("|", "\\|")
            lines.append(f"| {param['name']} | {kind} | {default} | {param['doc']} |")
    notes = []
    names = [info["name"], *info["aliases"]]
    internal = [item for item in names if _operators.place_of(item)[0] == "_internal" and item != name]
    others = [other for other in _operators.public_names(info) if other != name]
    if others:
        notes.append("Other names: " + ", ".join(f"`{other}`" for other in others) + ".")
    if internal:
        notes.append("In saved symbols also " + ", ".join(f"`{other}`" for other in internal) + ".")
    methods = [method for method in arrays._FLUENT if method in _operators.public_names(info)]
    if methods:
        notes.append("As a method: " + ", ".join(f"`x.{method}()`" for method in methods) + ".")
    if info["no_symbol"]:
        notes.append("Arrays only.")
    mutated = [item["name"] for item in info["inputs"] if item["mutated"]]
    if mutated:
        notes.append("Changes in place: " + ", ".join(f"`{item}`" for item in mutated) + ".")
    if notes:
        lines += ["", " ".join(notes)]
    shapes, example = _operators.example_of(info)
    if shapes:
        lines += ["", f"*Shapes*: {shapes}"]
    if example:
        lines += ["", "```pycon", example.replace("<BLANKLINE>", ""), "```"]
    return lines


def page(title, opening, operators, is_public=True):
    """A page with a table of its operators, then a section on each; `operators` maps names to what is known of them."""
    lines = [f"# {title}", "", WRITTEN, "", opening, ""]
    if is_public:
        lines += ["How to call operators, and which errors they raise: [Operators](index.md).", ""]
    lines += ["| operator | what it does |", "|---|---|"]
    lines += [f"| [{name}](#{anchor(name)}) | {sentence(info['doc'])} |" for name, info in operators.items()]
    for name, info in operators.items():
        lines += section(name, info)
    return "\n".join(lines) + "\n"


def python_functions():
    """Name after `mx.nd.` to (place in the reference, doc string) of what is written in Python."""
    found = {}
    for module_name, folder in PYTHON.items():
        module = importlib.import_module(module_name)
        for short in module.__all__:
            value = getattr(module, short)
            if inspect.isfunction(value):
                name = f"{folder}.{short}" if folder else short
                found.setdefault(name, (f"{module_name}.{short}", inspect.getdoc(value)))
    return found


def index(topics, pages):
    """The index: topics, then all names of mx.nd."""
    lines = ["# Operators", "", WRITTEN, "", INTRODUCTION, "", "## Operators by topic", ""]
    rows = {}
    for file, title, _, _ in topics:
        own = pages[file]
        links = " · ".join(f"[{name}]({file}.md#{anchor(name)})" for name in own)
        lines += [f"**[{title}]({file}.md)**", "", links, ""]
        for name, info in own.items():
            target = f"{file}.md#{anchor(name)}"
            rows[name] = f"| [{name}]({target}) | {sentence(info['doc'])} |"
            for other in _operators.public_names(info):
                if other != name:
                    rows[other] = f"| [{other}]({target}) | The same as `{name}`. |"
    lines += [
        "**[Internal operators](internal.md)**",
        "",
        "Those without a public name, as `_plus_scalar`.",
        "",
    ]
    for name, (place, text) in python_functions().items():
        rows[name] = f"| {{py:obj}}`{name} <{place}>` | {sentence(text)} |"
    lines += ["## Operators A to Z", "", "| `mx.nd.` | what it does |", "|---|---|"]
    lines += [rows[name] for name in sorted(rows, key=lambda name: (name.lower(), name))]
    files = "\n".join([file for file, *_ in topics] + ["internal"])
    lines += ["", f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{files}\n```"]
    return "\n".join(lines) + "\n"


def documents(folder, spaces):
    """Path to text of each page."""
    infos = {info["name"]: info for names in spaces.values() for info in names.values()}
    topics = read_topics(folder / "topics.txt")
    by_name, internal = {}, {}
    for info in infos.values():
        public = _operators.public_names(info)
        by_name.update(dict.fromkeys(public, info))
        if not public:
            internal[info["name"]] = info
    chosen = [by_name[name]["name"] for *_, names in topics for name in names if name in by_name]
    wrong = [name for *_, names in topics for name in names if name not in by_name]
    wrong += sorted({name for name in chosen if chosen.count(name) > 1})
    wrong += sorted({info["name"] for info in by_name.values()} - set(chosen))
    if wrong:
        raise SystemExit(f"docs/operators/topics.txt: unknown, named twice or missing: {', '.join(wrong)}")
    pages = {file: {name: by_name[name] for name in names} for file, _, _, names in topics}
    result = {folder / f"{file}.md": page(title, opening, pages[file]) for file, title, opening, _ in topics}
    result[folder / "internal.md"] = page(
        "Internal operators", INTERNAL, dict(sorted(internal.items())), False
    )
    result[folder / "index.md"] = index(topics, pages)
    return result
