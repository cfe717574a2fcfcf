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
    run = linear().bind(mx.current_context(), args, grads)
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
    run = linear().bind(mx.current_context(), values, grads, grad_req=["null", "write", "add"])
    for _ in range(2):
        run.forward(is_train=True)
        run.backward([nd.ones((3, 2))])
    assert all(array is own for array, own in zip(run.grad_arrays, grads))  # the given ones, as in MXNet
    assert run.grad_dict["x"] is grads[0]
    close(grads[0], np.ones((3, 4)))
    close(grads[2], [7, 7])


def test_new_values_by_name():
    args = arrays()
    run = linear().bind(mx.current_context(), args)
    x = np.ones((3, 4), "float32")
    close(run.forward(x=x)[0], x @ args["fc_weight"].asnumpy().T + args["fc_bias"].asnumpy())
    with pytest.raises(TypeError, match="no argument"):
        run.forward(nothing=nd.ones(1))
    with pytest.raises(ValueError, match="it was bound with"):
        run.forward(x=nd.ones((2, 2)))
    with pytest.raises(ValueError):
        run.forward(x=3)


def test_simple_bind():
    run = linear().simple_bind(mx.current_context(), x=(3, 4), grad_req={"fc_weight": "write"})
    assert run.arg_dict["fc_weight"].shape == (2, 4)
    assert run.grad_dict["x"] is None and run.grad_dict["fc_weight"].shape == (2, 4)
    run.copy_params_from({name: value for name, value in arrays().items() if name != "x"})
    close(run.forward(x=arrays()["x"])[0], expected(arrays()))
    with pytest.raises(ValueError):
        run.copy_params_from({"nothing": nd.ones(1)})
    run.copy_params_from({"nothing": nd.ones(1)}, allow_extra_params=True)
    with pytest.raises(ValueError):
        linear().simple_bind(mx.current_context(), fc_bias=(2,))
    wide = linear().simple_bind(mx.current_context(), x=(3, 4), type_dict={"x": "float64"})
    assert wide.arg_dict["fc_weight"].dtype == np.float64


def test_shared_buffer():
    buffer = {}
    big = linear().simple_bind(mx.current_context(), x=(6, 4), shared_buffer=buffer)
    small = linear().simple_bind(mx.current_context(), x=(3, 4), shared_buffer=buffer)
    assert set(buffer) == {"x", "fc_weight", "fc_bias"}
    big.arg_dict["fc_bias"][:] = 3
    close(small.forward()[0], np.full((3, 2), 3))


def test_reshape():
    args = arrays()
    run = linear().bind(mx.current_context(), args)
    smaller = run.reshape(x=(2, 4))
    smaller.arg_dict["x"][:] = 1
    close(smaller.forward()[0], np.ones((2, 4)) @ args["fc_weight"].asnumpy().T + args["fc_bias"].asnumpy())
    with pytest.raises(ValueError):
        run.reshape(x=(9, 4))
    assert run.reshape(x=(9, 4), allow_up_sizing=True).forward()[0].shape == (9, 2)


def test_auxiliary_states():
    bn = sym.BatchNorm(sym.var("x"), fix_gamma=False, momentum=0.5, name="bn")
    run = bn.simple_bind(mx.current_context(), x=(8, 3))
    run.arg_dict["bn_gamma"][:] = 1
    run.aux_dict["bn_moving_var"][:] = 1
    x = np.random.RandomState(0).randn(8, 3).astype("float32")
    run.forward(is_train=True, x=x)
    run.backward(nd.ones((8, 3)))
    close(run.aux_dict["bn_moving_mean"], x.mean(0) * 0.5)


def test_monitor():
    seen = {}
    run = linear().bind(mx.current_context(), arrays())
    run.set_monitor_callback(lambda name, array: seen.__setitem__(name, array.asnumpy()))
    run.forward()
    assert list(seen) == ["fc_output"]
    assert "fc" in run.debug_str()


