# SPDX-License-Identifier: Apache-2.0
"""Evaluates the calls of cases.txt in one framework; compare.py starts it in each environment.

call_answers.py MODULE ANSWERS
"""

import ast
import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def paragraphs():
    """(line number, statements, expression) of each case."""
    found, lines = [], []
    for number, line in enumerate([*open(os.path.join(HERE, "cases.txt"), encoding="utf-8"), "\n"], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            lines.append(line)
        elif lines:
            found.append((number - len(lines), "".join(lines[:-1]), lines[-1].strip()))
            lines = []
    return found


def helpers(mx):
    """The short names that cases use."""
    nd, sym = mx.nd, mx.sym

    def a(*shape):
        return nd.array(np.arange(int(np.prod(shape))).reshape(shape) % 7 - 2)

    def fc():
        return sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")

    def net():
        return sym.SoftmaxOutput(fc(), name="softmax")

    def fill(init, shape=(2, 2)):
        x = nd.zeros(shape)
        init("a_weight", x)
        return x

    def step(optimizer):
        """A weight after two updates."""
        weight, updater = a(2, 3) / 4, mx.optimizer.get_updater(optimizer)
        for _ in range(2):
            updater(0, a(2, 3) / 3 + 0.1, weight)
        return weight

    def score(metric):
        metric.update([nd.array([1, 0])], [nd.array([[0.2, 0.8], [0.4, 0.6]])])
        return metric.get()

    return {
        "mx": mx,
        "nd": nd,
        "sym": sym,
        "np": np,
        **{f.__name__: f for f in (a, fc, net, fill, step, score)},
    }


def describe(value, depth=0):
    """A value as JSON: its kind, and what it holds."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float, np.generic)):
        return ["number", float(value)] if not isinstance(value, np.dtype) else str(value)
    if depth > 6:
        return "deep"
    if hasattr(value, "asnumpy"):
        value_type, array = type(value).__name__, value.asnumpy()
        return [value_type, list(value.shape), str(np.dtype(value.dtype)), describe(array, depth + 1)[-1]]
    if isinstance(value, np.ndarray):
        return [
            "ndarray",
            list(value.shape),
            str(value.dtype),
            [float(x) for x in value.ravel()[:40].astype("float64")],
        ]
    if isinstance(value, dict):
        return ["dict", [[describe(k, depth + 1), describe(v, depth + 1)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [describe(x, depth + 1) for x in value]]
    if isinstance(value, bytes):
        return ["bytes", value.decode("latin-1")]
    if isinstance(value, type):
        return ["class", value.__name__]
    if type(value).__name__ in ("Context", "dtype"):
        return [type(value).__name__, str(value)]
    return ["object", type(value).__name__]


def key_of(code, expression):
    return code + expression


def parts_of(expression):
    """The elements of a tuple without brackets, else the expression itself."""
    tree = ast.parse(expression, mode="eval").body
    return [ast.unparse(part) for part in tree.elts] if isinstance(tree, ast.Tuple) else [expression]


def failure(error):
    return {"error": [c.__name__ for c in type(error).__mro__], "text": str(error)[-200:]}


def outcome(expression, space):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return describe(eval(expression, space))
        except Exception as error:
            return failure(error)


def main():
    warnings.simplefilter("ignore")
    mx = importlib.import_module(sys.argv[1])
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        for _, code, expression in paragraphs():
            space = {**helpers(mx), "folder": folder}
            parts = parts_of(expression)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(code, space)
            except Exception as error:
                answers[key_of(code, expression)] = [failure(error)] * len(parts)
                continue
            answers[key_of(code, expression)] = [outcome(part, space) for part in parts]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
