#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what follows from the operator table: type stubs of the operator functions, their documentation, and the C++
functions.

PYTHONPATH=bindings/python python tools/generate_ops.py            # writes the files
PYTHONPATH=bindings/python python tools/generate_ops.py --check    # fails if they would change
"""

import argparse
import importlib
import inspect
import pathlib
import re
import sys

import cpp_operators
import numpy_stub
import operator_pages
from loomix import _core, _operators

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "python" / "loomix"
OPERATOR_PAGES = ROOT / "docs" / "operators"
CPP_HEADERS = ROOT / "bindings" / "cpp" / "include" / "loomix"

ITERATORS = ("ImageRecordIter", "ImageDetRecordIter")
NAMESPACES = ("op", "linalg", "contrib", "image", "random", "sparse", "_internal")

_KINDS = {
    "int": "int",
    "long": "int",
    "float": "float",
    "double": "float",
    "boolean": "bool",
    "Shape(tuple)": "int | Sequence[int]",
    "Shape": "int | Sequence[int]",
    "string": "str",
}


def collect():
    """Namespace to short name to operator's information, in alphabetical order."""
    spaces = {space: {} for space in NAMESPACES}
    infos = {}
    for name, operator in _core.operator_names(False):
        if operator not in infos:
            infos[operator] = _core.operator_info(operator)
        space, short = _operators.place_of(name)
        spaces[space][short] = infos[operator]
    return {space: dict(sorted(names.items())) for space, names in spaces.items()}


def hint(param):
    """The type hint of a parameter."""
    kind = param["type"].split(" or None")[0].split(" (")[0]
    if param["name"] == "dtype" and kind != "int":
        text = "DTypeLike"
    elif param["name"] == "ctx":
        text = "Context | str"
    elif param["options"]:
        options = [option for option in param["options"] if option != "None"]
        text = "Literal[" + ", ".join(f'"{option}"' for option in options) + "]" if options else "str"
    elif kind.startswith("tuple of"):
        text = "Sequence[float]" if "float" in kind or "double" in kind else "Sequence[int]"
    else:
        text = _KINDS.get(kind, "Any")
    return f"{text} | None" if param["optional"] and "Any" not in text else text


def stub(name, info, kind, method=False):
    """One function of the stub file, or a method; `kind` is the class of its inputs and outputs."""
    hints = {param["name"]: hint(param) for param in info["params"]}
    inputs = {item["name"] for item in info["inputs"]}
    parts = []
    parameters = list(_operators.signature(info, kind == "Symbol").parameters.values())
    if method:
        parts.append("self")
        del parameters[0]
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}: {kind}")
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}: Any")
            continue
        if parameter.name in inputs:
            text = kind
        elif parameter.name == "out":
            text = f"{kind} | list[{kind}]"
        elif parameter.name == "attr":
            text = "dict[str, str]"
        else:
            text = hints.get(parameter.name, "str")
        if parameter.default is None and not text.endswith("| None") and text != "Any":
            text += " | None"
        default = "" if parameter.default is inspect.Parameter.empty else f" = {quoted(parameter.default)}"
        parts.append(f"{parameter.name}: {text}{default}")
    many = info["any_keywords"] or len(info["outputs"]) != 1 or "num_outputs" in hints or "ret_typ" in hints
    # Most callers know which of the two they get: with the Any they need not say so.
    result = f"{kind} | Any" if many and kind == "NDArray" else kind
    line = f"def {name}({', '.join(parts)}) -> {result}: ..."
    indent = "    " if method else ""
    if len(indent + line) <= 110:
        return indent + line
    inner = f"\n{indent}    "
    parts = [wrapped(part, indent + "    ") for part in parts]
    return f"{indent}def {name}({inner}" + f",{inner}".join(parts) + f",\n{indent}) -> {result}: ..."


def wrapped(part, indent):
    """A parameter whose many values do not fit into a line, as ruff would write it."""
    if len(indent + part) < 110 or "Literal[" not in part:
        return part
    before, _, rest = part.partition("Literal[")
    values, _, after = rest.rpartition("]")
    return f"{before}Literal[\n{indent}    {values}\n{indent}]{after}"


