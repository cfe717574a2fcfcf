# SPDX-License-Identifier: Apache-2.0
"""ONNX' Loop and the while loop, against onnxruntime."""

import os

import loomix as mx
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
from onnx_networks import run, there_and_back  # noqa: E402

pytestmark = pytest.mark.library
helper = onnx.helper
NUMBERS = {"f": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64, "b": onnx.TensorProto.BOOL}


def info(text):
    """`x:f2,3` is a value x of float32 and shape (2, 3)."""
    name, _, kind = text.partition(":")
    shape = [int(size) for size in kind[1:].split(",") if size]
    return helper.make_tensor_value_info(name, NUMBERS[kind[0]], shape)


def constant(name, value):
    return helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array(value)))


def graph(nodes, inputs, outputs):
    return helper.make_graph(
        nodes, "graph", [info(x) for x in inputs.split()], [info(x) for x in outputs.split()]
    )


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model_of(nodes, inputs, outputs, opset=17):
    made = helper.make_model(
        graph(nodes, inputs, outputs), opset_imports=[helper.make_opsetid("", opset)], ir_version=9
    )
    onnx.checker.check_model(made, full_check=True)
    return made.SerializeToString()


def check(content, **given):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    expected = session.run(None, given)
    symbol, arguments, states = mx.onnx.import_model(content)
    inputs = {name: value.reshape(value.shape or 1) for name, value in given.items()}
    got = run(symbol, {**arguments, **states}, inputs)
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected):
        assert ours.shape == (theirs.shape or (1,)) and ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs.reshape(ours.shape), 1e-5, 1e-5)
    return expected


def counted(steps=4, limit="M", opset=17):
    """Adds the step's number, and multiplies by what the loop began with; all steps' values are kept."""
    body = graph(
        [
            node("Identity", "c", "c2"),
            node("Cast", "i", "number", to=1),
            node("Mul", "v x", "product"),
            node("Add", "product number", "v2"),
            node("Identity", "v2", "row"),
            node("ReduceMax", "product", "most", keepdims=0),
        ],
        "i:i c:b v:f2,3",
        "c2:b v2:f2,3 row:f2,3 most:f",
    )
    nodes = [
        constant("M", np.int64(steps)),
        helper.make_node("Loop", [limit, "", "x"], ["y", "rows", "all"], body=body),
    ]
    return model_of(nodes, "x:f2,3", f"y:f2,3 rows:f{steps},2,3 all:f{steps}", opset)


X = np.random.RandomState(3).uniform(-1, 1, (2, 3)).astype("float32")


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_a_loop_of_so_many_steps(opset):
    y, rows, _ = check(counted(opset=opset), x=X)
    np.testing.assert_allclose(rows[-1], y)


def until(limit, condition="", last=10):
    """Adds x until the sum is `last`; one variable counts, one is only replaced."""
    body = graph(
        [
            node("Add", "v x", "v2"),
            node("ReduceSum", "v2", "sum", keepdims=0),
            constant("last", np.float32(last)),
            node("Less", "sum last", "c2"),
            constant("one", np.int64(1)),
            node("Add", "n one", "n2"),
            node("Identity", "n2", "w2"),
        ],
        "i:i c:b v:f2,3 n:i w:i",
        "c2:b v2:f2,3 n2:i w2:i",
    )
    loop = helper.make_node(
        "Loop", [limit, condition, "x", "zero", "zero"], ["y", "count", "copy"], body=body
    )
    more = (" M:i" if limit == "M" else "") + (" go:b" if condition else "")
    nodes = [
        constant("zero", np.int64(0)),
        constant("three", np.int64(3)),
        constant("none", np.int64(0)),
        loop,
    ]
    return model_of(nodes, f"x:f2,3{more}", "y:f2,3 count:i copy:i")


@pytest.mark.parametrize("limit, count", [("", 5), ("three", 3), ("none", 0)])
def test_a_loop_until_a_condition(limit, count):
    assert check(until(limit), x=np.full((2, 3), 0.3, "float32"))[1] == count


@pytest.mark.parametrize("most, go, count", [(2, True, 2), (20, True, 5), (20, False, 0), (0, True, 0)])
def test_what_the_run_decides(most, go, count):
    given = {"x": np.full((2, 3), 0.3, "float32"), "M": np.array(most), "go": np.array(go)}
    assert check(until("M", "go"), **given)[1] == count


