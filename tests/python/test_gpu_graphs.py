# SPDX-License-Identifier: Apache-2.0
"""Bound graphs on GPUs: what passes make of them there, and graphs over several devices."""

import os
import subprocess
import sys

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


def test_blocked_layouts_are_for_devices_that_have_kernels_for_them_and_chains_are_fused():
    net = small_net()
    bound = bound_on(net, GPU, values_for(net, data=(2, 3, 6, 6)))
    bound.forward()
    assert operators_of(bound) == ["_relu_Convolution", "Pooling", "FullyConnected"]
    chain = mx.sym.exp(mx.sym.Variable("data") * 2 + 1)
    assert operators_of(bound_on(chain, GPU, {"data": np.ones(3)})) == ["_fused"]


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


# The rest: graphs that are captured at their third run.


def trained(net, ctx, given, steps, seed=4):
    """What each of some passes with gradients gives, each with other data."""
    mx.random.seed(seed, ctx=ctx)
    bound = bound_on(
        net, ctx, given, args_grad={n: mx.nd.zeros(given[n].shape, ctx=ctx) for n in net.list_arguments()}
    )
    rng = np.random.RandomState(8)
    results = []
    for _ in range(steps):
        bound.arg_dict["data"][:] = rng.uniform(-1, 1, given["data"].shape)
        bound.forward(is_train=True)
        bound.backward(mx.nd.array(rng.uniform(-1, 1, bound.outputs[0].shape), ctx=ctx))
        results.append(
            [bound.outputs[0].asnumpy()]
            + [bound.grad_dict[n].asnumpy() for n in net.list_arguments()]
            + [bound.aux_dict[n].asnumpy() for n in net.list_auxiliary_states()]
        )
    return results


def same(got, want):
    for g, w in zip(got, want):
        for a, b in zip(g, w):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def names_of_tasks(run, folder):
    file = folder / "trace.json"
    mx.profiler.set_config(profile_all=True, filename=str(file))
    mx.profiler.set_state("run")
    run()
    mx.nd.waitall()
    mx.profiler.set_state("stop")
    mx.profiler.dump()
    return file.read_text()


def test_captured_passes_compute_what_others_do(tmp_path):
    net = small_net()
    given = values_for(net, data=(2, 3, 6, 6))
    text = names_of_tasks(
        lambda: same(trained(net, GPU, given, 6), trained(net, mx.cpu(), given, 6)), tmp_path
    )
    assert "captured operators" in text


def test_two_runs_capture_nothing(tmp_path):
    net = small_net()
    given = values_for(net, data=(2, 3, 6, 6))
    assert "captured operators" not in names_of_tasks(lambda: trained(net, GPU, given, 2), tmp_path)


def test_random_numbers_differ_from_run_to_run_of_a_captured_graph():
    x = mx.sym.relu(mx.sym.Variable("data") * 2) + 1
    net = mx.sym.tanh(mx.sym.sin(mx.sym.Dropout(x, p=0.5)) * 3) * 2
    given = {"data": np.ones((5, 40))}
    on_gpu, on_cpu = (trained(net, ctx, given, 6) for ctx in (GPU, mx.cpu()))
    same(on_gpu, on_cpu)
    assert len({(outputs[0] == 0).tobytes() for outputs in on_gpu}) == 6


def losses_of_a_trained_block(ctx):
    rng = np.random.RandomState(9)
    block = mx.gluon.nn.HybridSequential()
    for _ in range(4):
        block.add(mx.gluon.nn.Dense(6, activation="tanh", in_units=6))
    block.initialize(ctx=ctx)
    for parameter in block.collect_params().values():
        parameter.set_data(mx.nd.array(rng.uniform(-1, 1, parameter.shape), ctx=ctx))
    block.hybridize()
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.05})
    losses = []
    for _ in range(8):
        data = mx.nd.array(rng.uniform(-1, 1, (3, 6)), ctx=ctx)
        with mx.autograd.record():
            loss = (block(data) ** 2).sum()
        loss.backward()
        trainer.step(3)
        losses.append(loss.asscalar())
    return losses


def test_hybridized_blocks_are_captured_but_for_what_touches_new_arrays(tmp_path):
    results = []
    text = names_of_tasks(lambda: results.append(losses_of_a_trained_block(GPU)), tmp_path)
    assert "captured operators" in text
    np.testing.assert_allclose(results[0], losses_of_a_trained_block(mx.cpu()), rtol=1e-4)


