# SPDX-License-Identifier: Apache-2.0
"""The single file of tools/amalgamate beside the full library, and with models that MXNet wrote."""

import concurrent.futures
import ctypes
import importlib
import json
import os
import pkgutil
import random
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = Path(os.environ.get("SINGLE_FILE_LIBRARY", ROOT / "build/tools/libloomix_single_file.so"))
FILES = ROOT / "tests/compat/files"
TYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]
COMPUTED = ("float32", "int32", "int64", "uint8")  # what the file has loops for

pytestmark = pytest.mark.source
sys.path[:0] = [str(ROOT / "tests/ops"), str(ROOT / "tests/compat")]
import cases  # noqa: E402
import run_models  # noqa: E402

MODELS = [pytest.param(*model, id=model[0]) for model in run_models.models()]

ALL_CASES = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"cases.{module.name}").CASES
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("file")
    subprocess.run([sys.executable, str(ROOT / "tools/amalgamate"), str(folder)], check=True)
    return folder / "loomix_predict.cc"


@pytest.fixture(scope="module")
def text(source):
    return source.read_text()


def test_it_includes_the_standard_library_alone(text):
    # What only one kind of processor has is asked for first.
    everywhere = re.sub(r"#if defined\(__\w+\)\n#include <\w+\.h>\n#endif\n", "", text)
    included = re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"](.*)[>"]', everywhere, re.MULTILINE)
    assert [name for name in included if not name.isidentifier()] == ["loomix_predict.h"]


def test_ranges_that_older_libraries_lack_are_stood_in_for(text):
    written = (ROOT / "tools/amalgamate/standin/older_library.h").read_text()
    used = set(re.findall(r"std::(?:ranges|views)::(\w+)", text))
    assert "any_of" in used
    assert {name for name in used if not re.search(rf"^[\w ]+ {name}\(", written, re.MULTILINE)} == set()


@pytest.mark.slow
def test_it_compiles(source):
    """Names of all sources meet in one file; what is used, but not defined, is a warning.

    That warning comes after the syntax, so `-fsyntax-only` has none; with `-flto` little comes after it."""
    command = ["g++", "-std=c++20", "-O0", "-flto", "-c", "-Werror", "-Wno-psabi", source, "-o", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.fixture(scope="module")
def library():
    if not LIBRARY.exists():
        pytest.skip("the target loomix_single_file is not built")
    loaded = ctypes.CDLL(str(LIBRARY))
    loaded.MXGetLastError.restype = ctypes.c_char_p
    return loaded


def texts(names):
    return (ctypes.c_char_p * max(1, len(names)))(*(name.encode() for name in names))


def numbers(values):
    return (ctypes.c_uint32 * max(1, len(values)))(*map(int, values))


class Predictor:
    def __init__(self, library, symbol, params, inputs):
        """`inputs`: arrays by name, for their shapes and types."""
        self.library, self.handle = library, ctypes.c_void_p()
        bounds = np.cumsum([0, *(value.ndim for value in inputs.values())])
        sizes = [size for value in inputs.values() for size in value.shape]
        codes = [TYPES.index(str(value.dtype)) for value in inputs.values()]
        self.check(
            library.MXPredCreateEx(
                symbol if isinstance(symbol, bytes) else symbol.encode(), params, len(params), 1, 0, len(inputs),
                texts(inputs), numbers(bounds), numbers(sizes), len(inputs), texts(inputs), numbers(codes),
                ctypes.byref(self.handle),
            )
        )  # fmt: skip

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.MXGetLastError().decode(errors="replace"))

    def predict(self, inputs):
        for name, value in inputs.items():
            value = np.ascontiguousarray(value)
            pointer = value.ctypes.data_as(ctypes.c_void_p)
            self.check(self.library.MXPredSetInput(self.handle, name.encode(), pointer, value.size))
        self.check(self.library.MXPredForward(self.handle))

    def output(self, index=0):
        sizes, axes, code = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_uint32(), ctypes.c_int()
        self.check(
            self.library.MXPredGetOutputShape(self.handle, index, ctypes.byref(sizes), ctypes.byref(axes))
        )
        self.check(self.library.MXPredGetOutputType(self.handle, index, ctypes.byref(code)))
        result = np.empty(sizes[: axes.value], TYPES[code.value])
        pointer = result.ctypes.data_as(ctypes.c_void_p)
        self.check(self.library.MXPredGetOutput(self.handle, index, pointer, result.size))
        return result

    def __del__(self):
        if self.handle:
            self.library.MXPredFree(self.handle)


