# SPDX-License-Identifier: Apache-2.0
"""The networks of examples/image_classification: sizes as their papers tell, and that they learn."""

import json
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "image_classification"


@pytest.fixture(scope="module")
def symbols():
    """The package of the example, which is not installed."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        import symbols
    finally:
        sys.path.remove(str(EXAMPLE))
    yield symbols
    for name in [name for name in sys.modules if name.split(".")[0] == "symbols"]:
        del sys.modules[name]


def shapes_of(net, size):
    """Shapes of the arguments and of all values inside, by name."""
    inside = net.get_internals()
    arguments, outputs, _ = inside.infer_shape(data=(1, 3, size, size))
    return dict(zip(net.list_arguments(), arguments)), dict(zip(inside.list_outputs(), outputs))


def parameters(net, size):
    """How many numbers are learnt."""
    arguments, _ = shapes_of(net, size)
    return sum(
        int(np.prod(shape)) for name, shape in arguments.items() if name not in ("data", "softmax_label")
    )


def multiplications(net, size):
    """Of all convolutions and matrices, for one picture."""
    arguments, values = shapes_of(net, size)
    names = [
        node["name"]
        for node in json.loads(net.tojson())["nodes"]
        if node["op"] in ("Convolution", "FullyConnected")
    ]
    return sum(
        int(np.prod(values[f"{name}_output"])) * int(np.prod(arguments[f"{name}_weight"][1:]))
        for name in names
    )


# Million parameters, as precisely as the papers tell.
MILLIONS = {
    "alexnet": (60, 1),
    "vgg11": (133, 1),
    "vgg13": (133, 1),
    "vgg16": (138, 1),
    "vgg19": (144, 1),
    "inception_v3": (24, 1.3),
    "resnet20_cifar_v1": (0.27, 0.01),
    "resnet32_cifar_v1": (0.46, 0.01),
    "resnet44_cifar_v1": (0.66, 0.01),
    "resnet56_cifar_v1": (0.85, 0.01),
    "resnet110_cifar_v1": (1.7, 0.1),
    "resnet110_cifar_v2": (1.7, 0.1),
    "resnet164_cifar_v2": (1.7, 0.1),
    "resnet50_v1": (25.5, 0.1),
    "resnext50_32x4d": (25.0, 0.1),
    "resnext29_8x64d_cifar": (34.4, 0.1),
    "resnext29_16x64d_cifar": (68.1, 0.1),
    "mobilenet_1.0": (4.2, 0.1),
    "mobilenet_0.75": (2.6, 0.1),
    "mobilenet_0.5": (1.3, 0.1),
    "mobilenet_0.25": (0.5, 0.1),
    "mobilenet_v2_1.0": (3.4, 0.15),
    "densenet40_12_cifar": (1.0, 0.1),
    "densenet100_12_cifar_bc": (0.8, 0.1),
    "densenet250_24_cifar_bc": (15.3, 0.1),
    "densenet190_40_cifar_bc": (25.6, 0.1),
}


@pytest.mark.parametrize("name", MILLIONS)
def test_parameters(symbols, name):
    size, make = symbols.NETWORKS[name]
    expected, tolerance = MILLIONS[name]
    count = parameters(make(10 if size == 32 else 1000), size) / 1e6
    assert count == pytest.approx(expected, abs=tolerance)


# SqueezeNet's paper has the number in Table 1. AlexNet's follows from section 3.5, with halves on two GPUs.
@pytest.mark.parametrize("name, count", [("squeezenet_1.0", 1248424), ("alexnet", 60965224)])
def test_parameters_to_the_last(symbols, name, count):
    size, make = symbols.NETWORKS[name]
    assert parameters(make(1000), size) == count


# Billion multiplications, as precisely as the papers tell.
BILLIONS = {
    "googlenet": (1.5, 0.1),
    "resnet18_v1": (1.8, 0.05),
    "resnet34_v1": (3.6, 0.1),
    "resnet50_v1": (3.8, 0.1),
    "resnet101_v1": (7.6, 0.1),
    "resnet152_v1": (11.3, 0.1),
    "resnext50_32x4d": (4.2, 0.05),
    "inception_v3": (5, 0.75),
    "mobilenet_1.0": (0.569, 0.001),
    "mobilenet_0.75": (0.325, 0.001),
    "mobilenet_0.5": (0.149, 0.001),
    "mobilenet_0.25": (0.041, 0.001),
    "mobilenet_v2_1.0": (0.300, 0.002),
    "mobilenet_v2_1.4": (0.585, 0.004),
}


@pytest.mark.parametrize("name", BILLIONS)
def test_multiplications(symbols, name):
    size, make = symbols.NETWORKS[name]
    expected, tolerance = BILLIONS[name]
    assert multiplications(make(1000), size) / 1e9 == pytest.approx(expected, abs=tolerance)


def test_modules_of_googlenet(symbols):
    """Table 1 has the weights of each module, rounded in a way of its own, in units of 1,024."""
    names = ("3a", "3b", "4a", "4b", "4c", "4d", "4e", "5a", "5b")
    table = dict(zip(names, (159, 380, 364, 437, 463, 580, 840, 1072, 1388)))
    arguments, values = shapes_of(symbols.create("googlenet", 1000), 224)
    weights = {
        name: sum(
            int(np.prod(shape))
            for argument, shape in arguments.items()
            if argument.startswith(f"inception{name}_") and argument.endswith("_weight")
        )
        / 1024
        for name in table
    }
    assert weights == pytest.approx(table, rel=0.08)
    assert sum(weights.values()) == pytest.approx(sum(table.values()), rel=0.005)
    channels = {name: values[f"inception{name}_concat_output"][1] for name in table}
    assert list(channels.values()) == [256, 480, 512, 512, 512, 528, 832, 832, 1024]


@pytest.mark.parametrize(
    "name, outputs",
    [
        (
            "inception_v3",
            {
                "conv3_relu": (64, 147),
                "pool1": (64, 73),
                "pool2": (192, 35),
                "mixed35_3_concat": (288, 35),
                "mixed17_4_concat": (768, 17),
                "reduction8_concat": (1280, 8),
                "mixed8_2_concat": (2048, 8),
            },
        ),
        (
            "inception_bn",
            {
                "pool2": (192, 28),
                "inception3a_concat": (256, 28),
                "inception3b_concat": (320, 28),
                "inception3c_concat": (576, 14),
                "inception4d_concat": (576, 14),
                "inception4e_concat": (1024, 7),
                "inception5b_concat": (1024, 7),
            },
        ),
        ("squeezenet_1.0", {"conv1_relu": (96, 111), "fire4_pool": (256, 27), "fire9_concat": (512, 13)}),
        ("alexnet", {"conv1_relu": (96, 55), "conv2_relu": (256, 27), "pool5": (256, 6)}),
        ("densenet121", {"first_pool": (64, 56), "transition3_pool": (512, 7), "last_relu": (1024, 7)}),
        ("resnet50_v2", {"stage1_3_1_relu": (256, 56), "last_relu": (2048, 7)}),
        ("mobilenet_v2_1.0", {"block1_project_bn": (16, 112), "last_relu": (1280, 7)}),
    ],
)
def test_grids(symbols, name, outputs):
    size, make = symbols.NETWORKS[name]
    _, values = shapes_of(make(1000), size)
    assert {key: values[f"{key}_output"][1:3] for key in outputs} == outputs


def test_depths_that_there_are_not(symbols):
    with pytest.raises(ValueError, match="depth is 21"):
        symbols.resnet.cifar_resnet(10, 21)


# One of each family, on pictures that are as small as it takes.
SMALL = {
    "alexnet": 63,
    "vgg11_bn": 32,
    "googlenet": 32,
    "inception_bn": 32,
    "inception_v3": 75,
    "resnet18_v1": 32,
    "resnet50_v2": 32,
    "resnet20_cifar_v1": 8,
    "resnet110_cifar_v2": 8,
    "resnet164_cifar_v2": 8,
    "resnext50_32x4d": 32,
    "mobilenet_0.25": 32,
    "mobilenet_v2_0.75": 32,
    "squeezenet_1.1": 32,
    "densenet121": 32,
    "densenet40_12_cifar": 8,
}


@pytest.mark.parametrize("name", SMALL)
def test_it_learns(symbols, name):
    """A step of training on a batch changes all parameters and leaves numbers behind."""
    mx.random.seed(1)
    np.random.seed(1)
    module = mx.mod.Module(symbols.create(name, 5))
    size = SMALL[name]
    module.bind([("data", (2, 3, size, size))], [("softmax_label", (2,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "wd": 0.01})
    batch = mx.io.DataBatch([mx.nd.random.uniform(-1, 1, (2, 3, size, size))], [mx.nd.array([1, 3])])
    before = {key: value.asnumpy() for key, value in module.get_params()[0].items()}
    module.forward_backward(batch)
    assert module.get_outputs()[0].asnumpy().sum(axis=1) == pytest.approx(1, rel=1e-4)
    module.update()
    after = {key: value.asnumpy() for key, value in module.get_params()[0].items()}
    assert all(np.isfinite(value).all() for value in after.values())
    same = [key for key in before if key.endswith("weight") and (before[key] == after[key]).all()]
    assert not same
