# SPDX-License-Identifier: Apache-2.0
"""Symbols: composition, names, attributes, inference, files."""

import copy
import pickle

import loomix as mx
import numpy as np
import pytest

sym = mx.sym


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def net():
    data = sym.Variable("data")
    fc = sym.FullyConnected(data, num_hidden=4, name="fc")
    return sym.SoftmaxOutput(sym.Activation(fc, act_type="relu", name="act"), name="softmax")


def test_lists():
    s = net()
    assert s.list_arguments() == ["data", "fc_weight", "fc_bias", "softmax_label"]
    assert s.list_outputs() == ["softmax_output"]
    assert s.list_auxiliary_states() == []
    bn = sym.BatchNorm(sym.var("x"), name="bn")
    assert bn.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert bn.list_inputs() == ["x", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert s.get_internals().list_outputs() == [
        "data",
        "fc_weight",
        "fc_bias",
        "fc_output",
        "act_output",
        "softmax_label",
        "softmax_output",
    ]
    assert s.get_children().list_outputs() == ["act_output", "softmax_label"]
    assert sym.var("a").get_children() is None


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x, y: x + y, "_plus0"),
        (lambda x, y: x - y, "_minus0"),
        (lambda x, y: x * y, "_mul0"),
        (lambda x, y: x / y, "_div0"),
        (lambda x, y: x % y, "_mod0"),
        (lambda x, y: x**y, "_power0"),
        (lambda x, y: x > y, "_greater0"),
        (lambda x, y: x == y, "_equal0"),
        (lambda x, y: 1 + x, "_plusscalar0"),
        (lambda x, y: x - 1, "_minusscalar0"),
        (lambda x, y: 1 - x, "_rminusscalar0"),
        (lambda x, y: x / 2, "_divscalar0"),
        (lambda x, y: 2 / x, "_rdivscalar0"),
        (lambda x, y: 2**x, "_rpower_scalar0"),
        (lambda x, y: -x, "_mulscalar0"),
        (lambda x, y: x >= 1, "_greater_equal_scalar0"),
        (lambda x, y: abs(x), "abs0"),
        (lambda x, y: sym.maximum(x, y), "_maximum0"),
        (lambda x, y: sym.maximum(x, 2), "_maximumscalar0"),
        (lambda x, y: sym.concat(x, y), "concat0"),
        (lambda x, y: sym.Concat(x, y), "concat0"),
        (lambda x, y: sym.LeakyReLU(x), "leakyrelu0"),
        (lambda x, y: sym.zeros((2,)), "_zeros0"),
        (lambda x, y: sym.random.uniform(shape=(2,)), "_random_uniform0"),
        (lambda x, y: x.sum(axis=1), "sum0"),
    ],
)
def test_automatic_names(make, name):
    assert make(sym.var("x"), sym.var("y")).name == name


def test_prefixes_and_counters():
    with mx.name.Prefix("p_"):
        s = sym.FullyConnected(sym.var("x"), num_hidden=1)
        named = sym.FullyConnected(sym.var("x"), num_hidden=1, name="mine")
    assert s.list_arguments() == ["x", "p_fullyconnected0_weight", "p_fullyconnected0_bias"]
    assert named.name == "p_mine"
    assert [sym.exp(sym.var("x")).name for _ in range(2)] == ["exp0", "exp1"]


def test_several_outputs():
    parts = sym.split(sym.var("x"), num_outputs=3, name="s")
    assert parts.list_outputs() == ["s_output0", "s_output1", "s_output2"]
    assert len(parts) == 3 and [part.list_outputs() for part in parts][2] == ["s_output2"]
    assert parts["s_output1"].list_outputs() == ["s_output1"]
    assert parts[1:].list_outputs() == ["s_output1", "s_output2"] and parts[-1].list_outputs() == [
        "s_output2"
    ]
    with pytest.raises(ValueError):
        parts["nothing"]
    with pytest.raises(IndexError):
        parts[3]
    group = sym.Group([parts, net()])
    assert len(group) == 4 and group.name is None
    assert repr(sym.Group([sym.var("a"), sym.var("b")])) == "<Symbol group [a, b]>"
    assert repr(sym.var("a")) == "<Symbol a>"


