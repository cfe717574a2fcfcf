# SPDX-License-Identifier: Apache-2.0
"""ONNX files that are not as ours: other graphs, wrong ones, damaged bytes; and what cannot be exported."""

import os

import loomix as mx
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
from onnx_networks import fully_connected, model_of, network, node, run, run_file, tensor  # noqa: E402

pytestmark = pytest.mark.library


@pytest.mark.parametrize(
    "change, kind, message",
    [
        ({"in_shapes": None}, ValueError, "the shape of 'data' does not follow"),
        ({"in_shapes": [(1, 3), (2, 3)]}, ValueError, "in_shapes has 2 items for the inputs data"),
        ({"in_shapes": {"date": (1, 3)}}, ValueError, "names 'date'; the inputs are data"),
        ({"in_shapes": [(0, 3)]}, ValueError, "expected a tuple of positive numbers"),
        ({"in_shapes": [(1, 4)]}, ValueError, "fc"),
        ({"sym": 3}, TypeError, "expected a Symbol"),
        ({"params": 3}, TypeError, "expected a dict of arrays"),
        ({"params": {"fc_weight": 3}}, TypeError, "'fc_weight' of params is of type int"),
        ({"params": {}}, ValueError, "in_shapes has 1 items for the inputs data, fc_weight, fc_bias"),
        ({"opset_version": 12}, ValueError, "opset 12 is not known; expected 13 to 21"),
        ({"opset_version": 22}, ValueError, "opset 22"),
        ({"dynamic_input_shapes": [("n", 3)]}, ValueError, "needs dynamic=True"),
        ({"dynamic": True, "dynamic_input_shapes": [("n", 3, 3)]}, ValueError, "whose shape is"),
        ({"dynamic": True, "dynamic_input_shapes": [("n", "m")]}, ValueError, "other sizes .* do not fit"),
        ({"input_shape": [(1, 3)]}, ValueError, "one argument"),
        ({"onnx_file_path": "/nowhere/a.onnx"}, OSError, "/nowhere/a.onnx"),
    ],
)
def test_wrong_arguments(change, kind, message, tmp_path):
    symbol, params = fully_connected()
    path = tmp_path / "a.onnx"
    path.write_bytes(b"before")
    given = {"sym": symbol, "params": params, "in_shapes": [(1, 3)], "onnx_file_path": path, **change}
    with pytest.raises(kind, match=message):
        mx.onnx.export_model(**given)
    assert path.read_bytes() == b"before"


def test_operators_without_a_form_are_named(tmp_path):
    path = tmp_path / "a.onnx"
    x = mx.sym.Variable("data")
    with pytest.raises(NotImplementedError, match=r"node 'g' \(gamma\): this operator has no ONNX form"):
        mx.onnx.export_model(mx.sym.gamma(x, name="g") + 1, {}, [(2, 3)], onnx_file_path=path)
    with pytest.raises(NotImplementedError, match=r"node 'g' \(RNN\): projection_size has no"):
        rnn = mx.sym.RNN(x, mx.sym.var("p"), mx.sym.var("h"), mx.sym.var("c"), state_size=3, num_layers=1,
                         mode="lstm", projection_size=2, name="g")  # fmt: skip
        shapes = {"data": (2, 2, 2), "p": (78,), "h": (1, 2, 2), "c": (1, 2, 3)}
        mx.onnx.export_model(rnn, {}, shapes, onnx_file_path=path)
    with pytest.raises(NotImplementedError, match=r"node 's' \(split\)|node 's' \(SliceChannel\).* dynamic"):
        parts = mx.sym.split(x, num_outputs=2, axis=1, name="s")
        dims = [("batch", "more")]
        mx.onnx.export_model(
            parts, {}, [(2, 4)], onnx_file_path=path, dynamic=True, dynamic_input_shapes=dims
        )
    assert not path.exists()