def params_of(arrays):
    """A file of parameters."""
    text = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for value in arrays.values():
        value = np.ascontiguousarray(value)
        text += struct.pack("<Iii", 0xF993FAC9, 0, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)
        text += struct.pack("<iii", 1, 0, TYPES.index(str(value.dtype))) + value.tobytes()
    text += struct.pack("<Q", len(arrays))
    return text + b"".join(struct.pack("<Q", len(name)) + name.encode() for name in arrays)


# ---- operators ---------------------------------------------------------------------------------------------------


def type_of(case):
    return next((dtype for dtype in COMPUTED if dtype in case.dtypes), None)


def symbol_of(case, count):
    operator = mx.sym
    for part in case.op.split("."):
        operator = getattr(operator, part)
    return operator(*(mx.sym.Variable(f"x{i}") for i in range(count)), **case.attrs)


def values_of(case, dtype):
    source = np.random.RandomState(zlib.crc32(case.id.encode()))
    values = [source.uniform(case.low, case.high, shape) for shape in case.shapes]
    if case.prepare:
        values = case.prepare(*values)
        values = list(values) if isinstance(values, (list, tuple)) else [values]
    return [v.astype(dtype) if np.dtype(dtype).kind == "f" else np.rint(v).astype(dtype) for v in values]


def outputs_of_library(symbol, values, states):
    arrays = {name: mx.nd.array(value, dtype=value.dtype) for name, value in values.items()}
    auxiliary = {name: arrays.pop(name) for name in states}
    executor = symbol.bind(mx.cpu(), arrays, aux_states=auxiliary)
    return [output.asnumpy() for output in executor.forward(is_train=False)]


def left_out():
    lines = (ROOT / "tools/amalgamate/left_out.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


LEFT_OUT_OF_OURS = {"_linalg_svd", "_linalg_pinv"}  # they want LAPACK's singular values


def test_operators(library):
    """Each case of tests/ops/cases that a predictor can be given, beside the full library."""
    ran, failures, operators = 0, [], set()
    for case in ALL_CASES:
        dtype = type_of(case)
        if dtype is None or any(0 in shape or shape == () for shape in case.shapes):
            continue  # types that are converted, and what MXNet's interface cannot say
        values = values_of(case, dtype)
        try:
            symbol = symbol_of(case, len(values))
        except (mx.MXNetError, AttributeError, TypeError):
            continue  # not an operator of symbols
        names = [f"x{i}" for i in range(len(values))]
        given = dict(zip(names, values, strict=True))
        states = symbol.list_auxiliary_states()
        try:
            expected = outputs_of_library(symbol, given, states)
        except mx.MXNetError:
            continue  # a case that only runs in training, or whose shape depends on data
        inputs = {name: given[name] for name in symbol.list_arguments()}
        params = params_of({f"aux:{name}": given[name] for name in states})
        try:
            predictor = Predictor(library, symbol.tojson(), params, inputs)
            predictor.predict(inputs)
            for i, want in enumerate(expected):
                got = predictor.output(i)
                assert got.shape == want.shape, f"output {i}: {got.shape}, expected {want.shape}"
                tolerance = {"rtol": 1e-4, "atol": 1e-4}
                np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), **tolerance)
        except (RuntimeError, AssertionError) as error:
            if "do not determine that of node" in str(error):
                continue  # a shape that depends on data
            if not any(name in str(error) for name in ("has no operator",)):
                failures.append(f"{case.id}: {error}")
            elif node_operator(symbol) not in left_out() | LEFT_OUT_OF_OURS:
                failures.append(f"{case.id}: {error}")
            continue
        ran += 1
        operators.add(case.op)
    print(f"{ran} cases of {len(operators)} operators are as in the full library")
    assert not failures, f"{len(failures)} of {ran + len(failures)}:\n" + "\n".join(failures)
    assert ran >= 650 and len(operators) >= 210