def test_monitor_of_inputs():
    net = sym.BatchNorm(linear(), name="bn")
    run = net.simple_bind(mx.current_context(), x=(3, 4))
    for array in (*run.arg_arrays, *run.aux_arrays):
        array[:] = 2
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append((name, array.asnumpy())), monitor_all=True)
    run.forward(is_train=True)
    names = ["x", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias", "fc_output"]
    names += ["bn_data", "bn_gamma", "bn_gamma", "bn_beta", "bn_beta", "bn_moving_mean", "bn_moving_mean"]
    names += ["bn_moving_var", "bn_moving_var", "bn_output", "bn_mean", "bn_var"]
    assert [name for name, _ in seen] == names
    values = dict(seen)
    assert (values["fc_data"] == 2).all() and (values["bn_data"] == values["fc_output"]).all()
    assert (values["bn_moving_mean"] == 2).all()
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.max(), monitor_all=True)
    monitor.install(run)
    monitor.tic()
    run.forward()
    assert {"fc_weight", "bn_data", "fc_output"} <= {name for _, name, _ in monitor.toc()}


def watched(monitor_all):
    """Names and values in a training pass of a small network, forwards and backwards."""
    net = sym.BatchNorm(linear(), fix_gamma=False, name="bn")
    with mx.name.NameManager():  # counts from 0
        both = sym.tanh(net, name="tanh") * sym.sigmoid(net, name="sigmoid")
    run = sym.MakeLoss(both, name="loss").simple_bind(mx.current_context(), x=(3, 4))
    rng = np.random.RandomState(0)
    for array in run.arg_arrays:
        array[:] = rng.randn(*array.shape)
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append((name, array.asnumpy())), monitor_all)
    run.forward(is_train=True)
    begin = len(seen)
    run.backward()
    return run, seen[:begin], seen[begin:]


def test_monitor_of_gradients():
    run, forward, backward = watched(False)
    assert [name for name, _ in forward][:4] == ["fc_output", "bn_output", "bn_mean", "bn_var"]
    names = [name for name, _ in backward]
    assert set(names) == {
        "loss_backward_output",
        *(f"_mul0_backward_output{i}" for i in range(2)),
        "sigmoid_backward_output",
        "tanh_backward_output",
        "sum_grad_output",
        *(f"bn_backward_output{i}" for i in range(3)),
        *(f"fc_backward_output{i}" for i in range(3)),
    }
    assert len(names) == len(set(names))
    values = dict(backward)
    for name, gradient in (("fc_backward_output0", "x"), ("fc_backward_output1", "fc_weight")):
        assert (values[name] == run.grad_dict[gradient].asnumpy()).all()
    for name, gradient in (("fc_backward_output2", "fc_bias"), ("bn_backward_output1", "bn_gamma")):
        assert (values[name] == run.grad_dict[gradient].asnumpy()).all()
    np.testing.assert_allclose(
        values["sum_grad_output"],
        values["tanh_backward_output"] + values["sigmoid_backward_output"],
        rtol=1e-5,
    )
    _, _, backward = watched(True)
    names = [name for name, _ in backward if "backward" in name or "sum_grad" in name]
    assert {"x", "fc_weight", "bn_gamma"} == {name for name, _ in backward} - set(names) - {
        "bn_moving_mean",
        "bn_moving_var",
    }
    assert {"bn_backward_input0", "fc_backward_output2", "sum_grad_arg1"} <= set(names)
    # The gradient of fc is three nodes, which read the head gradient, the weight and the data between them.
    of_fc = sorted(name for name in names if name.startswith("fc_backward_input"))
    assert of_fc == [f"fc_backward_input{i}" for i in range(3)]
    assert len(names) == len(set(names))
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.max(), pattern="fc_backward.*")
    monitor.install(run)
    monitor.tic()
    run.forward(is_train=True)
    run.backward()
    assert sorted(name for _, name, _ in monitor.toc()) == [f"fc_backward_output{i}" for i in range(3)]


def test_a_repeated_pass_is_not_watched_again():
    run = bound_noisy()
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append(name))
    run.forward(is_train=True)
    run.backward(nd.ones((6, 2)))
    count = len(seen)
    run.backward(nd.ones((6, 2)))
    assert [name for name in seen[count:] if "backward" not in name and name != "sum_grad_output"] == []


