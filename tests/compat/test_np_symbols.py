# SPDX-License-Identifier: Apache-2.0
"""The calls of ``oracle_np`` as symbols: values and gradients are those of arrays, from a graph and from its JSON."""

import json
import pathlib
import sys

import loomix as mx
import numpy as onp
import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import check_np  # noqa: E402

# What symbols have not: values, types, and official NumPy's functions.
UNLIKE = (".asnumpy", "_assigned", "onp.", "x0.dtype", "nonzero", "argwhere", "unique", "bincount", "x0[x0")
CASES = [
    case
    for case in json.loads((HERE / "oracle_np" / "cases.json").read_text())["cases"]
    if not {"error", "value"} & set(case) and not any(part in case["expr"] for part in UNLIKE)
]


@pytest.fixture(autouse=True)
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def of_arrays(case, arrays):
    names = {"np": mx.np, "npx": mx.npx, "mx": mx, **{f"x{i}": array for i, array in enumerate(arrays)}}
    for array in arrays if case["grad"] else ():
        array.attach_grad()
    with mx.autograd.record():
        out = eval(case["expr"], names)
    outputs = [*out] if isinstance(out, (list, tuple)) else [out]
    head = None
    if case["grad"]:
        head = mx.np.array(onp.random.RandomState(1).uniform(-1, 1, outputs[0].shape), dtype=outputs[0].dtype)
        outputs[0].backward(head)
    return [mx.np.array(output) for output in outputs], head


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['expr']}")
def test_case(case):
    arrays = [mx.np.array(value, dtype=value.dtype) for value in map(check_np.array, case["inputs"])]
    try:
        expected, head = of_arrays(case, arrays)
    except (mx.MXNetError, TypeError, AttributeError):
        pytest.skip("no arrays")
    variables = {f"x{i}": mx.sym.var(f"x{i}").as_np_ndarray() for i in range(len(arrays))}
    made = eval(case["expr"], {"np": mx.sym.np, "npx": mx.sym.npx, "mx": mx, **variables})
    graph = mx.sym.Group([*made]) if isinstance(made, (list, tuple)) else made
    for symbol in (graph, mx.sym.load_json(graph.tojson())):
        args = {f"x{i}": array.copy() for i, array in enumerate(arrays)}
        grads = {name: mx.np.zeros_like(array) for name, array in args.items()} if case["grad"] else None
        run = symbol.bind(mx.cpu(), args, args_grad=grads)
        for got, want in zip(run.forward(is_train=True), expected):
            assert not check_np.same(got.asnumpy(), want.asnumpy())
        if case["grad"]:
            run.backward([head])
            for i, array in enumerate(arrays):
                assert not check_np.same(grads[f"x{i}"].asnumpy(), array.grad.asnumpy())


def test_names():
    known = json.loads((HERE / "operators_np.json").read_text())["functions"]
    for path in known:
        if path.startswith("sym."):
            place = mx
            for part in path.split("."):
                place = getattr(place, part)
            assert callable(place), path