def test_attributes():
    a = sym.var("a", shape=(2, 3), lr_mult=2, dtype="float16", init=mx.init.Zero(), __mine__="1")
    assert a.attr("__shape__") == "(2, 3)" and a.attr("__dtype__") == "2" and a.attr("__mine__") == "1"
    assert a.attr("lr_mult") == a.attr("__lr_mult__") == "2"
    assert a.attr("nothing") is None
    with mx.AttrScope(ctx_group="one"):
        fc = sym.FullyConnected(a, num_hidden=3, attr={"__bar__": "x"}, __foo__="y", name="fc")
    assert fc.list_attr()["num_hidden"] == "3"
    assert (fc.attr("ctx_group"), fc.attr("__bar__"), fc.attr("__foo__")) == ("one", "x", "y")
    assert fc.attr_dict()["fc_weight"]["__ctx_group__"] == "one"
    fc._set_attr(lr_mult="7")
    assert fc.attr("lr_mult") == "7"
    with pytest.raises(ValueError):
        fc._set_attr(lr_mult=7)
    with pytest.raises(ValueError):
        sym.var("x", mine="1")
    assert (sym.var("x") * 2).list_attr() == {"scalar": "2"}
    assert sym.Convolution(a, kernel=(3, 3), num_filter=4).list_attr() == {
        "kernel": "(3, 3)",
        "num_filter": "4",
    }
    assert sym.cast(a, dtype=np.float16).list_attr() == {"dtype": "float16"}
    assert sym.concat(a, a).list_attr() == {"num_args": "2"}


def test_composition():
    head = sym.FullyConnected(sym.var("h"), num_hidden=2, name="head")
    whole = head(h=net())
    assert whole.list_arguments()[:2] == ["data", "fc_weight"]
    assert head.list_arguments()[0] == "h"
    assert head(sym.var("z"), name="renamed").list_arguments()[0] == "z"
    for wrong in ({"nothing": sym.var("z")}, {"h": 3}):
        with pytest.raises((ValueError, TypeError, KeyError)):
            head(**wrong)


def test_inference():
    arguments, outputs, states = net().infer_shape(data=(8, 10))
    assert (arguments, outputs, states) == ([(8, 10), (4, 10), (4,), (8,)], [(8, 4)], [])
    assert net().infer_shape((8, 10))[1] == [(8, 4)]
    with pytest.warns(UserWarning, match="data"):
        assert net().infer_shape() == (None, None, None)
    assert net().infer_shape_partial()[0] == [()] * 4
    assert net().infer_type(data="float64")[0] == [np.float64] * 4
    assert net().infer_type(data=np.float32)[1] == [np.float32]
    with pytest.raises(ValueError):
        net().infer_shape(data=(8, 10), fc_weight=(4, 11))
    with pytest.raises((ValueError, KeyError)):
        net().infer_shape(nothing=(1,))


def test_partial_inference():
    fc = sym.FullyConnected(sym.var("data"), num_hidden=128, name="fc1")
    arguments, outputs, _ = fc.infer_shape_partial()
    assert arguments == [()] * 3 and outputs == [()]
    assert fc.infer_shape_partial(data=(0, 5)) == ([(0, 5), (128, 5), (128,)], [(0, 128)], [])
    conv = sym.Convolution(sym.var("data"), num_filter=8, kernel=(3, 3), name="c")
    assert conv.infer_shape_partial() == ([()] * 3, [()], [])
    embedding = sym.Embedding(sym.var("data"), input_dim=10, output_dim=4, name="e")
    assert embedding.infer_shape_partial() == ([(), ()], [()], [])
    assert embedding.infer_shape_partial(data=(0,)) == ([(0,), (10, 4)], [(0, 4)], [])
    offset = sym.contrib.DeformableConvolution(
        sym.var("data"), sym.var("offset"), num_filter=8, kernel=(3, 3), name="d"
    )
    assert offset.infer_shape_partial() == ([()] * 4, [()], [])
    known = [(2, 3, 0, 5), (8, 3, 3, 3), (8,)]
    assert conv.infer_shape_partial(data=(2, 3, 0, 5)) == (known, [(2, 8, 0, 3)], [])


