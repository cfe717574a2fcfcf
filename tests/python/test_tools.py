# SPDX-License-Identifier: Apache-2.0
"""Visualization, profiler and test helpers."""

import json

import loomix as mx
import numpy as np
import pytest
from loomix import profiler
from loomix import test_utils as tu

pytestmark = pytest.mark.library


def lenet():
    net = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=6, kernel=(5, 5), name="c1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool")
    net = mx.sym.concat(net, net, name="both")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=32, name="f1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def test_print_summary(capsys):
    mx.viz.print_summary(lenet(), shape={"data": (1, 1, 28, 28)})
    out = capsys.readouterr().out
    rows = {
        line.split("(")[0]: line.split() for line in out.splitlines() if "(" in line and "Layer" not in line
    }
    assert rows["c1"] == ["c1(Convolution)", "6x24x24", str(6 * 25 + 6), "data"]
    assert rows["bn"][1:3] == ["6x24x24", "12"]
    assert rows["f1"][1:3] == ["32", str(12 * 12 * 12 * 32 + 32)]
    assert f"Total params: {156 + 12 + 55328}" in out
    assert {len(line) for line in out.splitlines() if line.startswith("_")} == {120}
    mx.viz.print_summary(lenet())
    assert "c1(Convolution)" in capsys.readouterr().out
    with pytest.raises(ValueError):
        mx.viz.print_summary(lenet(), shape={})
    with pytest.raises(TypeError):
        mx.viz.print_summary(3)


def test_plot_network():
    pytest.importorskip("graphviz")
    picture = mx.viz.plot_network(lenet(), shape={"data": (1, 1, 28, 28)})
    assert "Convolution\n5x5/1, 6" in picture.source and '"6x24x24"' in picture.source
    assert "c1_weight" not in picture.source
    typed = mx.viz.plot_network(lenet(), shape={"data": (1, 1, 28, 28)}, dtype={"data": "float16"})
    assert '"6x24x24(float16)"' in typed.source
    assert "c1_weight" in mx.viz.plot_network(lenet(), hide_weights=False).source


def test_profiler(tmp_path):
    path = tmp_path / "profile.json"
    profiler.set_config(filename=str(path), profile_all=True, aggregate_stats=True)
    profiler.set_state("run")
    domain = profiler.Domain("training")
    with domain.new_task("step"):
        mx.nd.dot(mx.nd.ones((8, 8)), mx.nd.ones((8, 8))).wait_to_read()
    counter = domain.new_counter("samples", 1)
    counter += 2
    domain.new_marker("here").mark()
    profiler.pause()
    domain.new_marker("hidden").mark()
    profiler.resume()
    profiler.set_state("stop")
    domain.new_marker("late").mark()
    table = profiler.dumps(sort_by="count")
    assert "dot" in table and "step" in table
    numbers = json.loads(profiler.dumps(format="json"))["Time"]
    assert any("dot" in name for names in numbers.values() for name in names)
    assert numbers["training"]["step"]["Count"] == 1
    profiler.dump()
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["name"] for event in events]
    assert "here" in names and "hidden" not in names and "late" not in names
    counted = [event for event in events if event["name"] == "samples"]
    assert [event["args"]["samples"] for event in counted] == [1, 3]
    for bad in (
        lambda: profiler.set_state("fly"),
        lambda: profiler.dumps(sort_by="x"),
        lambda: profiler.dumps(format="x"),
    ):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError):
        profiler.set_config(colour="red")


def test_comparisons():
    one = mx.nd.ones((2, 3))
    assert tu.same(one, np.ones((2, 3))) and not tu.same(one, np.zeros((2, 3)))
    assert tu.almost_equal(one, one * 1.00005) and not tu.almost_equal(one, one * 1.1)
    assert tu.almost_equal(np.ones(2, "float16"), np.full(2, 1.05)) and not tu.almost_equal(
        np.ones(2), np.full(2, 1.05)
    )
    tu.assert_almost_equal(one, 1.0)
    tu.assert_almost_equal(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), equal_nan=True)
    for a, b in ((np.array([1.0, 2.0]), np.array([1.0, 3.0])), (np.array([np.nan]), np.array([1.0]))):
        with pytest.raises(AssertionError, match="Items are not equal: 1 of"):
            tu.assert_almost_equal(a, b, names=("left", "right"))
    with pytest.raises(AssertionError, match=r"at \(1,\): left=2.0, right=3.0"):
        tu.assert_almost_equal(np.array([1.0, 2.0]), np.array([1.0, 3.0]), names=("left", "right"))
    with pytest.raises(AssertionError):
        tu.assert_almost_equal(np.ones(3), np.ones((1, 3)), use_broadcast=False)
    assert tu.get_rtol() == 1e-5 and tu.get_atol(0.5) == 0.5 and tu.get_tols(one, one, None, 3) == (1e-4, 3)
    view = mx.nd.zeros((4,))
    assert tu.same_array(view[1:3], view[1:3]) and not tu.same_array(view, mx.nd.zeros((4,)))
    tu.assert_exception(lambda: mx.nd.ones((2,)).reshape((3,)), mx.MXNetError)
    with pytest.raises(AssertionError):
        tu.assert_exception(lambda: None, ValueError)