def test_the_allocated_megabytes_are_told_as_mxnet_does():
    net = sym.var("x")
    for _ in range(4):
        net = sym.softmax(net)
    run = net.simple_bind(mx.current_context(), grad_req="null", x=(1024, 1024))
    text = run.debug_str()
    assert text.rstrip().split("\n")[-1] == "Total 4 MB allocated"
    assert text.split("\n")[-3].split()[1] == "4"  # how MXNet's example of memory costs reads it


def test_nothing_is_kept_for_gradients_that_are_stopped():
    def megabytes(net):
        text = net.simple_bind(mx.current_context(), x=(512, 512)).debug_str()
        return int(text.rstrip().split("\n")[-1].split()[1])

    net = sym.var("x")
    for i in range(8):
        net = sym.tanh(sym.FullyConnected(net, num_hidden=512, name=f"fc{i}"))
    assert megabytes(net) >= 3 * megabytes(sym.stop_gradient(net))
    assert megabytes(sym.exp(sym.BlockGrad(net))) <= megabytes(sym.stop_gradient(net))


def grouped():
    with mx.AttrScope(ctx_group="a"):
        x = sym.var("x")
        fc1 = sym.FullyConnected(x, num_hidden=4, name="fc1")
    act = sym.Activation(fc1, act_type="tanh", name="act")
    with mx.AttrScope(ctx_group="b"):
        fc2 = sym.BatchNorm(sym.FullyConnected(act, num_hidden=3, name="fc2"), fix_gamma=False, name="bn")
    free = sym.FullyConnected(fc2, num_hidden=2, name="free")
    return sym.Group([act, fc2 * 2, free + sym.ones((5, 2))])


GROUPS = {"a": mx.cpu(1), "b": mx.cpu(2)}


def filled(run):
    rng = np.random.RandomState(0)
    for array in (*run.arg_arrays, *run.aux_arrays):
        array[:] = rng.rand(*array.shape)
    return run


def results(run):
    heads = [nd.array(np.random.RandomState(i).randn(*o.shape)) for i, o in enumerate(run.outputs)]
    found = [output.asnumpy() for output in run.forward(is_train=True)]
    run.backward(heads)
    return (
        found
        + [g.asnumpy() for g in run.grad_arrays if g is not None]
        + [a.asnumpy() for a in run.aux_arrays]
    )


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_groups_run_on_their_devices(grad_req):
    want = results(filled(grouped().simple_bind(mx.cpu(), grad_req=grad_req, x=(5, 6))))
    run = filled(grouped().simple_bind(mx.cpu(), grad_req=grad_req, x=(5, 6), group2ctx=GROUPS))
    places = {name: array.context for name, array in (*run.arg_dict.items(), *run.aux_dict.items())}
    assert places == {
        **dict.fromkeys(("x", "fc1_weight", "fc1_bias"), mx.cpu(1)),
        **dict.fromkeys(("fc2_weight", "fc2_bias", "bn_gamma", "bn_beta"), mx.cpu(2)),
        **dict.fromkeys(("bn_moving_mean", "bn_moving_var"), mx.cpu(2)),
        **dict.fromkeys(("free_weight", "free_bias"), mx.cpu()),
    }
    assert {name: array.context for name, array in run.grad_dict.items()} == {
        name: place for name, place in places.items() if "moving" not in name
    }
    assert [output.context for output in run.outputs] == [mx.cpu(1), mx.cpu(2), mx.cpu(2)]
    for got, array in zip(results(run), want):
        np.testing.assert_allclose(got, array, rtol=1e-5, atol=1e-6)
    assert run.debug_str().count("transfer") > 3


