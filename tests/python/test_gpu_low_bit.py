# SPDX-License-Identifier: Apache-2.0
"""Layers with weights of 8 and 4 bits on GPUs give what they give on the host."""

import loomix as mx
import numpy as np
import pytest
from loomix import nd

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
RNG = np.random.RandomState(4)


def drawn(*shape):
    return RNG.uniform(-3, 5, shape).astype("float32")


def form(columns, rows, bits=8, group_size=0):
    """A weight and its scales."""
    groups = -(-columns // group_size) if group_size else 1
    kind, size = ("int8", columns) if bits == 8 else ("uint8", -(-columns // 2))
    low, high = (-127, 128) if bits == 8 else (0, 256)
    return RNG.randint(low, high, (rows, size)).astype(kind), RNG.uniform(-0.02, 0.02, (rows, groups))


def layer(rows, columns, hidden, dynamic=False, bias=True, **of):
    given = [drawn(rows, columns), *form(columns, hidden, **of), *([drawn(hidden)] if bias else [])]
    return (
        "low_bit_fully_connected",
        given,
        {"num_hidden": hidden, "no_bias": not bias, "dynamic": dynamic, **of},
    )


def with_odd_rows(*shape):
    """Rows that are zero, or so small that they have no scale, or not finite."""
    x = drawn(*shape)
    flat = x.reshape(-1, shape[-1])
    flat[0], flat[1], flat[2, 0], flat[3, 1] = 0, 1e-44, np.inf, np.nan
    return x


CASES = {
    "one row": layer(1, 70, 5),
    "few rows in groups": layer(3, 70, 5, group_size=32),
    "few rows of 4 bits": layer(3, 71, 5, bits=4),
    "few rows of 4 bits in groups": layer(3, 71, 5, bits=4, group_size=64, bias=False),
    "many rows": layer(40, 70, 9, group_size=32),
    "many rows of 4 bits": layer(17, 71, 9, bits=4, group_size=32, bias=False),
    "several parts": layer(16, 50000, 90),  # more weights than become floats at a time
    "rounded rows": layer(5, 100, 7, dynamic=True),
    "rounded rows without bias": layer(30, 33, 4, dynamic=True, bias=False),
    "odd rounded rows": (
        "low_bit_fully_connected",
        [with_odd_rows(6, 40), *form(40, 3), drawn(3)],
        {"num_hidden": 3, "dynamic": True},
    ),
    "embedding": (
        "low_bit_embedding",
        [np.array([[0, 3, 9], [np.nan, -2, 1.7]], "float32"), *form(9, 5, bits=4)],
        {"input_dim": 5, "output_dim": 9, "bits": 4},
    ),
    "embedding by whole numbers": (
        "low_bit_embedding",
        [np.array([4, 0, 70], "int32"), *form(70, 5, group_size=32)],
        {"input_dim": 5, "output_dim": 70, "group_size": 32},
    ),
    "batch_dot": ("low_bit_batch_dot", [drawn(2, 3, 4, 70), drawn(2, 3, 70, 5)], {}),
    "batch_dot of odd rows": ("low_bit_batch_dot", [with_odd_rows(2, 4, 33), drawn(2, 33, 7)], {}),
    "batch_dot of nothing": ("low_bit_batch_dot", [drawn(2, 4, 0), drawn(2, 0, 7)], {}),
    "transposed batch_dot": (
        "low_bit_batch_dot",
        [drawn(2, 65, 33), drawn(2, 7, 65)],
        {"transpose_a": True, "transpose_b": True},
    ),
    "scores": ("low_bit_interleaved_matmul_selfatt_qk", [drawn(5, 2, 36)], {"heads": 3}),
    "means": (
        "low_bit_interleaved_matmul_selfatt_valatt",
        [drawn(5, 2, 36), np.abs(drawn(6, 5, 5))],
        {"heads": 3},
    ),
    "scores of two": (
        "low_bit_interleaved_matmul_encdec_qk",
        [drawn(3, 2, 8), drawn(5, 2, 16)],
        {"heads": 2},
    ),
    "means of two": (
        "low_bit_interleaved_matmul_encdec_valatt",
        [drawn(5, 2, 16), np.abs(drawn(4, 3, 5))],
        {"heads": 2},
    ),
}


def result(ctx, op, inputs, attributes):
    arrays = [nd.array(x, ctx=ctx, dtype="float32" if x.dtype == np.float64 else x.dtype) for x in inputs]
    return getattr(nd.contrib, op)(*arrays, **attributes).asnumpy()


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_host(name, capfd):
    got, want = (result(ctx, *CASES[name]) for ctx in (mx.gpu(0), mx.cpu()))
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(1, np.nanmax(np.abs(want), initial=0)))
    assert "runs on the host" not in capfd.readouterr().err


# ---- recurrent layers ----


def rnn_sizes(mode, hidden, inputs, layers, bidirectional):
    """How many weights and gates of all layers, and how many states."""
    directions, rows = 1 + bidirectional, {"lstm": 4, "gru": 3}.get(mode, 1) * hidden
    widths = [inputs, *[directions * hidden] * (layers - 1)]
    weights = sum(directions * rows * (width + hidden) for width in widths)
    return weights, layers * directions * 2 * rows, layers * directions


def recurrent(mode, bidirectional, steps=6, batch=3, inputs=20, hidden=17, layers=2):
    weights, gates, states = rnn_sizes(mode, hidden, inputs, layers, bidirectional)
    state = [RNG.uniform(-1, 1, (states, batch, hidden)) for _ in range(2 if mode == "lstm" else 1)]
    given = [
        RNG.uniform(-2, 2, (steps, batch, inputs)),
        RNG.randint(-127, 128, weights).astype("int8"),
        RNG.uniform(0, 2e-3, gates),
        RNG.uniform(-0.5, 0.5, gates),
        *state,
    ]
    return given, {"state_size": hidden, "num_layers": layers, "mode": mode, "bidirectional": bidirectional}


def rnn_results(ctx, op, given, attributes):
    arrays = [nd.array(x, ctx=ctx, dtype="float32" if x.dtype == np.float64 else x.dtype) for x in given]
    made = getattr(nd.contrib, op)(*arrays, **attributes)
    return [x.asnumpy() for x in (made if isinstance(made, list) else [made])]


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("state_outputs", [False, True])
def test_recurrent_layers(mode, bidirectional, state_outputs, capfd):
    given, attributes = recurrent(mode, bidirectional)
    attributes["state_outputs"] = state_outputs
    got, want = (rnn_results(ctx, "low_bit_rnn", given, attributes) for ctx in (mx.gpu(0), mx.cpu()))
    assert len(got) == (1 if not state_outputs else 3 if mode == "lstm" else 2)
    for g, w in zip(got, want, strict=True):
        error = np.abs(g - w) / max(1, np.abs(w).max())
        # A state in the middle between two whole numbers may fall either way, which later steps see.
        assert error.max() < 0.01 and np.median(error) < 1e-5
    assert "runs on the host" not in capfd.readouterr().err


@pytest.mark.parametrize("steps, batch", [(1, 1), (0, 2), (3, 0)])
def test_short_recurrent_layers(steps, batch):
    given, attributes = recurrent("lstm", True, steps, batch, inputs=3, hidden=2, layers=3)
    attributes["state_outputs"] = True
    got, want = (rnn_results(ctx, "low_bit_rnn", given, attributes) for ctx in (mx.gpu(0), mx.cpu()))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def quantized(bidirectional, layers=2, steps=5, batch=2, inputs=6, hidden=4):
    weights, gates, states = rnn_sizes("lstm", hidden, inputs, layers, bidirectional)
    given = [
        RNG.randint(0, 256, (steps, batch, inputs)).astype("uint8"),
        RNG.uniform(-0.5, 0.5, weights + gates),
        RNG.uniform(-1, 1, (states, batch, hidden)),
        RNG.uniform(-1, 1, (states, batch, hidden)),
        np.array([100.0]),
        np.array([128.0]),
    ]
    attributes = {"state_size": hidden, "num_layers": layers, "mode": "lstm", "bidirectional": bidirectional}
    return given, {**attributes, "state_outputs": True}


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
def test_recurrent_layers_that_round_their_weights(bidirectional, layers, capfd):
    given, attributes = quantized(bidirectional, layers)
    got, want = (rnn_results(ctx, "quantized_rnn", given, attributes) for ctx in (mx.gpu(0), mx.cpu()))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)
    assert "runs on the host" not in capfd.readouterr().err


@pytest.mark.parametrize("ctx", [mx.cpu(), mx.gpu(0)])
@pytest.mark.parametrize(
    "at, value, says",
    [
        (1, np.inf, "the range is from .*; expected two finite numbers"),
        (1, np.nan, "the range is from .*; expected two finite numbers"),
        (4, 0, "data_scale and data_shift are 0 and 128"),
        (4, np.nan, "data_scale and data_shift are nan and 128"),
        (5, np.inf, "data_scale and data_shift are 100 and inf"),
    ],
)
def test_recurrent_layers_refuse_what_is_no_number(ctx, at, value, says):
    given, attributes = quantized(False)
    given[at][0] = value
    with pytest.raises(ValueError, match=rf"_contrib_quantized_rnn\] {says}"):
        rnn_results(ctx, "quantized_rnn", given, attributes)


@pytest.mark.parametrize("op", ["low_bit_rnn", "quantized_rnn"])
def test_states_alone_may_be_asked_for(op):
    given, attributes = recurrent("lstm", False) if op == "low_bit_rnn" else quantized(False)
    attributes["state_outputs"] = True
    names = [f"x{i}" for i in range(len(given))]
    net = getattr(mx.sym.contrib, op)(*map(mx.sym.var, names), **attributes)
    results = []
    for ctx in (mx.gpu(0), mx.cpu()):
        kinds = ["float32" if x.dtype == np.float64 else x.dtype for x in given]
        arrays = [nd.array(x, ctx=ctx, dtype=kind) for x, kind in zip(given, kinds)]
        bound = net[1].bind(ctx, dict(zip(names, arrays)))
        results.append(bound.forward()[0].asnumpy())
    np.testing.assert_allclose(*results, rtol=0, atol=0.01)
