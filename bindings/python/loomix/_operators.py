# SPDX-License-Identifier: Apache-2.0
"""What the operator table says, for Python: namespaces, signatures and doc strings of the operator functions."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import os
from collections.abc import Iterable
from typing import Any

from . import _core

# MXNet's rule: an operator `_contrib_foo` is `contrib.foo`; other names that begin with an underscore are internal.
_PREFIXES = {
    "_contrib_": "contrib",
    "_linalg_": "linalg",
    "_sparse_": "sparse",
    "_image_": "image",
    "_random_": "random",
}


def place_of(name: str) -> tuple[str, str]:
    """The namespace and the short name of an operator's name or alias.

    >>> place_of("_linalg_gemm"), place_of("dot"), place_of("_plus_scalar")
    (('linalg', 'gemm'), ('op', 'dot'), ('_internal', '_plus_scalar'))
    """
    for prefix, namespace in _PREFIXES.items():
        if name.startswith(prefix) and len(name) > len(prefix):
            short = name[len(prefix) :]
            return (
                (namespace, short)
                if namespace != "random" or short.endswith("_like")
                else ("_internal", name)
            )
    return ("_internal" if name.startswith("_") else "op"), name


def missing(package: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that ``mx.nd`` or ``mx.sym`` (or ``symbol.contrib`` and so on) does not have, with the
    nearest that it has."""
    kind, _, namespace = package.partition(".")
    if kind == "symbol" and not name.startswith("__") and name in functions("ndarray", namespace or "op"):
        place = f"mx.nd.{namespace}.{name}" if namespace else f"mx.nd.{name}"
        return AttributeError(
            f"module 'loomix.{package}' has no attribute {name!r}: it changes its arguments, so it is for "
            f"arrays only, as {place}."
        )
    near = [] if name.startswith("__") else difflib.get_close_matches(name, known, 3, 0.7)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    # No full stop: the interpreter may add what it would suggest.
    return AttributeError(f"module 'loomix.{package}' has no attribute {name!r}{hint}")


_places: dict[str, dict[str, list[tuple[str, str]]]] = {}


def functions(package: str, namespace: str) -> dict[Any, Any]:
    """The operator functions of one namespace of ``"ndarray"`` or ``"symbol"``: a new dict, name to function."""
    if package not in _places:
        places: dict[str, list[tuple[str, str]]] = {}
        for name, operator in _core.operator_names(package == "symbol"):
            space, short = place_of(name)
            places.setdefault(space, []).append((short, operator))
        _places[package] = places
    module = f"loomix.{package}.{namespace}"
    flavour = ("ndarray", "symbol", "numpy").index(package)  # OpFlavour in operator/op_function.h
    return {
        short: _core.op_function(operator, short, module, flavour)
        for short, operator in _places[package].get(namespace, [])
    }


def _default(param: Any) -> Any:
    try:
        return ast.literal_eval(param["default"])
    except (SyntaxError, ValueError):
        return param["default"]  # the name of a choice or a type


def signature(info: _core.OperatorInfo, is_symbol: bool = False) -> Any:
    """The ``inspect.Signature`` of an operator function."""
    Parameter = inspect.Parameter
    parameters = []
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    if info["any_inputs"]:
        parameters.append(Parameter(info["inputs"][0]["name"], Parameter.VAR_POSITIONAL))
        kind = Parameter.KEYWORD_ONLY
    else:
        optional = False
        for item in info["inputs"]:
            optional = optional or is_symbol or item["optional"]
            parameters.append(Parameter(item["name"], kind, default=None if optional else Parameter.empty))
    optional = any(p.default is not Parameter.empty for p in parameters)
    for param in info["params"]:
        if info["variadic"] and param["name"] == info["variadic"]:
            continue
        default = Parameter.empty if param["required"] else _default(param)
        if default is Parameter.empty and optional and kind is not Parameter.KEYWORD_ONLY:
            default = None  # required all the same; Python's grammar wants a default here
        optional = optional or default is not Parameter.empty
        parameters.append(Parameter(param["name"], kind, default=default))
    names = {p.name for p in parameters}
    extras = ("name", "attr") if is_symbol else ("out", "name")
    parameters += [Parameter(extra, kind, default=None) for extra in extras if extra not in names]
    if info["any_keywords"]:
        parameters.append(Parameter("kwargs", Parameter.VAR_KEYWORD))
    elif is_symbol and not info["any_inputs"]:
        parameters.append(
            Parameter("attrs", Parameter.VAR_KEYWORD)
        )  # attributes of the node, such as lr_mult
    return inspect.Signature(parameters)


@functools.cache
def _entries() -> dict[str, tuple[str, str]]:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operator_examples.txt")
    with open(path, encoding="utf-8") as file:
        _, *entries = file.read().split("\n== ")
    found = {}
    for entry in entries:
        head, prompt, example = entry.strip().partition(">>> ")
        name, _, shapes = head.partition("\nshapes: ")
        found[name] = " ".join(shapes.split()), prompt + example
    return found


def public_names(info: _core.OperatorInfo) -> list[str]:
    """The names of an operator as they stand after ``mx.nd.``, its own first; none if it is internal.

    >>> public_names(_core.operator_info("_linalg_det")), public_names(_core.operator_info("_plus_scalar"))
    (['linalg.det', 'linalg_det'], [])
    """
    places = [place_of(name) for name in [info["name"], *info["aliases"]]]
    return [short if space == "op" else f"{space}.{short}" for space, short in places if space != "_internal"]


def example_of(info: _core.OperatorInfo) -> tuple[str, str]:
    """What ``operator_examples.txt`` says of an operator, by any of its names: its shapes, and an example as a
    doctest. Both are empty for internal operators.

    >>> example_of(_core.operator_info("_linalg_makediag"))[0]
    'A (..., n); the output is (..., n + |offset|, n + |offset|).'
    """
    entries = _entries()
    return next((entries[name] for name in public_names(info) if name in entries), ("", ""))


def docstring(info: _core.OperatorInfo) -> str:
    """The doc string of an operator function, in NumPy's style."""
    lines = [info["doc"], "", "Parameters", "----------"]
    for item in info["inputs"]:
        kind = "NDArray or Symbol"
        if info["any_inputs"]:
            kind = "any number of " + kind
        elif item["optional"]:
            kind += ", for some parameters only"
        lines.append(f"{item['name']} : {kind}")
        if item["mutated"]:
            lines.append("    Changed in place.")
    for param in info["params"]:
        if info["variadic"] and param["name"] == info["variadic"]:
            continue
        state = "required" if param["required"] else f"default {param['default'] or repr('')}"
        lines.append(f"{param['name']} : {param['type']}, {state}")
        if param["doc"]:
            lines.append(f"    {param['doc']}")
    lines += ["out : NDArray or list of NDArray, default None", "    Where to write the result."]
    if info["aliases"]:
        lines += ["", "Also known as " + ", ".join(info["aliases"]) + "."]
    shapes, example = example_of(info)
    if shapes:
        lines += ["", "Shapes", "------", shapes]
    if example:
        lines += ["", "Examples", "--------", ">>> import loomix as mx", example]
    return "\n".join(lines)
