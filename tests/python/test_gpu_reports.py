# SPDX-License-Identifier: Apache-2.0
"""What the host is told of a GPU's work: inputs at fault, and shapes that depend on data."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
GPU, CPU = mx.gpu(0), mx.cpu()

DATA = np.arange(24, dtype="float32").reshape(4, 3, 2)
GRAD = np.ones((2, 3, 2), dtype="float32")
ROIS = np.array([[0, 0, 0, 3, 3], [5, 0, 0, 3, 3]], dtype="float32")
IMAGES = np.ones((2, 4, 6, 6), dtype="float32")
FAULTS = {
    "take": lambda nd, a: nd.take(a(DATA), a([0, 4]), mode="raise"),
    "gather_nd": lambda nd, a: nd.gather_nd(a(DATA), a([[0, -5], [0, 0]])),
    "scatter_nd": lambda nd, a: nd.scatter_nd(a([1, 2]), a([[0, 9]]), shape=(4,)),
    "_scatter_set_nd": lambda nd, a: nd._internal._scatter_set_nd(
        a(np.zeros(4)), a([1, 2]), a([[0, 9]]), shape=(4,)
    ),
    "index_copy": lambda nd, a: nd.contrib.index_copy(a(DATA), a([1, 4]), a(GRAD)),
    "SequenceLast": lambda nd, a: nd.SequenceLast(a(DATA), a([1, 0, 2]), use_sequence_length=True),
    "SequenceReverse": lambda nd, a: nd.SequenceReverse(a(DATA), a([1, 5, 2]), use_sequence_length=True),
    "ROIPooling": lambda nd, a: nd.ROIPooling(a(IMAGES), a(ROIS), pooled_size=(2, 2), spatial_scale=1.0),
    "ROIAlign": lambda nd, a: nd.contrib.ROIAlign(a(IMAGES), a(ROIS), pooled_size=(2, 2), spatial_scale=1.0),
    "PSROIPooling": lambda nd, a: nd.contrib.PSROIPooling(
        a(IMAGES), a(ROIS), spatial_scale=1.0, output_dim=1, pooled_size=2
    ),
    "sample_gamma": lambda nd, a: nd.sample_gamma(a([1, -1]), a([1, 1])),
}


def arrays_on(ctx):
    return lambda values: mx.nd.array(np.asarray(values, "float32"), ctx=ctx)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_those_of_the_host(name):
    messages = []
    for ctx in (CPU, GPU):
        with pytest.raises(mx.MXNetError) as caught:
            FAULTS[name](mx.nd, arrays_on(ctx)).asnumpy()
        messages.append((type(caught.value), str(caught.value).splitlines()[0].split(" in operator")[0]))
    assert messages[0] == messages[1]
    assert (arrays_on(GPU)([1]) + 1).asscalar() == 2  # the device goes on


def test_the_last_of_those_for_one_place_counts():
    places = np.zeros((1, 300))
    places[0, 100:] = 2
    values = arrays_on(GPU)(np.arange(300))
    got = mx.nd.scatter_nd(values, arrays_on(GPU)(places), shape=(3,))
    np.testing.assert_array_equal(got.asnumpy(), [99, 0, 299])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("chosen", [0, 1, 40])
def test_masks_choose_slices_in_order(axis, chosen):
    rng = np.random.RandomState(3)
    data = rng.rand(40, 40, 40).astype("float32")
    mask = np.zeros(40, dtype="float32")
    mask[rng.permutation(40)[:chosen]] = 1
    x = mx.nd.array(data, ctx=GPU)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.contrib.boolean_mask(x, mx.nd.array(mask, ctx=GPU), axis=axis)
    want = np.compress(mask != 0, data, axis=axis)
    assert y.shape == want.shape
    np.testing.assert_array_equal(y.asnumpy(), want)
    if chosen == 0:
        return
    y.backward(2 * mx.nd.ones(want.shape, ctx=GPU))
    shape = [1, 1, 1]
    shape[axis] = 40
    np.testing.assert_array_equal(x.grad.asnumpy(), np.broadcast_to(2 * mask.reshape(shape), data.shape))


def test_what_is_added_to_is_added_when_the_device_is_done():
    data, places = arrays_on(GPU)(np.arange(4)), arrays_on(GPU)([[0, 1, 1]])
    data.attach_grad(grad_req="add")
    for _ in range(3):
        with mx.autograd.record():
            y = mx.nd.gather_nd(data, places)
        y.backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), [3, 6, 0, 0])
