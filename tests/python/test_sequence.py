# SPDX-License-Identifier: Apache-2.0
"""Sequence operators and the CTC loss: what they refuse, long sequences, optional inputs."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

nd = mx.nd


@pytest.mark.parametrize(
    "op, lengths, match",
    [
        ("SequenceLast", [0, 4], "sequence 0 has length 0; expected 1 to 4"),
        ("SequenceLast", [1, 5], "sequence 1 has length 5; expected 1 to 4"),
        ("SequenceReverse", [1, 5], "sequence 1 has length 5; expected 0 to 4"),
        ("SequenceReverse", [-1, 1], "sequence 0 has length -1"),
    ],
)
def test_lengths_outside_are_refused(op, lengths, match):
    x = nd.ones((4, 2, 3))
    with pytest.raises(mx.base.MXNetError, match=match):
        getattr(nd, op)(x, nd.array(lengths), use_sequence_length=True).asnumpy()


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: nd.SequenceLast(nd.ones((3,))), "two axes or more"),
        (lambda: nd.SequenceMask(nd.ones((3, 2)), axis=2), "axis"),
        (
            lambda: nd.SequenceMask(nd.ones((3, 2)), nd.ones((3,)), use_sequence_length=True),
            "sequence_length",
        ),
        (lambda: nd.CTCLoss(nd.ones((3, 2)), nd.ones((3, 2))), "three axes"),
        (lambda: nd.CTCLoss(nd.ones((3, 2, 4)), nd.ones((3, 2))), "label"),
        (lambda: nd.CTCLoss(nd.ones((3, 2, 4)), nd.array([[1, 2], [4, 0]])).asnumpy(), "label of sequence 1"),
        (
            lambda: nd.CTCLoss(
                nd.ones((3, 2, 4)), nd.ones((2, 2)), nd.array([3, 4]), use_data_lengths=True
            ).asnumpy(),
            "data length of sequence 1 .* 0 to 3",
        ),
        (
            lambda: nd.CTCLoss(
                nd.ones((3, 2, 4)), nd.ones((2, 2)), label_lengths=nd.array([-1, 1]), use_label_lengths=True
            ).asnumpy(),
            "label length of sequence 0 .* 0 to 2",
        ),
    ],
)
def test_bad_input_is_refused(call, match):
    with pytest.raises(mx.base.MXNetError, match=match):
        call()


def test_label_lengths_without_data_lengths():
    x, label, lengths = (
        nd.array(np.random.RandomState(0).randn(4, 2, 5)),
        nd.array([[1, 2], [3, 3]]),
        nd.array([1, 2]),
    )
    want = nd.CTCLoss(x, nd.array([[1, 0], [3, 3]])).asnumpy()
    attrs = {"use_label_lengths": True}
    np.testing.assert_array_equal(nd.CTCLoss(x, label, label_lengths=lengths, **attrs).asnumpy(), want)
    symbol = mx.sym.CTCLoss(*(mx.sym.Variable(n) for n in "xl"), label_lengths=mx.sym.Variable("n"), **attrs)
    assert symbol.list_arguments() == ["x", "l", "n"]
    bound = symbol.bind(mx.cpu(), {"x": x, "l": label, "n": lengths})
    np.testing.assert_array_equal(bound.forward()[0].asnumpy(), want)


def test_what_cannot_be_spelt_has_no_loss_and_no_gradient():
    x = nd.array(np.random.RandomState(0).randn(3, 2, 4))
    x.attach_grad()
    with mx.autograd.record():
        loss = nd.CTCLoss(x, nd.array([[1, 1, 1], [1, 2, 0]]))
    loss.backward()
    assert loss.asnumpy()[0] == 0 and loss.asnumpy()[1] > 0
    assert (x.grad.asnumpy()[:, 0] == 0).all() and (x.grad.asnumpy()[:, 1] != 0).any()


def test_a_label_may_hold_the_blank():
    data = np.random.RandomState(0).randn(7, 2, 4)
    label = nd.array([[3, 1, 3, -1], [2, 2, 3, 3]])
    x = nd.array(data, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        loss = nd.CTCLoss(x, label, blank_label="last")
    loss.backward()
    steps = np.zeros_like(data)
    for place in np.ndindex(*data.shape):
        for sign in (1, -1):
            moved = data.copy()
            moved[place] += sign * 1e-4
            value = nd.CTCLoss(nd.array(moved, dtype="float64"), label, blank_label="last").sum().asscalar()
            steps[place] += sign * value / 2e-4
    np.testing.assert_allclose(x.grad.asnumpy(), steps, atol=1e-6)


def test_long_sequences_do_not_underflow():
    time, classes = 2000, 50
    x = nd.array(np.random.RandomState(0).randn(time, 3, classes) * 5)
    label = nd.array(np.random.RandomState(1).randint(1, classes, (3, 300)), dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        loss = nd.CTCLoss(x, label)
    loss.backward()
    assert np.isfinite(loss.asnumpy()).all() and (loss.asnumpy() > 1000).all()
    # At each time the probabilities that leave a class go to others.
    np.testing.assert_allclose(x.grad.asnumpy().sum(-1), 0, atol=2e-3)


def test_the_second_derivative_is_refused():
    x = nd.array(np.random.RandomState(0).randn(3, 1, 4))
    x.attach_grad()
    with pytest.raises(mx.base.MXNetError, match="_backward_CTCLoss"), mx.autograd.record():
        grad = mx.autograd.grad(nd.CTCLoss(x, nd.array([[1, 2]])), x, create_graph=True)[0]
        grad.sum().backward()