def test_groups_with_given_arrays():
    net, shapes = grouped(), {"x": (5, 6)}
    want = results(filled(net.simple_bind(mx.cpu(), x=(5, 6))))
    arg_shapes, _, aux_shapes = net.infer_shape(**shapes)

    def bound(place, grad_place=None, aux_place=mx.cpu(2)):
        args = [nd.zeros(shape, place) for shape in arg_shapes]
        grads = [nd.zeros(shape, grad_place or place) for shape in arg_shapes]
        aux = [nd.zeros(shape, aux_place) for shape in aux_shapes]
        return net.bind(mx.cpu(), args, grads, "write", aux, group2ctx=GROUPS)

    for place in (mx.cpu(0), mx.cpu(5)):  # values are brought to where they are needed, and gradients back
        for got, array in zip(results(filled(bound(place))), want):
            np.testing.assert_allclose(got, array, rtol=1e-5, atol=1e-6)
    with pytest.raises(
        mx.MXNetError, match=r"gradient array of 'x' is on cpu\(4\), the argument on cpu\(3\)"
    ):
        bound(mx.cpu(3), mx.cpu(4))
    with pytest.raises(
        mx.MXNetError, match=r"node 'bn'.*ctx_group 'b' runs on cpu\(2\) and changes 'bn_moving_mean'"
    ):
        bound(mx.cpu(0), aux_place=mx.cpu(0)).forward()


def test_a_group_without_a_device_is_named():
    with pytest.raises(mx.MXNetError, match="'fc2_weight'.*ctx_group 'b'.*names 'a'"):
        grouped().simple_bind(mx.cpu(), x=(5, 6), group2ctx={"a": mx.cpu(1)})


def test_gradients_in_inference():
    net = sym.Dropout(sym.BatchNorm(sym.var("x"), fix_gamma=False, name="bn"), p=0.5)
    run = net.simple_bind(mx.current_context(), x=(4, 3))
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
        run.backward(head, is_train=True)
    assert (run.aux_dict["bn_moving_var"].asnumpy() != 4).all()


def noisy():
    """A network whose gradient tells which pass it belongs to: noise in every mode, and statistics of the batch."""
    x = sym.var("x")
    noise = sym.Dropout(x, p=0.5, mode="always", name="noise")
    hidden = sym.BatchNorm(noise, fix_gamma=False, momentum=0.5, name="bn")
    hidden = sym.tanh(sym.Dropout(hidden, p=0.3, name="drop"), name="tanh")
    return sym.FullyConnected(hidden, num_hidden=2, name="fc")


def bound_noisy(**kwargs):
    run = noisy().simple_bind(mx.current_context(), x=(6, 5), **kwargs)
    rng = np.random.RandomState(3)
    for array in run.arg_arrays:
        array[:] = rng.randn(*array.shape)
    run.aux_dict["bn_moving_var"][:] = 2
    return run


def gradients(run):
    return {name: array.asnumpy() for name, array in run.grad_dict.items() if array is not None}


def assert_same(got, want):
    assert got.keys() == want.keys()
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


def reference(is_train, head, seed=7):
    """Gradients and moving statistics of one pass in the usual order."""
    run = bound_noisy()
    if not is_train:  # so that the pass keeps what the gradients need from the beginning
        run.forward()
        run.backward(head)
    mx.random.seed(seed)
    output = run.forward(is_train=is_train)[0].asnumpy()
    run.backward(head)
    return output, gradients(run), run.aux_dict["bn_moving_mean"].asnumpy()


@pytest.mark.parametrize("is_train", [False, True])
def test_backward_follows_the_last_forward_pass(is_train):
    head = nd.array(np.random.RandomState(1).randn(6, 2))
    output, want, mean = reference(is_train, head)
    run = bound_noisy()
    mx.random.seed(7)
    got = run.forward(is_train=is_train)[0].asnumpy()
    np.testing.assert_allclose(got, output, rtol=1e-5)
    nd.random.uniform(shape=100)  # others draw in between
    run.backward(head)
    assert_same(gradients(run), want)
    np.testing.assert_allclose(run.outputs[0].asnumpy(), output, rtol=1e-5)
    np.testing.assert_allclose(run.aux_dict["bn_moving_mean"].asnumpy(), mean, rtol=1e-5)


