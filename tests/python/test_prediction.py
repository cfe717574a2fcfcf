# SPDX-License-Identifier: Apache-2.0
"""What only prediction does: normalisations in weights, images in blocks of channels, weights made ready once."""

import os
import re
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

CODE = """if True:
    import loomix as mx
    net = mx.sym.Variable("data")
    for i in range(2):
        net = mx.sym.Convolution(net, num_filter=32, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        net = mx.sym.Activation(mx.sym.BatchNorm(net, name=f"norm{i}"), act_type="relu")
    run = net.simple_bind(mx.cpu(), grad_req="null", data=(1, 32, 8, 8))
    run.forward(is_train=False)[0].wait_to_read()
"""


def explained(**settings):
    environment = {**os.environ, "LOOMIX_EXPLAIN": "plan", **settings}
    command = [sys.executable, "-c", CODE]
    return subprocess.run(
        command, env=environment, stderr=subprocess.PIPE, text=True, timeout=60, check=True
    ).stderr


def test_settings_turn_the_passes_off():
    plain = explained(LOOMIX_FOLD_NORM="0", LOOMIX_CHOOSE_LAYOUT="0")
    assert plain.count(" BatchNorm ") == 2 and "held" not in plain
    folded = explained(LOOMIX_FOLD_NORM="1", LOOMIX_CHOOSE_LAYOUT="0")
    assert " BatchNorm " not in folded and "held until an argument changes" in folded
    both = explained()
    assert " BatchNorm " not in both and "held until an argument changes" in both
    if " _blocked_convolution " not in both:
        pytest.skip("no oneDNN here, or no AVX2: nothing works on blocks of channels")
    assert " Activation " not in both
    assert " _blocked_convolution " not in explained(LOOMIX_DNNL="0")


def test_held_weights_are_bounded():
    def held(**settings):
        text = explained(**settings)
        if " _blocked_convolution " not in text:
            return 0
        return float(re.search(r"held until an argument changes: ([0-9.]+) MB", text)[1])

    weights = 2 * 32 * 32 * 9 * 4 / 2**20
    if held() == 0:
        pytest.skip("no oneDNN here, or no AVX2: nothing works on blocks of channels")
    assert held(LOOMIX_HELD_WEIGHTS="1.5") == pytest.approx(weights, abs=0.01)
    assert weights <= held() + 0.01 <= 6.2 * weights
    assert held(LOOMIX_HELD_WEIGHTS="0.5") == 0


def small_network():
    net = mx.gluon.nn.HybridSequential()
    for filters in (32, 64):
        net.add(mx.gluon.nn.Conv2D(filters, 3, padding=1, use_bias=False), mx.gluon.nn.BatchNorm())
        net.add(mx.gluon.nn.Activation("relu"), mx.gluon.nn.MaxPool2D(2))
    net.add(mx.gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    return net


def test_hybridized_blocks_follow_their_training():
    net = small_network()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = mx.nd.random.normal(shape=(4, 3, 16, 16))
    for _ in range(3):
        net.hybridize(False)
        expected = net(x).asnumpy()
        net.hybridize()
        np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(4)
        after = net(x).asnumpy()
        assert not np.allclose(after, expected)
        net.hybridize(False)
        np.testing.assert_allclose(after, net(x).asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", ["buffer", "dlpack"])
def test_weights_that_are_written_through_shared_memory(how):
    conv = mx.sym.Convolution(
        mx.sym.Variable("data"), num_filter=32, kernel=(3, 3), no_bias=True, name="conv"
    )
    source = np.ones((32, 16, 3, 3), "float32")
    weight = mx.nd.array(source)
    run = conv.bind(mx.cpu(), {"data": mx.nd.ones((1, 16, 5, 5)), "conv_weight": weight})
    assert run.forward()[0].asnumpy().max() == 144
    if how == "buffer":
        shared = np.frombuffer(memoryview(weight), "float32")
        run.forward()[0].wait_to_read()
        shared[:] = 2
    else:
        shared = mx.nd.from_dlpack(weight.to_dlpack_for_write())
        shared[:] = 2
        shared.wait_to_read()
    assert run.forward()[0].asnumpy().max() == 288
    assert run.forward()[0].asnumpy().max() == 288


def test_sparse_weights_are_left_to_the_operators_that_take_them():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, no_bias=True, name="fc")
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=0, name="norm")
    weight = np.zeros((6, 4), "float32")
    weight[[1, 4]] = 3
    arguments = {"data": mx.nd.ones((2, 4)), "norm_gamma": mx.nd.full((6,), 2), "norm_beta": mx.nd.ones(6)}
    states = {"norm_moving_mean": mx.nd.zeros(6), "norm_moving_var": mx.nd.ones(6)}
    arguments["fc_weight"] = mx.nd.array(weight).tostype("row_sparse")
    run = net.bind(mx.cpu(), arguments, aux_states=states)
    np.testing.assert_allclose(run.forward()[0].asnumpy()[0], [1, 25, 1, 1, 25, 1])


