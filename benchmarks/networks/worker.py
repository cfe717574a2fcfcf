# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of well-known networks, float32, random weights and images: the examples' symbols here and in
MXNet, torchvision's models in PyTorch."""

import sys
from functools import partial
from pathlib import Path

from harness import serve

ROOT = Path(__file__).resolve().parent.parent.parent
# Case -> the examples' name, torchvision's (none: it has no such network), batch.
NETWORKS = {
    "alexnet": ("alexnet", "alexnet", 32),
    "vgg16": ("vgg16", "vgg16", 8),
    "googlenet": ("googlenet", "googlenet", 16),
    "inception_bn": ("inception_bn", None, 16),
    "resnet18": ("resnet18_v1", "resnet18", 16),
    "resnet50": ("resnet50_v1", "resnet50", 8),
}
CLASSES = 1000


def _executor(name, network, batch):
    mx = __import__(name)
    sys.modules["loomix"] = mx
    sys.path.insert(0, str(ROOT / "examples/image_classification"))
    from symbols import create

    symbol = create(network, CLASSES)
    inputs = {"data", "softmax_label"}
    requests = {key: "null" if key in inputs else "write" for key in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests, data=(batch, 3, 224, 224))
    mx.random.seed(1)
    initializer = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)
    for key, array in executor.aux_dict.items():
        array[:] = 1 if key.endswith("var") else 0
    for key, array in executor.arg_dict.items():
        if key == "data":
            array[:] = mx.nd.random.normal(shape=array.shape)
        elif key == "softmax_label":
            array[:] = mx.nd.array([i % CLASSES for i in range(batch)])
        else:
            initializer(mx.init.InitDesc(key), array)

    def run(count):
        for _ in range(count):
            executor.forward(is_train=True)
            executor.backward()
        mx.nd.waitall()

    return run


def _torch(network, batch):
    import torch
    import torchvision

    torch.manual_seed(1)
    options = {"weights": None}
    if network == "googlenet":
        options.update(init_weights=False, aux_logits=False)
    model = getattr(torchvision.models, network)(**options).train()
    loss = torch.nn.CrossEntropyLoss()
    data, label = torch.randn(batch, 3, 224, 224), torch.arange(batch) % CLASSES

    def run(count):
        for _ in range(count):
            model.zero_grad(set_to_none=True)
            loss(model(data), label).backward()

    return run


def _cases(ours, theirs, batch):
    found = {name: partial(_executor, name, ours, batch) for name in ("loomix", "mxnet")}
    if theirs:
        found["torch"] = partial(_torch, theirs, batch)
    return found


CASES = {f"{case}_{network[2]}": _cases(*network) for case, network in NETWORKS.items()}

if __name__ == "__main__":
    serve(CASES)
