# SPDX-License-Identifier: Apache-2.0
"""Gluon's model zoo: names and numbers of parameters, outputs, files; and the layers of ``contrib``."""

import hashlib

import loomix as mx
import numpy as np
import pytest
from loomix import autograd
from loomix.gluon import contrib
from loomix.gluon.model_zoo import model_store, vision

pytestmark = pytest.mark.library

nd = mx.nd

# Of the text of all "NAME SHAPE PLACE" of the parameters as MXNet has them, a line each, before the first forward pass.
DIGESTS = {
    "resnet18_v1": "8d4dc583dea2c651",
    "resnet34_v1": "d1aa39ce30f91e82",
    "resnet50_v1": "c973eae4e5b7904b",
    "resnet101_v1": "612a6989e61c824d",
    "resnet152_v1": "3c359dd1600afe24",
    "resnet18_v2": "8ad5990095281afe",
    "resnet34_v2": "b8525fc7e0ab39f8",
    "resnet50_v2": "d43fb2fa7a7a6464",
    "resnet101_v2": "516cca60a67e7d6b",
    "resnet152_v2": "97cefa4da1220ea0",
    "vgg11": "55a0d9e7699782ca",
    "vgg13": "7e2869d871dcc713",
    "vgg16": "8074a16f232dd2f2",
    "vgg19": "2303c7a8036f0076",
    "vgg11_bn": "a8f17ccb4d5d3952",
    "vgg13_bn": "3800dcd85aeaa04a",
    "vgg16_bn": "a904e947d7b312d1",
    "vgg19_bn": "45c82299f314c415",
    "alexnet": "fd3250442f161575",
    "densenet121": "065e94094d5d057b",
    "densenet161": "a8a43863815d0568",
    "densenet169": "1a5bd171f9a57ef9",
    "densenet201": "10e4360825ea71e1",
    "squeezenet1_0": "3a4c1a3c35961eb0",
    "squeezenet1_1": "3463b26ee2ef1c23",
    "inception_v3": "197db32eba2b10ec",
    "mobilenet1_0": "70eae47ec4035291",
    "mobilenet0_75": "24856bedd472b6a0",
    "mobilenet0_5": "3ce5e0d952b04f65",
    "mobilenet0_25": "ac89a2c878500856",
    "mobilenet_v2_1_0": "94e6ac9a587d3f52",
    "mobilenet_v2_0_75": "1664625fe77075db",
    "mobilenet_v2_0_5": "183a1a0282ff2dba",
    "mobilenet_v2_0_25": "a62c03be5a6fe8ea",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_names_and_shapes_of_parameters(name):
    with mx.name.NameManager():
        net = getattr(vision, name)()
    lines = [f"{key} {param.shape}" for key, param in net.collect_params().items()]
    lines += sorted(net._collect_params_with_prefix())
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("resnet18_v1", 32),
        ("resnet50_v2", 32),
        ("squeezenet1.1", 224),
        ("mobilenet0.25", 32),
        ("mobilenetv2_0.25", 32),
        ("vgg11_bn", 32),
    ],
)
def test_networks_run_hybridized_as_eager(name, size):
    mx.random.seed(2)
    net = vision.get_model(name, classes=7)
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(shape=(2, 3, size, size))
    eager = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-4, atol=1e-5)
    assert eager.shape == (2, 7)
    with autograd.record():
        loss = net(x).square().sum()
    loss.backward()
    gradients = [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("name", ["squeezenet1.0", "squeezenet1.1"])
def test_squeezenet_pools_as_in_mxnet(name):
    scores = vision.get_model(name, classes=7)(mx.sym.Variable("data"))
    for size, count in [(224, 7), (256, 7), (448, 4 * 7)]:
        assert scores.infer_shape(data=(1, 3, size, size))[1] == [(1, count)]
    with pytest.raises(mx.MXNetError):
        scores.infer_shape(data=(1, 3, 64, 64))


def test_thumbnails():
    net = vision.get_resnet(1, 18, thumbnail=True, classes=3)
    net.initialize()
    assert net(nd.zeros((1, 3, 8, 8))).shape == (1, 3)


def test_models_by_name():
    with pytest.raises(ValueError, match=r"(?s)Model resnet17 is not supported.*Did you mean 'resnet"):
        vision.get_model("resnet17")
    with pytest.raises(ValueError, match="num_layers is 17"):
        vision.get_resnet(1, 17)
    with pytest.raises(ValueError, match="version is 3; expected 1 or 2"):
        vision.get_resnet(3, 18)


def test_parameters_of_ones_own_are_read_from_a_folder(tmp_path):
    net = vision.squeezenet1_1(classes=2)
    net.initialize()
    net(nd.zeros((1, 3, 224, 224)))
    net.save_parameters(str(tmp_path / "squeezenet1.1.params"))
    other = vision.get_model("squeezenet1.1", classes=2, pretrained=True, root=str(tmp_path))
    assert (other.features[0].weight.data() == net.features[0].weight.data()).asnumpy().all()
    model_store.purge(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


# ---- contrib ----


def test_branches():
    for kind in (contrib.nn.Concurrent, contrib.nn.HybridConcurrent):
        net = kind(axis=1)
        net.add(contrib.nn.Identity(), mx.gluon.nn.Activation("relu"))
        net.hybridize()
        assert net(nd.array([[-1.0, 2.0]])).asnumpy().tolist() == [[-1, 2, 0, 2]]


@pytest.mark.parametrize("hybrid", [False, True])
def test_pixel_shuffles(hybrid):
    rng = np.random.default_rng(1)
    for kind, factors, sizes in (
        (contrib.nn.PixelShuffle1D, (3,), (4,)),
        (contrib.nn.PixelShuffle2D, (2, 3), (4, 5)),
        (contrib.nn.PixelShuffle3D, (2, 3, 4), (2, 3, 2)),
    ):
        axes = len(factors)
        x = rng.normal(size=(2, 5 * np.prod(factors), *sizes)).astype(np.float32)
        net = kind(factors if axes > 1 else factors[0])
        net.hybridize(hybrid)
        order = [0, 1] + [axis for i in range(axes) for axis in (2 + axes + i, 2 + i)]
        expected = x.reshape(2, 5, *factors, *sizes).transpose(order)
        expected = expected.reshape(2, 5, *(f * s for f, s in zip(factors, sizes)))
        assert (net(nd.array(x)).asnumpy() == expected).all()
    with pytest.raises(ValueError, match="expected a number or 2 of them"):
        contrib.nn.PixelShuffle2D((1, 2, 3))
