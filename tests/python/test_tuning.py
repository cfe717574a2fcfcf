# SPDX-License-Identifier: Apache-2.0
"""LOOMIX_TUNE=1 measures kernels, and later processes take what it found."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

CODE = """
    import numpy as np
    import loomix as mx
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, num_filter=64, kernel=(3, 3), pad=(1, 1), name="conv")
    net = mx.sym.Activation(net, act_type="relu")
    run = net.simple_bind(mx.cpu(), grad_req=GRAD, data=(1, 32, 56, 56))
    random = np.random.RandomState(1)
    for array in run.arg_arrays:
        array[:] = random.uniform(-1, 1, array.shape)
    results = run.forward(is_train=GRAD == "write")
    if GRAD == "write":
        run.backward(mx.nd.ones_like(results[0]))
        results = results + run.grad_arrays
    np.savez(RESULTS, *[array.asnumpy() for array in results])
"""


def run(folder, grad_req="null", **settings):
    """What was planned, and the results."""
    results = folder / "results.npz"
    code = f"GRAD, RESULTS = {grad_req!r}, {str(results)!r}\n" + "\n".join(
        line[4:] for line in CODE.splitlines()
    )
    environment = {
        **os.environ,
        "LOOMIX_EXPLAIN": "plan",
        "LOOMIX_CACHE_DIR": str(folder / "cache"),
        "LOOMIX_ENFORCE_DETERMINISM": "0",  # which other tests set for this process
        **settings,
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    with np.load(results) as arrays:
        return done.stderr, [arrays[name] for name in arrays.files]


def answers(folder):
    file = folder / "cache" / "tuned.json"
    return dict(json.loads(file.read_text())["choices"]) if file.exists() else {}


def set_answers(folder, choices):
    file = folder / "cache" / "tuned.json"
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "choices": list(choices.items())}))


def assert_equal(results, expected):
    for result, other in zip(results, expected, strict=True):
        assert np.linalg.norm(result - other) <= 1e-4 * np.linalg.norm(other)


def test_kernels_of_training_are_measured_and_remembered(tmp_path):
    plan, expected = run(tmp_path, "write")
    assert not answers(tmp_path)
    _, tuned = run(tmp_path, "write", LOOMIX_TUNE="1")
    assert_equal(tuned, expected)
    found = answers(tmp_path)
    forward = next(question for question in found if question.startswith("Convolution "))
    assert "float32 (1, 32, 56, 56)" in forward and forward.endswith("cores")
    assert any(question.startswith("_backward_Convolution_data ") for question in found)
    for kernel in ("convolution_gemm", "convolution_dnnl") if "_dnnl" in plan else ("convolution_gemm",):
        set_answers(tmp_path, {**found, forward: kernel})
        plan, results = run(tmp_path, "write")
        assert re.search(rf" Convolution +conv +{kernel} ", plan), plan
        assert_equal(results, expected)
    assert answers(tmp_path)[forward] == kernel


def test_ways_of_prediction_are_measured_and_remembered(tmp_path):
    plan, expected = run(tmp_path)
    if " _blocked_convolution " not in plan:
        pytest.skip("no oneDNN here, or no AVX2: nothing works on blocks of channels")
    _, tuned = run(tmp_path, LOOMIX_TUNE="1")
    assert_equal(tuned, expected)
    found = answers(tmp_path)
    question = next(question for question in found if question.endswith("in blocks"))
    assert found[question] in {f"{way}, {n} parts" for way in ("direct", "winograd") for n in range(1, 257)}
    set_answers(tmp_path, {question: "direct, 4 parts"})
    plan, results = run(tmp_path)
    held = float(re.search(r"held until an argument changes: ([0-9.]+) MB", plan)[1])
    assert held == pytest.approx(64 * 32 * 9 * 4 / 2**20, abs=0.01)  # Winograd's would take four times that
    assert_equal(results, expected)


def test_nothing_is_measured_or_taken_in_deterministic_mode(tmp_path):
    _, expected = run(tmp_path, "write")
    run(tmp_path, "write", LOOMIX_TUNE="1", LOOMIX_ENFORCE_DETERMINISM="1")
    assert not answers(tmp_path)
    run(tmp_path, "write", LOOMIX_TUNE="1")
    found = answers(tmp_path)
    set_answers(tmp_path, dict.fromkeys(found, "convolution_gemm"))
    plan, results = run(tmp_path, "write", LOOMIX_ENFORCE_DETERMINISM="1")
    assert "convolution_gemm" not in plan or "_dnnl" not in plan
    for result, other in zip(results, expected, strict=True):
        assert np.array_equal(result, other)


def test_answers_that_mean_nothing_are_passed_over(tmp_path):
    _, expected = run(tmp_path, "write")
    run(tmp_path, "write", LOOMIX_TUNE="1")
    set_answers(tmp_path, dict.fromkeys(answers(tmp_path), "a kernel of another time"))
    _, results = run(tmp_path, "write")
    for result, other in zip(results, expected, strict=True):
        assert np.array_equal(result, other)
    (tmp_path / "cache" / "tuned.json").write_text("{")
    _, results = run(tmp_path, "write")
    assert_equal(results, expected)
