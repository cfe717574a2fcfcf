# SPDX-License-Identifier: Apache-2.0
"""Single operators: the cases of tests/ops to ONNX and back, and ONNX' own cases of nodes.

Each case goes three ways: Loomix computes it, onnxruntime computes the exported file, and Loomix computes what it reads
from that file.
"""

import importlib
import json
import sys
import zlib
from collections import Counter
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
pytestmark = pytest.mark.library

OPS = Path(__file__).parents[1] / "ops"
sys.path.insert(0, str(OPS))
FAMILIES = sorted(path.stem for path in (OPS / "cases").glob("*.py") if path.stem != "__init__")
onnxruntime.set_default_logger_severity(4)

# Operators of the cases that have no ONNX form. One that is missing here and refused, or here and exported, fails.
WITHOUT_FORM = {
    "CTCLoss", "Correlation", "_contrib_DeformableConvolution", "_contrib_DeformablePSROIPooling",
    "_contrib_MultiBoxTarget", "_contrib_MultiProposal", "_contrib_PSROIPooling", "_contrib_Proposal",
    "_contrib_RROIAlign", "_contrib_bipartite_matching", "_contrib_box_encode", "_contrib_quantize",
    "_contrib_quantize_asym", "_contrib_calibrate_entropy",
    "_contrib_count_sketch", "_contrib_fft", "_contrib_ifft", "_linalg_gelqf", "_linalg_inverse",
    "_linalg_pinv", "_linalg_potrf", "_linalg_potri", "_linalg_slogdet", "_linalg_solve", "_linalg_svd",
    "_linalg_syevd", "_linalg_trsm", "_random_pdf_dirichlet",
    "_random_pdf_exponential", "_random_pdf_gamma", "_random_pdf_generalized_negative_binomial",
    "_random_pdf_negative_binomial", "_random_pdf_normal", "_random_pdf_poisson", "_random_pdf_uniform",
    "_scatter_elemwise_div", "_scatter_minus_scalar", "_scatter_plus_scalar", "gamma", "gammaln", "im2col",
    "_contrib_low_bit_batch_dot", "_contrib_low_bit_interleaved_matmul_encdec_qk",
    "_contrib_low_bit_interleaved_matmul_encdec_valatt", "_contrib_low_bit_interleaved_matmul_selfatt_qk",
    "_contrib_low_bit_interleaved_matmul_selfatt_valatt",
    "_contrib_low_bit_embedding", "_contrib_low_bit_fully_connected", "_contrib_low_bit_rnn",
    "khatri_rao", "_npi_arctan2", "_npi_bitwise_and", "_npi_bitwise_or",
    "_npi_bitwise_xor", "_npi_bitwise_left_shift", "_npi_bitwise_right_shift", "_npi_copysign", "_npi_gcd", "_npi_lcm",
}  # fmt: skip
# What has a form, but not with these attributes, which the error says.
PARTS = {
    "Deconvolution": "layout NHWC",
    "RNN": "projection_size|lstm_state_clip",
    "_contrib_ROIAlign": "position_sensitive|aligned needs opset 16",
    "_linalg_gemm": "axis",
    "_linalg_gemm2": "axis",
    "Pooling": "p_value 3",
}
# Cases that onnxruntime computes otherwise, or does not take, and why.
OTHERWISE = {
    "ROIPooling": "an image of number -1",
    "contrib.ROIAlign": "an image of number -1",
    "col2im": "one axis with dilation, where onnx' own reference agrees with Loomix",
}
IS_OLD = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 31)
if IS_OLD:  # the last for Python 3.10, for one
    OTHERWISE["SequenceReverse"] = "sequences of length 0"
    OTHERWISE["Pooling_v1"] = "it takes a border of zeros before a maximum for one that does not count"


def cases(family):
    return [
        case
        for case in importlib.import_module(f"cases.{family}").CASES
        if not case.train and all(all(shape) for shape in case.shapes) and "float32" in case.dtypes
    ]


def inputs_of(case):
    random = np.random.RandomState(zlib.crc32(case.id.encode()))
    values = [random.uniform(case.low, case.high, shape) for shape in case.shapes]
    if case.prepare:
        values = case.prepare(*values)
        values = list(values) if isinstance(values, (list, tuple)) else [values]
    return [value.astype(np.float32) for value in values]


