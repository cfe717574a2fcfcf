# SPDX-License-Identifier: Apache-2.0
"""Prediction by an MLP, LeNet and well-known networks, random weights: symbols here, also by libloomix_predict.so
("c"), in MXNet, and as ONNX files that we write by ONNX Runtime and OpenVINO; layers and torchvision's models in
PyTorch. In float32; in bfloat16 by the networks that `contrib.amp` makes here, PyTorch's converted models and
OpenVINO's hint; and in int8 by those that `contrib.quantization` makes here, which the peers run as ONNX files."""

import ctypes
import math
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from harness import serve
from small_networks import lenet_layers, lenet_symbol, mlp_layers, mlp_symbol

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Ours, and torchvision's. Its AlexNet is the zoo's: smaller than the paper's, without normalisation.
ZOO = "zoo's alexnet"
NETWORKS = {
    "alexnet": (ZOO, "alexnet"),
    "vgg16": ("vgg16", "vgg16"),
    "googlenet": ("googlenet", "googlenet"),
    "inception_bn": ("inception_bn", None),
    "resnet18": ("resnet18_v1", "resnet18"),
    "resnet50": ("resnet50_v1", "resnet50"),
    "mobilenet_v2": ("mobilenet_v2_1.0", "mobilenet_v2"),
    "mlp": ("mlp", mlp_layers),
    "lenet": ("lenet", lenet_layers),
}
SMALL = {"mlp": (mlp_symbol, (784,)), "lenet": (lenet_symbol, (1, 28, 28))}
BATCHES = (1, 16)


def _shape(network, batch):
    return (batch, *(SMALL[network][1] if network in SMALL else (3, 224, 224)))


def _symbol(mx, network):
    if network in SMALL:
        return SMALL[network][0](mx)
    if network == ZOO:
        return mx.sym.softmax(mx.gluon.model_zoo.vision.alexnet()(mx.sym.Variable("data")))
    sys.modules["loomix"] = mx
    sys.path.insert(0, str(ROOT / "examples/image_classification"))
    from symbols import create

    return create(network, 1000)


def _bound(name, network, dtype, batch):
    mx = __import__(name)
    symbol = _symbol(mx, network)
    if dtype == "bfloat16":
        symbol = mx.contrib.amp.convert_symbol(symbol, dtype)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=_shape(network, batch))
    mx.random.seed(1)
    initializer = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)
    for key, array in executor.aux_dict.items():
        array[:] = 1 if key.endswith("var") else 0
    for key, array in executor.arg_dict.items():
        if key == "data":
            array[:] = mx.nd.random.normal(shape=array.shape)
        elif key != "softmax_label":
            initializer(mx.init.InitDesc(key), array)
    return (mx, *_in_8_bits(mx, symbol, executor)) if dtype == "int8" else (mx, symbol, executor)


def _in_8_bits(mx, symbol, executor):
    from loomix.contrib import quantization

    values = dict(executor.arg_dict)
    data, label = values.pop("data"), values.pop("softmax_label", None)
    symbol, arguments, states = quantization.quantize_model(
        symbol, values, executor.aux_dict, calib_mode="naive", calib_data=[data], quantized_dtype="auto",
        quantize_mode="full",
    )  # fmt: skip
    arguments.update(data=data, softmax_label=label)
    arguments = {key: arguments[key] for key in symbol.list_arguments()}
    return symbol, symbol.bind(mx.cpu(), arguments, grad_req="null", aux_states=states)


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


# By a process of its own: this one has one engine, or an interpreter without Loomix.
def _written(function, *arguments):
    script = f"import worker, sys; worker.{function}(*sys.argv[1:])"
    folders = os.pathsep.join([str(HERE), str(HERE.parent)])
    python = os.environ.get("PYTHON_WITH_LOOMIX", sys.executable)
    environment = {**os.environ, "PYTHONPATH": folders}
    subprocess.run([python, "-c", script, *arguments], check=True, env=environment)


