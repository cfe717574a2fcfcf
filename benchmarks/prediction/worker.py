# SPDX-License-Identifier: Apache-2.0
"""Prediction by well-known networks, float32, random weights: the examples' symbols here and in MXNet, torchvision's
models in PyTorch, and these by ONNX Runtime and OpenVINO (interpreters with torch, onnx and the library)."""

import sys
from functools import partial
from pathlib import Path

from harness import serve

ROOT = Path(__file__).resolve().parent.parent.parent
# Ours, and torchvision's.
NETWORKS = {
    "alexnet": ("alexnet", "alexnet"),
    "vgg16": ("vgg16", "vgg16"),
    "googlenet": ("googlenet", "googlenet"),
    "resnet50": ("resnet50_v1", "resnet50"),
    "mobilenet_v2": ("mobilenet_v2_1.0", "mobilenet_v2"),
}
BATCHES = (1, 16)


def _executor(name, network, batch):
    mx = __import__(name)
    sys.modules["loomix"] = mx
    sys.path.insert(0, str(ROOT / "examples/image_classification"))
    from symbols import create

    symbol = create(network, 1000)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(batch, 3, 224, 224))
    mx.random.seed(1)
    initializer = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)
    for key, array in executor.aux_dict.items():
        array[:] = 1 if key.endswith("var") else 0
    for key, array in executor.arg_dict.items():
        if key == "data":
            array[:] = mx.nd.random.normal(shape=array.shape)
        elif key != "softmax_label":
            initializer(mx.init.InitDesc(key), array)

    def run(count):
        for _ in range(count):
            executor.forward(is_train=False)[0].wait_to_read()

    return run


def _model(network, batch):
    import torch
    import torchvision

    torch.manual_seed(1)
    options = {"weights": None}
    if network == "googlenet":
        options.update(init_weights=False, aux_logits=False)
    return getattr(torchvision.models, network)(**options).eval(), torch.rand(batch, 3, 224, 224)


def _torch(network, batch):
    import torch

    model, data = _model(network, batch)

    def run(count):
        with torch.inference_mode():
            for _ in range(count):
                model(data)

    return run


def _onnx_file(network, batch):
    import torch

    path = Path("/tmp") / f"loomix-benchmark-{network}-{batch}.onnx"
    if not path.exists():
        model, data = _model(network, batch)
        torch.onnx.export(model, (data,), path, dynamo=False)
    return path


def _onnxruntime(network, batch):
    import numpy
    import onnxruntime

    session = onnxruntime.InferenceSession(_onnx_file(network, batch), providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: numpy.random.rand(batch, 3, 224, 224).astype("float32")}

    def run(count):
        for _ in range(count):
            session.run(None, feed)

    return run


def _openvino(network, batch):
    import numpy
    import openvino

    model = openvino.Core().compile_model(
        _onnx_file(network, batch), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    request = model.create_infer_request()
    data = [numpy.random.rand(batch, 3, 224, 224).astype("float32")]

    def run(count):
        for _ in range(count):
            request.infer(data)

    return run


CASES = {
    f"{case}_{batch}": {
        "loomix": partial(_executor, "loomix", ours, batch),
        "mxnet": partial(_executor, "mxnet", ours, batch),
        "torch": partial(_torch, theirs, batch),
        "onnxruntime": partial(_onnxruntime, theirs, batch),
        "openvino": partial(_openvino, theirs, batch),
    }
    for case, (ours, theirs) in NETWORKS.items()
    for batch in BATCHES
}

if __name__ == "__main__":
    serve(CASES)
