# SPDX-License-Identifier: Apache-2.0
"""libloomix_predict.so: by ctypes, with models that MXNet wrote, and from a C program."""

import ctypes
import shutil
import subprocess
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

    def __init__(self, library, json, params, shapes, types=None):
        self.library, self.handle = library, ctypes.c_void_p()
        types = types or {}
        bounds = np.cumsum([0, *(len(shape) for shape in shapes.values())])
        sizes = [size for shape in shapes.values() for size in shape]
        self.check(
            library.MXPredCreateEx(
                json.encode(), params, len(params), 1, 0, len(shapes), texts(shapes), numbers(bounds),
                numbers(sizes), len(types), texts(types), numbers(types.values()), ctypes.byref(self.handle),
            )
        )  # fmt: skip

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
