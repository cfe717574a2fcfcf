# SPDX-License-Identifier: Apache-2.0
"""One training step (forward, backward, SGD with momentum) of an MLP, of LeNet and of well-known networks for images,
with data that is there already. The latter are the examples' symbols here and in MXNet; in PyTorch torchvision's
models, and for AlexNet the same layers. Those with the suffix `_bfloat16` compute in bfloat16 as `contrib.amp` and
PyTorch's `autocast` have it."""

import sys
from functools import partial
from pathlib import Path

from harness import serve
from small_networks import alexnet_layers, lenet_layers, lenet_symbol, mlp_layers, mlp_symbol

ROOT = Path(__file__).resolve().parent.parent.parent
MLP_BATCH = 100
LENET_BATCH = 64
# Ours; torchvision's, or layers; images.
NETWORKS = {
    "alexnet": ("alexnet", alexnet_layers, 32),
    "vgg16": ("vgg16", "vgg16", 8),
    "googlenet": ("googlenet", "googlenet", 16),
    "inception_bn": ("inception_bn", None, 16),
    "resnet18": ("resnet18_v1", "resnet18", 16),
    "resnet50": ("resnet50_v1", "resnet50", 8),
}


def _network_symbol(network, dtype, mx):
    sys.modules["loomix"] = mx
    sys.path.insert(0, str(ROOT / "examples/image_classification"))
    from symbols import create

    symbol = create(network, 1000)
    return symbol if dtype == "float32" else mx.contrib.amp.convert_symbol(symbol, dtype)


def _module(name, symbol, shape):
    mx = __import__(name)
    module = mx.mod.Module(symbol(mx), context=mx.cpu())
    module.bind([("data", shape)], [("softmax_label", shape[:1])])
    mx.random.seed(1)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(
        kvstore=None, optimizer="sgd", optimizer_params={"learning_rate": 0.01, "momentum": 0.9}
    )
    batch = mx.io.DataBatch(
        [mx.nd.random.uniform(shape=shape)], [mx.nd.array([i % 10 for i in range(shape[0])])]
    )

    def run(count):
        for _ in range(count):
            module.forward_backward(batch)
            module.update()
        mx.nd.waitall()

    return run


def _torchvision(network, _):
    import torchvision

    options = {"init_weights": False, "aux_logits": False} if network == "googlenet" else {}
    return getattr(torchvision.models, network)(weights=None, **options)


def _torch(layers, shape, dtype="float32"):
    import torch

    net = layers(torch.nn)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss = torch.nn.CrossEntropyLoss()
    data, label = torch.rand(shape), torch.arange(shape[0]) % 10

    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=dtype != "float32"):
                outputs = net(data)
            loss(outputs.float(), label).backward()
            optimizer.step()

    return run


def _cases(symbol, layers, shape):
    return {
        "loomix": partial(_module, "loomix", symbol, shape),
        "mxnet": partial(_module, "mxnet", symbol, shape),
        "torch": partial(_torch, layers, shape),
    }


CASES = {
    "mlp": _cases(mlp_symbol, mlp_layers, (MLP_BATCH, 784)),
    "lenet": _cases(lenet_symbol, lenet_layers, (LENET_BATCH, 1, 28, 28)),
}
for case, (ours, theirs, images) in NETWORKS.items():
    for dtype, suffix in (("float32", ""), ("bfloat16", "_bfloat16")):
        symbol, size = partial(_network_symbol, ours, dtype), (images, 3, 224, 224)
        runs = CASES[case + suffix] = {"loomix": partial(_module, "loomix", symbol, size)}
        if dtype == "float32":  # MXNet 1.9.1 has no gradients of bfloat16
            runs["mxnet"] = partial(_module, "mxnet", symbol, size)
        if theirs:
            layers = theirs if callable(theirs) else partial(_torchvision, theirs)
            runs["torch"] = partial(_torch, layers, size, dtype)

if __name__ == "__main__":
    serve(CASES)
