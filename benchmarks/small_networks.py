# SPDX-License-Identifier: Apache-2.0
"""An MLP and LeNet for pictures of digits: as symbols of Loomix and MXNet, and as layers of PyTorch."""


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
