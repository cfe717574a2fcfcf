# SPDX-License-Identifier: Apache-2.0
"""Operators that move, gather, order and sample elements, and boxes, on a GPU as on the CPU.

Sizes are those at which the kernels choose other ways than for the case tables' small arrays.
"""

import itertools

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
TYPES = ("int8", "float16", "float32", "float64")


def numbers(shape, dtype="float32", seed=0):
    values = np.random.RandomState(seed).uniform(-100, 100, shape)
    return values.astype(dtype)


def on(ctx, op, arrays, attrs):
    got = op(*(mx.nd.array(a, ctx=ctx, dtype=a.dtype) for a in arrays), **attrs)
    return [g.asnumpy() for g in (got if isinstance(got, list) else [got])]


def check_same(op, arrays, exact=True, **attrs):
    want = on(mx.cpu(), op, arrays, attrs)
    got = on(mx.gpu(0), op, arrays, attrs)
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.dtype == w.dtype
        if exact:
            np.testing.assert_array_equal(g, w)
        else:
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


def check_gradient(op, arrays, which=0, **attrs):
    grads = []
    for ctx in (mx.cpu(), mx.gpu(0)):
        given = [mx.nd.array(a, ctx=ctx, dtype=a.dtype) for a in arrays]
        given[which].attach_grad()
        with mx.autograd.record():
            out = op(*given, **attrs)
        out = out[0] if isinstance(out, list) else out
        out.backward(mx.nd.array(numbers(out.shape, seed=1), ctx=ctx, dtype=out.dtype))
        grads.append(given[which].grad.asnumpy())
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(16, 16), (33, 70), (128, 130), (257, 31)])
def test_transpose_in_tiles(dtype, shape):
    check_same(mx.nd.transpose, [numbers(shape, dtype)])


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_transpose_of_three_axes(axes):
    for shape in ((3, 20, 36), (17, 32, 16), (20, 5, 64)):
        check_same(mx.nd.transpose, [numbers(shape)], axes=axes)
        check_same(mx.nd.transpose, [numbers(shape, "float16")], axes=axes)


def test_transpose_of_more_axes_than_a_kernel_takes():
    x = numbers((2, 3) * 5)
    check_same(mx.nd.transpose, [x])
    check_same(mx.nd.tile, [x], reps=(1, 2) * 5)
    check_same(mx.nd.reverse, [x], axis=(0, 2, 4, 6, 8))


def test_slices_at_odd_places():
    x = numbers((9, 37, 16))
    check_same(mx.nd.slice, [x], begin=(1, 4, 8), end=(None, None, None))
    check_same(mx.nd.slice, [x], begin=(0, 36, 15), end=(None, None, 0), step=(3, -2, -1))
    check_same(mx.nd.slice_axis, [x], axis=1, begin=5, end=36)
    check_gradient(mx.nd.slice, [x], begin=(1, 4, 8), end=(None, None, None))
    for ctx in (mx.cpu(), mx.gpu(0)):
        y = mx.nd.array(x, ctx=ctx)
        y[2:5, ::3, 4:12] = 7
        want = x.copy()
        want[2:5, ::3, 4:12] = 7
        np.testing.assert_array_equal(y.asnumpy(), want)


@pytest.mark.parametrize("dtype", TYPES)
def test_join_and_split_of_many(dtype):
    parts = [numbers((3, i % 5, 4), dtype, seed=i) for i in range(1, 71)]
    check_same(mx.nd.concat, parts, dim=1)
    check_same(mx.nd.stack, [p for p in parts if p.shape[1] == 4], axis=1)
    check_same(mx.nd.split, [numbers((4, 210, 2), dtype)], num_outputs=70, axis=1)
    check_same(mx.nd.split_v2, [numbers((4, 20, 3), dtype)], indices_or_sections=(3, 3, 11), axis=1)


def test_gradient_of_concat():
    check_gradient(mx.nd.concat, [numbers((5, 8)), numbers((5, 3)), numbers((5, 4))], which=1, dim=1)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode):
    x = numbers((2, 3, 7, 9))
    width = (0, 0, 0, 0, 5, 3, 1, 8)
    check_same(mx.nd.pad, [x], mode=mode, pad_width=width)
    check_gradient(mx.nd.pad, [x], mode=mode, pad_width=width)


def test_copies_along_axes():
    x = numbers((5, 24))
    check_same(mx.nd.tile, [x], reps=(3, 1, 2))
    check_same(mx.nd.repeat, [x], repeats=3, axis=0)
    check_same(mx.nd.repeat, [x], repeats=4)
    check_gradient(mx.nd.tile, [x], reps=(3, 1, 2))
    check_gradient(mx.nd.repeat, [x], repeats=3, axis=0)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
def test_take(mode, dtype):
    index = np.arange(-40, 60).reshape(10, 10).astype(dtype)
    for axis, shape in ((0, (30, 7)), (1, (3, 30, 8)), (-1, (4, 30))):
        check_same(mx.nd.take, [numbers(shape), index], axis=axis, mode=mode)
        check_gradient(mx.nd.take, [numbers(shape), index], axis=axis, mode=mode)


