# SPDX-License-Identifier: Apache-2.0
"""An MLP and LeNet for pictures of digits, as symbols of Loomix and MXNet; these and AlexNet as layers of PyTorch."""


def mlp_symbol(mx):
    net = mx.sym.Variable("data")
    for i, hidden in enumerate((1024, 1024)):
        net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=hidden, name=f"fc{i}"), act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="out"), name="softmax")


def lenet_symbol(mx):
    net = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Pooling(
            mx.sym.Activation(net, act_type="tanh"), pool_type="max", kernel=(2, 2), stride=(2, 2)
        )
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc0"), act_type="tanh"
    )
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="out"), name="softmax")


def mlp_layers(nn):
    return nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )


def lenet_layers(nn):
    return nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.Tanh(),
        nn.Linear(500, 10),
    )


def alexnet_layers(nn):
    """The paper's, as examples/image_classification/symbols/alexnet.py has it; torchvision's has other filters, and no
    normalisation."""

    def conv(*sizes, pool=(), **options):
        return nn.Conv2d(*sizes, **options), nn.ReLU(), *pool

    def norm():
        return nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2)

    def pool():
        return nn.MaxPool2d(3, 2)

    return nn.Sequential(
        *conv(3, 96, 11, stride=4, padding=2, pool=(norm(), pool())),
        *conv(96, 256, 5, padding=2, groups=2, pool=(norm(), pool())),
        *conv(256, 384, 3, padding=1),
        *conv(384, 384, 3, padding=1, groups=2),
        *conv(384, 256, 3, padding=1, groups=2, pool=(pool(),)),
        nn.Flatten(),
        nn.Linear(9216, 4096),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(4096, 1000),
    )