@pytest.mark.parametrize("is_train", [False, True])
def test_backward_again(is_train):
    heads = [nd.array(np.random.RandomState(i).randn(6, 2)) for i in range(3)]
    wants = [reference(is_train, head) for head in heads]
    run = bound_noisy()
    mx.random.seed(7)
    run.forward(is_train=is_train)
    for head, (output, want, mean) in zip(heads, wants):
        run.backward(head)
        assert_same(gradients(run), want)
        np.testing.assert_allclose(run.outputs[0].asnumpy(), output, rtol=1e-5)
        np.testing.assert_allclose(run.aux_dict["bn_moving_mean"].asnumpy(), mean, rtol=1e-5)
    mx.random.seed(7)
    run.forward(is_train=is_train)  # another pass counts again
    run.backward(heads[0])
    assert_same(gradients(run), wants[0][1])
    moved = run.aux_dict["bn_moving_mean"].asnumpy()
    assert (abs(moved - wants[0][2]).max() > 0.01) == is_train


def test_repeated_gradients_are_added():
    head = nd.ones((6, 2))
    _, want, _ = reference(True, head)
    run = bound_noisy(grad_req="add")
    mx.random.seed(7)
    run.forward(is_train=True)
    for _ in range(3):
        run.backward(head)
    assert_same(gradients(run), {name: 3 * array for name, array in want.items()})


@pytest.mark.parametrize("is_train", [None, True, False])
def test_backward_without_a_forward_pass_runs_one(is_train):
    head = nd.ones((6, 2))
    output, want, mean = reference(is_train is not False, head)
    run = bound_noisy()
    mx.random.seed(7)
    run.backward(head, is_train=is_train)
    assert_same(gradients(run), want)
    np.testing.assert_allclose(run.outputs[0].asnumpy(), output, rtol=1e-5)
    np.testing.assert_allclose(run.aux_dict["bn_moving_mean"].asnumpy(), mean, rtol=1e-5)


def test_backward_after_another_executor_has_used_the_memory():
    head = nd.ones((6, 2))
    _, want, mean = reference(True, head)
    run = bound_noisy()
    other = noisy().simple_bind(mx.current_context(), x=(6, 5), shared_exec=run)
    mx.random.seed(7)
    run.forward(is_train=True)
    other.forward(is_train=True)
    run.backward(head)
    assert_same(gradients(run), want)
    np.testing.assert_allclose(run.aux_dict["bn_moving_mean"].asnumpy(), mean, rtol=1e-5)


def bound_tanh():
    net = sym.tanh(sym.FullyConnected(sym.var("x"), num_hidden=1, no_bias=True, name="fc"))
    run = net.simple_bind(mx.current_context(), x=(1, 1))
    run.arg_dict["x"][:] = 1
    run.arg_dict["fc_weight"][:] = 0.3
    return run


@pytest.mark.parametrize("changed", ["x", "fc_weight"])
@pytest.mark.parametrize("is_train, again", [(False, False), (True, True), (True, False)])
def test_backward_of_a_pass_whose_arguments_were_overwritten(is_train, again, changed):
    run = bound_tanh()
    head = nd.ones((1, 1))
    output = run.forward(is_train=is_train)[0]
    if again:
        run.backward(head)
    before = gradients(run)
    run.arg_dict[changed][:] = 0.1
    hint = r"forward\(is_train=True\)" if is_train else r"forward\(\)"
    with pytest.raises(mx.base.StateError, match=f"'{changed}'.*was overwritten after.*run {hint} again"):
        run.backward(head)
    assert_same(gradients(run), before)
    np.testing.assert_allclose(output.asnumpy(), np.tanh(0.3), rtol=1e-5)
    run.forward(is_train=is_train)
    run.backward(head)
    slope = 1 - np.tanh(0.1 if changed == "fc_weight" else 0.03) ** 2
    factor = 0.1 if changed == "x" else 1
    np.testing.assert_allclose(run.grad_dict["fc_weight"].asnumpy(), slope * factor, rtol=1e-5)