def test_gradient_of_embedding_with_frequent_words():
    words = np.random.RandomState(3).randint(0, 50, (40, 20)).astype("float32")
    words[:, 10:] = 7  # more than are added up at once
    check_same(mx.nd.Embedding, [words, numbers((50, 12))], input_dim=50, output_dim=12)
    check_gradient(mx.nd.Embedding, [words, numbers((50, 12))], which=1, input_dim=50, output_dim=12)


def test_take_says_what_is_out_of_range():
    data = mx.nd.array(numbers((3, 2)), ctx=mx.gpu(0))
    with pytest.raises(IndexError, match=r"\[take\] index 5 is out of range for size 3; expected -3 to 2"):
        mx.nd.take(data, mx.nd.array([5], ctx=mx.gpu(0)), mode="raise").asnumpy()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("ascending", [True, False])
def test_order(dtype, ascending):
    x = np.random.RandomState(1).randint(-3 if dtype != "uint8" else 0, 30, (5, 70, 3)).astype(dtype)
    if "float" in dtype:
        x[1, 5:9] = np.nan
        x[2, 4], x[2, 9], x[0, 3], x[0, 7] = -0.0, 0.0, np.inf, -np.inf
    for axis in (0, 1, -1, None):
        check_same(mx.nd.sort, [x], axis=axis, is_ascend=ascending)
        check_same(mx.nd.argsort, [x], axis=axis, is_ascend=ascending)
    for kind in ("both", "indices", "mask", "value"):
        check_same(mx.nd.topk, [x], axis=1, k=11, ret_typ=kind, is_ascend=ascending)


def test_gradient_of_order():
    x = numbers((6, 50))
    check_gradient(mx.nd.topk, [x], axis=1, k=7, ret_typ="value")
    check_gradient(mx.nd.sort, [x], axis=0)


def test_sequences():
    x = numbers((6, 4, 5))
    lengths = np.array([1, 6, 3, 9], "float32")
    check_same(mx.nd.SequenceMask, [x, lengths], use_sequence_length=True, value=-1)
    check_same(mx.nd.SequenceMask, [x.swapaxes(0, 1), lengths], use_sequence_length=True, axis=1)
    for op in (mx.nd.SequenceLast, mx.nd.SequenceReverse):
        check_same(op, [x])
        check_gradient(op, [x])
        check_same(op, [x, np.array([1, 6, 3, 2], "float32")], use_sequence_length=True)


def test_pick_and_one_hot():
    x = numbers((40, 11, 3))
    index = np.random.RandomState(2).randint(-2, 13, (40, 3)).astype("int32")
    for mode in ("clip", "wrap"):
        check_same(mx.nd.pick, [x, index], axis=1, mode=mode)
        check_gradient(mx.nd.pick, [x, index], axis=1, mode=mode)
    check_same(mx.nd.one_hot, [index], depth=11, on_value=2, off_value=-1, dtype="float16")


@pytest.mark.parametrize("size", [(50, 33), (3, 4), (9, 7), (1, 1), (200, 2)])
@pytest.mark.parametrize("align", [True, False])
def test_resize(size, align):
    attrs = {"height": size[0], "width": size[1], "align_corners": align}
    check_same(mx.nd.contrib.BilinearResize2D, [numbers((2, 3, 9, 7)) / 100], exact=False, **attrs)
    check_gradient(mx.nd.contrib.BilinearResize2D, [numbers((2, 3, 9, 7))], **attrs)


@pytest.mark.parametrize("size", [1, 7, (5, 20)])
def test_adaptive_pooling(size):
    for shape in ((2, 3, 28, 30), (1, 2, 7, 7), (1, 2, 5, 6)):
        check_same(mx.nd.contrib.AdaptiveAvgPooling2D, [numbers(shape) / 100], exact=False, output_size=size)
        check_gradient(mx.nd.contrib.AdaptiveAvgPooling2D, [numbers(shape)], output_size=size)


def test_sampler():
    grid = np.random.RandomState(5).uniform(-1.2, 1.2, (2, 2, 12, 15)).astype("float32")
    for which in (0, 1):
        check_gradient(mx.nd.BilinearSampler, [numbers((2, 5, 9, 8)) / 100, grid], which=which)
    check_same(mx.nd.BilinearSampler, [numbers((2, 5, 9, 8)) / 100, grid], exact=False)


def test_windows():
    attrs = {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 3), "pad": (2, 1)}
    check_same(mx.nd.im2col, [numbers((2, 3, 11, 9))], **attrs)
    check_gradient(mx.nd.im2col, [numbers((2, 3, 11, 9))], **attrs)
    check_same(mx.nd.UpSampling, [numbers((2, 3, 5, 7))], scale=3, sample_type="nearest")
    check_gradient(mx.nd.UpSampling, [numbers((2, 3, 5, 7))], scale=3, sample_type="nearest")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(300, 6), (3, 200, 7)])
def test_suppression_of_boxes(dtype, shape):
    random = np.random.RandomState(0)
    boxes = random.uniform(0, 1, shape).astype(dtype)
    boxes[..., 0] = random.randint(-1, 3, shape[:-1])
    boxes[..., 4:6] = boxes[..., 2:4] + random.uniform(0, 0.5, (*shape[:-1], 2))
    check_same(mx.nd.contrib.box_nms, [boxes])
    check_same(mx.nd.contrib.box_nms, [boxes], id_index=0, background_id=0, topk=50)
    check_same(mx.nd.contrib.box_nms, [boxes], valid_thresh=0.5, in_format="center", out_format="corner")
