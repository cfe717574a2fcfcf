# SPDX-License-Identifier: Apache-2.0
"""Prediction by well-known networks, random weights: the examples' symbols here, also by libloomix_predict.so ("c"),
and in MXNet, torchvision's models in PyTorch, and these by ONNX Runtime and OpenVINO (interpreters with torch, onnx and
the library). In float32, and in bfloat16 by the networks that `contrib.amp` makes here, PyTorch's converted models and
OpenVINO's hint."""

import ctypes
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from harness import serve

ROOT = Path(__file__).resolve().parent.parent.parent
# Ours, and torchvision's. Its AlexNet is the zoo's: smaller than the paper's, without normalisation.
ZOO = "zoo's alexnet"
NETWORKS = {
    "alexnet": (ZOO, "alexnet"),
    "vgg16": ("vgg16", "vgg16"),
    "googlenet": ("googlenet", "googlenet"),
    "resnet50": ("resnet50_v1", "resnet50"),
    "mobilenet_v2": ("mobilenet_v2_1.0", "mobilenet_v2"),
}
BATCHES = (1, 16)


def _symbol(mx, network):
    if network == ZOO:
        return mx.sym.softmax(mx.gluon.model_zoo.vision.alexnet()(mx.sym.Variable("data")))
    sys.modules["loomix"] = mx
    sys.path.insert(0, str(ROOT / "examples/image_classification"))
    from symbols import create

    return create(network, 1000)


def _bound(name, network, dtype, batch):
    mx = __import__(name)
    symbol = _symbol(mx, network)
    if dtype != "float32":
        symbol = mx.contrib.amp.convert_symbol(symbol, dtype)
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
    return mx, symbol, executor


def _executor(name, network, dtype, batch):
    executor = _bound(name, network, dtype, batch)[2]

    def run(count):
        for _ in range(count):
            executor.forward(is_train=False)[0].wait_to_read()

    return run


def save_checkpoint(prefix, network, dtype):
    """Writes PREFIX-symbol.json and PREFIX-0000.params of a network of the examples."""
    mx, symbol, executor = _bound("loomix", network, dtype, 1)
    arguments = {key: a for key, a in executor.arg_dict.items() if key not in ("data", "softmax_label")}
    mx.model.save_checkpoint(prefix, 0, symbol, arguments, executor.aux_dict, remove_amp_cast=False)


# Data go in and scores come out, too. The file is written by another process, so that this one has one engine.
def _predictor_of_c(network, dtype, batch):
    library = ctypes.CDLL(
        os.environ.get("LOOMIX_PREDICT", str(ROOT / "build/bindings/c/libloomix_predict.so"))
    )
    library.MXGetLastError.restype = ctypes.c_char_p
    handle, key = ctypes.c_void_p(), (ctypes.c_char_p * 1)(b"data")
    shape = (batch, 3, 224, 224)
    with tempfile.TemporaryDirectory() as folder:
        script = "import worker, sys; worker.save_checkpoint(*sys.argv[1:])"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run(
            [sys.executable, "-c", script, f"{folder}/net", network, dtype], check=True, env=environment
        )
        json, params = (Path(folder, f"net-{end}").read_bytes() for end in ("symbol.json", "0000.params"))
    sizes = (ctypes.c_uint * 2)(0, 4), (ctypes.c_uint * 4)(*shape)
    place = ctypes.byref(handle)
    if library.MXPredCreate(json, params, len(params), 1, 0, 1, key, *sizes, place):
        raise RuntimeError(library.MXGetLastError().decode())
    data, scores = (ctypes.c_float * (batch * 3 * 224 * 224))(), (ctypes.c_float * (batch * 1000))()

    def run(count):
        for _ in range(count):
            failed = library.MXPredSetInput(handle, b"data", data, len(data))
            failed = failed or library.MXPredForward(handle)
            if failed or library.MXPredGetOutput(handle, 0, scores, len(scores)):
                raise RuntimeError(library.MXGetLastError().decode())

    return run


def _model(network, batch, dtype="float32"):
    import torch
    import torchvision

    torch.manual_seed(1)
    options = {"weights": None}
    if network == "googlenet":
        options.update(init_weights=False, aux_logits=False)
    model = getattr(torchvision.models, network)(**options).eval().to(getattr(torch, dtype))
    return model, torch.rand(batch, 3, 224, 224, dtype=getattr(torch, dtype))


def _torch(network, dtype, batch):
    import torch

    model, data = _model(network, batch, dtype)

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


def _onnxruntime(network, dtype, batch):
    import numpy
    import onnxruntime

    session = onnxruntime.InferenceSession(_onnx_file(network, batch), providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: numpy.random.rand(batch, 3, 224, 224).astype("float32")}

    def run(count):
        for _ in range(count):
            session.run(None, feed)

    return run


def _openvino(network, dtype, batch):
    import numpy
    import openvino

    hint = {"float32": "f32", "bfloat16": "bf16"}[dtype]
    model = openvino.Core().compile_model(
        _onnx_file(network, batch), "CPU", {"INFERENCE_PRECISION_HINT": hint}
    )
    request = model.create_infer_request()
    data = [numpy.random.rand(batch, 3, 224, 224).astype("float32")]

    def run(count):
        for _ in range(count):
            request.infer(data)

    return run


def _cases(ours, theirs, dtype, batch):
    cases = {
        "loomix": partial(_executor, "loomix", ours, dtype, batch),
        "c": partial(_predictor_of_c, ours, dtype, batch),
        "torch": partial(_torch, theirs, dtype, batch),
        "openvino": partial(_openvino, theirs, dtype, batch),
    }
    if dtype == "float32":  # the others have no convolutions of bfloat16 for CPUs
        cases["mxnet"] = partial(_executor, "mxnet", ours, dtype, batch)
        cases["onnxruntime"] = partial(_onnxruntime, theirs, dtype, batch)
    return cases


CASES = {
    f"{case}{suffix}_{batch}": _cases(ours, theirs, dtype, batch)
    for case, (ours, theirs) in NETWORKS.items()
    for dtype, suffix in (("float32", ""), ("bfloat16", "_bfloat16"))
    for batch in BATCHES
}

if __name__ == "__main__":
    serve(CASES)
