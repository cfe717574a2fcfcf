# SPDX-License-Identifier: Apache-2.0
"""Networks of 8 bits in the single file, beside the library; its products of 8 bits at each level of instructions.

With SINGLE_FILE_COMMAND, such as "qemu-aarch64 build/single_file/aarch64", networks run by tests/compat/run_model.cc
instead of the library that SINGLE_FILE_LIBRARY names."""

import ctypes
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
import test_quantized_prediction as networks
from loomix.contrib import quantization
from test_single_file import LIBRARY, ROOT, Predictor, library, numbers, params_of, texts  # noqa: F401

pytestmark = pytest.mark.source
COMMAND = shlex.split(os.environ.get("SINGLE_FILE_COMMAND", ""))
FLAGS = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""


# ---- products ------------------------------------------------------------------------------------------------------

LEVELS = {
    "scalar": "g++ -O2 -U__SSE2__",
    "sse2": "g++ -O2 -march=x86-64",
    "avx2": "g++ -O2 -march=x86-64-v3",
    "vnni": "g++ -O2 -march=x86-64-v4 -mavx512vnni",
    "avx_vnni": "g++ -O2 -march=x86-64-v3 -mavxvnni",
    "neon": "aarch64-linux-gnu-g++ -O2 -static",
    "neon_dot": "aarch64-linux-gnu-g++ -O2 -static -march=armv8.2-a+dotprod",
    "wasm": "em++ -O1 -msimd128 -sSINGLE_FILE=1",
}
NEEDED = {"avx2": "avx2", "vnni": "avx512_vnni", "avx_vnni": "avx_vnni"}  # of this processor


@pytest.mark.parametrize("level", LEVELS)
def test_products_are_exact(level, tmp_path):
    compiler, *options = LEVELS[level].split()
    runner = {"neon": ["qemu-aarch64", "-cpu", "max"], "wasm": ["node"]}.get(level.split("_")[0], [])
    if not all(shutil.which(program) for program in (compiler, *runner[:1])):
        pytest.skip(f"no {compiler}, or nothing that runs what it makes")
    program = tmp_path / ("tiles.js" if level == "wasm" else "tiles")
    options += [
        "-std=c++20",
        *([] if level == "wasm" else ["-O2"]),
        f"-I{ROOT / 'tools/amalgamate/standin'}",
        f"-I{ROOT}",
    ]
    command = [compiler, *options, str(ROOT / "tests/compat/run_tiles.cc"), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    if level in NEEDED and NEEDED[level] not in FLAGS:
        pytest.skip("compiled only: this processor has no such instructions")
    done = subprocess.run([*runner, str(program)], capture_output=True, text=True)
    assert done.returncode == 0 and " 0 differ" in done.stdout, done.stdout + done.stderr


# ---- networks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def predict(request, tmp_path):
    """predict(symbol, arrays by name, names of inputs) -> the first output"""
    if not COMMAND:
        loaded = request.getfixturevalue("library")

        def by_library(symbol, params, inputs):
            predictor = Predictor(loaded, symbol.tojson(), params_of(params), inputs)
            predictor.predict(inputs)
            return predictor.output()

        return by_library

    def by_command(symbol, params, inputs):
        files = [tmp_path / name for name in ("symbol", "params", "out")]
        files[0].write_text(symbol.tojson())
        files[1].write_bytes(params_of(params))
        arguments = [*COMMAND, *files]
        for name, value in inputs.items():
            path = tmp_path / name
            path.write_bytes(value.tobytes())
            arguments += [name, "x".join(map(str, value.shape)), path]
        done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return np.fromfile(files[2], "float32")

    return by_command


def lenet(data):
    x = mx.sym.Pooling(
        networks.conv(data, 8, "a", kernel=(5, 5)), kernel=(2, 2), stride=(2, 2), pool_type="max"
    )
    x = mx.sym.Pooling(
        networks.conv(x, 20, "b", kernel=(5, 5)), kernel=(2, 2), stride=(2, 2), pool_type="max"
    )
    x = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.flatten(x), num_hidden=50, name="fc1"), act_type="relu"
    )
    return mx.sym.softmax(mx.sym.FullyConnected(x, num_hidden=10, name="fc2"))


NETWORKS = [
    lenet,
    *(getattr(networks, name) for name in ("chain", "residual", "joined", "grouped", "bounded")),
]


def compare(predict, sym, args):
    data = args.pop("data").asnumpy()
    params = {f"arg:{name}": value.asnumpy() for name, value in args.items()}
    assert any(value.dtype == "int8" for value in params.values())
    got = predict(sym, params, {"data": data})
    executor = sym.bind(mx.cpu(), {**args, "data": mx.nd.array(data)}, grad_req="null")
    want = executor.forward(is_train=False)[0].asnumpy()
    got = got.reshape(want.shape)
    # Of values that lie between two steps, a few are rounded otherwise, and layers after them go on with that.
    # A library without VNNI does not round at all.
    assert (
        np.sqrt(np.square(got - want).mean()) < (0.004 if networks.HAS_VNNI else 0.012) * np.abs(want).max()
    )


