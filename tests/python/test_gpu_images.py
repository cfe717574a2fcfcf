# SPDX-License-Identifier: Apache-2.0
"""Operators on images and others without a case table, on a GPU beside the CPU."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
PLACES = [mx.cpu(), mx.gpu(0)]


def pictures(dtype, channels=3, batch=2):
    values = np.random.default_rng(5).integers(0, 120, (batch, 5, 6, channels))
    return values.astype(dtype)


def on_both(run):
    """run(place) on the CPU and the GPU from the same state of the generators; gives NumPy arrays."""
    results = []
    for place in PLACES:
        mx.random.seed(7, ctx=place)
        got = run(place)
        assert got.context == place
        results.append(got.asnumpy())
    return results


def test_few_operators_have_no_kernel_and_the_document_says_why():
    listed = subprocess.run(
        [sys.executable, "-m", "loomix", "ops", "--missing", "cuda"],
        capture_output=True,
        text=True,
        check=True,
    )
    missing = listed.stdout.split()
    assert "_cvimread" in missing and len(missing) <= 12, missing
    text = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text()
    rows = text.split("| operators | why |")[1].split("\n\n")[0].splitlines()[2:]
    documented = {name for row in rows for name in re.findall(r"`([\w*]+)`", row.split("|")[1])}
    for name in missing:
        assert any(fnmatch.fnmatch(name, pattern) for pattern in documented), name
    for pattern in documented:
        assert fnmatch.filter(missing, pattern), pattern


IMAGE = mx.nd.image
CHANGES = {
    "crop": lambda x: IMAGE.crop(x, x=1, y=2, width=4, height=2),
    "flip_left_right": IMAGE.flip_left_right,
    "flip_top_bottom": IMAGE.flip_top_bottom,
    "random_flip_left_right": IMAGE.random_flip_left_right,
    "random_flip_top_bottom": IMAGE.random_flip_top_bottom,
    "random_brightness": lambda x: IMAGE.random_brightness(x, min_factor=0.5, max_factor=1.5),
    "random_contrast": lambda x: IMAGE.random_contrast(x, min_factor=0.5, max_factor=1.5),
    "random_saturation": lambda x: IMAGE.random_saturation(x, min_factor=0.5, max_factor=1.5),
    "random_hue": lambda x: IMAGE.random_hue(x, min_factor=0.1, max_factor=0.9),
    "random_color_jitter": lambda x: IMAGE.random_color_jitter(
        x, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.2
    ),
    "adjust_lighting": lambda x: IMAGE.adjust_lighting(x, alpha=(0.1, -0.2, 0.3)),
    "random_lighting": lambda x: IMAGE.random_lighting(x, alpha_std=0.5),
    "to_tensor": IMAGE.to_tensor,
}


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "int32"])
@pytest.mark.parametrize("name", CHANGES)
def test_images_change_as_on_the_host(name, dtype):
    values = pictures(dtype)
    want, got = on_both(lambda place: CHANGES[name](mx.nd.array(values, ctx=place, dtype=dtype)))
    assert got.dtype == want.dtype
    whole = np.issubdtype(want.dtype, np.integer)
    np.testing.assert_allclose(got, want, rtol=0 if whole else 1e-3, atol=1 if whole else 1e-3)


@pytest.mark.parametrize(
    "name", ["random_brightness", "random_contrast", "random_saturation", "random_color_jitter"]
)
def test_grey_images(name):
    values = pictures("float32", channels=1)
    want, got = on_both(lambda place: CHANGES[name](mx.nd.array(values, ctx=place)))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_colours_need_three_channels():
    with pytest.raises(mx.MXNetError, match="2 channels; expected 3"):
        x = mx.nd.array(pictures("float32", channels=2), ctx=mx.gpu(0))
        IMAGE.random_hue(x, min_factor=0.1, max_factor=0.9).asnumpy()


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "int32"])
@pytest.mark.parametrize("interp", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("size", [(3, 2), (9, 4), (12, 11)])
def test_images_are_resized_as_on_the_host(size, interp, dtype):
    values = pictures(dtype)
    want, got = on_both(
        lambda place: IMAGE.resize(mx.nd.array(values, ctx=place, dtype=dtype), size, interp=interp)
    )
    whole = np.issubdtype(want.dtype, np.integer)
    np.testing.assert_allclose(got, want, rtol=0 if whole else 1e-3, atol=1 if whole else 1e-3)


def test_one_image_is_resized():
    values = pictures("uint8", batch=1)[0]

    def run(place):
        return mx.nd._internal._cvimresize(mx.nd.array(values, ctx=place, dtype="uint8"), w=7, h=9)

    want, got = on_both(run)
    np.testing.assert_allclose(got, want, atol=1)


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("constants", [{"value": 3}, {"values": (1, 2)}])
def test_margins(kind, constants):
    values = pictures("uint8", batch=1)[0]

    def run(place):
        image = mx.nd.array(values, ctx=place, dtype="uint8")
        return mx.nd._internal._cvcopyMakeBorder(image, top=2, bot=7, left=3, right=8, type=kind, **constants)

    want, got = on_both(run)
    np.testing.assert_array_equal(got, want)


def test_gradients_of_parts_and_channels():
    values = pictures("float32")

    def run(place):
        x = mx.nd.array(values, ctx=place)
        x.attach_grad()
        with mx.autograd.record():
            part = IMAGE.flip_left_right(IMAGE.crop(x, x=1, y=1, width=3, height=2))
            planes = IMAGE.normalize(mx.nd.transpose(part, (0, 3, 1, 2)), mean=(1, 2, 3), std=(4, 5, 6))
            loss = (planes * planes).sum()
        loss.backward()
        return x.grad

    want, got = on_both(run)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_histograms(dtype):
    values = np.random.default_rng(3).integers(0, 50, 400).astype(dtype)
    edges = np.array([3, 5, 5, 20, 41]).astype(dtype)
    for place in PLACES:
        x = mx.nd.array(values, ctx=place, dtype=dtype)
        for bins in (mx.nd.array(edges, ctx=place, dtype=dtype), None):
            if bins is None:
                counts, sides = mx.nd._internal._histogram(x, bin_cnt=7, range=(1, 36))
                want, want_sides = np.histogram(values, bins=7, range=(1, 36))
            else:
                counts, sides = mx.nd._internal._histogram(x, bins)
                want, want_sides = np.histogram(values, bins=edges)
            assert counts.context == place
            np.testing.assert_array_equal(counts.asnumpy(), want)
            np.testing.assert_allclose(sides.asnumpy(), want_sides, rtol=1e-6)


def test_edges_of_histograms_must_rise():
    x = mx.nd.array([1, 2], ctx=mx.gpu(0))
    with pytest.raises(mx.MXNetError, match="expected them in rising order"):
        mx.nd._internal._histogram(x, mx.nd.array([1, 3, 2], ctx=mx.gpu(0)))[0].asnumpy()


def test_classes_are_drawn_as_on_the_host():
    def run(place):
        with place:
            return mx.nd._internal._sample_unique_zipfian(range_max=60, shape=(3, 20))[0]

    want, got = on_both(run)
    np.testing.assert_array_equal(got, want)
    assert all(len(set(row)) == 20 for row in got)