@pytest.mark.parametrize(
    "nodes, initializers, message",
    [
        ([node("Foo", name="n")], [], r"node 'n' \(Foo\): this operator is not supported"),
        ([node("Relo")], [], r"Did you mean 'Relu'"),
        ([node("NonMaxSuppression", "x")], [], r"node 'y' \(NonMaxSuppression\)"),
        ([node("Relu", domain="com.acme")], [], "operators of the domain 'com.acme'"),
        ([node("Relu", colour=3)], [], r"attribute colour is not supported"),
        ([node("LeakyRelu", alpha="a")], [], r"attribute alpha is not a float"),
        ([node("Softmax", axis=5)], [], "axis 5 is out of range for 2 axes"),
        ([node("Reshape", "s")], [tensor("s", [4, 2])], r"node 'y' \(Reshape\)"),
        ([node("Reshape", "x")], [], "shape must be a constant"),
        ([node("Transpose", perm=[0, 0])], [], r"perm is \[0, 0\] for 2 axes"),
        ([node("Gather", "i")], [tensor("i", 7)], "index 7 is out of range"),
        ([node("Slice", "s", "s", "s", "s")], [tensor("s", [0])], r"node 'y' \(Slice\)"),
        ([node("Slice", "s", "s")], [tensor("s", [1])], "nothing is left"),
        ([node("Tile", "s")], [tensor("s", [1, 2, -3])], r"node 'y' \(Tile\)"),
        (
            [node("Conv", "w")],
            [tensor("w", np.ones((1, 3, 3, 3)), np.float32)],
            "data of 2 axes with a kernel of 2",
        ),
        ([node("Add", "z")], [], "no value 'z' before it"),
        ([node("Add", "w")], [tensor("w", np.ones((4, 5)), np.float32)], r"node 'y' \(Add\)"),
        ([node("Relu"), node("Relu")], [], "two values are called 'y'"),
        ([node("Relu", outputs=["z"])], [], "the output 'y' is no value"),
        ([node("Relu", outputs=["y", "z"])], [], "2 outputs are not supported; expected 1"),
        ([node("Split", outputs=["y", "z"], axis=1)], [tensor("s", [1])], r"node 'y' \(Split\)|"),
        ([node("Dropout", "", "t", outputs=["y", "z"])], [tensor("t", True, bool)], "the mask as an output"),
        ([node("Concat", "x", axis=9)], [], "axis 9 is out of range"),
        ([node("MatMul", "x")], [], r"node 'y' \(MatMul\)"),
        ([node("Cast", to=8)], [], "ONNX's type number 8"),
        ([node("Cast")], [], "ONNX's type number 0"),
        ([node("Pad", "s")], [tensor("s", [1])], "1 pads for 2 axes"),
        ([node("RandomUniformLike", seed=1.0)], [], "attribute seed"),
        ([node("Einsum", equation="...i->i")], [], r"the equation '\.\.\.i->i' is not supported"),
        ([node("Einsum", equation="ijk->i")], [], "does not fit to inputs of"),
        ([node("GRU", "w", "w", hidden_size=2)], [tensor("w", np.ones((1, 6, 2)), np.float32)], r"\(GRU\)"),
        ([onnx.helper.make_node("Constant", [], ["y"], value_string="a")], [], "not supported"),
        (
            [onnx.helper.make_node("ConstantOfShape", ["s"], ["y"])],
            [tensor("s", [1 << 20, 1 << 20])],
            "is too large",
        ),
        (
            [node("Resize", "", "", "s", mode="cubic")],
            [tensor("s", [1 << 20, 1 << 28])],
            r"constant of shape \(3, 268435456\) is too large",
        ),
        (
            [node("GRU", "w", "w", hidden_size=1 << 40, linear_before_reset=1)],
            [tensor("w", [[[1.0]]], np.float32)],
            r"\(1, 6597069766656\) is too large",
        ),
        ([node("Add", "w")], [tensor("w", [1], np.uint32)], "type number 12"),
        (
            [node("Add", "w")],
            [onnx.TensorProto(name="w", data_type=1, dims=[3], raw_data=b"12")],
            "has 2 bytes",
        ),
        ([node("Add", "w")], [onnx.TensorProto(name="w", data_type=1, dims=[-1])], r"the shape \(-1,\)"),
        ([node("Add", "w")], [onnx.TensorProto(name="w", data_type=1, dims=[1 << 40] * 3)], "0 numbers"),
    ],
)
def test_wrong_graphs(nodes, initializers, message):
    model = model_of(nodes, initializers)
    if message.endswith("|"):
        model.graph.node[0].input.append("s")
    with pytest.raises(mx.MXNetError, match=message.rstrip("|")) as caught:
        mx.onnx.import_model(model.SerializeToString())
    assert str(caught.value).startswith("[")