def node_operator(symbol):
    return next(node["op"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] != "null")


def test_which_operators_there_are(library):
    """What the file lacks of MXNet's operators is what left_out.txt says, with reasons."""
    known = json.loads((ROOT / "tests/compat/operators.json").read_text())["operators"]
    missing = set()
    for operator in known:
        node = {"op": operator["name"], "name": "node", "inputs": []}
        graph = {
            "nodes": [node],
            "arg_nodes": [],
            "heads": [[0, 0, 0]],
            "attrs": {"mxnet_version": ["int", 10901]},
        }
        with pytest.raises(RuntimeError) as error:  # each wants inputs, or attributes
            Predictor(library, json.dumps(graph), params_of({}), {}).predict({})
            raise RuntimeError("it runs")
        if "has no operator" in str(error.value):
            assert f"'{operator['name']}' of node 'node'" in str(error.value)
            missing.add(operator["name"])
    assert missing == left_out()


# ---- models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, symbol, params, inputs, expected", MODELS)
def test_models_that_mxnet_wrote(library, name, symbol, params, inputs, expected):
    predictor = Predictor(library, symbol.read_bytes(), params, inputs)
    predictor.predict(inputs)
    for i, want in enumerate(expected):
        np.testing.assert_allclose(predictor.output(i), want, rtol=1e-4, atol=1e-5)


def test_loops(library):
    """Variables change places, or begin as what the step reads as it was."""
    i, x, y = (mx.sym.Variable(name) for name in "ixy")
    _, last = mx.sym.contrib.while_loop(
        lambda i, a, b, c: i < 3, lambda i, a, b, c: ([], (i + 1, b, a, c + x)), [i, x, y, x], 5
    )
    given = {"i": np.zeros(1, "float32"), "x": np.array([2], "float32"), "y": np.array([5], "float32")}
    symbol = mx.sym.Group(last)
    predictor = Predictor(library, symbol.tojson(), params_of({}), given)
    predictor.predict(given)
    assert [predictor.output(k).tolist() for k in range(4)] == [[3], [5], [2], [8]]
    assert [value.tolist() for value in outputs_of_library(symbol, given, [])] == [[3], [5], [2], [8]]


def test_a_shape_that_only_the_weight_has(library):
    net = mx.sym.broadcast_mul(mx.sym.Variable("data"), mx.sym.Variable("scale"), name="scaled")
    params = params_of({"arg:scale": np.array([[2, 3]], "float32")})
    inputs = {"data": np.array([[1, 2], [3, 4]], "float32")}
    predictor = Predictor(library, net.tojson(), params, inputs)
    predictor.predict(inputs)
    assert predictor.output().tolist() == [[2, 6], [6, 12]]


def test_half_types_are_computed_in_float32(library, tmp_path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    weights = {"arg:fc_weight": mx.nd.array([[0, 1, 2], [3, 4, 5]], dtype="float16")}
    weights["arg:fc_bias"] = mx.nd.ones(2, dtype="float16")
    mx.nd.save(str(tmp_path / "params"), weights)
    inputs = {"data": np.array([[1, 2, 3]], "float16")}
    predictor = Predictor(library, net.tojson(), (tmp_path / "params").read_bytes(), inputs)
    predictor.predict(inputs)
    assert predictor.output().dtype == "float32"
    assert predictor.output().tolist() == [[9, 27]]


def test_predictors_of_one_model_on_many_threads(library):
    symbol, params = lenet()
    images = np.load(FILES / "checkpoint/lenet_images.npy").astype("float32")[:8] / 255
    want = np.load(FILES / "checkpoint/lenet_prob.npy")[:8]
    count = 16
    handles = (ctypes.c_void_p * count)()
    bounds, sizes = numbers([0, 4]), numbers(images.shape)
    given = (symbol, params, len(params), 1, 0, 1, texts(["data"]), bounds, sizes, count, handles)
    assert library.MXPredCreateMultiThread(*given) == 0

    def work(handle):
        own = ctypes.c_void_p(handle)
        result = np.empty((8, 10), "float32")
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (images, result)]
        for _ in range(20):
            assert library.MXPredSetInput(own, b"data", pointers[0], images.size) == 0
            assert library.MXPredForward(own) == 0
            assert library.MXPredGetOutput(own, 0, pointers[1], result.size) == 0
            np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-5)
        assert library.MXPredFree(own) == 0
        return True

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        assert all(pool.map(work, handles))