@pytest.mark.parametrize("is_train", [False, True])
def test_statistics_that_changed_after_the_pass(is_train):
    run = bound_noisy()
    head = nd.ones((6, 2))
    _, want, _ = reference(is_train, head)
    mx.random.seed(7)
    run.forward(is_train=is_train)
    if is_train:  # which has statistics of its own
        run.backward(head)
    run.aux_dict["bn_moving_var"][:] = 9
    if is_train:
        run.backward(head)
        assert_same(gradients(run), want)
        assert (run.aux_dict["bn_moving_var"].asnumpy() == 9).all()
    else:
        with pytest.raises(mx.base.StateError, match="'bn_moving_var'.*overwritten"):
            run.backward(head)


def test_what_no_gradient_needs_may_change_after_the_pass():
    net = sym.SoftmaxOutput(
        sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc"), sym.var("label"), name="softmax"
    )
    run = net.simple_bind(
        mx.current_context(), x=(3, 4), label=(3,), grad_req={"fc_weight": "write", "fc_bias": "write"}
    )
    for array in run.arg_arrays:
        array[:] = nd.random.normal(shape=array.shape)
    for is_train in (False, True, True):
        probability = run.forward(is_train=is_train)[0].asnumpy()
        if is_train:
            run.arg_dict["fc_weight"][:] += 1  # needed for the gradient of x, which is not wanted
        labels = [[0, 1, 0], [1, 1, 0]][: 1 if is_train else 2]
        for label in labels:
            run.arg_dict["label"][:] = label
            run.backward()
            want = (probability - np.eye(2)[label]).sum(axis=0)
            np.testing.assert_allclose(run.grad_dict["fc_bias"].asnumpy(), want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("is_train", [False, True])
def test_backward_leaves_outputs_alone(is_train):
    run = bound_tanh()
    head = nd.ones((1, 1))
    output = run.forward(is_train=is_train)[0]
    output[:] = 5  # what the gradient of tanh would read
    for _ in range(2):
        run.backward(head)
        np.testing.assert_allclose(run.grad_dict["fc_weight"].asnumpy(), 1 - np.tanh(0.3) ** 2, rtol=1e-5)
        assert output.asscalar() == 5
    assert run.forward(is_train=is_train)[0] is output
    np.testing.assert_allclose(output.asnumpy(), np.tanh(0.3), rtol=1e-5)


def test_executors_that_share_parameters_in_turn():
    """Gradients change moving averages, and gammas that are fixed: the other's gradients do not depend on that."""
    net = sym.tanh(sym.BatchNorm(sym.var("x"), momentum=0.5, name="bn"))
    first = net.simple_bind(mx.current_context(), x=(6, 5))
    states = first.aux_dict
    second = net.bind(
        mx.current_context(),
        {**first.arg_dict, "x": nd.random.normal(shape=(6, 5))},
        {"x": nd.zeros((6, 5))},
        aux_states=states,
    )
    first.arg_dict["x"][:] = nd.random.normal(shape=(6, 5))
    head = nd.random.normal(shape=(6, 5))
    wants = []
    for run in (first, second):
        run.forward(is_train=True)
        run.backward(head)
        wants.append(run.grad_dict["x"].asnumpy())
    for run in (first, second):
        run.forward(is_train=True)
    for _ in range(2):
        for run, want in zip((first, second), wants):
            run.backward(head)
            np.testing.assert_allclose(run.grad_dict["x"].asnumpy(), want, rtol=1e-5)


def test_backward_where_no_gradient_was_asked_for_does_nothing():
    run = linear().bind(mx.current_context(), arrays(), grad_req="null")
    run.backward()
    run.forward(is_train=True)
    run.backward(nd.ones((3, 2)))
    assert run.grad_arrays == [None, None, None]


def test_a_refused_backward_changes_nothing():
    run = bound_noisy()
    run.forward(is_train=True)
    before, mean = gradients(run), run.aux_dict["bn_moving_mean"].asnumpy()
    for heads, kind in (
        (None, ValueError),
        ([nd.ones((6, 2))] * 2, ValueError),
        (nd.ones((5, 2)), ValueError),
    ):
        with pytest.raises(kind, match="backward"):
            run.backward(heads)
    assert_same(gradients(run), before)
    assert (run.aux_dict["bn_moving_mean"].asnumpy() == mean).all()


@pytest.mark.parametrize("inplace, coshare, megabytes", [(1, 1, 4), (1, 0, 4), (0, 1, 8), (0, 0, 12)])
def test_settings_switch_off_the_sharing_of_memory(inplace, coshare, megabytes):
    code = """if True:
        import loomix as mx
        net = mx.sym.var("x")
        for _ in range(4):
            net = mx.sym.tanh(net)
        print(net.simple_bind(mx.cpu(), grad_req="null", x=(1024, 1024)).debug_str())
    """
    settings = {"LOOMIX_FUSE": "0", "LOOMIX_INPLACE": str(inplace), "LOOMIX_COSHARE": str(coshare)}
    environment = {**os.environ, **settings}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert float(re.search(r"planned ([0-9.]+) MB", result.stdout)[1]) == megabytes


def test_a_setting_switches_off_fusions():
    code = """if True:
        import loomix as mx
        x = mx.sym.var("x")
        print(mx.sym.tanh(mx.sym.exp(x) * 2).simple_bind(mx.cpu(), grad_req="null", x=(4,)).debug_str())
    """

    def operators(fuse):
        environment = {**os.environ, "LOOMIX_FUSE": fuse}
        command = [sys.executable, "-c", code]
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        return re.findall(r"^ +[0-9]+ (\w+) ", result.stdout, re.M)

    assert operators("1") == ["_fused"]
    assert operators("0") == ["exp", "_mul_scalar", "tanh"]


def test_cheap_values_are_computed_again_as_far_as_the_setting_allows():
    code = """if True:
        import loomix as mx
        net = mx.sym.var("x")
        for _ in range(4):
            net = mx.sym.Convolution(net, num_filter=8, kernel=(3, 3), pad=(1, 1))
            net = mx.sym.Activation(mx.sym.BatchNorm(net), act_type="relu")
        run = net.simple_bind(mx.current_context(), x=(8, 8, 32, 32))
        # Layouts differ by the processor's instructions: _BatchNorm_again or _blocked_batch_norm_again.
        print("_again" in run.debug_str(), run.planned_memory(True)["both"])
    """

    def planned(share):
        # two workers: plans keep what one would have to wait for
        environment = {**os.environ, "LOOMIX_RECOMPUTE_SHARE": str(share), "LOOMIX_CPU_WORKER_NTHREADS": "2"}
        command = [sys.executable, "-c", code]
        output = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, timeout=60, check=True, text=True
        ).stdout
        is_again, size = output.split()
        return is_again == "True", int(size)

    (without, all_kept), (again, fewer) = planned(0), planned(1)
    assert again and not without and fewer < 0.75 * all_kept