def test_an_operator_that_does_not_tell_its_shape_is_named():
    strange = sym.load_json(
        """{"nodes": [{"op": "null", "name": "x", "inputs": []},
            {"op": "NoSuchThing", "name": "strange", "inputs": [[0, 0, 0]]},
            {"op": "tanh", "name": "t", "inputs": [[1, 0, 0]]}],
            "arg_nodes": [0], "heads": [[2, 0, 0]]}"""
    )
    with pytest.warns(
        UserWarning, match=r"operators are unknown:\s+'strange' \(NoSuchThing, which Loomix"
    ) as caught:
        assert strange.infer_shape(x=(2, 3)) == (None, None, None)
    assert "arguments" not in str(caught[0].message) and "tanh" not in str(caught[0].message)
    zeros = sym.zeros((0, 3), name="begin")
    with pytest.warns(UserWarning, match=r"'begin' \(_zeros\)"):
        assert sym.tanh(zeros).infer_shape() == (None, None, None)
    assert sym.tanh(zeros).infer_shape_partial()[1] == [(0, 3)]


def test_arguments_of_operators_that_have_none_are_dropped_from_files():
    text = """{"nodes": [{"op": "null", "name": "x", "inputs": []},
        {"op": "broadcast_maximum", "name": "m", "attrs": {"axis": "1", "__lr_mult__": "2"},
         "inputs": [[0, 0, 0], [0, 0, 0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]]}"""
    assert sym.load_json(text).attr_dict() == {"m": {"__lr_mult__": "2", "lr_mult": "2"}}
    with pytest.raises(ValueError, match="Cannot find argument 'no_such'"):
        sym.load_json(text.replace("broadcast_maximum", "softmax").replace("axis", "no_such"))


@pytest.mark.parametrize("shape", [3, np.int64(3), (3,), [3]])
def test_shapes_of_created_symbols(shape):
    made = [sym.zeros(shape), sym.ones(shape=shape), sym.full(shape, 2), sym.random.uniform(shape=shape)]
    made += [sym.random.normal(0, 1, shape), sym.random.randint(0, 5, shape=shape)]
    for symbol in made:
        assert symbol.infer_shape()[1] == [(3,)]
    assert sym.var("x", shape=shape).infer_shape()[0] == [(3,)]


def test_files(tmp_path):
    s = net()
    for again in (
        sym.load_json(s.tojson()),
        pickle.loads(pickle.dumps(s)),
        copy.copy(s),
        copy.deepcopy(s),
    ):
        assert again.tojson() == s.tojson()
    s.save(tmp_path / "net.json")
    assert sym.load(str(tmp_path / "net.json")).list_arguments() == s.list_arguments()
    with pytest.raises(ValueError):
        sym.load_json("{")
    with pytest.raises(TypeError):
        sym.load_json(3)
    with pytest.raises(OSError):
        sym.load(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: sym.FullyConnected(x),
        lambda x: sym.FullyConnected(1, num_hidden=2),
        lambda x: sym.FullyConnected(x, num_hidden=2, foo=1),
        lambda x: sym.FullyConnected(x, num_hidden="many"),
        lambda x: sym.FullyConnected(x, data=x, num_hidden=2),
        lambda x: sym.Activation(x, act_type="nothing"),
        lambda x: x + "a",
        lambda x: sym.Group([1]),
        lambda x: sym.var(3),
        lambda x: sym.maximum("a", x),
    ],
)
def test_mistakes(call):
    with pytest.raises((ValueError, TypeError)):
        call(sym.var("x"))


def test_what_only_arrays_have():
    for use in (bool, lambda x: x.asnumpy(), lambda x: x.backward()):
        with pytest.raises(NotImplementedError):
            use(sym.var("x"))


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(OSError, match=r"\[Symbol.load\] '.*' could not be read: Is a directory"):
        mx.sym.load(str(tmp_path))
    nowhere = tmp_path / "nowhere" / "net"
    with pytest.raises(
        OSError, match=r"\[Symbol.save\] '.*' could not be written: No such file or directory"
    ):
        mx.sym.Variable("x").save(f"{nowhere}.json")
    with pytest.raises(OSError, match="No such file or directory"):
        mx.model.save_checkpoint(str(nowhere), 1, mx.sym.Variable("x"), {}, {})
    long = mx.sym.Group([mx.sym.Variable(f"x{i}") for i in range(5000)])  # in more than one piece
    long.save(str(tmp_path / "long.json"))
    assert mx.sym.load(str(tmp_path / "long.json")).list_arguments() == long.list_arguments()