def operator(name):
    found = mx.sym
    for part in name.split("."):
        found = getattr(found, part)
    return found


def compute(symbol, arrays):
    executor = symbol.bind(
        mx.cpu(),
        {name: arrays[name] for name in symbol.list_arguments()},
        aux_states={name: arrays[name] for name in symbol.list_auxiliary_states()},
        grad_req="null",
    )
    return [output.asnumpy() for output in executor.forward(is_train=False)]


def compare(what, expected, got, tolerance):
    assert len(expected) == len(got)
    for a, b in zip(expected, got):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        if a.dtype == np.int8:
            b = np.maximum(b, -127)  # ONNX's operators use -128, too; see docs/quantization.md
        np.testing.assert_allclose(b, a, tolerance, tolerance, err_msg=what)


def session_of(path, what):
    """A session of onnxruntime; None where an old one does not take a node."""
    try:
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes
        if not IS_OLD or ("NOT_IMPLEMENTED" not in str(error) and "pads[dim]" not in str(error)):
            raise
        print(f"onnxruntime {onnxruntime.__version__} does not take {what}: {error}")
        return None


def check(symbol, arrays, path, opset, what, with_runtime=True):
    """Exports, and compares."""
    expected = compute(symbol, arrays)
    states = symbol.list_auxiliary_states()
    params = {
        name: arrays[name] for name in arrays if name in states or (what.startswith("RNN") and name == "x1")
    }
    inputs = {name: arrays[name] for name in symbol.list_arguments() if name not in params}
    shapes = {name: x.shape for name, x in inputs.items()}
    types = {name: x.dtype for name, x in inputs.items()}
    mx.onnx.export_model(symbol, params, shapes, types, path, opset_version=opset)
    session = session_of(path, what) if with_runtime else None
    if session is not None:
        given = {item.name: inputs[item.name].asnumpy() for item in session.get_inputs()}
        compare(f"{what}, onnxruntime", expected, session.run(None, given), 1e-4)
    again, arguments, states = mx.onnx.import_model(path)
    compare(f"{what}, imported", expected, compute(again, {**inputs, **arguments, **states}), 1e-5)


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("family", FAMILIES)
def test_cases(family, opset, tmp_path):
    path, faults, done = str(tmp_path / "a.onnx"), [], Counter()
    supported = mx.onnx.get_operator_support(opset)
    for case in cases(family):
        values = inputs_of(case)
        symbol = operator(case.op)(*(mx.sym.var(f"x{i}") for i in range(len(values))), **case.attrs)
        types = [case.types.get(i, "float32") for i in range(len(values))]
        arrays = {f"x{i}": mx.nd.array(value, dtype=types[i]) for i, value in enumerate(values)}
        name = canonical(symbol)
        try:
            check(symbol, arrays, path, opset, case.id, case.op not in OTHERWISE)
            assert name in supported and name not in WITHOUT_FORM, f"{name} is exported"
        except NotImplementedError as error:
            assert f"({name})" in str(error)
            if name in supported:
                assert any(part in str(error) for part in PARTS.get(name, "?").split("|")), error
        except (AssertionError, RuntimeError) as error:
            faults.append(f"{case.id}: {error}")
        done[name] += 1
    assert not faults, "\n".join(faults)
    assert done
    known = {*mx.onnx.get_operator_support(21)}
    assert {name for name in done if name not in known} <= WITHOUT_FORM


ORACLE = Path(__file__).parents[1] / "compat" / "oracle"
ORACLE_CASES = json.loads((ORACLE / "oracle.json").read_text())["cases"]