def test_a_loop_inside_of_a_loop():
    inner = graph(
        [node("Identity", "ci", "ci2"), node("Add", "u v", "u2")], "k:i ci:b u:f2,3", "ci2:b u2:f2,3"
    )
    outer = graph(
        [
            node("Identity", "c", "c2"),
            helper.make_node("Loop", ["two", "", "v"], ["v2"], body=inner),
        ],
        "i:i c:b v:f2,3",
        "c2:b v2:f2,3",
    )
    nodes = [constant("two", np.int64(2)), helper.make_node("Loop", ["two", "", "x"], ["y"], body=outer)]
    (y,) = check(model_of(nodes, "x:f2,3", "y:f2,3"), x=X)
    np.testing.assert_allclose(y, 9 * X, 1e-5)


def changed(content, change):
    model = onnx.ModelProto.FromString(content)
    change(model.graph, next(node for node in model.graph.node if node.op_type == "Loop"))
    return model.SerializeToString()


def with_count(steps):
    def change(graph, _):
        graph.node[0].attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(np.int64(steps)))

    return change


def with_output(i, name):
    def change(_, loop):
        loop.attribute[0].g.output[i].name = name

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda graph, loop: loop.input.pop(), "inputs do not fit to a body of 3"),
        (lambda graph, loop: loop.input.__setitem__(0, ""), "how many rows it gives depends"),
        (lambda graph, loop: loop.attribute.pop(), "attribute body is missing"),
        (with_count(0), "gives arrays without rows"),
        (with_count(1 << 40), "steps are too many"),
        (with_output(0, "most"), "how many rows it gives depends"),
        (with_output(1, "most"), "changes its shape"),
        (
            lambda graph, loop: loop.attribute[0].g.output.__delitem__(slice(1, None)),
            "its body gives 1 values",
        ),
    ],
)
def test_wrong_loops_are_named(change, message):
    content = changed(counted(), change)
    with pytest.raises(mx.MXNetError, match=rf"\[onnx\] node '.*' \(\w+\).*({message})"):
        mx.onnx.import_model(content)


def test_a_loop_that_never_ends_is_refused():
    body = graph([node("Identity", "c", "c2"), node("Add", "v v", "v2")], "i:i c:b v:f2,3", "c2:b v2:f2,3")
    content = model_of([helper.make_node("Loop", ["", "", "x"], ["y"], body=body)], "x:f2,3", "y:f2,3")
    with pytest.raises(mx.MXNetError, match=r"\(Loop\): it never ends"):
        mx.onnx.import_model(content)


@pytest.mark.parametrize("make", [counted, lambda: until("three")], ids=["counted", "until"])
def test_mutated_loops(make):
    content, seed = make(), 11
    random = np.random.RandomState(seed)
    for i in range(int(os.environ.get("LOOMIX_TEST_CHANGES", "200"))):
        damaged = bytearray(content)
        for _ in range(1 + i % 3):
            damaged[random.randint(len(damaged))] = random.randint(256)
        try:
            mx.onnx.import_model(bytes(damaged))
        except mx.MXNetError as error:
            assert str(error), f"change {i} with seed {seed}"


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("most", [2, 20])
def test_a_while_loop_there_and_back(most, opset, tmp_path):
    """Its condition and its steps use a parameter, too; two variables change places."""
    x, w = mx.sym.Variable("data"), mx.sym.Variable("weight")
    _, last = mx.sym.contrib.while_loop(
        lambda a, b: mx.sym.sum(a * w) < 20,
        lambda a, b: ([], (b, a * 1.5 + w)),
        [x, x * 2],
        max_iterations=most,
    )
    params = {"weight": mx.nd.array([[0.5, 1, 1.5]] * 2)}
    path = str(tmp_path / "a.onnx")
    there_and_back(mx.sym.Group(last), params, {"data": np.abs(X)}, path, opset_version=opset)


def test_stacked_outputs_of_a_while_loop_have_no_form(tmp_path):
    x = mx.sym.Variable("data")
    rows, _ = mx.sym.contrib.while_loop(lambda a: a < 9, lambda a: (a, a * 2), x, 5, name="loop")
    with pytest.raises(NotImplementedError, match="stacked outputs have max_iterations rows"):
        mx.onnx.export_model(rows, {}, [(1,)], onnx_file_path=tmp_path / "a.onnx")