# ---- bad input -----------------------------------------------------------------------------------------------------


def lenet():
    symbol = (FILES / "checkpoint/lenet-symbol.json").read_bytes()
    return symbol, (FILES / "checkpoint/lenet-0001.params").read_bytes()


def test_wrong_calls(library):
    symbol, params = lenet()
    data = {"data": np.zeros((1, 1, 28, 28), "float32")}
    predictor = Predictor(library, symbol, params, data)
    with pytest.raises(RuntimeError, match="no MXPredForward"):
        predictor.output()
    with pytest.raises(RuntimeError, match="'image' is no input; inputs are data, softmax_label"):
        predictor.predict({"image": data["data"]})
    with pytest.raises(RuntimeError, match="got 3 elements for 'data' of shape"):
        predictor.predict({"data": np.zeros(3, "float32")})
    with pytest.raises(RuntimeError, match="given for 'image', which is no argument"):
        Predictor(library, symbol, params, {"image": data["data"]})
    with pytest.raises(RuntimeError, match="neither in param_bytes nor among the inputs"):
        Predictor(library, symbol, params_of({}), data)
    with pytest.raises(RuntimeError, match="has shape .* in param_bytes; with these inputs"):
        Predictor(library, symbol, params, {"data": np.zeros((1, 1, 32, 32), "float32")})
    with pytest.raises(RuntimeError, match="no operator 'Sonnet' of node 'rhyme'"):
        odd = symbol.replace(b'"op": "Convolution"', b'"op": "Sonnet"', 1).replace(b'"conv1"', b'"rhyme"', 1)
        Predictor(library, odd, params, data)
    handle = predictor.handle
    predictor.check(library.MXPredFree(handle))
    for call in (library.MXPredForward, library.MXPredFree):
        for wrong in (handle, None):
            assert call(wrong) == -1
            assert "handle" in library.MXGetLastError().decode()
    predictor.handle = None
    assert (
        library.MXPredCreate(
            None, params, len(params), 1, 0, 0, None, None, None, ctypes.byref(ctypes.c_void_p())
        )
        == -1
    )


def test_damaged_models(library):
    """Mutated and cut files are refused, or run; nothing crashes."""
    symbol, params = lenet()
    data = {"data": np.zeros((1, 1, 28, 28), "float32")}
    chosen = random.Random(7)
    refused = 0
    for turn in range(400):
        damaged = [bytearray(symbol), bytearray(params)]
        file = damaged[turn % 2]
        if turn % 5 == 0:
            del file[chosen.randrange(len(file)) :]
        for _ in range(chosen.randrange(1, 4)):
            # Numbers and names at the file's ends are what matters; the middle holds weights.
            end = chosen.randrange(min(len(file), 300) or 1) * chosen.choice((1, -1))
            place = end if turn % 4 < 3 else chosen.randrange(len(file) or 1)
            if file:
                file[place % len(file)] = chosen.choice(
                    (0, 255, chosen.randrange(256), ord("9"), ord("["), ord('"'))
                )
        try:
            Predictor(library, bytes(damaged[0]).replace(b"\0", b" "), bytes(damaged[1]), data).predict(data)
        except RuntimeError as error:
            assert str(error)
            refused += 1
    assert refused > 100