@pytest.mark.parametrize("opset", [12, 22, 0])
def test_other_opsets_are_refused(opset):
    model = model_of([node("Relu")], opset=opset)
    with pytest.raises(ValueError, match=f"opset {opset} is not known; expected 13 to 21"):
        mx.onnx.import_model(model.SerializeToString())


def test_open_sizes():
    def read(nodes, initializers, **keywords):
        model = model_of(nodes, initializers, shape=["n", "m"], **keywords)
        return lambda shapes=None: mx.onnx.import_model(model.SerializeToString(), shapes)

    def output(found, shape):
        symbol, arguments, _ = found
        return run(symbol, arguments, {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)})[0]

    # The rows stay, the columns are doubled: sizes that only the graph computes.
    doubling = [
        onnx.helper.make_node("Shape", ["x"], ["shape"]),
        onnx.helper.make_node("Mul", ["shape", "by"], ["wanted"]),
        onnx.helper.make_node("Concat", ["x", "x"], ["twice"], axis=1),
        onnx.helper.make_node("Reshape", ["twice", "wanted"], ["y"]),
    ]
    for shape in ((2, 3), (4, 1)):
        assert output(read(doubling, [tensor("by", [1, 2])])(), shape).shape == (shape[0], 2 * shape[1])
    turned = read(doubling, [tensor("by", [2, 1])])
    with pytest.raises(NotImplementedError, match="several sizes of the shape are open; give input_shapes"):
        turned()
    assert output(turned({"x": (2, 3)}), (2, 3)).shape == (4, 3)
    with pytest.raises(ValueError, match="input_shapes names 'z'"):
        turned({"z": (2, 3)})
    with pytest.raises(ValueError, match="whose shape in the file is"):
        turned({"x": (2, 3, 4)})


def read_damaged(content):
    """Reads bytes; whether they are a model still."""
    try:
        symbol, _, _ = mx.onnx.import_model(bytes(content))
    except mx.MXNetError as error:
        assert str(error) and "Traceback" not in str(error)
        return False
    assert symbol.list_outputs()
    return True