# Data go in and scores come out, too.
def _predictor_of_c(network, dtype, batch):
    library = ctypes.CDLL(
        os.environ.get("PREDICT_LIBRARY", str(ROOT / "build/bindings/c/libloomix_predict.so"))
    )
    library.MXGetLastError.restype = ctypes.c_char_p
    handle, key = ctypes.c_void_p(), (ctypes.c_char_p * 1)(b"data")
    shape = _shape(network, batch)
    with tempfile.TemporaryDirectory() as folder:
        _written("save_checkpoint", f"{folder}/net", network, dtype)
        json, params = (Path(folder, f"net-{end}").read_bytes() for end in ("symbol.json", "0000.params"))
    sizes = (ctypes.c_uint * 2)(0, len(shape)), (ctypes.c_uint * len(shape))(*shape)
    place = ctypes.byref(handle)
    if library.MXPredCreate(json, params, len(params), 1, 0, 1, key, *sizes, place):
        raise RuntimeError(library.MXGetLastError().decode())
    data = (ctypes.c_float * math.prod(shape))()
    scores = (ctypes.c_float * (batch * (10 if network in SMALL else 1000)))()

    def run(count):
        for _ in range(count):
            failed = library.MXPredSetInput(handle, b"data", data, len(data))
            failed = failed or library.MXPredForward(handle)
            if failed or library.MXPredGetOutput(handle, 0, scores, len(scores)):
                raise RuntimeError(library.MXGetLastError().decode())

    return run


def _torchvision(network):
    import torchvision

    options = {"weights": None}
    if network == "googlenet":
        options.update(init_weights=False, aux_logits=False)
    return getattr(torchvision.models, network)(**options)


def _torch(network, dtype, shape):
    import torch

    torch.manual_seed(1)
    model = network(torch.nn) if callable(network) else _torchvision(network)
    model = model.eval().to(getattr(torch, dtype))
    data = torch.rand(shape, dtype=getattr(torch, dtype))

    def run(count):
        with torch.inference_mode():
            for _ in range(count):
                model(data)

    return run


def save_onnx(path, network, dtype, batch):
    """Writes the network for `batch` images to the ONNX file `path`; bfloat16 is its readers' affair."""
    dtype = "float32" if dtype == "bfloat16" else dtype
    mx, symbol, executor = _bound("loomix", network, dtype, int(batch))
    parameters = {**executor.arg_dict, **executor.aux_dict}
    del parameters["data"]
    parameters.pop("softmax_label", None)
    mx.onnx.export_model(symbol, parameters, {"data": _shape(network, int(batch))}, onnx_file_path=path)


def _onnxruntime(network, dtype, batch):
    import numpy
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        _written("save_onnx", f"{folder}/net.onnx", network, dtype, str(batch))
        session = onnxruntime.InferenceSession(f"{folder}/net.onnx", providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: numpy.random.rand(*_shape(network, batch)).astype("float32")}

    def run(count):
        for _ in range(count):
            session.run(None, feed)

    return run


def _openvino(network, dtype, batch):
    import numpy
    import openvino

    hint = "bf16" if dtype == "bfloat16" else "f32"
    with tempfile.TemporaryDirectory() as folder:
        _written("save_onnx", f"{folder}/net.onnx", network, dtype, str(batch))
        precision = {"INFERENCE_PRECISION_HINT": hint}
        model = openvino.Core().compile_model(f"{folder}/net.onnx", "CPU", precision)
    request = model.create_infer_request()
    data = [numpy.random.rand(*_shape(network, batch)).astype("float32")]

    def run(count):
        for _ in range(count):
            request.infer(data)

    return run


def _cases(ours, theirs, dtype, batch):
    cases = {
        "loomix": partial(_executor, "loomix", ours, dtype, batch),
        "c": partial(_predictor_of_c, ours, dtype, batch),
        "openvino": partial(_openvino, ours, dtype, batch),
    }
    if theirs and dtype != "int8":
        cases["torch"] = partial(_torch, theirs, dtype, _shape(ours, batch))
    if dtype == "float32":  # the others have no convolutions of bfloat16 for CPUs
        cases["mxnet"] = partial(_executor, "mxnet", ours, dtype, batch)
    if dtype != "bfloat16":
        cases["onnxruntime"] = partial(_onnxruntime, ours, dtype, batch)
    return cases


CASES = {
    f"{case}{suffix}_{batch}": _cases(ours, theirs, dtype, batch)
    for case, (ours, theirs) in NETWORKS.items()
    for dtype, suffix in (("float32", ""), ("bfloat16", "_bfloat16"), ("int8", "_int8"))
    for batch in BATCHES
}

if __name__ == "__main__":
    serve(CASES)
