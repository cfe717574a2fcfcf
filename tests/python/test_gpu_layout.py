# SPDX-License-Identifier: Apache-2.0
"""Channels last on a GPU: kernels in that order, and networks that are turned into it, beside those that are not."""

import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
GPU, CPU = mx.gpu(0), mx.cpu()
INTO, BACK = (0, 2, 3, 1), (0, 3, 1, 2)


def results(op, arrays, attrs, ctx, head):
    """The first output of an operator, and the gradients of its inputs that are floats."""
    given = [mx.nd.array(a, ctx=ctx) for a in arrays]
    for array in given:
        array.attach_grad()
    with mx.autograd.record():
        out = getattr(mx.nd, op)(*given, **attrs)
        out = out[0] if isinstance(out, list) else out
    out.backward(mx.nd.array(head(out.shape), ctx=ctx))
    return [out.asnumpy()] + [array.grad.asnumpy() for array in given]


def expect_the_same(op, arrays, images, first, last):
    """`images`: which arrays have four axes that change places."""

    def head(shape):
        return np.random.RandomState(3).uniform(-1, 1, shape)

    want = results(op, arrays, first, CPU, head)
    turned = [a.transpose(INTO) if image else a for a, image in zip(arrays, images)]
    got = results(op, turned, last, GPU, lambda shape: head([shape[i] for i in BACK]).transpose(INTO))
    for g, w, image in zip(got, want, [True, *images]):
        np.testing.assert_allclose(g.transpose(BACK) if image else g, w, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("kernel,stride,pad,dilate", [(1, 1, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (3, 1, 2, 2)])
@pytest.mark.parametrize("groups,filters", [(1, 5), (2, 6), (6, 6), (6, 12)])
@pytest.mark.parametrize("no_bias", [False, True])
def test_convolutions(kernel, stride, pad, dilate, groups, filters, no_bias):
    random = np.random.RandomState(1)
    data = random.uniform(-1, 1, (2, 6, 9, 8))
    weight = random.uniform(-1, 1, (filters, 6 // groups, kernel, kernel))
    arrays = [data, weight] + ([] if no_bias else [random.uniform(-1, 1, filters)])
    first = {
        "kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2, "dilate": (dilate,) * 2,
        "num_filter": filters, "num_group": groups, "no_bias": no_bias,
    }  # fmt: skip
    expect_the_same(
        "Convolution", arrays, [True, True, False][: len(arrays)], first, {**first, "layout": "NHWC"}
    )


@pytest.mark.parametrize("pool_type", ["max", "avg", "sum", "lp"])
@pytest.mark.parametrize("window", [
    {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
    {"kernel": (2, 3), "stride": (2, 1), "pooling_convention": "full"},
    {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 0), "count_include_pad": False},
    {"global_pool": True, "kernel": (1, 1)},
])  # fmt: skip
def test_poolings(pool_type, window):
    data = np.random.RandomState(1).permutation(2 * 5 * 9 * 8).reshape(2, 5, 9, 8) / 100
    first = {"pool_type": pool_type, **window, **({"p_value": 2} if pool_type == "lp" else {})}
    expect_the_same("Pooling", [data], [True], first, {**first, "layout": "NHWC"})


@pytest.mark.parametrize("fix_gamma", [False, True])
@pytest.mark.parametrize("use_global_stats", [False, True])
def test_batch_norms(fix_gamma, use_global_stats):
    random = np.random.RandomState(1)
    arrays = [random.uniform(-1, 1, (3, 5, 4, 6))] + [random.uniform(0.5, 1, 5) for _ in range(4)]
    first = {"fix_gamma": fix_gamma, "use_global_stats": use_global_stats}
    expect_the_same("BatchNorm", arrays, [True] + [False] * 4, first, {**first, "axis": 3})


NETWORKS = '''
import sys

import loomix as mx
import numpy as np
from loomix import gluon
from loomix.gluon import nn
from loomix.gluon.model_zoo import vision

GPU = mx.gpu(0)


def conv(channels, kernel, **more):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels, kernel, padding=kernel // 2, **more), nn.BatchNorm(), nn.Activation("relu"))
    return net


def inception():
    net = nn.HybridSequential()
    net.add(conv(4, 3, strides=2, use_bias=False))
    for channels in (3, 5):
        pooled = nn.HybridSequential()
        pooled.add(nn.AvgPool2D(3, 1, 1), conv(channels, 1))
        branch = nn.HybridSequential()
        branch.add(conv(channels, 1), conv(channels + 1, 3))
        joined = gluon.contrib.nn.HybridConcurrent(axis=1)
        joined.add(conv(channels, 1), branch, pooled)
        net.add(joined)
        net.add(nn.MaxPool2D(3, 2, 1))
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3))
    return net


def resnet_v1():
    return vision.ResNetV1(vision.BasicBlockV1, [1, 2], [4, 4, 8], classes=3, thumbnail=True)


def resnet_v2():
    return vision.ResNetV2(vision.BottleneckV2, [1, 1], [4, 8, 16], classes=3, thumbnail=True)


class Excited(gluon.HybridBlock):
    """Squeeze and excitation, by convolutions or by dense layers."""

    def __init__(self, channels, dense):
        super().__init__()
        layer = nn.Dense if dense else lambda n: nn.Conv2D(n, 1)
        self.dense, self.narrow, self.wide = dense, layer(2), layer(channels)

    def hybrid_forward(self, F, x):
        s = F.mean(x, axis=(2, 3)) if self.dense else F.contrib.AdaptiveAvgPooling2D(x, output_size=1)
        s = F.sigmoid(self.wide(F.relu(self.narrow(s))))
        return F.broadcast_mul(x, s.expand_dims(2).expand_dims(3) if self.dense else s)


def excited():
    net = nn.HybridSequential()
    for dense in (False, True):
        net.add(conv(6, 3), Excited(6, dense))
    net.add(conv(4, 3), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3))
    return net


class Segments(gluon.HybridBlock):
    """Down and up again, with a softmax over the channels."""

    def __init__(self):
        super().__init__()
        self.first, self.low, self.last = conv(6, 3), conv(8, 3), nn.Conv2D(3, 3, padding=1)
        self.norms = gluon.contrib.nn.SyncBatchNorm(), nn.BatchNormReLU()
        for norm in self.norms:
            self.register_child(norm)
        self.up = nn.Conv2DTranspose(4, 4, strides=2, padding=1)

    def hybrid_forward(self, F, x):
        x = self.norms[0](self.first(x))
        low = self.low(F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max"))
        one, other = F.split(self.up(low), num_outputs=2, axis=1)
        both = F.concat(F.slice_axis(x, axis=1, begin=1, end=5), one * other, dim=1)
        return F.softmax(self.last(self.norms[1](both)), axis=1).max(axis=(2, 3))


MAKERS = {
    "resnet v1": (resnet_v1, (2, 3, 12, 12)),
    "resnet v2": (resnet_v2, (2, 3, 12, 12)),
    "mobilenet": (lambda: vision.MobileNet(multiplier=0.125, classes=3), (2, 3, 64, 64)),
    "inception": (inception, (2, 3, 16, 16)),
    "excited": (excited, (2, 3, 12, 12)),
    "segments": (Segments, (2, 3, 12, 12)),
}


def filled(net, shape, dtype):
    """The network on the GPU, with parameters that follow from nothing but their order."""
    net.initialize(ctx=mx.cpu())
    net(mx.nd.zeros(shape, ctx=mx.cpu()))
    random = np.random.RandomState(7)
    for name, param in net.collect_params().items():
        scale = 2 / np.sqrt(np.prod(param.shape[1:])) if len(param.shape) > 1 else 0.5
        low = 0.5 if name.endswith(("gamma", "var")) else -scale
        param.set_data(mx.nd.array(random.uniform(low, low + 1 if low > 0 else scale, param.shape), ctx=mx.cpu()))
    net.cast(dtype)
    net.collect_params().reset_ctx(GPU)
    return net


def trained_and_asked(name, dtype):
    """Predictions before and after training steps and with changed weights, and what the steps leave behind."""
    make, shape = MAKERS[name]
    net = filled(make(), shape, dtype)
    net.hybridize()
    random = np.random.RandomState(8)
    images = [mx.nd.array(random.uniform(-1, 1, shape), ctx=GPU, dtype=dtype) for _ in range(5)]
    found = {"before": net(images[0])}
    trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
    for image in images:  # the third one is captured
        with mx.autograd.record():
            out = net(image)
            loss = (out * out).sum()
        loss.backward()
        for i, param in enumerate(trained):
            param.set_data(param.data() - 0.001 * param.grad())
    found["loss"] = loss
    for i, param in enumerate(net.collect_params().values()):
        found[f"value {i}"] = param.data()
        if param.grad_req != "null":
            found[f"gradient {i}"] = param.grad()
    found["after"] = net(images[0])
    trained[0].set_data(trained[0].data() * 1.5)
    found["changed"] = net(images[0])
    return {f"{name} {key}": value.astype("float64").asnumpy() for key, value in found.items()}


if __name__ == "__main__":
    found = {}
    for name in MAKERS:
        found.update(trained_and_asked(name, sys.argv[2]))
    np.savez(sys.argv[1], **found)
'''
TOLERANCES = {"float32": 2e-4, "float16": 3e-2, "bfloat16": 2e-1}


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    file = tmp_path_factory.mktemp("layout") / "layout_networks.py"
    file.write_text(NETWORKS)
    return file


def run_networks(networks, dtype, layout):
    file = networks.with_name(f"{dtype}{layout}.npz")
    environment = {**os.environ, "LOOMIX_CHOOSE_LAYOUT": layout, "LOOMIX_EXPLAIN": "fuse"}
    command = [sys.executable, str(networks), str(file), dtype]
    done = subprocess.run(command, env=environment, timeout=300, check=False, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    with np.load(file) as arrays:
        return {name: arrays[name] for name in arrays.files}, done.stderr


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_networks_compute_the_same(networks, dtype):
    got, said = run_networks(networks, dtype, "1")
    want, said_without = run_networks(networks, dtype, "0")
    assert said.count("layout changed") == 12, said  # prediction and training of six networks
    assert "layout" not in said_without
    assert got.keys() == want.keys()
    largest = max(np.abs(value).max() for name, value in want.items() if "gradient" in name)
    for name, value in want.items():
        # Biases before normalisations have no gradient but rounding.
        floor = TOLERANCES[dtype] * (largest / 100 if "gradient" in name else 1e-2)
        distance = np.linalg.norm(got[name] - value)
        assert distance <= TOLERANCES[dtype] * np.linalg.norm(value) + floor, (name, distance)


def convolutions(count, filters=8):
    net = mx.sym.Variable("data")
    for i in range(count):
        net = mx.sym.Convolution(net, num_filter=filters, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"norm{i}")
        net = mx.sym.Activation(net, act_type="relu")
    return net


def operators(net, is_train, dtype="float32", shape=(4, 8, 16, 16), **more):
    made = net.explain(ctx=GPU, is_train=is_train, type_dict={"data": dtype}, data=shape, **more)
    return [call.op for call in made.operators]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_transposes_are_at_the_edges(dtype):
    net = mx.sym.FullyConnected(mx.sym.Pooling(convolutions(4), kernel=(2, 2), stride=(2, 2)), num_hidden=3)
    assert operators(net, False, dtype).count("transpose") == 2  # weights are held
    # Images in, images out, their gradients in; each weight, and its gradient.
    assert operators(net, True, dtype).count("transpose") == 3 + 2 * 4


def test_branches_that_meet_stay_in_the_form():
    x = convolutions(2)
    left = mx.sym.Convolution(x, num_filter=8, kernel=(1, 1), name="left")
    right = mx.sym.Convolution(x, num_filter=8, kernel=(3, 3), pad=(1, 1), num_group=8, name="right")
    net = mx.sym.Concat(left + x, mx.sym.clip(right, 0, 6), dim=1)
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))
    # Images in, and two weights. What has one pixel or one channel is the same in both orders.
    assert operators(net, False).count("transpose") == 1
    assert operators(net, True).count("transpose") == 1 + 2 * 2


def excited(x, name, **spread):
    """Squeeze and excitation, with dense layers if it has to be spread over the axes of an image again."""
    s = mx.sym.mean(x, axis=(2, 3)) if spread else mx.sym.contrib.AdaptiveAvgPooling2D(x, output_size=1)
    for i, count in enumerate((2, 8)):
        if spread:
            s = mx.sym.FullyConnected(s, num_hidden=count, name=f"{name}{i}")
        else:
            s = mx.sym.Convolution(s, num_filter=count, kernel=(1, 1), name=f"{name}{i}")
        s = mx.sym.sigmoid(s)
    return mx.sym.broadcast_mul(x, mx.sym.reshape(s, **spread) if spread else s)


def cut_and_joined(x, name):
    one, other = mx.sym.split(x, num_outputs=2, axis=1)
    return mx.sym.concat(mx.sym.slice_axis(x, axis=1, begin=0, end=4), one * other, dim=1)


BETWEEN = {
    "excited": excited,
    "excited by dense layers": lambda x, name: excited(x, name, shape=(0, 0, 1, 1)),
    "cut and joined": cut_and_joined,
    "softmax": lambda x, name: mx.sym.log_softmax(x, axis=1),
    "means": lambda x, name: mx.sym.broadcast_sub(x, mx.sym.mean(x, axis=1, keepdims=True)),
    "norm of several devices": lambda x, name: mx.sym.contrib.SyncBatchNorm(x, key=name, name=name),
    "norm and ReLU": lambda x, name: mx.sym.contrib.BatchNormWithReLU(x, name=name),
}


def expect_transposes_outside(net, dtype):
    """Of images with 4 channels that come in, and of weights; not of larger ones between operators."""
    for is_train in (False, True):
        made = net.explain(ctx=GPU, is_train=is_train, type_dict={"data": dtype}, data=(4, 4, 16, 16))
        turned = [call.bytes for call in made.operators if call.op == "transpose"]
        image = 4 * 4 * 16 * 16 * (4 if dtype == "float32" else 2)
        assert turned and max(turned) == image, made.operators


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_what_stays_in_the_form(between, dtype):
    net = BETWEEN[between](convolutions(2), "first")
    for i in range(2):
        net = mx.sym.Convolution(net, num_filter=8, kernel=(3, 3), pad=(1, 1), no_bias=True, name=f"last{i}")
        net = BETWEEN[between](net, f"between{i}")
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))
    expect_transposes_outside(net, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_deconvolutions_stay_in_the_form(dtype):
    net = convolutions(2)
    for i in range(2):
        net = mx.sym.Deconvolution(net, num_filter=8, kernel=(4, 4), stride=(2, 2), pad=(1, 1), name=f"up{i}")
        net = mx.sym.relu(mx.sym.BatchNorm(net, name=f"after{i}"))
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))
    expect_transposes_outside(net, dtype)