def test_truncated_files(tmp_path):
    symbol, params, given = network("lenet")
    path = tmp_path / "lenet.onnx"
    mx.onnx.export_model(symbol, params, [given["data"].shape], onnx_file_path=path)
    content = path.read_bytes()
    assert read_damaged(content)
    ends = sorted({*range(0, 400, 7), *range(0, len(content), len(content) // 60)})
    assert sum(read_damaged(content[:end]) for end in ends) <= 1


@pytest.mark.parametrize("name", ["lenet", "fused_lstm", "ssd", "transformer", "loop"])
def test_mutated_files(name, tmp_path):
    symbol, params, given = network(name)
    path = str(tmp_path / "a.onnx")
    mx.onnx.export_model(symbol, params, [x.shape for x in given.values()], onnx_file_path=path)
    model = onnx.load(path)
    for item in model.graph.initializer:  # whose numbers would be most of the bytes
        if len(item.raw_data) > 256:
            item.raw_data = item.raw_data[:256]
            item.dims[:] = [64]
    content = model.SerializeToString()
    seed, changes = 7, int(os.environ.get("LOOMIX_TEST_CHANGES", "250"))
    random = np.random.RandomState(seed)
    for i in range(changes):
        changed = bytearray(content)
        for _ in range(1 + i % 3):
            changed[random.randint(len(changed))] = random.randint(256)
        try:
            read_damaged(changed)
        except Exception as error:
            raise AssertionError(f"change {i} with seed {seed}: {error!r}") from error
    source = onnx.load(path)
    for i in range(changes // 2):  # graphs that are whole, but wrong
        other = onnx.ModelProto.FromString(source.SerializeToString())
        for _ in range(1 + i % 2):
            mutate_graph(other.graph, random)
        try:
            read_damaged(other.SerializeToString())
        except Exception as error:
            raise AssertionError(f"graph {i} with seed {seed}: {error!r}") from error


def mutate_graph(graph, random):
    """Changes a node's operator, inputs or attributes, or an initializer's shape."""
    one = graph.node[random.randint(len(graph.node))]
    other = graph.node[random.randint(len(graph.node))]
    kind = random.randint(6)
    if kind == 0:
        one.op_type = other.op_type
    elif kind == 1 and one.input:
        one.input[random.randint(len(one.input))] = random.choice([*other.input, *other.output, ""])
    elif kind == 2 and one.input:
        del one.input[random.randint(len(one.input))]
    elif kind == 3 and one.attribute:
        attribute = one.attribute[random.randint(len(one.attribute))]
        attribute.i = int(random.choice([-1, 0, 1 << 40, 7]))
        if attribute.ints:
            attribute.ints[random.randint(len(attribute.ints))] = int(random.choice([-1, 0, 1 << 40, 7]))
    elif kind == 4 and graph.initializer:
        item = graph.initializer[random.randint(len(graph.initializer))]
        if item.dims:
            item.dims[random.randint(len(item.dims))] = int(random.choice([0, 1, 7]))
    else:
        graph.node.remove(one)


def test_no_file_and_other_things(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        mx.onnx.import_model(tmp_path / "nowhere.onnx")
    with pytest.raises(TypeError, match="expected a path, or bytes"):
        mx.onnx.import_model(3.5)
    for content in (b"", b"{}", b"\x89PNG\r\n", bytes(100)):
        with pytest.raises(OSError, match="is no ONNX file, or damaged"):
            mx.onnx.import_model(content)


# ---- other graphs ----


def function(name, nodes, attributes=(), inputs=("a",), outputs=("b",)):
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    return onnx.helper.make_function(
        "own", name, list(inputs), list(outputs), nodes, opsets, list(attributes)
    )


def test_functions():
    helper = onnx.helper
    leaky = helper.make_node("LeakyRelu", ["a"], ["inside"])
    leaky.attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    )
    halve = function("Halve", [helper.make_node("Add", ["a", "a"], ["b"], "twice")])
    both = function(
        "Both", [leaky, helper.make_node("Halve", ["inside"], ["b"], "inner", domain="own")], ["slope"]
    )
    model = model_of([helper.make_node("Both", ["x"], ["y"], "outer", domain="own", slope=0.5)])
    model.functions.extend([halve, both])
    model.opset_import.append(helper.make_opsetid("own", 1))
    data = np.array([[-2, 0, 1], [4, -4, 8]], np.float32)
    symbol, arguments, _ = mx.onnx.import_model(model.SerializeToString())
    (found,) = run(symbol, arguments, {"x": data})
    assert (
        found.tolist()
        == run_file(model.SerializeToString(), {"x": data})[0].tolist()
        == [[-2, 0, 2], [8, -4, 16]]
    )
    # A function that calls itself has no end.
    model.functions.append(function("Endless", [helper.make_node("Endless", ["a"], ["b"], domain="own")]))
    model.graph.node[0].op_type = "Endless"
    with pytest.raises(ValueError, match="functions call each other more than 16 deep"):
        mx.onnx.import_model(model.SerializeToString())


@pytest.mark.parametrize(
    "equation, shapes",
    [("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ij,kj", [(2, 3), (4, 3)]), ("bhqd,bhkd->bhqk", [(2, 3, 4, 5)] * 2),
     ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("ijk->ki", [(2, 3, 4)]), ("i,i->", [(5,), (5,)]),
     ("ab,cd->dbca", [(2, 3), (4, 5)])],
)  # fmt: skip
def test_einsum(equation, shapes):
    random = np.random.RandomState(0)
    arrays = [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    names = [f"x{i}" for i in range(len(arrays))]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Einsum", names, ["y"], equation=equation)], "g",
        [onnx.helper.make_tensor_value_info(name, 1, a.shape) for name, a in zip(names, arrays)],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    symbol, arguments, _ = mx.onnx.import_model(model.SerializeToString())
    (found,) = run(symbol, arguments, dict(zip(names, arrays)))
    expected = np.einsum(equation, *arrays)
    assert found.shape == (expected.shape or (1,))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-5, 1e-5)
