# SPDX-License-Identifier: Apache-2.0
"""The first steps of LeNet (Module) and of ResNet-20 (Gluon, hybridized) on GPU and CPU: the losses must agree."""

import json
import sys

import loomix as mx
import numpy as np
from loomix import gluon

STEPS = 6


def lenet(ctx):
    net = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Pooling(
            mx.sym.Activation(net, act_type="tanh"), pool_type="max", kernel=(2, 2), stride=(2, 2)
        )
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc0"), act_type="tanh"
    )
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="out"), name="softmax")
    random = np.random.RandomState(0)
    images = random.uniform(size=(32, 1, 28, 28)).astype("float32")
    labels = random.randint(0, 10, 32)
    module = mx.mod.Module(net, context=ctx)
    module.bind([("data", images.shape)], [("softmax_label", labels.shape)])
    mx.random.seed(1)
    np.random.seed(1)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    batch = mx.io.DataBatch([mx.nd.array(images)], [mx.nd.array(labels)])
    losses = []
    for _ in range(STEPS):
        module.forward_backward(batch)
        module.update()
        chosen = module.get_outputs()[0].asnumpy()[np.arange(32), labels]
        losses.append(float(-np.log(chosen).mean()))
    return losses


def block(channels, stride, into):
    """A residual block: two convolutions, and a third beside them where the shape changes."""

    class Residual(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body = gluon.nn.HybridSequential()
            self.body.add(
                gluon.nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=into), gluon.nn.BatchNorm(),
                gluon.nn.Activation("relu"),
                gluon.nn.Conv2D(channels, 3, 1, 1, use_bias=False, in_channels=channels), gluon.nn.BatchNorm(),
            )  # fmt: skip
            same = stride == 1 and into == channels
            self.beside = (
                None if same else gluon.nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=into)
            )

        def hybrid_forward(self, F, x):
            return F.relu(self.body(x) + (x if self.beside is None else self.beside(x)))

    return Residual()


def resnet20(ctx):
    mx.random.seed(2)
    np.random.seed(2)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(16, 3, 1, 1, in_channels=1), gluon.nn.BatchNorm(), gluon.nn.Activation("relu"))
    into = 16
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        for i in range(3):
            net.add(block(channels, stride if i == 0 else 1, into))
            into = channels
    net.add(gluon.nn.GlobalAvgPool2D(), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    random = np.random.RandomState(1)
    images = mx.nd.array(random.uniform(size=(16, 1, 28, 28)), ctx=mx.cpu())
    labels = mx.nd.array(random.randint(0, 10, 16), ctx=ctx)
    net(images)  # all shapes are known, and parameters made on the host
    net.collect_params().reset_ctx(ctx)
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "momentum": 0.9})
    losses = []
    for _ in range(STEPS):
        with mx.autograd.record():
            values = loss(net(images.as_in_context(ctx)), labels)
        values.backward()
        trainer.step(16)
        losses.append(float(values.mean().asscalar()))
    return losses


def main():
    found = {"wrong": 0}
    for name, train in {"lenet": lenet, "resnet20": resnet20}.items():
        try:
            on_gpu, on_cpu = train(mx.gpu(0)), train(mx.cpu(0))
            agree = np.allclose(on_gpu, on_cpu, rtol=2e-2)
            found[name] = {"gpu": np.round(on_gpu, 5).tolist(), "cpu": np.round(on_cpu, 5).tolist()}
        except Exception as problem:  # the other network is asked, too
            agree = False
            found[name] = str(problem)[:800]
        found["wrong"] += 0 if agree else 1
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