def quoted(value):
    """A default as ruff would write it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def stub_file(package, space, names):
    """The text of one stub file."""
    kind = "NDArray" if package == "ndarray" else "Symbol"
    body = [
        stub(name, info, kind) for name, info in names.items() if kind == "NDArray" or not info["no_symbol"]
    ]
    return file_text(package, kind, "\n".join(body))


def methods_file(package):
    """The text of the stub of the class whose methods are operators."""
    kind = "NDArray" if package == "ndarray" else "Symbol"
    module = importlib.import_module(f"loomix.{package}.{package}")
    names = {
        name: _core.operator_info(getattr(module.op, name).operator)
        for name in module._FLUENT
        if hasattr(module.op, name)
    }
    base = "(_core.NDArrayBase)" if kind == "NDArray" else ""
    body = [f"class {kind}Methods{base}:", *(stub(name, names[name], kind, method=True) for name in names)]
    return file_text(package, kind, "\n".join(body))


def file_text(package, kind, text):
    """A stub file with all that it needs above the text."""
    typing = [name for name in ("Any", "Literal", "TypedDict") if f"{name}" in text]
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# Written by tools/generate_ops.py from the operator table.",
    ]
    if "Sequence[" in text:
        lines.append("from collections.abc import Sequence")
    if typing:
        lines.append(f"from typing import {', '.join(typing)}")
    if len(lines) > 2:
        lines.append("")
    if "DTypeLike" in text:
        lines += ["from numpy.typing import DTypeLike", ""]
    if "_core." in text:
        lines.append("from .. import _core")
    if "Context" in text:
        lines.append("from ..context import Context")
    if kind:
        lines += [f"from .{package} import {kind}", ""]
    lines.append(text)
    return "\n".join(lines) + "\n"


def options_file():
    """The text of the stub of what iterators take by keyword."""
    lines = []
    for iterator in ITERATORS:
        lines += ["", f"class {iterator}Options(TypedDict, total=False):"]
        for name, kind, _ in _core.iterator_parameters(iterator):
            options = re.findall(r"'(\w+)'|None", kind.partition("}")[0]) if kind.startswith("{") else []
            param = {
                "name": name,
                "type": kind.partition(",")[0],
                "options": [option for option in options if option],
                "optional": " or None" in kind,
            }
            lines.append(f"    {name}: {hint(param)}")
    text = "\n".join(lines)
    return file_text("io", None, text)


def files():
    """Path to text of everything that is generated."""
    spaces = collect()
    result = operator_pages.documents(OPERATOR_PAGES, spaces)
    result[PACKAGE / "io" / "_generated_options.pyi"] = options_file()
    result[PACKAGE / "numpy" / "_generated_functions.pyi"] = numpy_stub.text()
    result[CPP_HEADERS / "cpp" / "op.h"] = cpp_operators.header(spaces)
    result[CPP_HEADERS / "nn" / "ops.h"] = cpp_operators.run_header(spaces)
    for package in ("ndarray", "symbol"):
        result[PACKAGE / package / "_generated_methods.pyi"] = methods_file(package)
        for space in filter(spaces.get, NAMESPACES):
            # The others have Python functions of their own beside the operators, which import these.
            whole = space in ("_internal", "linalg", "image")
            name = space if whole else "_generated_ops" if space == "op" else f"_generated_{space}"
            result[PACKAGE / package / f"{name}.pyi"] = stub_file(package, space, spaces[space])
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file is out of date")
    arguments = parser.parse_args()
    texts = files()
    stale = [
        path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    left_over = [path for path in OPERATOR_PAGES.glob("*.md") if path not in texts]
    if arguments.check:
        for path in stale + left_over:
            print(f"{path.relative_to(ROOT)} is out of date: run tools/generate_ops.py")
        return 1 if stale or left_over else 0
    for path in stale:
        path.write_text(texts[path], encoding="utf-8")
    for path in left_over:
        path.unlink()
    print(f"{len(stale) + len(left_over)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
