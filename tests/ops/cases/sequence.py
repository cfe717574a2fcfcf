# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths, and the CTC loss."""

from itertools import groupby, product

import numpy as np

from . import ALL, Case


def by_sequence(fn):
    """A reference on (time, batch, ...) from one on a single sequence and its length."""

    def reference(x, lengths=None, use_sequence_length=False, axis=0, **attrs):
        x = np.moveaxis(x, axis, 0)
        lengths = [len(x)] * x.shape[1] if lengths is None else lengths.astype(int)
        return np.stack([fn(x[:, i], n, **attrs) for i, n in enumerate(lengths)], 1), axis

    return reference


def in_place(fn):
    reference = by_sequence(fn)

    def moved_back(*inputs, **attrs):
        out, axis = reference(*inputs, **attrs)
        return np.moveaxis(out, 0, axis)

    return moved_back


def last(*inputs, **attrs):
    return by_sequence(lambda x, n: x[n - 1 : n])(*inputs, **attrs)[0][0]


reverse = in_place(lambda x, n: np.concatenate([x[:n][::-1], x[n:]]))
mask = in_place(lambda x, n, value=0.0: np.concatenate([x[:n], np.full_like(x[n:], value)]))


def lengths(*values):
    return lambda x, _: [x, np.array(values, float)]


def ctc(x, label, *given, use_data_lengths=False, use_label_lengths=False, blank_label="first"):
    """The sum over every path that spells the label."""
    time, batch, classes = x.shape
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    weight = np.exp(x)
    probability = weight / weight.sum(-1, keepdims=True)
    times = given[0].astype(int) if use_data_lengths else [time] * batch
    losses = []
    for n in range(batch):
        wanted = [int(c) for c in label[n]]
        if use_label_lengths:
            wanted = wanted[: int(given[-1][n])]
        elif padding in wanted:
            wanted = wanted[: wanted.index(padding)]
        total = 0.0
        for path in product(range(classes), repeat=times[n]):
            if [c for c, _ in groupby(path) if c != blank] == wanted:
                total += np.prod([probability[t, n, c] for t, c in enumerate(path)])
        losses.append(-np.log(total) if total else 0.0)
    return np.array(losses)


def ctc_inputs(*values):
    return lambda x, *_: [x, *(np.array(v, float) for v in values)]


SEQUENCES = {"use_sequence_length": True}
LABELS = [[1, 2, 0], [2, 2, 0], [0, 0, 0]]

CASES = [
    Case("SequenceLast", [(4, 3)], last, dtypes=ALL),
    Case("SequenceLast", [(2, 5, 3)], last, {"axis": 1}),
    Case("SequenceLast", [(4, 3, 2), (3,)], last, SEQUENCES, grad=(0,), prepare=lengths(4, 1, 2)),
    Case(
        "SequenceLast",
        [(2, 5, 3), (2,)],
        last,
        {"axis": 1, **SEQUENCES},
        grad=(0,),
        prepare=lengths(5, 2),
        dtypes=ALL,
    ),
    Case("SequenceReverse", [(4, 3)], reverse, dtypes=ALL),
    Case("SequenceReverse", [(3, 4, 2), (4,)], reverse, SEQUENCES, grad=(0,), prepare=lengths(3, 0, 1, 2)),
    Case(
        "SequenceReverse", [(2, 5), (2,)], reverse, {"axis": 1, **SEQUENCES}, grad=(0,), prepare=lengths(5, 2)
    ),
    Case("SequenceReverse", [(0, 3)], reverse),
    Case("SequenceMask", [(4, 3)], mask, {"value": 3.0}, dtypes=ALL),
    Case(
        "SequenceMask",
        [(3, 4, 2), (4,)],
        mask,
        {"value": -1.0, **SEQUENCES},
        grad=(0,),
        prepare=lengths(3, 0, 1, 2),
    ),
    Case(
        "SequenceMask",
        [(2, 5), (2,)],
        mask,
        {"axis": 1, **SEQUENCES},
        grad=(0,),
        prepare=lengths(9, 2),
        dtypes=ALL,
    ),
    Case("CTCLoss", [(4, 3, 3), (3, 3)], ctc, grad=(0,), prepare=ctc_inputs(LABELS)),
    Case(
        "CTCLoss",
        [(4, 2, 3), (2, 2)],
        ctc,
        {"blank_label": "last"},
        grad=(0,),
        prepare=ctc_inputs([[1, -1], [0, 1]]),
    ),
    Case(
        "CTCLoss",
        [(4, 3, 3), (3, 3), (3,)],
        ctc,
        {"use_data_lengths": True},
        grad=(0,),
        prepare=ctc_inputs(LABELS, [2, 2, 1]),
    ),
    Case(
        "ctc_loss",
        [(3, 2, 3), (2, 3), (2,), (2,)],
        ctc,
        {"use_data_lengths": True, "use_label_lengths": True},
        grad=(0,),
        prepare=ctc_inputs([[1, 2, 1], [2, 1, 1]], [3, 2], [2, 1]),
    ),
]