def test_errors_show_in_captured_graphs_as_in_others():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = mx.sym.tanh(mx.sym.sin(a * 2)) + mx.sym.exp(mx.sym.cos(b))
    alone = mx.sym.Group([net, mx.sym.tanh(mx.sym.sin(b))])
    bound = alone.bind(GPU, {n: mx.nd.ones((3,), ctx=GPU) for n in "ab"})
    for _ in range(4):
        bound.forward()
    want = [y.asnumpy() for y in bound.outputs]
    wrong = mx.nd.take(mx.nd.ones((2,), ctx=GPU), mx.nd.array([5, 5, 5], ctx=GPU), mode="raise")
    wrong.copyto(bound.arg_dict["a"])
    bound.forward()
    with pytest.raises(mx.MXNetError, match="take"):
        bound.outputs[0].asnumpy()
    np.testing.assert_array_equal(bound.outputs[1].asnumpy(), want[1])
    bound.arg_dict["a"][:] = 1
    bound.forward()
    np.testing.assert_array_equal(bound.outputs[0].asnumpy(), want[0])


def test_graphs_over_several_devices_are_captured_in_pieces(tmp_path):
    if mx.context.num_gpus() < 2:
        pytest.skip("one GPU")
    x = mx.sym.Variable("data")
    for group in ("a", "b", "a"):
        with mx.AttrScope(ctx_group=group):
            x = mx.sym.tanh(mx.sym.sin(x) * 2)
    given = np.random.RandomState(2).uniform(-1, 1, (4, 5))
    bound = x.simple_bind(GPU, group2ctx={"a": mx.gpu(0), "b": mx.gpu(1)}, data=given.shape, grad_req="null")
    want = x.simple_bind(mx.cpu(), data=given.shape, grad_req="null")

    def run():
        for i in range(6):
            got, expected = (
                b.forward(data=mx.nd.array(given + i, ctx=mx.cpu()))[0].asnumpy() for b in (bound, want)
            )
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    assert "captured operators" in names_of_tasks(run, tmp_path)


def test_nothing_is_captured_where_that_is_asked_for(tmp_path):
    file = tmp_path / "trace.json"
    program = f"""
import loomix as mx
x = mx.sym.Variable("x")
bound = mx.sym.softmax(mx.sym.softmax(mx.sym.softmax(x))).bind(mx.gpu(0), {{"x": mx.nd.ones((3,), ctx=mx.gpu(0))}})
mx.profiler.set_config(profile_all=True, filename={str(file)!r})
mx.profiler.set_state("run")
for _ in range(5):
    bound.forward()
mx.nd.waitall()
mx.profiler.dump()
"""
    for steps, captures in (("1", False), ("3", True)):
        environment = {**os.environ, "LOOMIX_CAPTURED_STEPS": steps}
        subprocess.run([sys.executable, "-c", program], check=True, env=environment)
        assert ("captured operators" in file.read_text()) == captures


INCEPTION = """
import ctypes, os
import loomix as mx
import numpy as np
x = mx.sym.Variable("data")
for _ in range(3):
    towers = []
    for kernel in (1, 3, 5):
        y = mx.sym.Convolution(x, kernel=(1, 1), num_filter=4)
        y = mx.sym.BatchNorm(y, fix_gamma=False)
        y = mx.sym.Convolution(mx.sym.relu(y), kernel=(kernel, kernel), pad=(kernel // 2,) * 2, num_filter=4)
        towers.append(mx.sym.relu(y))
    towers.append(mx.sym.Pooling(x, kernel=(3, 3), pad=(1, 1), pool_type="max"))
    x = mx.sym.concat(*towers, dim=1)
net = mx.sym.FullyConnected(mx.sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg"), num_hidden=3)
rng = np.random.RandomState(5)
bound = net.simple_bind(mx.gpu(0), data=(2, 3, 9, 9))
for name in sorted(bound.arg_dict):
    bound.arg_dict[name][:] = rng.uniform(-1, 1, bound.arg_dict[name].shape)
for _ in range(6):
    bound.forward(is_train=True)
    bound.backward(mx.nd.ones((2, 3), ctx=mx.gpu(0)))
results = [bound.outputs[0].asnumpy()] + [bound.grad_dict[n].asnumpy() for n in sorted(bound.grad_dict)]
np.savez(os.environ["RESULTS"], *results)
counts = (ctypes.c_long * 9)()
ctypes.CDLL(os.environ["LOOMIX_CUDA_LIBRARY"]).loomix_standin_counts(counts)
print(counts[0], counts[5])
"""


@pytest.mark.skipif(
    "standin" not in os.environ.get("LOOMIX_CUDA_LIBRARY", ""), reason="no stand-in that counts"
)
def test_branches_run_side_by_side_with_the_same_results(tmp_path):
    results, beside = [], []
    for streams in ("1", "3"):
        environment = {**os.environ, "LOOMIX_CAPTURED_STREAMS": streams, "RESULTS": str(tmp_path / streams)}
        ran = subprocess.run(
            [sys.executable, "-c", INCEPTION], check=True, env=environment, capture_output=True, text=True
        )
        launches, others = map(int, ran.stdout.split())
        assert launches == 8  # of two graphs, in four passes
        beside.append(others)
        results.append(list(np.load(str(tmp_path / streams) + ".npz").values()))
    assert beside[0] == 0 and beside[1] > 30
    for one, several in zip(*results):
        np.testing.assert_array_equal(one, several)