def test_random_input():
    np.random.seed(0)
    assert len(tu.rand_shape_2d(3, 4)) == 2 and len(tu.rand_shape_3d()) == 3
    shapes = [tu.rand_shape_nd(4, 3) for _ in range(50)]
    assert {size for shape in shapes for size in shape} == {1, 2, 3}
    array = tu.rand_ndarray((50, 4))
    assert array.shape == (50, 4) and -1 <= array.asnumpy().min() < -0.8
    for stype in ("row_sparse", "csr"):
        sparse = tu.rand_ndarray((50, 4), stype, density=0.5)
        assert sparse.stype == stype
        filled = sparse.asnumpy() != 0
        filled = filled.any(axis=1) if stype == "row_sparse" else filled
        assert 0.3 < filled.mean() < 0.7
    a, b = tu.random_arrays((2,), (3, 1))
    assert a.shape == (2,) and b.shape == (3, 1) and isinstance(tu.random_arrays(()), float)
    assert sorted(tu.random_sample(range(5), 5)) == list(range(5))
    with pytest.raises(ValueError):
        tu.rand_ndarray((2, 2), "dense")


def test_symbols():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]])
    net = a * b + a
    np.testing.assert_allclose(tu.simple_forward(net, a=x, b=y), x * y + x)
    tu.check_symbolic_forward(net, [x, y], [x * y + x])
    tu.check_symbolic_forward(net, {"a": x, "b": y}, [x * y + x])
    tu.check_symbolic_backward(net, [x, y], [np.array([[1.0, 2.0]])], [(y + 1) * [1, 2], x * [1, 2]])
    tu.check_symbolic_backward(net, [x, y], [np.ones_like(x)], {"a": y + 1}, grad_req={"a": "add"})
    found = tu.check_symbolic_backward(net, [x, y], [np.ones_like(x)], {"a": y + 1})
    assert list(found) == ["a"] and found["a"].asnumpy().tolist() == (y + 1).tolist()
    with pytest.raises(AssertionError):
        tu.check_symbolic_forward(net, [x, y], [x])
    with pytest.raises(AssertionError):
        tu.check_symbolic_backward(net, [x, y], [np.ones_like(x)], [y, x])
    with pytest.raises(ValueError):
        tu.check_symbolic_forward(net, [x], [x])
    with pytest.raises(ValueError, match="stranger"):
        tu.check_symbolic_forward(net, {"a": x, "b": y, "stranger": x}, [x])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numeric_gradient(dtype):
    np.random.seed(0)
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    x, y = np.random.rand(3, 2), np.random.rand(3, 2)
    tu.check_numeric_gradient(mx.sym.exp(a) * b, [x, y], rtol=1e-2, atol=1e-2, dtype=dtype)
    tu.check_numeric_gradient(
        mx.sym.exp(a) * b, [x, y], rtol=1e-2, atol=1e-2, grad_nodes={"a": "add"}, dtype=dtype
    )
    half_hidden = mx.sym.BlockGrad(a) * a  # its gradient is half of what differences see
    with pytest.raises(AssertionError, match="NUMERICAL_a"):
        tu.check_numeric_gradient(half_hidden, [x], rtol=1e-2, atol=1e-2, dtype=dtype)


def test_numeric_gradients_of_float32_are_as_good_as_the_tolerance():
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=16, name="fc")
    net = mx.sym.tanh(
        mx.sym.Convolution(mx.sym.reshape(net, (8, 1, 4, 4)), num_filter=4, kernel=(2, 2), name="c")
    )
    for seed in range(10):
        rng = np.random.RandomState(seed)
        np.random.seed(seed)
        shapes = dict(zip(net.list_arguments(), net.infer_shape(x=(8, 6))[0]))
        location = {name: rng.normal(0, 0.3, shape) for name, shape in shapes.items()}
        location["fc_bias"] += 5  # a sum of outputs far from zero hides small differences
        tu.check_numeric_gradient(net, location, rtol=1e-2, atol=1e-3, grad_nodes=["c_weight", "fc_bias"])


def test_consistency():
    net = mx.sym.FullyConnected(num_hidden=3, name="fc")
    entries = [
        {"ctx": mx.cpu(i), "fc_data": (2, 4), "type_dict": {"fc_data": dtype}}
        for i, dtype in enumerate((np.float64, np.float32))
    ]
    truth = tu.check_consistency(net, entries)
    assert {"fc_output", "fc_weight", "fc_bias", "fc_data"} == set(truth)
    wrong = {name: value + 1 for name, value in truth.items()}
    with pytest.raises(AssertionError):
        tu.check_consistency(net, entries, ground_truth=wrong)
    with pytest.raises(ValueError):
        tu.check_consistency(net, entries[:1])
    assert tu.check_speed(net, fc_data=(2, 4), N=2) > 0


def test_surroundings(monkeypatch):
    import os

    monkeypatch.setenv("LOOMIX_A_TEST", "1")
    with tu.environment("LOOMIX_A_TEST", None):
        assert "LOOMIX_A_TEST" not in os.environ
    with tu.environment({"LOOMIX_A_TEST": "2"}):
        assert os.environ["LOOMIX_A_TEST"] == "2"
    assert os.environ["LOOMIX_A_TEST"] == "1"
    attempts = []

    @tu.retry(3)
    def flaky():
        attempts.append(1)
        assert len(attempts) == 3

    flaky()
    assert len(attempts) == 3
    tu.set_default_context(mx.cpu(1))
    assert tu.default_context() == mx.cpu(1)
    tu.set_default_context(mx.cpu(0))
    assert list(tu.list_gpus()) == list(range(mx.context.num_gpus()))


def test_servers_are_not_profiled_from_workers():
    for call in (profiler.set_config, profiler.set_state, profiler.pause, profiler.resume, profiler.dump):
        with pytest.raises(NotImplementedError, match="loomix top"):
            call(profile_process="server")
        with pytest.raises(ValueError, match="expected 'worker'"):
            call(profile_process="other")
