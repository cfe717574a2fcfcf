# SPDX-License-Identifier: Apache-2.0
"""libloomix_predict.so: by ctypes, with models that MXNet wrote, and from a C program."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "build/bindings/c/libloomix_predict.so"
HEADERS = ROOT / "bindings/c/include"
FILES = ROOT / "tests/compat/files"

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(not LIBRARY.exists(), reason="the target loomix_predict is not built"),
]

# What programs are linked with: names leave this list, and signatures change, only with a new soname.
SYMBOLS = [
    *("MXGetLastError", "MXNDListCreate", "MXNDListFree", "MXNDListGet", "MXPredCreate", "MXPredCreateEx"),
    *("MXPredCreateMultiThread", "MXPredCreatePartialOut", "MXPredForward", "MXPredFree", "MXPredGetOutput"),
    *("MXPredGetOutputShape", "MXPredGetOutputType", "MXPredPartialForward", "MXPredReshape"),
    "MXPredSetInput",
]


@pytest.fixture(scope="module")
def library():
    loaded = ctypes.CDLL(str(LIBRARY))
    loaded.MXGetLastError.restype = ctypes.c_char_p
    return loaded


class Predictor:
    """Calls the library as MXNet's own wrapper for Python does."""

    def __init__(self, library, json, params, shapes, types=None, outputs=(), place=None):
        self.library, self.handle = library, ctypes.c_void_p()
        types = types or {}
        model = (json.encode(), place or params, len(params), 1, 0, *self.shapes(shapes))
        if outputs:
            more = (len(outputs), texts(outputs))
            code = library.MXPredCreatePartialOut(*model, *more, ctypes.byref(self.handle))
        else:
            more = (len(types), texts(types), numbers(types.values()))
            code = library.MXPredCreateEx(*model, *more, ctypes.byref(self.handle))
        self.check(code)

    @staticmethod
    def shapes(shapes):
        bounds = np.cumsum([0, *(len(shape) for shape in shapes.values())])
        sizes = [size for shape in shapes.values() for size in shape]
        return len(shapes), texts(shapes), numbers(bounds), numbers(sizes)

    def reshape(self, **shapes):
        other = object.__new__(Predictor)
        other.library, other.handle = self.library, ctypes.c_void_p()
        shapes = self.shapes(shapes)
        self.check(self.library.MXPredReshape(*shapes, self.handle, ctypes.byref(other.handle)))
        return other

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.MXGetLastError().decode())

    def predict(self, **inputs):
        for name, value in inputs.items():
            pointer = value.ctypes.data_as(ctypes.c_void_p)
            self.check(self.library.MXPredSetInput(self.handle, name.encode(), pointer, value.size))
        self.check(self.library.MXPredForward(self.handle))

    def output(self, index=0):
        sizes, axes, code = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_uint32(), ctypes.c_int()
        shape = (self.handle, index, ctypes.byref(sizes), ctypes.byref(axes))
        self.check(self.library.MXPredGetOutputShape(*shape))
        self.check(self.library.MXPredGetOutputType(self.handle, index, ctypes.byref(code)))
        dtype = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64"][code.value]
        result = np.empty(sizes[: axes.value], dtype)
        pointer = result.ctypes.data_as(ctypes.c_void_p)
        self.check(self.library.MXPredGetOutput(self.handle, index, pointer, result.size))
        return result

    def __del__(self):
        self.library.MXPredFree(self.handle)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """JSON, parameters and the symbol of a network that computes with other forms of its weights, some MB large."""
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for channels, kernel in ((64, 5), (768, 1), (512, 3), (768, 1)):
            net.add(mx.gluon.nn.Conv2D(channels, kernel, padding=kernel // 2))
            net.add(mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu"))
        net.add(mx.gluon.nn.GlobalAvgPool2D(), mx.gluon.nn.Dense(500), mx.gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier(magnitude=2))
    net.hybridize()
    net(mx.nd.zeros((1, 3, 16, 16)))
    prefix = tmp_path_factory.mktemp("network") / "net"
    net.export(str(prefix))
    return Path(f"{prefix}-symbol.json").read_text(), Path(f"{prefix}-0000.params").read_bytes(), net


def images_of(*shape):
    return np.random.RandomState(1).uniform(-1, 1, shape).astype("float32")


def test_other_sizes_after_weights_were_let_go(library, network):
    json, params, net = network
    predictor = Predictor(library, json, params, {"data": (1, 3, 16, 16)})
    for shape in ((1, 3, 16, 16), (4, 3, 16, 16), (2, 3, 33, 20), (1, 3, 3, 3), (1, 3, 16, 16)):
        predictor = predictor.reshape(data=shape)
        images = images_of(*shape)
        predictor.predict(data=images)
        expected = net(mx.nd.array(images)).asnumpy()
        np.testing.assert_allclose(predictor.output(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("offset", [0, 1, 4])  # parameters may lie anywhere, and go away
def test_place_of_the_parameters(library, network, offset):
    json, params, net = network
    place = ctypes.create_string_buffer(b"\0" * offset + params)
    pointer = ctypes.c_void_p(ctypes.addressof(place) + offset)
    predictor = Predictor(library, json, params, {"data": (2, 3, 9, 9)}, place=pointer)
    ctypes.memset(place, 0xFF, len(place))
    images = images_of(2, 3, 9, 9)
    predictor.predict(data=images)
    expected = net(mx.nd.array(images)).asnumpy()
    np.testing.assert_allclose(predictor.output(), expected, rtol=1e-4, atol=1e-4)


def test_weights_as_outputs(library, network):
    json, params, net = network
    names = ["net_conv1_weight", "net_dense1_fwd"]
    predictor = Predictor(library, json, params, {"data": (1, 3, 9, 9)}, outputs=names)
    predictor.predict(data=images_of(1, 3, 9, 9))
    weight = net.collect_params()["net_conv1_weight"].data().asnumpy()
    np.testing.assert_array_equal(predictor.output(0), weight)
    assert predictor.output(1).shape == (1, 10)


def test_a_weight_that_is_an_input(library, network):
    json, params, net = network
    weight = net.collect_params()["net_conv1_weight"].data().asnumpy()
    images = images_of(1, 3, 9, 9)
    predictor = Predictor(library, json, params, {"data": images.shape, "net_conv1_weight": weight.shape})
    outputs = []
    for factor in (1, 2, 1):
        predictor.predict(data=images, net_conv1_weight=factor * weight)
        outputs.append(predictor.output())
    np.testing.assert_allclose(outputs[0], net(mx.nd.array(images)).asnumpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(outputs[0], outputs[2])
    assert abs(outputs[0] - outputs[1]).max() > 1e-3


RESIDENT = r"""
import ctypes, mmap, re, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_c_predict import LIBRARY, numbers, texts

def resident():
    return int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024

library, json = ctypes.CDLL(str(LIBRARY)), Path(sys.argv[2]).read_bytes()
size = Path(sys.argv[3]).stat().st_size
made = []
for count in (1, 1, 12):  # the first starts the library
    before = resident()
    with open(sys.argv[3], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as params:
        place = (ctypes.c_char * size).from_buffer(params)
        made.append((ctypes.c_void_p * count)())
        shape = (1, texts(["data"]), numbers([0, 4]), numbers([1, 3, 16, 16]))
        assert library.MXPredCreateMultiThread(json, place, size, 1, 0, *shape, count, made[-1]) == 0
        del place
    for handle in made[-1]:
        assert library.MXPredForward(ctypes.c_void_p(handle)) == 0
    print((resident() - before) * 2**20 / size)
"""


def test_memory(network, tmp_path):
    json, params, _ = network
    (tmp_path / "json").write_text(json)
    (tmp_path / "params").write_bytes(params)
    command = [sys.executable, "-c", RESIDENT, str(Path(__file__).parent), str(tmp_path / "json")]
    # Without Winograd's method, which wants larger copies of weights.
    environment = os.environ | {"LOOMIX_HELD_WEIGHTS": "1"}
    command.append(str(tmp_path / "params"))
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    _, one, twelve = map(float, output.split())
    assert one < 1.5 and twelve < 3, output  # times the size of the file


def texts(names):
    return (ctypes.c_char_p * len(names))(*(name.encode() for name in names))


def numbers(values):
    return (ctypes.c_uint32 * max(1, len(values)))(*map(int, values))


@pytest.mark.parametrize(
    "model, params, expected",
    [
        ("checkpoint/lenet", "checkpoint/lenet-0001.params", "checkpoint/lenet_prob.npy"),
        ("gluon/fnet", "gluon/fnet-0003.params", "gluon/fnet_out.npy"),
    ],
)
def test_models_that_mxnet_wrote(library, model, params, expected):
    images = np.load(FILES / "checkpoint/lenet_images.npy").astype("float32") / 255
    json, weights = (FILES / f"{model}-symbol.json").read_text(), (FILES / params).read_bytes()
    predictor = Predictor(library, json, weights, {"data": images.shape})
    predictor.predict(data=images)
    np.testing.assert_allclose(predictor.output(), np.load(FILES / expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype, code", [("float16", 2), ("float64", 1)])
def test_types(library, tmp_path, dtype, code):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    weights = {"arg:fc_weight": mx.nd.array([[0, 1, 2], [3, 4, 5]], dtype=dtype)}
    weights["arg:fc_bias"] = mx.nd.ones(2, dtype=dtype)
    mx.nd.save(str(tmp_path / "params"), weights)
    params = (tmp_path / "params").read_bytes()
    own = Predictor(library, net.tojson(), params, {"data": (1, 3)}, {"data": code})
    own.predict(data=np.array([1, 2, 3], dtype))
    assert own.output().dtype == dtype
    assert own.output().tolist() == [[9, 27]]
    with pytest.raises(RuntimeError, match="float32"):  # not silently: MXPredCreate's inputs are float32
        Predictor(library, net.tojson(), params, {"data": (1, 3)})


def test_exported_symbols():
    if not shutil.which("nm"):
        pytest.skip("nm is not installed")
    command = ["nm", "-D", "--defined-only", str(LIBRARY)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    exported = [line.split() for line in lines]
    assert sorted(name.split("@")[0] for _, kind, name in exported if kind != "A") == SYMBOLS
    assert [name for _, kind, name in exported if kind == "A"] == ["LOOMIX_PREDICT_0"]


def test_size(tmp_path):
    if not shutil.which("strip"):
        pytest.skip("strip is not installed")
    subprocess.run(["strip", "-o", str(tmp_path / "stripped"), str(LIBRARY)], check=True)
    size = (tmp_path / "stripped").stat().st_size
    # 6.0 MB before the kernels for AVX2 alone, graphs with shapes that depend on data, calls on GPUs, the bits, angles
    # and divisors of NumPy's interface, singular values, and the operators of 8 bits came in.
    # Where the loader or the linker is too old for packed relocations, all 7,000 take 24 bytes each.
    assert size <= (6_600_000 if b"GLIBC_ABI_DT_RELR" in LIBRARY.read_bytes() else 6_800_000)


def parts_of_optimizers():
    """The operators that no prediction needs, of those that the single file lacks."""
    text = (ROOT / "tools/amalgamate/left_out.txt").read_text()
    titles = ("# Updates of weights.", "# Parts of optimizers.")
    sections = [part for part in text.split("\n\n") if part.startswith(titles)]
    assert len(sections) == len(titles)
    return {name for part in sections for name in part.splitlines()[1:] if name}


def test_operators(library):
    """Each operator of MXNet's that the whole library has is here, too, except parts of optimizers."""
    known = json.loads((ROOT / "tests/compat/operators.json").read_text())["operators"]
    missing = set()
    for name in (operator["name"] for operator in known):
        graph = {"nodes": [{"op": name, "name": "node", "inputs": []}], "arg_nodes": [], "heads": [[0, 0, 0]]}
        text, absent = json.dumps(graph), f"node 'node' needs the operator '{name}'"
        # Each wants inputs, or attributes, so nothing runs.
        with pytest.raises(RuntimeError) as here:
            Predictor(library, text, np.array([0x112, 0, 0, 0], "uint64").tobytes(), {}).predict()
            raise RuntimeError("it runs")
        with pytest.raises(mx.MXNetError) as whole:
            mx.sym.load_json(text).bind(mx.cpu(), {})
            raise mx.MXNetError("it runs")
        if absent in str(here.value) and absent not in str(whole.value):
            missing.add(name)
    written_in_python = {"Custom"}
    assert missing == parts_of_optimizers() | written_in_python


def test_soname():
    if not shutil.which("readelf"):
        pytest.skip("readelf is not installed")
    command = ["readelf", "-d", str(LIBRARY)]
    assert "[libloomix_predict.so.0]" in subprocess.run(command, capture_output=True, text=True).stdout


@pytest.mark.parametrize("include", ["loomix/predict.h", "mxnet/c_predict_api.h"])
@pytest.mark.parametrize("compiler, language", [("gcc", "c"), ("g++", "c++")])
def test_headers_compile(tmp_path, compiler, language, include):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = tmp_path / "program.c"
    uses = " ".join(f"calls += (void (*)(void)){name} != 0;" for name in SYMBOLS)
    program.write_text(
        f"#include <{include}>\nint main(void) {{ int calls = 0; {uses}"
        f" return MXPredForward(0) == -1 && calls == {len(SYMBOLS)} ? 0 : 1; }}\n"
    )
    command = [compiler, "-x", language, "-Wall", "-Werror", "-Wno-address", str(program), "-x", "none"]
    command += [f"-I{HEADERS}", f"-I{ROOT}/bindings/c/mxnet", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run([*command, "-o", str(tmp_path / "program")], check=True)
    subprocess.run([str(tmp_path / "program")], check=True, timeout=60)


def test_installed_under_mxnets_names(tmp_path):
    if not (shutil.which("gcc") and shutil.which("cmake")):
        pytest.skip("gcc or cmake is not installed")
    install = ["cmake", "--install", str(ROOT / "build"), "--component", "predict", "--prefix", str(tmp_path)]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    program = tmp_path / "program.c"
    program.write_text(
        "#include <stdint.h>\n#include <mxnet/c_predict_api.h>\n"
        "int main(void) { return MXPredFree(0) == -1 && MXGetLastError()[0] ? 0 : 1; }\n"
    )
    folder = next(tmp_path.glob("lib*/**/loomix/mxnet"))
    command = ["gcc", str(program), f"-I{folder}/include", f"-L{folder}/lib"]
    command += ["-lmxnet_predict", f"-Wl,-rpath,{folder.parents[1]}", "-o", str(tmp_path / "program")]
    subprocess.run(command, check=True)
    subprocess.run([str(tmp_path / "program")], check=True, timeout=60)
