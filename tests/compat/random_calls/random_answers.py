# SPDX-License-Identifier: Apache-2.0
"""Runs random calls in one framework and writes what they gave: started by compare.py in each framework's environment.

    random_answers.py MODULE SEED FIRST COUNT ANSWERS

Call N depends on SEED and N alone. After each call its answer is appended to the file, so one that ends the process is
known.
"""

import importlib
import os
import pickle
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import calls
import calls_index  # noqa: F401 -- these two add to calls.MAKERS
import calls_layers  # noqa: F401
import numpy as np
from draw import Draw


def call_of(seed, number):
    """Call `number`; the operators take turns."""
    names = sorted(calls.MAKERS)
    name = names[number % len(names)]
    return calls.MAKERS[name](Draw(f"{seed} {number}"), name)


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def plain(array):
    return array.asnumpy()


def answer(mx, call, number):
    """Outputs, changed inputs and gradients; or the error's class and first words."""
    function = mx.nd
    for part in call.op.split("."):
        function = getattr(function, part)
    inputs = [mx.nd.array(x.values(number * 10 + i), dtype=x.dtype) for i, x in enumerate(call.inputs)]
    differentiate = call.grad and number % 3 == 0
    attrs = dict(call.attrs)
    found = {}
    try:
        if differentiate:
            kept = [x for x in inputs if np.dtype(x.dtype).kind == "f"]
            for x in kept:
                x.attach_grad()
            with mx.autograd.record():
                outputs = as_list(function(*inputs, **attrs))
                floating = [x for x in outputs if np.dtype(x.dtype).kind == "f"]
            mx.autograd.backward(floating)
            found["gradients"] = [plain(x.grad) for x in kept]
        else:
            outputs = as_list(function(*inputs, **attrs))
        found["outputs"] = [plain(x) for x in outputs]
        found["changed"] = [plain(inputs[i]) for i in call.mutates]
    except Exception as error:
        for _ in range(2):
            try:
                mx.nd.waitall()
            except Exception:
                pass
        return {"error": [c.__name__ for c in type(error).__mro__], "text": str(error).strip()[-300:]}
    return found


def main():
    module, seed, first, count, path = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
    warnings.simplefilter("ignore")
    mx = importlib.import_module(module)
    with open(path, "ab", buffering=0) as file:
        for number in range(first, first + count):
            file.write(pickle.dumps((number, answer(mx, call_of(seed, number), number)), protocol=4))


if __name__ == "__main__":
    main()
