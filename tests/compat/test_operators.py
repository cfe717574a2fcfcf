# SPDX-License-Identifier: Apache-2.0
"""The operator table against MXNet 1.9.1's (operators.json): names, aliases, inputs, parameters, defaults."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from loomix import _core

HERE = Path(__file__).parent
OPERATORS = {op["name"]: op for op in json.loads((HERE / "operators.json").read_text())["operators"]}
MISSING = (HERE / "operators_missing.txt").read_text().split()
TABLE = {operator for _, operator in _core.operator_names(False)}

# Where the table says something else than MXNet's, or MXNet tells less than it does: what is not compared.
# Parameters that only Loomix has, behind MXNet's.
MORE = dict.fromkeys(("Convolution", "Convolution_v1", "Deconvolution"), ["algorithm"])
DIFFERENT = {
    "BatchNorm_v1": {"inputs"},  # MXNet leaves its states out
    "IdentityAttachKLSparseReg": {"inputs"},  # MXNet leaves its state out
    "khatri_rao": {"parameters"},  # MXNet does not list num_args
    "_linalg_potrf": {"parameters"},  # MXNet does not list lower, and takes it
    "Embedding": {
        "parameters"
    },  # deterministic, which MXNet does not list, and takes for _contrib_SparseEmbedding
    "_contrib_SparseEmbedding": {"parameters"},
    "_linspace": {"parameters", "stop"},  # MXNet lists those of _arange, and takes these
    "_random_negative_binomial": {"k"},  # any positive number
    "_random_negative_binomial_like": {"k"},
    "_histogram": {"range"},  # MXNet does not tell its type
    "_foreach": {"inputs"},  # MXNet lists the subgraphs
    "_while_loop": {"inputs"},
    "_cond": {"inputs"},
    "Custom": {"op_type"},  # MXNet does not tell its default
    "add_n": {"parameters"},  # MXNet does not list num_args
    "smooth_l1": {"scalar"},  # MXNet does not tell its default
}
for law in ("uniform", "normal", "gamma", "exponential", "poisson", "negative_binomial"):
    for name in (law, f"generalized_{law}"):
        for operator in (f"_random_{name}", f"_sample_{name}"):
            if operator in OPERATORS:
                DIFFERENT.setdefault(operator, set()).add("dtype")  # bfloat16, too


def test_what_is_missing():
    """Both ways: the list shrinks as operators come, and nothing goes unseen."""
    assert sorted(MISSING) == MISSING and len(set(MISSING)) == len(MISSING)
    assert set(OPERATORS) - TABLE == set(MISSING)


def test_nothing_is_ours_alone():
    behind_numpy = json.loads((HERE / "operators_np.json").read_text())["operators"]
    known = {name for operator in behind_numpy for name in (operator["name"], *operator["aliases"])}
    # Forms for equal shapes of what MXNet has for shapes that broadcast alone.
    equal_shapes = {name.replace("_npi", "") for name in TABLE if name.startswith("_npi_")}
    # MXNet 2 has _npi_gcd and the shifts. Its _npi_svd, _npi_pinv and _npi_solve also broadcast and take vectors.
    shifts = {"_npi_bitwise_left_shift", "_npi_bitwise_right_shift"}
    ours = shifts | {"_npi_gcd", "_linalg_svd", "_linalg_pinv", "_linalg_solve"}
    ours |= {f"_contrib_low_bit_{name}" for name in ("fully_connected", "rnn", "embedding", "batch_dot")}
    # Rules that MXNet computes by functions on arrays.
    ours |= {"_adadelta_update", "_adamax_update", "_nadam_update", "_multi_lars_rates"}
    attention = [f"{kind}_{product}" for kind in ("selfatt", "encdec") for product in ("qk", "valatt")]
    ours |= {f"_contrib_low_bit_interleaved_matmul_{name}" for name in attention}
    between_ranks = {name for name in TABLE if name.startswith("_parallel_")}
    assert TABLE - set(OPERATORS) - known - equal_shapes - between_ranks == ours


def value_of(text, kind):
    """A default in a form that compares: MXNet writes booleans as 0 and 1, tuples as lists, floats with 9 digits."""
    if text is None or text == "None":
        return None
    if "boolean" in kind:
        return {"0": False, "1": True, "False": False, "True": True}[text]
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text  # the name of a choice
    if isinstance(value, (list, tuple)):
        return tuple(float(item) for item in value)
    return np.float32(value) if "float" in kind or "double" in kind else value


def parameter(field, options):
    """What is compared of a parameter."""
    kind = field["type"].replace(" (non-negative)", "")
    return {
        "required": field["required"],
        "default": None if field["required"] else value_of(field.get("default"), kind),
        "options" if options else "type": sorted(map(str, options)) or kind,
    }


@pytest.mark.parametrize("name", sorted(TABLE & set(OPERATORS)))
def test_operator(name):
    theirs, ours, different = OPERATORS[name], _core.operator_info(name), DIFFERENT.get(name, set())
    assert set(ours["aliases"]) == set(theirs["aliases"])
    if "inputs" not in different:
        assert [item["name"] for item in ours["inputs"]] == [item["name"] for item in theirs["inputs"]]
    if theirs.get("key_var_num_args"):
        assert ours["variadic"] == theirs["key_var_num_args"]
    fields = {field["name"]: field for field in ours["params"]}
    if "parameters" not in different:
        assert list(fields) == [field["name"] for field in theirs["params"]] + MORE.get(name, [])
    for field in theirs["params"]:
        if field["name"] in different or field["name"] not in fields:
            continue
        mine = fields[field["name"]]
        assert parameter(mine, mine["options"]) == parameter(field, field.get("enum") or []), field["name"]


def test_differences_are_of_operators_that_exist():
    assert set(DIFFERENT) <= TABLE