@pytest.mark.parametrize("opset", [14, 20])
@pytest.mark.parametrize("group", sorted({case["group"] for case in ORACLE_CASES}))
def test_cases_of_mxnet(group, opset, tmp_path):
    path, faults = str(tmp_path / "a.onnx"), []
    for case in ORACLE_CASES:
        if case["group"] != group or not case.get("op") or case.get("sym") is False or case.get("train"):
            continue
        data = np.load(ORACLE / case["file"])
        values = [data[f"in_{i}"] for i in range(sum(key.startswith("in_") for key in data))]
        attrs = {key: tuple(v) if isinstance(v, list) else v for key, v in case.get("attrs", {}).items()}
        symbol = operator(case["op"])(*(mx.sym.var(f"x{i}") for i in range(len(values))), **attrs)
        arrays = {f"x{i}": mx.nd.array(value, dtype=value.dtype) for i, value in enumerate(values)}
        try:
            check(symbol, arrays, path, opset, case["op"] + case["id"], case["op"] not in OTHERWISE)
        except NotImplementedError as error:
            name = canonical(symbol)
            if name in mx.onnx.get_operator_support(opset):
                assert any(part in str(error) for part in PARTS.get(name, "?").split("|")), error
        except (AssertionError, RuntimeError) as error:
            faults.append(f"{case['id']}: {error}")
    assert not faults, "\n".join(faults)


# What onnx' own cases of nodes give otherwise: random numbers, arrays without elements, and what later opsets define.
NOT_COMPARED = (
    "bernoulli", "l2normalization_axis_0", "mod_float_edge_cases_fmod_0", "training_dropout",
    # Extrema of no elements are refused, as MXNet refuses them.
    "reduce_max_empty_set", "reduce_min_empty_set", "reduce_log_sum_exp_empty_set",
)  # fmt: skip


def as_array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def with_constants(model, values):
    """The model with all inputs but the first as constants, since what decides on shapes must be known."""
    for info, value in list(zip(model.graph.input, values))[1:]:
        if not isinstance(value, list):
            model.graph.initializer.append(onnx.numpy_helper.from_array(as_array(value), info.name))
            model.graph.input.remove(info)
    return model


def import_case(model, values):
    try:
        return mx.onnx.import_model(model.SerializeToString())
    except mx.MXNetError as error:
        if "constant" not in str(error) or len(model.graph.input) < 2:
            raise
        return mx.onnx.import_model(with_constants(model, values).SerializeToString())


def run_case(case):
    """What differs in a case of onnx; '' where nothing does."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    for item in model.opset_import:
        item.version = min(max(item.version, 13), 21)
    names = [item.name for item in model.graph.input]
    values, expected = case.data_sets[0]
    symbol, arguments, states = import_case(model, values)
    arrays = {}
    for name, value in zip(names, values):
        if name in symbol.list_arguments() and name not in arguments:
            value = as_array(value)
            arrays[name] = mx.nd.array(value.reshape(value.shape or 1), dtype=value.dtype)
    got = compute(symbol, {**arrays, **arguments, **states})
    for a, b in zip(map(as_array, expected), got):
        if (b.shape, b.dtype) != (a.shape or (1,), a.dtype):
            return f"{b.dtype} {b.shape}, not {a.dtype} {a.shape}"
        if not np.allclose(b.astype("f8"), a.astype("f8"), 1e-3, 1e-5, equal_nan=True):
            return f"{b.reshape(-1)[:4]}, not {a.reshape(-1)[:4]}"
    return ""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # onnx computes what it expects
def test_cases_of_onnx():
    from loomix.onnx.from_onnx import IMPORTERS
    from onnx.backend.test.case.node import collect_testcases

    faults, right, there = [], Counter(), Counter()
    for case in collect_testcases(None):
        operators = {node.op_type for node in case.model.graph.node}
        if {item.domain for item in case.model.opset_import} - {""} or case.name.removeprefix(
            "test_"
        ).startswith(NOT_COMPARED):
            continue
        there.update(operators)
        try:
            fault = run_case(case)
        except mx.MXNetError as error:
            fault = (
                "" if str(error).startswith(("[onnx] node '", "[import_model] '")) else f"unclear: {error}"
            )
        else:
            right.update(operators if not fault else ())
        if fault:
            faults.append(f"{case.name}: {fault}")
    assert not faults, "\n".join(faults)
    tested_by_others = {
        "Bernoulli", "GRU", "GlobalLpPool", "Loop", "MaxRoiPool", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike",
    }  # fmt: skip
    assert set(IMPORTERS) & set(there) - set(right) <= tested_by_others
    assert sum(right.values()) > 800


def canonical(symbol):
    """The name of a symbol's last operator in the table of operators."""
    graph = json.loads(symbol.tojson())
    return mx._core.operator_info(graph["nodes"][graph["heads"][0][0]]["op"])["name"]
