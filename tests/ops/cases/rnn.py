# SPDX-License-Identifier: Apache-2.0
"""RNN, written down step by step and unit by unit of the formulas."""

import numpy as np

from . import Case


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def vanilla_step(activation):
    def step(x, h, _, w_x, w_h, b_x, b_h, _clip):
        return activation(w_x @ x + b_x + w_h @ h + b_h), None

    return step


def lstm_step(x, h, c, w_x, w_h, b_x, b_h, clip):
    i, f, g, o = np.split(w_x @ x + b_x + w_h @ h + b_h, 4)
    c = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(g), *clip)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, h, _, w_x, w_h, b_x, b_h, _clip):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = np.split(w_x @ x + b_x, 3), np.split(w_h @ h + b_h, 3)
    z = sigmoid(x_z + h_z)
    n = np.tanh(x_n + sigmoid(x_r + h_r) * h_n)
    return (1 - z) * n + z * h, None


STEPS = {
    "rnn_relu": (1, vanilla_step(lambda x: np.maximum(x, 0))),
    "rnn_tanh": (1, vanilla_step(np.tanh)),
    "lstm": (4, lstm_step),
    "gru": (3, gru_step),
}


def unpack(parameters, gates, hidden, outputs, inputs, layers, directions, projected):
    """For each layer and direction: the weights of i2h, h2h and projection (or None), the biases of i2h and h2h."""
    place = 0

    def take(*shape):
        nonlocal place
        part = parameters[place : place + int(np.prod(shape))].reshape(shape)
        place += part.size
        return part

    parts = {}
    for layer in range(layers):
        for way in range(directions):
            width = inputs if layer == 0 else directions * outputs
            parts[layer, way] = [
                take(gates * hidden, width),
                take(gates * hidden, outputs),
                take(outputs, hidden) if projected else None,
            ]
    for key in parts:
        parts[key] += [take(gates * hidden), take(gates * hidden)]
    assert place == len(parameters)
    return parts


def rnn(
    data,
    parameters,
    state,
    state_cell=None,
    sequence_length=None,
    *,
    state_size,
    num_layers,
    mode,
    bidirectional=False,
    state_outputs=False,
    projection_size=None,
    lstm_state_clip_min=-np.inf,
    lstm_state_clip_max=np.inf,
    use_sequence_length=False,
):
    gates, run_step = STEPS[mode]
    steps, batch, inputs = data.shape
    ways = 2 if bidirectional else 1
    outputs = projection_size or state_size
    parts = unpack(parameters, gates, state_size, outputs, inputs, num_layers, ways, bool(projection_size))
    clip = (lstm_state_clip_min, lstm_state_clip_max)
    last, last_cell = np.zeros_like(state), None if state_cell is None else np.zeros_like(state_cell)
    layer_input = data
    for layer in range(num_layers):
        layer_output = np.zeros((steps, batch, ways * outputs), data.dtype)
        for way in range(ways):
            w_x, w_h, w_p, b_x, b_h = parts[layer, way]
            place = layer * ways + way
            for n in range(batch):
                length = int(sequence_length[n]) if use_sequence_length else steps
                h, c = state[place, n], None if state_cell is None else state_cell[place, n]
                for t in range(length) if way == 0 else reversed(range(length)):
                    h, c = run_step(layer_input[t, n], h, c, w_x, w_h, b_x, b_h, clip)
                    if w_p is not None:
                        h = w_p @ h
                    layer_output[t, n, way * outputs : (way + 1) * outputs] = h
                last[place, n] = h
                if c is not None:
                    last_cell[place, n] = c
        layer_input = layer_output
    results = [layer_input, last, last_cell] if mode == "lstm" else [layer_input, last]
    return results if state_outputs else layer_input


def case(mode, steps, batch, inputs, hidden, layers=1, outputs=None, **more):
    gates, ways = STEPS[mode][0], 2 if more.get("bidirectional") else 1
    out = outputs or hidden
    size = sum(
        ways * (gates * hidden * ((inputs if layer == 0 else ways * out) + out + 2) + (outputs or 0) * hidden)
        for layer in range(layers)
    )
    state, cell = (layers * ways, batch, out), (layers * ways, batch, hidden)
    attrs = {"state_size": hidden, "num_layers": layers, "mode": mode, **more}
    if outputs:
        attrs["projection_size"] = outputs
    shapes = [(steps, batch, inputs), (size,), state] + ([cell] if mode == "lstm" else [])
    return Case("RNN", shapes, rnn, attrs, low=-0.8, high=0.8, loose=4)  # sums of sums


CASES = [
    case(mode, **sizes)
    for mode in STEPS
    for sizes in (
        {"steps": 3, "batch": 2, "inputs": 5, "hidden": 3},
        {"steps": 4, "batch": 7, "inputs": 2, "hidden": 4, "layers": 2, "state_outputs": True},
        {"steps": 2, "batch": 1, "inputs": 1, "hidden": 1, "layers": 3, "bidirectional": True},
        {"steps": 3, "batch": 13, "inputs": 4, "hidden": 17, "bidirectional": True, "state_outputs": True},
        {"steps": 1, "batch": 2, "inputs": 3, "hidden": 33},
        {"steps": 0, "batch": 2, "inputs": 3, "hidden": 2, "state_outputs": True},
        {"steps": 2, "batch": 0, "inputs": 3, "hidden": 2, "state_outputs": True},
    )
] + [
    case("lstm", 3, 2, 4, 5, outputs=3, state_outputs=True),
    case("lstm", 3, 7, 4, 6, layers=2, outputs=2, bidirectional=True, state_outputs=True),
    case(
        "lstm", 5, 2, 4, 3, lstm_state_clip_min=-0.1, lstm_state_clip_max=0.15, state_outputs=True, layers=2
    ),
]
