# SPDX-License-Identifier: Apache-2.0
"""Gluon: a training step of ResNet-18, eager and hybridized, beside the same network in a Module; a Dense layer; and
epochs of loaders with 4 workers: 1,024 images in batches of 32."""

import importlib
from functools import partial

import numpy as np
from harness import serve

BATCH, SIDE, CLASSES = 16, 224, 1000
MOMENTUM = {"learning_rate": 0.001, "momentum": 0.9}
PICTURES, LOADED = 1024, 32  # an epoch of a loader, and a batch


def _picture_batch(mx):
    data = mx.nd.random.uniform(shape=(BATCH, 3, SIDE, SIDE))
    return data, mx.nd.array([i % CLASSES for i in range(BATCH)])


def _gluon_resnet(name, hybrid):
    mx = importlib.import_module(name)
    mx.random.seed(1)
    net = mx.gluon.model_zoo.vision.resnet18_v1(classes=CLASSES)
    net.initialize(mx.init.Xavier())
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
        loss.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", dict(MOMENTUM))
    data, label = _picture_batch(mx)

    def run(count):
        for _ in range(count):
            with mx.autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(BATCH)
        mx.nd.waitall()

    return run


def _module_resnet():
    import loomix as mx

    mx.random.seed(1)
    scores = mx.gluon.model_zoo.vision.resnet18_v1(classes=CLASSES)(mx.sym.var("data"))
    module = mx.mod.Module(mx.sym.SoftmaxOutput(scores, name="softmax"))
    data, label = _picture_batch(mx)
    module.bind([("data", data.shape)], [("softmax_label", label.shape)])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(kvstore=None, optimizer="sgd", optimizer_params=dict(MOMENTUM))
    batch = mx.io.DataBatch([data], [label])

    def run(count):
        for _ in range(count):
            module.forward_backward(batch)
            module.update()
        mx.nd.waitall()

    return run


def _torch_resnet():
    import torch
    from torch import nn

    class Part(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )
            self.short = nn.Sequential()
            if stride != 1 or inputs != outputs:
                self.short = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            return torch.relu(self.body(x) + self.short(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    inputs = 64
    for outputs in (64, 128, 256, 512):
        layers += [Part(inputs, outputs, 1 if outputs == 64 else 2), Part(outputs, outputs, 1)]
        inputs = outputs
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    loss = nn.CrossEntropyLoss()
    data, label = torch.rand((BATCH, 3, SIDE, SIDE)), torch.arange(BATCH) % CLASSES

    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss(net(data), label).backward()
            optimizer.step()

    return run


def _dense(name):
    mx = importlib.import_module(name)
    net = mx.gluon.nn.Dense(128, in_units=128)
    net.initialize()
    data, head = (mx.nd.random.uniform(-1, 1, shape=(32, 128)) for _ in range(2))

    def run(count):
        for _ in range(count):
            with mx.autograd.record():
                out = net(data)
            out.backward(head)
            mx.nd.waitall()

    return run


def _torch_dense():
    import torch

    net = torch.nn.Linear(128, 128)
    data, head = torch.rand((32, 128)), torch.rand((32, 128))

    def run(count):
        for _ in range(count):
            net.zero_grad(set_to_none=True)
            net(data).backward(head)

    return run


class Pictures:
    """Crops of images in memory, as normalised planes, with labels."""

    def __init__(self):
        self.pictures = np.random.RandomState(1).randint(0, 255, (64, 256, 256, 3)).astype(np.uint8)

    def __len__(self):
        return PICTURES

    def __getitem__(self, i):
        at = i * 7 % 32
        crop = self.pictures[i % 64, at : at + 224, at : at + 224]
        return np.multiply(crop.transpose(2, 0, 1), np.float32(1 / 255), order="C"), i % 10


def _loader(name, threads):
    gluon = importlib.import_module(name + ".gluon")
    data = gluon.data.SimpleDataset(Pictures())
    loader = gluon.data.DataLoader(data, LOADED, num_workers=4, thread_pool=threads)

    def run(count):
        for _ in range(count):
            for pictures, _ in loader:
                pictures.wait_to_read()

    return run


def _torch_loader():
    import torch

    # without this a worker's descriptors may run out, as PyTorch's manual says
    torch.multiprocessing.set_sharing_strategy("file_system")
    loader = torch.utils.data.DataLoader(Pictures(), LOADED, num_workers=4, persistent_workers=True)

    def run(count):
        for _ in range(count):
            for _ in loader:
                pass

    return run


def _resnet_cases(hybrid):
    return {
        "loomix": partial(_gluon_resnet, "loomix", hybrid),
        "module": _module_resnet,
        "mxnet": partial(_gluon_resnet, "mxnet", hybrid),
        "torch": _torch_resnet,
    }


CASES = {
    "resnet18_hybridized": _resnet_cases(True),
    "resnet18_eager": _resnet_cases(False),
    "dense": {
        "loomix": partial(_dense, "loomix"),
        "mxnet": partial(_dense, "mxnet"),
        "torch": _torch_dense,
    },
    "loader_processes": {
        "loomix": partial(_loader, "loomix", False),
        "mxnet": partial(_loader, "mxnet", False),
        "torch": _torch_loader,
    },
    "loader_threads": {
        "loomix": partial(_loader, "loomix", True),
        "mxnet": partial(_loader, "mxnet", True),
        "torch": _torch_loader,
    },
}

if __name__ == "__main__":
    serve(CASES)
