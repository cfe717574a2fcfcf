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


X = onp.arange(12, dtype="float32").reshape(3, 4) / 7 + 0.2
# Nodes with the attributes that MXNet 1.9.1 writes, and what they give; of random numbers the shape.
NODES = [
    ("_npi_delete", {"axis": "1", "int_ind": "1"}, [X], onp.delete(X, 1, 1)),
    (
        "_npi_delete",
        {"axis": "None", "start": "0", "stop": "6", "step": "2"},
        [X],
        onp.delete(X, slice(0, 6, 2)),
    ),
    ("_npi_insert_scalar", {"axis": "1", "int_ind": "1", "val": "9"}, [X], onp.insert(X, 1, 9, 1)),
    (
        "_npi_insert_slice",
        {"axis": "0", "start": "0", "stop": "2", "step": "1"},
        [X, X[:2]],
        onp.insert(X, slice(2), X[:2], 0),
    ),
    (
        "_npi_ediff1d",
        {
            "to_begin_arr_given": "False",
            "to_begin_scalar": "0.5",
            "to_end_arr_given": "True",
            "to_end_scalar": "None",
        },
        [X, X[0]],
        onp.ediff1d(X, X[0], 0.5),
    ),
    ("_npi_norm", {"axis": "None", "flag": "-2", "keepdims": "False", "ord": "2"}, [X], onp.linalg.norm(X)),
    (
        "_npi_norm",
        {"axis": "(0, 1)", "flag": "2", "keepdims": "False", "ord": "2"},
        [X],
        onp.linalg.norm(X, "nuc"),
    ),
    (
        "_npi_norm",
        {"axis": "(1,)", "flag": "-1", "keepdims": "True", "ord": "3"},
        [X],
        onp.linalg.norm(X, 3, 1, True),
    ),
    ("_npi_hsplit", {"axis": "1", "indices": "[]", "sections": "2", "squeeze_axis": "False"}, [X], X[:, :2]),
    ("_npi_identity", {"ctx": "cpu(0)", "dtype": "float32", "shape": "(3, 3)"}, [], onp.eye(3)),
    ("_npi_hamming", {"M": "5", "ctx": "cpu(0)", "dtype": "float32"}, [], onp.hamming(5)),
    (
        "_npi_tensorinv",
        {"ind": "1"},
        [X[:3, :3] + 2 * onp.eye(3, dtype="float32")],
        onp.linalg.inv(X[:3, :3] + 2 * onp.eye(3)),
    ),
    ("_npi_rarctan2_scalar", {"is_int": "False", "scalar": "1.0"}, [X], onp.arctan2(1, X)),
    ("_npi_rldexp_scalar", {"is_int": "True", "scalar": "3.0"}, [X], 3 * 2**X),
    (
        "_npi_bitwise_and_scalar",
        {"is_int": "True", "scalar": "6.0"},
        [onp.arange(8, dtype="int32")],
        onp.arange(8) & 6,
    ),
    (
        "_npi_true_divide_scalar",
        {"is_int": "True", "scalar": "2.0"},
        [onp.arange(3, dtype="int32")],
        onp.arange(3) / 2,
    ),
    ("_npi_true_divide", {}, [onp.arange(3, dtype="int32"), onp.full(3, 2, "int32")], onp.arange(3) / 2),
    ("_npi_multiply", {}, [X > 1, X], (X > 1) * X),
    ("_npi_bincount", {"has_weights": "False", "minlength": "0"}, [onp.array([0, 1, 1], "int32")], "values"),
    (
        "_npi_uniform",
        {"ctx": "cpu(0)", "dtype": "float32", "high": "1.0", "low": "None", "size": "None"},
        [X],
        (3, 4),
    ),
    (
        "_npi_normal",
        {"ctx": "cpu(0)", "dtype": "float32", "loc": "0", "scale": "1", "size": "(2, 3)"},
        [],
        (2, 3),
    ),
    (
        "_npi_normal_n",
        {"ctx": "cpu(0)", "dtype": "float32", "loc": "None", "scale": "1", "size": "(5,)"},
        [X],
        (5, 3, 4),
    ),
    (
        "_npi_gamma",
        {"ctx": "cpu(0)", "dtype": "float32", "scale": "None", "shape": "2.0", "size": "None"},
        [X],
        (3, 4),
    ),
    ("_npi_exponential", {"ctx": "cpu(0)", "scale": "1.0", "size": "(3,)"}, [], (3,)),
    (
        "_npi_bernoulli",
        {"is_logit": "False", "logit": "None", "prob": "None", "size": "None", "dtype": "float32"},
        [X / 2],
        (3, 4),
    ),
    (
        "_npi_choice",
        {"a": "5", "ctx": "cpu(0)", "replace": "True", "size": "(2, 2)", "weighted": "False"},
        [],
        (2, 2),
    ),
]


@pytest.mark.parametrize(
    ("operator", "attrs", "inputs", "expected"), NODES, ids=lambda item: item if isinstance(item, str) else ""
)
def test_nodes_as_mxnet_writes_them(operator, attrs, inputs, expected):
    names = [f"x{i}" for i in range(len(inputs))]
    nodes = [{"op": "null", "name": name, "inputs": []} for name in names]
    nodes.append(
        {"op": operator, "name": "node", "attrs": attrs, "inputs": [[i, 0, 0] for i in range(len(inputs))]}
    )
    text = {"nodes": nodes, "arg_nodes": [*range(len(inputs))], "heads": [[len(inputs), 0, 0]]}
    symbol = mx.sym.load_json(json.dumps(text))
    arrays = {name: mx.np.array(value, dtype=value.dtype) for name, value in zip(names, inputs)}
    if isinstance(expected, str):
        with pytest.raises(mx.base.StateError, match="depends on the values"):
            symbol.bind(mx.cpu(), arrays)
        return
    got = symbol.bind(mx.cpu(), arrays).forward()[0].asnumpy()
    if isinstance(expected, tuple):
        assert got.shape == expected and onp.isfinite(got).all()
    else:
        onp.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_operators_of_files():
    """All that a file may hold: what writes in place is for arrays alone."""
    from loomix.symbol.numpy import _operators as ours

    known = {name for pair in mx._core.operator_names(False) for name in pair}
    missing = []
    for operator in json.loads((HERE / "operators_np.json").read_text())["operators"]:
        name = operator["name"]
        short = name.removeprefix("_npi_").removesuffix("_scalar")
        elementwise = short in (*ours._UNARY, *ours._BINARY) or short.removeprefix("r") in ours._REFLECTED
        if (
            name not in known
            and name not in ours._IRREGULAR
            and name not in ours._rules()
            and not elementwise
        ):
            missing.append(name)
    assert missing == ["_copyto", "_npi_boolean_mask_assign_scalar", "_npi_boolean_mask_assign_tensor"]
