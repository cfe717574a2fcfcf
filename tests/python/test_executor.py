# SPDX-License-Identifier: Apache-2.0
"""Symbols bound to arrays."""

import os
import re
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

nd, sym = mx.nd, mx.sym


def linear():
    return sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc")


def arrays():
    rng = np.random.RandomState(0)
    return {
        "x": nd.array(rng.randn(3, 4)),
        "fc_weight": nd.array(rng.randn(2, 4)),
        "fc_bias": nd.array(rng.randn(2)),
    }


def expected(args):
    x, w, b = (args[name].asnumpy() for name in ("x", "fc_weight", "fc_bias"))
    return x @ w.T + b


def close(array, value, rtol=1e-5):
    np.testing.assert_allclose(array.asnumpy(), value, rtol=rtol, atol=1e-6)


def test_forward_and_backward():
    args = arrays()
    grads = {name: nd.zeros(value.shape) for name, value in args.items()}
    run = linear().bind(mx.cpu(), args, grads)
    (out,) = run.forward(is_train=True)
    close(out, expected(args))
    head = np.random.RandomState(1).randn(3, 2).astype("float32")
    run.backward(nd.array(head))
    close(grads["x"], head @ args["fc_weight"].asnumpy())
    close(grads["fc_weight"], head.T @ args["x"].asnumpy())
    close(run.grad_dict["fc_bias"], head.sum(0))
    assert run.arg_dict["x"] is args["x"] and run.grad_arrays[0] is grads["x"]
    assert list(run.output_dict) == ["fc_output"] and run.aux_dict == {}


def test_arguments_by_position_and_requests():
    args = arrays()
    values = [args[name] for name in ("x", "fc_weight", "fc_bias")]
    grads = [nd.ones(value.shape) for value in values]
    run = linear().bind(mx.cpu(), values, grads, grad_req=["null", "write", "add"])
    for _ in range(2):
        run.forward(is_train=True)
        run.backward([nd.ones((3, 2))])
    assert run.grad_arrays[0] is None
    close(grads[0], np.ones((3, 4)))
    close(grads[2], [7, 7])


def test_new_values_by_name():
    args = arrays()
    run = linear().bind(mx.cpu(), args)
    x = np.ones((3, 4), "float32")
    close(run.forward(x=x)[0], x @ args["fc_weight"].asnumpy().T + args["fc_bias"].asnumpy())
    with pytest.raises(TypeError, match="Unknown argument"):
        run.forward(nothing=nd.ones(1))
    with pytest.raises(ValueError, match="Shape not match"):
        run.forward(x=nd.ones((2, 2)))
    with pytest.raises(ValueError):
        run.forward(x=3)


def test_simple_bind():
    run = linear().simple_bind(mx.cpu(), x=(3, 4), grad_req={"fc_weight": "write"})
    assert run.arg_dict["fc_weight"].shape == (2, 4)
    assert run.grad_dict["x"] is None and run.grad_dict["fc_weight"].shape == (2, 4)
    run.copy_params_from({name: value for name, value in arrays().items() if name != "x"})
    close(run.forward(x=arrays()["x"])[0], expected(arrays()))
    with pytest.raises(ValueError):
        run.copy_params_from({"nothing": nd.ones(1)})
    run.copy_params_from({"nothing": nd.ones(1)}, allow_extra_params=True)
    with pytest.raises(ValueError):
        linear().simple_bind(mx.cpu(), fc_bias=(2,))
    wide = linear().simple_bind(mx.cpu(), x=(3, 4), type_dict={"x": "float64"})
    assert wide.arg_dict["fc_weight"].dtype == np.float64


def test_shared_buffer():
    buffer = {}
    big = linear().simple_bind(mx.cpu(), x=(6, 4), shared_buffer=buffer)
    small = linear().simple_bind(mx.cpu(), x=(3, 4), shared_buffer=buffer)
    assert set(buffer) == {"x", "fc_weight", "fc_bias"}
    big.arg_dict["fc_bias"][:] = 3
    close(small.forward()[0], np.full((3, 2), 3))


def test_reshape():
    args = arrays()
    run = linear().bind(mx.cpu(), args)
    smaller = run.reshape(x=(2, 4))
    smaller.arg_dict["x"][:] = 1
    close(smaller.forward()[0], np.ones((2, 4)) @ args["fc_weight"].asnumpy().T + args["fc_bias"].asnumpy())
    with pytest.raises(ValueError):
        run.reshape(x=(9, 4))
    assert run.reshape(x=(9, 4), allow_up_sizing=True).forward()[0].shape == (9, 2)


def test_auxiliary_states():
    bn = sym.BatchNorm(sym.var("x"), fix_gamma=False, momentum=0.5, name="bn")
    run = bn.simple_bind(mx.cpu(), x=(8, 3))
    run.arg_dict["bn_gamma"][:] = 1
    run.aux_dict["bn_moving_var"][:] = 1
    x = np.random.RandomState(0).randn(8, 3).astype("float32")
    run.forward(is_train=True, x=x)
    run.backward(nd.ones((8, 3)))
    close(run.aux_dict["bn_moving_mean"], x.mean(0) * 0.5)


def test_monitor():
    seen = {}
    run = linear().bind(mx.cpu(), arrays())
    run.set_monitor_callback(lambda name, array: seen.__setitem__(name, array.asnumpy()))
    run.forward()
    assert list(seen) == ["fc_output"]
    assert "fc" in run.debug_str()