@pytest.mark.parametrize("dtype, granularity", [("int8", "tensor-wise"), ("auto", "channel-wise")])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("network", NETWORKS)
def test_networks_are_as_in_the_library(predict, network, batch, dtype, granularity):
    compare(predict, *networks.quantized(network, batch, dtype, granularity))


def test_one_layer_is_exact(predict):
    for dtype in ("int8", "auto"):
        sym, args = networks.quantized(lambda data: networks.conv(data, 8, "a", relu=False), 2, dtype)
        data = args.pop("data").asnumpy()
        got = predict(sym, {f"arg:{k}": v.asnumpy() for k, v in args.items()}, {"data": data})
        executor = sym.bind(mx.cpu(), {**args, "data": mx.nd.array(data)}, grad_req="null")
        executor.set_monitor_callback(lambda *_: None)  # the operators one by one
        want = executor.forward(is_train=False)[0].asnumpy()
        np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-5, atol=1e-6 * np.abs(want).max())


def test_a_residual_network(predict):
    """ResNet-18 as the model zoo has it, from which normalisation is folded."""
    random = np.random.RandomState(1)
    mx.random.seed(3)
    net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
    net.initialize(mx.init.Xavier())
    images = mx.nd.array(random.uniform(size=(2, 3, 32, 32)))
    net.hybridize()
    net(images)
    sym = net(mx.sym.var("data"))
    args = {name: value.data() for name, value in net.collect_params().items()}
    states = {name: args.pop(name) for name in sym.list_auxiliary_states()}
    made, args, states = quantization.quantize_model(
        sym,
        args,
        states,
        calib_mode="naive",
        calib_data=[images],
        quantized_dtype="auto",
        quantize_mode="full",
    )
    assert not states
    compare(predict, made, {**args, "data": images})


def test_ranges_found_in_each_run(predict):
    sym = networks.conv(mx.sym.var("data"), 4, "a")
    args = {"a_weight": mx.nd.ones((4, 3, 3, 3)), "a_bias": mx.nd.zeros(4)}
    sym, args, _ = quantization.quantize_model(sym, args, {}, calib_mode="none")
    params = {f"arg:{name}": value.asnumpy() for name, value in args.items()}
    got = predict(sym, params, {"data": np.ones((1, 3, 5, 5), "float32")})
    assert got.max() == pytest.approx(27, rel=0.02)


def test_other_sizes_share_weights(library):  # noqa: F811
    """Originals of weights are let go, so another size of image must find them in their kernels' form."""
    sym, args = networks.quantized(lambda data: networks.conv(networks.grouped(data), 8, "last"), 1, "auto")
    data = args.pop("data").asnumpy()
    params = {f"arg:{name}": value.asnumpy() for name, value in args.items()}
    predictor = Predictor(library, sym.tojson(), params_of(params), {"data": data})
    other = np.concatenate([data, data])[:, :, :16, :15].copy()
    handle = ctypes.c_void_p()
    sizes = (ctypes.c_uint32 * 4)(*other.shape)
    predictor.check(
        library.MXPredReshape(
            1, texts(["data"]), numbers([0, 4]), sizes, predictor.handle, ctypes.byref(handle)
        )
    )
    predictor.check(library.MXPredFree(predictor.handle))
    predictor.handle = handle
    predictor.predict({"data": other})
    executor = sym.bind(mx.cpu(), {**args, "data": mx.nd.array(other)}, grad_req="null")
    want = executor.forward(is_train=False)[0].asnumpy()
    assert np.sqrt(np.square(predictor.output() - want).mean()) < 0.012 * np.abs(want).max()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_weights_are_held_once(library):  # noqa: F811
    """In their kernel's form; what the file holds is let go."""

    def megabytes():
        text = Path("/proc/self/status").read_text()
        return int(text.split("RssAnon:")[1].split()[0]) / 1024

    data = mx.nd.ones((1, 4096))
    args = {"fc_weight": mx.nd.random.normal(shape=(8192, 4096)), "fc_bias": mx.nd.zeros(8192)}
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8192, name="fc")
    sym, args, _ = quantization.quantize_model(
        sym, args, {}, calib_mode="naive", calib_data=[data], quantize_mode="full"
    )
    params, json = params_of({f"arg:{name}": value.asnumpy() for name, value in args.items()}), sym.tojson()
    before = megabytes()
    predictor = Predictor(library, json, params, {"data": data.asnumpy()})
    predictor.predict({"data": data.asnumpy()})
    assert megabytes() - before < 1.3 * 32
