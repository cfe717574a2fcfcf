# SPDX-License-Identifier: Apache-2.0
"""Bound graphs on GPUs: what passes make of them there, and graphs over several devices."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
GPU = mx.gpu(0)


def small_net():
    data = mx.sym.Variable("data")
    conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    norm = mx.sym.BatchNorm(conv, fix_gamma=False, name="norm")
    pooled = mx.sym.Pooling(mx.sym.relu(norm), global_pool=True, pool_type="avg", kernel=(1, 1))
    return mx.sym.FullyConnected(pooled, num_hidden=3, name="fc")


def values_for(net, **shapes):
    rng = np.random.RandomState(3)
    arguments, _, states = net.infer_shape(**shapes)
    given = {n: rng.uniform(-1, 1, s) for n, s in zip(net.list_arguments(), arguments)}
    given.update({n: rng.uniform(0.5, 1, s) for n, s in zip(net.list_auxiliary_states(), states)})
    return given


def bound_on(net, ctx, given, **more):
    def on_device(names):
        return {n: mx.nd.array(given[n], ctx=ctx) for n in names}

    return net.bind(
        ctx, on_device(net.list_arguments()), aux_states=on_device(net.list_auxiliary_states()), **more
    )


def operators_of(bound):
    return [call.op for call in bound.explain().operators]


def test_norms_are_folded_for_prediction_as_on_the_host():
    net = small_net()
    given = values_for(net, data=(2, 3, 6, 6))
    on_gpu, on_cpu = (bound_on(net, ctx, given) for ctx in (GPU, mx.cpu()))
    np.testing.assert_allclose(
        on_gpu.forward()[0].asnumpy(), on_cpu.forward()[0].asnumpy(), rtol=1e-4, atol=1e-5
    )
    assert "BatchNorm" not in operators_of(on_gpu)
    on_gpu.aux_dict["norm_moving_mean"][:] = 2
    on_cpu.aux_dict["norm_moving_mean"][:] = 2
    np.testing.assert_allclose(
        on_gpu.forward()[0].asnumpy(), on_cpu.forward()[0].asnumpy(), rtol=1e-4, atol=1e-5
    )


def test_blocked_layouts_and_fused_chains_are_for_devices_that_have_kernels_for_them():
    net = small_net()
    bound = bound_on(net, GPU, values_for(net, data=(2, 3, 6, 6)))
    bound.forward()
    assert operators_of(bound) == ["Convolution", "relu", "Pooling", "FullyConnected"]


def in_groups(groups):
    """A chain of layers, each in the next of the groups."""
    x = mx.sym.Variable("data")
    for i, group in enumerate(groups):
        with mx.AttrScope(ctx_group=group):
            x = mx.sym.FullyConnected(x, num_hidden=5, name=f"fc{i}")
            x = mx.sym.tanh(x) + x * 0.5
    return mx.sym.sum(x)


@pytest.mark.skipif(mx.context.num_gpus() < 2, reason="one GPU")
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_groups_on_several_gpus_and_the_host(grad_req):
    net = in_groups(["a", "b", "host", "a", "b"])
    places = {"a": mx.gpu(0), "b": mx.gpu(1), "host": mx.cpu()}
    results = []
    for ctx, group2ctx in ((GPU, places), (mx.cpu(), None)):
        bound = net.simple_bind(ctx, grad_req=grad_req, group2ctx=group2ctx, data=(4, 5))
        if group2ctx:
            assert bound.arg_dict["fc1_weight"].context == mx.gpu(1)
            assert bound.arg_dict["fc2_weight"].context == mx.cpu()
        rng = np.random.RandomState(1)
        for name in sorted(bound.arg_dict):
            bound.arg_dict[name][:] = rng.uniform(-0.5, 0.5, bound.arg_dict[name].shape)
            bound.grad_dict[name][:] = 0
        for _ in range(5):
            bound.forward(is_train=True)
            bound.backward(mx.nd.ones(bound.outputs[0].shape, ctx=bound.outputs[0].context))
        results.append(
            [bound.outputs[0].asnumpy()] + [bound.grad_dict[n].asnumpy() for n in sorted(bound.grad_dict)]
        )
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(mx.context.num_gpus() < 2, reason="one GPU")
def test_each_device_of_a_graph_has_one_arena():
    net = in_groups(["a", "b", "a", "b", "host"])
    places = {"a": mx.gpu(0), "b": mx.gpu(1), "host": mx.cpu()}
    bound = net.simple_bind(GPU, group2ctx=places, data=(4, 5))
    bound.forward(is_train=True)
    devices = [str(arena.device) for arena in bound.explain().arenas]
    assert sorted(devices) == ["cpu(0)", "gpu(0)", "gpu(1)"]