def test_training_within_a_budget():
    net = mx.sym.var("x")
    for i in range(10):
        net = mx.sym.Convolution(net, num_filter=8, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        net = mx.sym.Activation(mx.sym.BatchNorm(net, name=f"bn{i}"), act_type="relu")
        net = mx.sym.Dropout(net, p=0.2)

    def train(bind, budget):
        mx.random.seed(5)
        run = bind(budget)
        for i, array in enumerate([*run.arg_arrays, *run.aux_arrays]):
            array[:] = np.random.default_rng(i).uniform(-0.5, 0.5, array.shape)
        for _ in range(2):
            run.forward(is_train=True)
            run.backward(mx.nd.ones(run.outputs[0].shape))
        return run.planned_memory(True)["both"], [a.asnumpy() for a in run.grad_arrays + run.aux_arrays]

    def simple_bind(budget):
        return net.simple_bind(mx.current_context(), x=(4, 8, 32, 32), memory_budget=budget)

    def bind(budget):
        free = simple_bind(None)
        return net.bind(
            mx.current_context(),
            free.arg_arrays,
            free.grad_arrays,
            aux_states=free.aux_arrays,
            memory_budget=budget,
        )

    needed, want = train(simple_bind, None)
    for kind in (simple_bind, bind):
        planned, gradients = train(kind, needed * 7 // 10)
        assert planned <= needed * 7 // 10
        for got, expected in zip(gradients, want):
            np.testing.assert_array_equal(got, expected)
        with pytest.raises(ValueError, match=rf"memory_budget of 9 bytes is too small.*{needed} are planned"):
            kind(9)
        for wrong in (0, -1, 1.5, "1 GB", True):
            with pytest.raises(
                ValueError, match=r"bind\] memory_budget is .*; expected a number of bytes above 0"
            ):
                kind(wrong)
    prediction = net.simple_bind(mx.current_context(), grad_req="null", x=(4, 8, 32, 32)).planned_memory(
        False
    )["both"]
    with pytest.raises(ValueError, match=rf"for prediction: the smallest .* {prediction} bytes"):
        net.simple_bind(mx.current_context(), grad_req="null", x=(4, 8, 32, 32), memory_budget=prediction - 1)


def test_planned_memory_compares_ways_of_sharing():
    net = mx.sym.var("x")
    for i in range(6):
        net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=1024, name=f"fc{i}")
    run = net.simple_bind(mx.current_context(), x=(256, 1024))
    for training in (False, True):
        memory = run.planned_memory(is_train=training)
        assert list(memory) == ["naive", "inplace", "co_share", "both", "lower_bound"]
        assert memory["naive"] > memory["inplace"] > memory["both"] >= memory["lower_bound"] > 0
        assert memory["naive"] > memory["co_share"] >= memory["both"]
    assert run.planned_memory(False)["both"] < run.planned_memory(True)["both"]
    assert run.planned_memory()["both"] == run.planned_memory(False)["both"]
    megabytes = float(re.search(r"planned ([0-9.]+) MB", run.debug_str())[1])
    assert megabytes == pytest.approx(run.planned_memory(True)["both"] / 2**20, abs=0.1)


def test_dumped_passes(tmp_path):
    code = """if True:
        import loomix as mx
        net = mx.sym.tanh(mx.sym.var("x") * 1 + mx.sym.ones((2, 2)), name="t")
        run = net.simple_bind(mx.current_context(), x=(2, 2))
        run.forward(is_train=True)
        run.backward(mx.nd.ones((2, 2)))
    """
    environment = {**os.environ, "LOOMIX_DUMP_PASSES": "all", "LOOMIX_DUMP_FOLDER": str(tmp_path / "dump")}
    subprocess.run([sys.executable, "-c", code], env=environment, timeout=60, check=True)
    texts = {path.stem[5:]: path.read_text() for path in sorted((tmp_path / "dump").iterdir())}
    passes = ["prune", "gradient", "infer", "simplify", "layout", "recompute", "fuse", "place", "plan"]
    assert list(texts) == passes
    assert "_mul_scalar" in texts["prune"] and "_mul_scalar" not in texts["simplify"]
    assert "backward of" in texts["gradient"] and "float32 (2, 2)" in texts["infer"]
    assert "lower bound" in texts["plan"]
    environment = {**os.environ, "LOOMIX_DUMP_PASSES": "plan,recompute,simplify"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=60, check=True, capture_output=True, text=True
    )
    assert re.findall("---- (.*)", run.stderr) == ["simplify", "recompute", "plan"]


def test_eval():
    assert sym.var("x").__add__(1).eval(x=nd.ones(2))[0].asnumpy().tolist() == [2, 2]


def test_mistakes():
    args = arrays()
    with pytest.raises(ValueError, match="fc_bias"):
        linear().bind(mx.current_context(), {name: args[name] for name in ("x", "fc_weight")})
    with pytest.raises(ValueError):
        linear().bind(mx.current_context(), [args["x"]])
    with pytest.raises(TypeError):
        linear().bind(mx.current_context(), {**args, "x": 3})
    with pytest.raises(ValueError):
        linear().bind(mx.current_context(), {**args, "fc_bias": nd.ones(7)}).forward()
    with pytest.raises(TypeError):
        linear().bind(3, args)
    with pytest.raises(ValueError):
        linear().bind(mx.current_context(), args, {"x": nd.zeros((3, 4))}, grad_req="sometimes")