def test_a_module_predicts_with_parameters_set_later():
    net = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=32, kernel=(1, 1), name="conv")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 16, 4, 4))], for_training=False)
    data = mx.nd.ones((2, 16, 4, 4))
    for value in (1, 3):
        arguments = {
            "conv_weight": mx.nd.full((32, 16, 1, 1), value),
            "conv_bias": mx.nd.full((32,), value),
        }
        module.set_params(arguments, {}, force_init=True)
        module.forward(mx.io.DataBatch([data]), is_train=False)
        assert (module.get_outputs()[0].asnumpy() == 17 * value).all()


def _unit(data, filters, name, **attributes):
    net = mx.sym.Convolution(data, num_filter=filters, pad=(1, 1), kernel=(3, 3), name=name, **attributes)
    return mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name=f"{name}_norm"), act_type="relu")


def _network_of_all_forms():
    """Each operator that works on blocks; the last normalisation cannot be folded, for two read what it reads."""
    net = mx.sym.Pooling(
        _unit(mx.sym.Variable("data"), 32, "first", stride=(2, 2)),
        kernel=(3, 3),
        stride=(2, 2),
        pool_type="max",
    )
    net = mx.sym.Concat(_unit(net, 32, "left"), _unit(net, 24, "right", no_bias=True), dim=1)
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    net = _unit(_unit(net, 32, "joined"), 32, "depthwise", num_group=32)
    shared = mx.sym.Convolution(net, num_filter=32, kernel=(1, 1), name="shared")
    net = shared + mx.sym.BatchNorm(shared, name="shared_norm")
    return mx.sym.FullyConnected(net, num_hidden=10, name="last")


def test_bfloat16_networks_stay_in_blocks():
    symbol = _network_of_all_forms()
    wide = symbol.simple_bind(mx.cpu(), grad_req="null", data=(3, 3, 40, 40))
    random = np.random.default_rng(1)
    for name, array in {**wide.arg_dict, **wide.aux_dict}.items():
        about = 1 if name.endswith(("_gamma", "_var")) else 0
        array[:] = about + random.uniform(-0.3, 0.3, array.shape)
    weights = {name: array for name, array in wide.arg_dict.items() if name != "data"}
    short, arguments, states = mx.contrib.amp.convert_model(symbol, weights, wide.aux_dict, "bfloat16")
    low = short.simple_bind(mx.cpu(), grad_req="null", data=(3, 3, 40, 40))
    low.copy_params_from(arguments, states)
    low.arg_dict["data"][:] = wide.arg_dict["data"]
    for _ in range(2):
        wide.arg_dict["first_weight"][:] *= 1.25
        low.arg_dict["first_weight"][:] = wide.arg_dict["first_weight"]  # what is held follows
        expected = wide.forward(is_train=False)[0].asnumpy()
        got = low.forward(is_train=False)[0].asnumpy()
        # Eight bits a number, and some ten roundings one after the other.
        assert np.linalg.norm(got - expected) < 0.02 * np.linalg.norm(expected)
    plan = low.debug_str()
    if "(3, 2, 19, 19, 16) bfloat16" not in plan and "bfloat16_dnnl" not in plan:
        pytest.skip("no oneDNN here, or a processor that does not multiply bfloat16")
    blocked = [line for line in plan.splitlines() if "_blocked_" in line]
    assert sum(" _blocked_convolution " in line for line in blocked) == 6, plan
    assert sum(" _blocked_pooling " in line for line in blocked) == 2, plan
    assert sum(" _blocked_norm " in line for line in blocked) == 1, plan
    assert all(" bfloat16 " in line for line in blocked), plan
    assert "amp_cast" not in "".join(line for line in plan.splitlines() if "weight" in line), plan


def test_blocks_cast_to_bfloat16():
    net = small_network()
    x = mx.nd.random.normal(shape=(2, 3, 16, 16))
    expected = net(x).asnumpy()
    net.cast("bfloat16")
    assert {str(p.dtype) for name, p in net.collect_params().items() if "batchnorm" in name} == {"float32"}
    eager = net(x.astype("bfloat16")).astype("float32").asnumpy()
    net.hybridize()
    hybrid = net(x.astype("bfloat16")).astype("float32").asnumpy()
    for got in (eager, hybrid):  # eight bits a number
        assert np.linalg.norm(got - expected) < 0.02 * np.linalg.norm(expected)
