#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gluon's layers, losses, cells and networks as cases that MXNet and Loomix both make and run.

A case is a block, its inputs and how it runs. `test_gluon_cases.py` holds eager results against hybridized ones, and
the list of cases against the lists of names; `live_gluon.py` asks an MXNet, which runs this file:

    MXNET_ENV/bin/python tests/compat/gluon_cases.py FOLDER NAME...
"""

import sys
import traceback
from pathlib import Path

import numpy as np
import recurrent_cases


class Case:
    """How a block is made and run.

    Parameters
    ----------
    make : function of the module `gluon`
    inputs : list of shapes, or of functions of a random generator that give arrays
    gradients : number of the first inputs, that have gradients; None: all
    run : function of the package, the block and the arrays; by default the block is called with the arrays
    modes : whether it trains, for each time that it runs; a case that draws random numbers is only compared where it
        does not
    mxnet : False where MXNet 1.9.1 cannot run it, with a comment that says why; "eager" where it cannot hybridize it
    wrong_there : pattern of the names of values that MXNet 1.9.1 has wrong, with such a comment
    """

    def __init__(
        self, make, *inputs, gradients=None, run=None, modes=(True, False), mxnet=True, wrong_there="$."
    ):
        self.make, self.inputs, self.modes = make, inputs, modes
        self.mxnet, self.wrong_there = mxnet, wrong_there
        self.gradients = len(inputs) if gradients is None else gradients
        self._run = run

    def arrays(self):
        """The inputs; the same each time."""
        rng = np.random.RandomState(5)
        made = [item(rng) if callable(item) else rng.normal(size=item) for item in self.inputs]
        return [array.astype("float32") for array in made]

    def run(self, mx, block, arrays):
        """The outputs, as a list."""
        out = block(*arrays) if self._run is None else self._run(mx, block, arrays)
        return list(out) if isinstance(out, (list, tuple)) else [out]


def _plain(make, *shapes, **settings):
    return Case(make, *shapes, **settings)


def _whole(low, high, shape):
    return lambda rng: rng.randint(low, high, shape)


def _signs(shape):
    return lambda rng: np.where(rng.normal(size=shape) > 0, 1, -1)


def _positive(shape):
    return lambda rng: np.abs(rng.normal(size=shape)) + 0.1


def _binary(shape):
    return lambda rng: rng.normal(size=shape) > 0


def _filled(stack, *makes):
    with stack.name_scope():
        for make in makes:
            stack.add(make())
    return stack


def _symbol_block(g):
    mx = sys.modules[g.__name__.split(".", maxsplit=1)[0]]
    x = mx.sym.var("data")
    out = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=3, name="first"), act_type="tanh")
    out = mx.sym.FullyConnected(out, num_hidden=2, name="second")
    return g.SymbolBlock(out, x)


# MXNet keeps where the largest was only when it trains, and has no gradient of max pooling without that.
POOLED = ".* predict:(?!out)"
# MXNet loses the gradient that goes through a hybridized block that gives back its input.
PASSED_ON = "hybrid "

LAYERS = {
    "dense": _plain(lambda g: g.nn.Dense(3), (4, 5)),
    "dense_tanh": _plain(lambda g: g.nn.Dense(3, activation="tanh"), (4, 2, 3)),
    "dense_unflattened": _plain(lambda g: g.nn.Dense(3, flatten=False, use_bias=False), (4, 2, 5)),
    "dropout": _plain(lambda g: g.nn.Dropout(0.4, axes=(1,)), (5, 6), modes=(False,)),
    "embedding": _plain(lambda g: g.nn.Embedding(7, 3), _whole(0, 7, (4, 2)), gradients=0),
    "embedding_rows": _plain(
        lambda g: g.nn.Embedding(7, 3, sparse_grad=True), _whole(0, 7, (4, 2)), gradients=0
    ),
    "batch_norm": _plain(lambda g: g.nn.BatchNorm(), (4, 3, 5)),
    "batch_norm_last_axis": _plain(lambda g: g.nn.BatchNorm(axis=-1, momentum=0.5, scale=False), (4, 5, 3)),
    "batch_norm_global": _plain(lambda g: g.nn.BatchNorm(use_global_stats=True), (4, 3)),
    # MXNet's gradients are other ones at each call where it does not train.
    "batch_norm_relu": _plain(lambda g: g.nn.BatchNormReLU(), (4, 3, 2, 2), wrong_there=".* predict:(?!out)"),
    "instance_norm": _plain(lambda g: g.nn.InstanceNorm(scale=True), (2, 3, 5)),
    "layer_norm": _plain(lambda g: g.nn.LayerNorm(), (4, 6)),
    "group_norm": _plain(lambda g: g.nn.GroupNorm(2), (3, 4, 5)),
    "flatten": _plain(lambda g: g.nn.Flatten(), (3, 4, 5)),
    "lambda": _plain(lambda g: g.nn.Lambda("tanh"), (3, 4)),
    "hybrid_lambda": _plain(lambda g: g.nn.HybridLambda(lambda F, x: F.exp(x) + 1), (3, 4)),
    "sequential": _plain(
        lambda g: _filled(g.nn.Sequential(), lambda: g.nn.Dense(4), lambda: g.nn.Dense(2)), (3, 4)
    ),
    "hybrid_sequential": _plain(
        lambda g: _filled(
            g.nn.HybridSequential(), lambda: g.nn.Conv2D(4, 3), g.nn.BatchNorm, lambda: g.nn.Dense(2)
        ),
        (3, 2, 6, 6),
    ),
    "symbol_block": _plain(_symbol_block, (3, 4)),
    "conv1d": _plain(lambda g: g.nn.Conv1D(4, 3, strides=2, padding=1), (2, 3, 9)),
    "conv2d": _plain(lambda g: g.nn.Conv2D(4, 3, activation="relu"), (2, 3, 7, 6)),
    "conv2d_groups": _plain(
        lambda g: g.nn.Conv2D(4, (3, 2), groups=2, dilation=(1, 2), use_bias=False), (2, 4, 7, 6)
    ),
    "conv3d": _plain(lambda g: g.nn.Conv3D(2, 2), (2, 3, 3, 4, 3)),
    "conv1d_transposed": _plain(lambda g: g.nn.Conv1DTranspose(4, 3, strides=2), (2, 3, 5)),
    "conv2d_transposed": _plain(
        lambda g: g.nn.Conv2DTranspose(4, 3, strides=2, padding=1, output_padding=1), (2, 3, 4, 5)
    ),
    "conv3d_transposed": _plain(lambda g: g.nn.Conv3DTranspose(2, 2), (2, 3, 3, 2, 3)),
    "max_pool1d": _plain(lambda g: g.nn.MaxPool1D(), (2, 3, 8), wrong_there=POOLED),
    "max_pool2d": _plain(lambda g: g.nn.MaxPool2D(3, 2, 1), (2, 3, 8, 7), wrong_there=POOLED),
    "max_pool2d_ceil": _plain(
        lambda g: g.nn.MaxPool2D(2, 2, ceil_mode=True), (2, 3, 7, 7), wrong_there=POOLED
    ),
    "max_pool3d": _plain(lambda g: g.nn.MaxPool3D(), (2, 3, 4, 4, 4), wrong_there=POOLED),
    "avg_pool1d": _plain(lambda g: g.nn.AvgPool1D(), (2, 3, 8)),
    "avg_pool2d": _plain(lambda g: g.nn.AvgPool2D(3, 2, 1, count_include_pad=False), (2, 3, 8, 7)),
    "avg_pool3d": _plain(lambda g: g.nn.AvgPool3D(), (2, 3, 4, 4, 4)),
    "global_max_pool1d": _plain(lambda g: g.nn.GlobalMaxPool1D(), (2, 3, 8), wrong_there=POOLED),
    "global_max_pool2d": _plain(lambda g: g.nn.GlobalMaxPool2D(), (2, 3, 8, 7), wrong_there=POOLED),
    "global_max_pool3d": _plain(lambda g: g.nn.GlobalMaxPool3D(), (2, 3, 4, 4, 4), wrong_there=POOLED),
    "global_avg_pool1d": _plain(lambda g: g.nn.GlobalAvgPool1D(), (2, 3, 8)),
    "global_avg_pool2d": _plain(lambda g: g.nn.GlobalAvgPool2D(), (2, 3, 8, 7)),
    "global_avg_pool3d": _plain(lambda g: g.nn.GlobalAvgPool3D(), (2, 3, 4, 4, 4)),
    "reflection_pad": _plain(lambda g: g.nn.ReflectionPad2D(2), (2, 3, 5, 4)),
    "relu": _plain(lambda g: g.nn.Activation("relu"), (3, 4)),
    "softsign": _plain(lambda g: g.nn.Activation("softsign"), (3, 4)),
    "leaky_relu": _plain(lambda g: g.nn.LeakyReLU(0.2), (3, 4)),
    "prelu": _plain(lambda g: g.nn.PReLU(), (3, 4)),
    "elu": _plain(lambda g: g.nn.ELU(0.7), (3, 4)),
    "selu": _plain(lambda g: g.nn.SELU(), (3, 4)),
    "gelu": _plain(lambda g: g.nn.GELU(), (3, 4)),
    "swish": _plain(lambda g: g.nn.Swish(1.5), (3, 4)),
    "concurrent": _plain(
        lambda g: _filled(g.contrib.nn.Concurrent(axis=1), g.contrib.nn.Identity, lambda: g.nn.Dense(2)),
        (3, 4),
        wrong_there=PASSED_ON,
    ),
    "hybrid_concurrent": _plain(
        lambda g: _filled(
            g.contrib.nn.HybridConcurrent(axis=1), g.contrib.nn.Identity, lambda: g.nn.Dense(2)
        ),
        (3, 4),
    ),
    # MXNet has no gradient of a block that gives back its input.
    "identity": _plain(lambda g: g.contrib.nn.Identity(), (3, 4), mxnet=False),
    "pixel_shuffle1d": _plain(lambda g: g.contrib.nn.PixelShuffle1D(2), (2, 6, 4)),
    "pixel_shuffle2d": _plain(lambda g: g.contrib.nn.PixelShuffle2D((2, 3)), (2, 12, 4, 2)),
    # MXNet transposes no more than 6 axes.
    "pixel_shuffle3d": _plain(lambda g: g.contrib.nn.PixelShuffle3D((2, 1, 3)), (2, 6, 2, 4, 2), mxnet=False),
    # MXNet gives its rows only through a Trainer.
    "sparse_embedding": _plain(
        lambda g: g.contrib.nn.SparseEmbedding(7, 3), _whole(0, 7, (4, 2)), gradients=0, mxnet=False
    ),
    "sync_batch_norm": _plain(lambda g: g.contrib.nn.SyncBatchNorm(), (4, 3, 5, 5)),
}

ROWS = (4, 3)
LOSSES = {
    "l2": Case(lambda g: g.loss.L2Loss(), ROWS, ROWS),
    "l2_weighted": Case(lambda g: g.loss.L2Loss(weight=3), ROWS, ROWS, _positive((4, 1)), gradients=2),
    "l1": Case(lambda g: g.loss.L1Loss(), ROWS, ROWS),
    "sigmoid": Case(lambda g: g.loss.SigmoidBCELoss(), ROWS, _binary(ROWS), gradients=1),
    "sigmoid_probabilities": Case(
        lambda g: g.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True),
        lambda rng: rng.uniform(0.1, 0.9, ROWS),
        _binary(ROWS),
        gradients=1,
    ),
    "softmax": Case(lambda g: g.loss.SoftmaxCELoss(), ROWS, _whole(0, 3, (4,)), gradients=1),
    "softmax_dense": Case(
        lambda g: g.loss.SoftmaxCrossEntropyLoss(sparse_label=False), ROWS, _positive(ROWS), gradients=1
    ),
    "kl": Case(lambda g: g.loss.KLDivLoss(from_logits=False), ROWS, _positive(ROWS), gradients=1),
    "ctc": Case(lambda g: g.loss.CTCLoss(), (2, 9, 5), _whole(1, 5, (2, 3)), gradients=1),
    "huber": Case(lambda g: g.loss.HuberLoss(rho=0.5), ROWS, ROWS),
    "hinge": Case(lambda g: g.loss.HingeLoss(), ROWS, _signs(ROWS), gradients=1),
    "squared_hinge": Case(lambda g: g.loss.SquaredHingeLoss(margin=2), ROWS, _signs(ROWS), gradients=1),
    "logistic": Case(lambda g: g.loss.LogisticLoss(), ROWS, _signs(ROWS), gradients=1),
    "logistic_binary": Case(
        lambda g: g.loss.LogisticLoss(label_format="binary"), ROWS, _binary(ROWS), gradients=1
    ),
    "triplet": Case(lambda g: g.loss.TripletLoss(margin=2), ROWS, ROWS, ROWS),
    "poisson": Case(lambda g: g.loss.PoissonNLLLoss(), ROWS, _positive(ROWS), gradients=1),
    "cosine": Case(lambda g: g.loss.CosineEmbeddingLoss(margin=0.1), ROWS, ROWS, _signs((4,)), gradients=2),
    # MXNet asks a symbol for its shape.
    "sdml": Case(lambda g: g.loss.SDMLLoss(), ROWS, ROWS, mxnet="eager"),
}


def _recurrent(name):
    make, shapes, run = recurrent_cases.CASES[name]
    gradients = 0 if name in recurrent_cases.OUTPUTS_ONLY else None
    return Case(
        make, *shapes, run=run, gradients=gradients, wrong_there=PASSED_ON if name == "stack" else "$."
    )


def _unrolled(make):
    """A cell over 3 steps that draws random numbers when it trains."""

    def run(mx, block, arrays):
        outputs, states = block.unroll(3, arrays[0], layout="NTC", merge_outputs=True)
        return [outputs, *states]

    return Case(make, (2, 3, 4), run=run, modes=(False,))


def _sequential_cells(g):
    stack = g.rnn.SequentialRNNCell(prefix="stack_")
    with stack.name_scope():
        stack.add(g.rnn.LSTMCell(4))
        stack.add(g.rnn.RNNCell(3))
    return stack


CELLS = {
    **{name: _recurrent(name) for name in recurrent_cases.CASES},
    "sequential_cells": _unrolled(_sequential_cells),
    "dropout_cell": _unrolled(lambda g: g.rnn.DropoutCell(0.4)),
    "zoneout_cell": _unrolled(lambda g: g.rnn.ZoneoutCell(g.rnn.RNNCell(4, prefix="c_"), 0.4, 0.3)),
    "variational_cell": _unrolled(
        lambda g: g.contrib.rnn.VariationalDropoutCell(g.rnn.GRUCell(4, prefix="c_"), 0.4, 0.3, 0.2)
    ),
}


def _without_dropout(block):
    """Dropout is tested as a layer; in both packages it draws other numbers."""
    if type(block).__name__ == "Dropout":
        block._rate = 0


def _network(name, side):
    def make(g):
        return getattr(g.model_zoo.vision, name)(classes=7).apply(_without_dropout)

    return Case(make, (2, 3, side, side), wrong_there=POOLED)


# Sides that the networks' last layers still accept; with fewer pixels batch normalisation divides by almost nothing. Of
# 256 by 256 pixels SqueezeNet's last pooling leaves a part out.
_SIDES = {"densenet": 224, "squeezenet": 256, "inception": 299, "alexnet": 67, "vgg": 32}
_NETWORKS = (
    *(f"resnet{depth}_v{version}" for version in (1, 2) for depth in (18, 34, 50, 101, 152)),
    *(f"vgg{depth}{norm}" for norm in ("", "_bn") for depth in (11, 13, 16, 19)),
    "alexnet",
    *(f"densenet{depth}" for depth in (121, 161, 169, 201)),
    "squeezenet1_0",
    "squeezenet1_1",
    "inception_v3",
    *(f"mobilenet{width}" for width in ("1_0", "0_75", "0_5", "0_25")),
    *(f"mobilenet_v2_{width}" for width in ("1_0", "0_75", "0_5", "0_25")),
)
NETWORKS = {
    name: _network(name, next((side for start, side in _SIDES.items() if name.startswith(start)), 64))
    for name in _NETWORKS
}
CASES = {**LAYERS, **LOSSES, **CELLS, **NETWORKS}


def states_of(block):
    """Copies of the parameters, by their places."""
    return {key: param.data().asnumpy() for key, param in block._collect_params_with_prefix().items()}


def array_of(mx, values, dtype="float32"):
    """An array, of ``mx.np`` in NumPy mode."""
    return (mx.np if mx.util.is_np_array() else mx.nd).array(values, dtype=dtype)


def compute(mx, case, block, hybrid=False, modes=None, dtype="float32"):
    """Outputs, gradients of inputs and parameters, and what becomes of moving averages, in each mode."""
    block.hybridize(hybrid)
    block.cast(dtype)
    params = block._collect_params_with_prefix()
    values = {}
    for train in case.modes if modes is None else modes:
        mark = "train" if train else "predict"
        arrays = [array_of(mx, array, dtype=dtype) for array in case.arrays()]
        for array in arrays[: case.gradients]:
            array.attach_grad()
        with mx.autograd.record(train_mode=train):
            outputs = case.run(mx, block, arrays)
        values.update((f"{mark}:out_{i}", output.asnumpy()) for i, output in enumerate(outputs))
        if not case.gradients and not any(param.grad_req != "null" for param in params.values()):
            continue
        if case.gradients == 0 and type(block).__name__ == "ModulatedDeformableConvolution":
            continue  # MXNet has its gradient on GPUs alone
        draw = np.random.RandomState(9)
        heads = [array_of(mx, draw.uniform(-1, 1, output.shape), dtype=dtype) for output in outputs]
        mx.autograd.backward(outputs, heads, train_mode=train)
        values.update((f"{mark}:in_{i}", arrays[i].grad.asnumpy()) for i in range(case.gradients))
        for key, param in params.items():
            array = param.data() if param.grad_req == "null" else param.grad()
            values[f"{mark}:{key}"] = array.asnumpy()
    return values


def compute_for_others(mx, name, block, hybrid):
    """What :func:`compute` gives, to compare with another package's.

    Networks train in float64: in float32 the packages round differently, and of millions of rectified values some
    change their sign by that, which changes the gradients of a deep network by more than any tolerance.
    """
    if name not in NETWORKS:
        return compute(mx, CASES[name], block, hybrid)
    values = compute(mx, CASES[name], block, hybrid, modes=(False,))
    values.update(compute(mx, CASES[name], block, hybrid, modes=(True,), dtype="float64"))
    block.cast("float32")
    return values


def differences(got, want):
    """By how much each value differs, as a part of the largest wanted of its array, or of 1 if that is more."""
    assert set(got) == set(want), set(got) ^ set(want)
    return {key: float(np.abs(got[key] - want[key]).max() / max(1, np.abs(want[key]).max())) for key in want}


def answer(mx, folder, name):
    """What MXNet makes of the files that live_gluon.py wrote for a case."""
    case, start = CASES[name], str(folder / name)
    block = case.make(mx.gluon)
    block.load_parameters(start + ".params")
    before = states_of(block)
    np.savez(start + "-eager.npz", **compute_for_others(mx, name, block, False))
    for key, param in block._collect_params_with_prefix().items():
        param.set_data(mx.nd.array(before[key]))
    if case.mxnet != "eager":
        np.savez(start + "-hybrid.npz", **compute_for_others(mx, name, block, True))
    for key, param in block._collect_params_with_prefix().items():
        param.set_data(mx.nd.array(before[key]))
    block.save_parameters(start + "-theirs.params")
    if Path(start + "-old.params").exists():
        block.save_params(start + "-theirs-old.params")
        older = case.make(mx.gluon)
        older.load_parameters(start + "-old.params")
        for key, value in states_of(older).items():
            assert (value == before[key]).all(), f"{key} of the old form"
    if Path(start + "-symbol.json").exists():
        arrays = [mx.nd.array(array) for array in case.arrays()]
        names = ["data"] if len(arrays) == 1 else [f"data{i}" for i in range(len(arrays))]
        imported = mx.gluon.SymbolBlock.imports(start + "-symbol.json", names, start + "-0000.params")
        np.savez(start + "-imported.npz", out=imported(*arrays).asnumpy())
        if case.mxnet != "eager":
            block.hybridize()
            block(*arrays)
            block.export(start + "-theirs")


def main():
    """Answers for the named cases; what fails is printed."""
    import warnings

    import mxnet as mx

    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        try:
            answer(mx, folder, name)
        except Exception:  # whatever it is, the other cases are asked, too
            (folder / f"{name}-failed.txt").write_text(traceback.format_exc())


if __name__ == "__main__":
    main()