def test_it_is_left_where_it_does_not_pay():
    one = convolutions(1)
    assert "transpose" not in operators(one, True) + operators(one, False)
    # Each convolution between operators that want channels first.
    net = mx.sym.Variable("data")
    for i in range(3):
        net = mx.sym.LRN(mx.sym.Convolution(net, num_filter=8, kernel=(1, 1), name=f"conv{i}"), nsize=3)
    assert "transpose" not in operators(net, True) + operators(net, False)
    deep = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=2, kernel=(3, 3, 3))
    assert "transpose" not in operators(deep, True, shape=(2, 2, 5, 5, 5))


def test_types_that_do_not_gain_are_left():
    assert "transpose" not in operators(convolutions(4), True, "float64")


def test_a_module_trains_as_on_the_host():
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Flatten(convolutions(3)), num_hidden=3), name="softmax"
    )
    random = np.random.RandomState(1)
    batches = [random.uniform(-1, 1, (4, 8, 10, 10)) for _ in range(5)]
    found = []
    for ctx in (GPU, CPU):
        module = mx.mod.Module(net, context=ctx)
        module.bind([("data", batches[0].shape)], [("softmax_label", (4,))])
        np.random.seed(1)
        mx.random.seed(1)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer_params={"learning_rate": 0.05})
        for batch in batches:
            module.forward_backward(mx.io.DataBatch([mx.nd.array(batch)], [mx.nd.array([0, 1, 2, 0])]))
            module.update()
        module.forward(mx.io.DataBatch([mx.nd.array(batches[0])]), is_train=False)
        arguments, states = module.get_params()
        found.append({"output": module.get_outputs()[0], **arguments, **states})
    for name, value in found[1].items():
        np.testing.assert_allclose(
            found[0][name].asnumpy(), value.asnumpy(), rtol=2e-3, atol=2e-4, err_msg=name
        )