def test_monitor_of_inputs():
    net = sym.BatchNorm(linear(), name="bn")
    run = net.simple_bind(mx.cpu(), x=(3, 4))
    for array in (*run.arg_arrays, *run.aux_arrays):
        array[:] = 2
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append((name, array.asnumpy())), monitor_all=True)
    run.forward(is_train=True)
    names = ["fc_data", "fc_weight", "fc_bias", "fc_output"]
    names += ["bn_data", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var", "bn_output"]
    assert [name for name, _ in seen] == names
    values = dict(seen)
    assert (values["fc_data"] == 2).all() and (values["bn_data"] == values["fc_output"]).all()
    assert (values["bn_moving_mean"] == 2).all()
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.max(), monitor_all=True)
    monitor.install(run)
    monitor.tic()
    run.forward()
    assert {"fc_weight", "bn_data", "fc_output"} <= {name for _, name, _ in monitor.toc()}


def test_gradients_in_inference():
    net = sym.Dropout(sym.BatchNorm(sym.var("x"), fix_gamma=False, name="bn"), p=0.5)
    run = net.simple_bind(mx.cpu(), x=(4, 3))
    run.arg_dict["bn_gamma"][:] = 3
    run.aux_dict["bn_moving_var"][:] = 4
    run.arg_dict["x"][:] = nd.random.normal(shape=(4, 3))
    head = nd.ones((4, 3))
    want = np.full((4, 3), 3 / np.sqrt(4 + 1e-3))
    for _ in range(2):
        run.forward()
        run.backward(head, is_train=False)
        np.testing.assert_allclose(run.grad_dict["x"].asnumpy(), want, rtol=1e-5)
    run.forward(is_train=True)
    run.backward(head)
    assert abs(run.grad_dict["x"].asnumpy() - want).max() > 0.1
    with pytest.raises(mx.MXNetError, match="is_train=False does not fit"):
        run.backward(head, is_train=False)
    run.forward()
    with pytest.raises(mx.MXNetError, match="is_train=True does not fit"):
        run.backward(head)
    assert (run.aux_dict["bn_moving_var"].asnumpy() != 4).all()


@pytest.mark.parametrize("inplace, coshare, megabytes", [(1, 1, 4), (1, 0, 4), (0, 1, 8), (0, 0, 12)])
def test_settings_switch_off_the_sharing_of_memory(inplace, coshare, megabytes):
    code = """if True:
        import loomix as mx
        net = mx.sym.var("x")
        for _ in range(4):
            net = mx.sym.tanh(net)
        print(net.simple_bind(mx.cpu(), grad_req="null", x=(1024, 1024)).debug_str())
    """
    environment = {**os.environ, "LOOMIX_INPLACE": str(inplace), "LOOMIX_COSHARE": str(coshare)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert float(re.search(r"planned ([0-9.]+) MB", result.stdout)[1]) == megabytes


def test_dumped_passes(tmp_path):
    code = """if True:
        import loomix as mx
        net = mx.sym.tanh(mx.sym.var("x") * 1 + mx.sym.ones((2, 2)), name="t")
        run = net.simple_bind(mx.cpu(), x=(2, 2))
        run.forward(is_train=True)
        run.backward(mx.nd.ones((2, 2)))
    """
    environment = {**os.environ, "LOOMIX_DUMP_PASSES": "all", "LOOMIX_DUMP_FOLDER": str(tmp_path / "dump")}
    subprocess.run([sys.executable, "-c", code], env=environment, timeout=60, check=True)
    texts = {path.stem[5:]: path.read_text() for path in sorted((tmp_path / "dump").iterdir())}
    assert list(texts) == ["prune", "gradient", "infer", "simplify", "place", "plan"]
    assert "_mul_scalar" in texts["prune"] and "_mul_scalar" not in texts["simplify"]
    assert "backward of" in texts["gradient"] and "float32 (2, 2)" in texts["infer"]
    assert "lower bound" in texts["plan"]
    environment = {**os.environ, "LOOMIX_DUMP_PASSES": "plan,simplify"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=60, check=True, capture_output=True, text=True
    )
    assert re.findall("---- (.*)", run.stderr) == ["simplify", "plan"]


def test_eval():
    assert sym.var("x").__add__(1).eval(x=nd.ones(2))[0].asnumpy().tolist() == [2, 2]


def test_mistakes():
    args = arrays()
    with pytest.raises(ValueError, match="fc_bias"):
        linear().bind(mx.cpu(), {name: args[name] for name in ("x", "fc_weight")})
    with pytest.raises(ValueError):
        linear().bind(mx.cpu(), [args["x"]])
    with pytest.raises(TypeError):
        linear().bind(mx.cpu(), {**args, "x": 3})
    with pytest.raises(ValueError):
        linear().bind(mx.cpu(), {**args, "fc_bias": nd.ones(7)}).forward()
    with pytest.raises(TypeError):
        linear().bind("cpu", args)
    with pytest.raises((ValueError, mx.MXNetError)):
        linear().bind(mx.cpu(), args).backward(nd.ones((3, 2)))
    with pytest.raises(ValueError):
        linear().bind(mx.cpu(), args, {"x": nd.zeros((3, 4))}, grad_req="sometimes")
