#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent and deformable layers of Gluon: blocks that MXNet and Loomix both make, and what MXNet computes with them.

    MXNET_ENV/bin/python tests/compat/recurrent_cases.py --write             # makes files/gluon_rnn/ anew
    MXNET_ENV/bin/python tests/compat/recurrent_cases.py --read FOLDER       # MXNet reads what Loomix wrote there

A case is a block and how it runs. Its files are NAME.params, by ``save_parameters``, and NAME.npz: outputs, and the
gradients of inputs and parameters.
"""

import argparse
import importlib
from pathlib import Path

import numpy as np

FILES = Path(__file__).parent / "files" / "gluon_rnn"
BATCH, STEPS, FEATURES = 3, 4, 5
LENGTHS = (4, 1, 3)


def _unrolled(make, layout="NTC", lengths=False, shape=(FEATURES,), features=None):
    """A cell over STEPS steps."""
    data = (BATCH, STEPS) if layout == "NTC" else (STEPS, BATCH)
    shapes = [(*data, *(shape if features is None else (features,)))]

    def run(mx, block, arrays, given=None):
        more = {"valid_length": mx.nd.array(LENGTHS) if given is None else given} if lengths else {}
        outputs, states = block.unroll(STEPS, arrays[0], layout=layout, merge_outputs=True, **more)
        return [outputs, *states]

    return make, shapes, run


def _layer(make, layout="TNC", states=None):
    """A layer over a sequence, with the shapes of its states if it gets any."""
    data = (BATCH, STEPS, FEATURES) if layout == "NTC" else (STEPS, BATCH, FEATURES)

    def run(mx, block, arrays):
        if states is None:
            return [block(arrays[0])]
        outputs, last = block(arrays[0], arrays[1:])
        return [outputs, *last]

    return make, [data, *(states or [])], run


def _plain(make, shape):
    return make, [shape], lambda mx, block, arrays: [block(arrays[0])]


def _stack(g):
    stack = g.rnn.HybridSequentialRNNCell(prefix="stack_")
    with stack.name_scope():
        stack.add(g.rnn.LSTMCell(4))
        stack.add(g.rnn.DropoutCell(0.0))
        stack.add(g.rnn.ResidualCell(g.rnn.GRUCell(4)))
        stack.add(g.rnn.BidirectionalCell(g.rnn.RNNCell(2), g.rnn.LSTMCell(3)))
    return stack


def _conv(name, axes, **settings):
    shape = (2, 6, 5, 4)[: axes + 1]

    def make(g):
        cell = getattr(g.contrib.rnn, name)
        return cell(shape, 3, 3, 3, i2h_pad=1, prefix="conv_", **settings)

    return _unrolled(make, shape=shape)


CASES = {
    "rnn_cell": _unrolled(lambda g: g.rnn.RNNCell(4, prefix="c_")),
    "rnn_cell_relu": _unrolled(lambda g: g.rnn.RNNCell(4, activation="relu", prefix="c_"), "TNC"),
    "lstm_cell": _unrolled(lambda g: g.rnn.LSTMCell(4, prefix="c_")),
    "lstm_cell_lengths": _unrolled(lambda g: g.rnn.LSTMCell(4, prefix="c_"), lengths=True),
    "lstm_cell_activations_lengths": _unrolled(
        lambda g: g.rnn.LSTMCell(4, prefix="c_", activation="softsign", recurrent_activation="relu"),
        "TNC",
        True,
    ),
    "gru_cell": _unrolled(lambda g: g.rnn.GRUCell(4, prefix="c_")),
    "gru_cell_lengths": _unrolled(lambda g: g.rnn.GRUCell(4, prefix="c_"), "TNC", True),
    "residual_lengths": _unrolled(lambda g: g.rnn.ResidualCell(g.rnn.GRUCell(5, prefix="c_")), lengths=True),
    "zoneout": _unrolled(lambda g: g.rnn.ZoneoutCell(g.rnn.LSTMCell(4, prefix="c_"), 0.0, 0.0)),
    "stack": _unrolled(_stack),
    "stack_lengths": _unrolled(_stack, "TNC", True),
    "both_ways": _unrolled(
        lambda g: g.rnn.BidirectionalCell(g.rnn.LSTMCell(4, prefix="l_"), g.rnn.GRUCell(3, prefix="r_"))
    ),
    "both_ways_lengths": _unrolled(
        lambda g: g.rnn.BidirectionalCell(g.rnn.LSTMCell(4, prefix="l_"), g.rnn.GRUCell(3, prefix="r_")),
        lengths=True,
    ),
    "lstmp_cell": _unrolled(lambda g: g.contrib.rnn.LSTMPCell(6, 4, prefix="c_")),
    "variational": _unrolled(
        lambda g: g.contrib.rnn.VariationalDropoutCell(g.rnn.LSTMCell(4, prefix="c_"), 0.0, 0.0, 0.0)
    ),
    "conv1d_rnn": _conv("Conv1DRNNCell", 1),
    "conv1d_lstm": _conv("Conv1DLSTMCell", 1, activation="relu"),
    "conv1d_gru": _conv("Conv1DGRUCell", 1, h2h_dilate=2),
    "conv2d_rnn": _conv("Conv2DRNNCell", 2),
    "conv2d_lstm": _conv("Conv2DLSTMCell", 2, i2h_dilate=2),
    "conv2d_gru": _conv("Conv2DGRUCell", 2),
    "conv3d_rnn": _conv("Conv3DRNNCell", 3),
    "conv3d_lstm": _conv("Conv3DLSTMCell", 3),
    "conv3d_gru": _conv("Conv3DGRUCell", 3),
    "rnn_relu": _layer(lambda g: g.rnn.RNN(4, 2, prefix="n_")),
    "rnn_tanh": _layer(lambda g: g.rnn.RNN(4, activation="tanh", layout="NTC", prefix="n_"), "NTC"),
    "lstm": _layer(lambda g: g.rnn.LSTM(4, 2, prefix="n_"), states=[(2, BATCH, 4)] * 2),
    "lstm_both_ways": _layer(
        lambda g: g.rnn.LSTM(4, 2, layout="NTC", bidirectional=True, prefix="n_"),
        "NTC",
        [(4, BATCH, 4)] * 2,
    ),
    "gru": _layer(lambda g: g.rnn.GRU(4, 2, prefix="n_"), states=[(2, BATCH, 4)]),
    "gru_both_ways": _layer(lambda g: g.rnn.GRU(4, bidirectional=True, layout="NTC", prefix="n_"), "NTC"),
    "deformable": _plain(
        lambda g: g.contrib.cnn.DeformableConvolution(4, 3, padding=1, groups=2, prefix="d_", in_channels=4),
        (2, 4, 6, 5),
    ),
    "modulated": _plain(
        lambda g: g.contrib.cnn.ModulatedDeformableConvolution(
            4, 3, padding=1, num_deformable_group=2, activation="relu", prefix="d_", in_channels=4
        ),
        (2, 4, 6, 5),
    ),
}


OUTPUTS_ONLY = {"modulated"}  # MXNet has its gradient on GPUs alone


def inputs_of(name):
    """The input arrays of a case."""
    draw = np.random.RandomState(sorted(CASES).index(name))
    return [draw.uniform(-1, 1, shape).astype("float32") for shape in CASES[name][1]]


def heads_for(name, outputs):
    """A head gradient for each output."""
    draw = np.random.RandomState(1000 + sorted(CASES).index(name))
    return [draw.uniform(-1, 1, output.shape).astype("float32") for output in outputs]


def compute(mx, name, block, hybrid=False):
    """Outputs, gradients of inputs, and gradients of parameters by their places."""
    _, _, run = CASES[name]
    if hybrid:
        block.hybridize()
    arrays = [mx.nd.array(values) for values in inputs_of(name)]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        outputs = run(mx, block, arrays)
    values = {f"out_{i}": output.asnumpy() for i, output in enumerate(outputs)}
    if name in OUTPUTS_ONLY:
        return values
    heads = [mx.nd.array(head) for head in heads_for(name, outputs)]
    mx.autograd.backward(outputs, heads)
    params = block._collect_params_with_prefix()
    return {
        **values,
        **{f"in_grad_{i}": array.grad.asnumpy() for i, array in enumerate(arrays)},
        **{f"grad_{key}": param.grad().asnumpy() for key, param in params.items()},
    }


def make(mx, name):
    """The block of a case, without values."""
    return CASES[name][0](mx.gluon)


def write(mx):
    """Files of all cases, with random parameters."""
    FILES.mkdir(exist_ok=True)
    for name in CASES:
        mx.random.seed(7)
        np.random.seed(7)
        block = make(mx, name)
        for param in block.collect_params().values():
            param.init = mx.init.Uniform(0.8)
        block.initialize()
        values = compute(mx, name, block)
        block.save_parameters(str(FILES / f"{name}.params"))
        np.savez_compressed(FILES / f"{name}.npz", **values)


def read(mx, folder):
    """Fails where a block with parameters from FOLDER computes other values than those in files/."""
    for name in CASES:
        block = make(mx, name)
        block.load_parameters(str(Path(folder) / f"{name}.params"))
        got, want = compute(mx, name, block), np.load(FILES / f"{name}.npz")
        assert set(got) == set(want), name
        for key, values in got.items():
            np.testing.assert_allclose(values, want[key], rtol=1e-4, atol=1e-4, err_msg=f"{name} {key}")
        print(f"{name}: the same")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--module", default="mxnet")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--read", metavar="FOLDER")
    args = parser.parse_args()
    mx = importlib.import_module(args.module)
    if args.write:
        write(mx)
    if args.read:
        read(mx, args.read)


if __name__ == "__main__":
    main()
