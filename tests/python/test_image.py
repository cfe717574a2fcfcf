# SPDX-License-Identifier: Apache-2.0
"""mx.image, and the operators on pictures."""

import pathlib
import random
import struct

import loomix as mx
import numpy as np
import pytest

IMAGES = pathlib.Path(__file__).parents[1] / "cpp" / "io" / "images"
CONTENT = (IMAGES / "444.jpg").read_bytes()


@pytest.fixture(autouse=True)
def seeds():
    random.seed(3)
    np.random.seed(3)
    mx.random.seed(3)


def picture(dtype="uint8"):
    return mx.image.imdecode(CONTENT).astype(dtype)


def raw(name):
    result, content = {}, (IMAGES / name).read_bytes()
    while content:
        head, content = content.split(b"\n", 1)
        key, *shape = head.split()
        shape = tuple(map(int, shape))
        pixels = np.frombuffer(content, np.uint8, int(np.prod(shape))).reshape(shape)
        result.setdefault(key.decode(), []).append(pixels)
        content = content[pixels.size :]
    return result


def test_decoding_is_opencvs():
    for name, (pixels,) in raw("decoded.raw").items():
        name, color = name.split(":")
        got = mx.image.imread(str(IMAGES / name), flag=1 if color == "rgb" else 0).asnumpy()
        assert got.shape == pixels.shape and got.dtype == np.uint8, name
        assert np.abs(got.astype(int) - pixels).max() <= 1, name


def test_resizing_is_opencvs():
    resized = raw("resized.raw")
    source = mx.nd.array(resized.pop("source")[0], dtype="uint8")
    for method, cases in resized.items():
        for pixels in cases:
            got = mx.image.imresize(source, pixels.shape[1], pixels.shape[0], int(method)).asnumpy()
            assert np.abs(got.astype(int) - pixels).max() <= 1, (method, pixels.shape)


def test_ways_to_give_bytes():
    expected = picture().asnumpy()
    for buf in (
        bytearray(CONTENT),
        np.frombuffer(CONTENT, np.uint8),
        mx.nd.array(list(CONTENT), dtype="uint8"),
    ):
        np.testing.assert_array_equal(mx.image.imdecode(buf).asnumpy(), expected)
    np.testing.assert_array_equal(mx.image.imdecode(CONTENT, to_rgb=False).asnumpy(), expected[:, :, ::-1])
    out = mx.nd.zeros(expected.shape, dtype="uint8")
    mx.image.imdecode(CONTENT, out=out)
    np.testing.assert_array_equal(out.asnumpy(), expected)
    assert mx.image.imdecode((IMAGES / "rgba.png").read_bytes(), flag=-1).shape[2] == 4
    assert mx.image.imdecode(CONTENT, scale=2).shape == (19, 23, 3)
    assert mx.img is mx.image


def test_bad_pictures_are_errors(tmp_path):
    with pytest.raises(OSError, match="cut off"):
        mx.image.imdecode(CONTENT[:1000])
    with pytest.raises(OSError, match="no bytes"):
        mx.image.imdecode(b"")
    with pytest.raises(OSError, match="expected a JPEG"):
        mx.image.imdecode(b"nothing")
    with pytest.raises(OSError, match="missing.jpg"):
        mx.image.imread(str(tmp_path / "missing.jpg"))
    (tmp_path / "cut.jpg").write_bytes(CONTENT[:1000])
    with pytest.raises(OSError, match="cut.jpg"):
        mx.image.imread(str(tmp_path / "cut.jpg"))
    with pytest.raises(ValueError, match="flag is 7"):
        mx.image.imdecode(CONTENT, flag=7)
    with pytest.raises(TypeError, match="str"):
        mx.image.imdecode("text")


def test_decoding_operators(tmp_path):
    pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3)).astype(np.uint8)
    encoded = mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, 0, 0), pixels[:, :, ::-1], img_fmt=".png")[24:]
    path = tmp_path / "picture.png"
    path.write_bytes(encoded)
    buffer = mx.nd.array(np.frombuffer(encoded, np.uint8), dtype="uint8")
    decode, read = mx.nd._internal._cvimdecode, mx.nd._internal._cvimread
    for picture in (decode(buffer), read(str(path)), read(filename=str(path), flag=-1)):
        assert picture.dtype == np.uint8 and (picture.asnumpy() == pixels).all()
    for picture in (decode(buffer, to_rgb=False), read(str(path), to_rgb=False)):
        assert (picture.asnumpy() == pixels[:, :, ::-1]).all()
    grey = decode(buffer, flag=0)
    assert grey.shape == (5, 7, 1) and (grey.asnumpy() == mx.image.imdecode(encoded, flag=0).asnumpy()).all()
    with pytest.raises(OSError, match="cut off"):
        decode(buffer[:30]).wait_to_read()
    with pytest.raises(OSError, match="cannot read .*missing.png"):
        read(str(tmp_path / "missing.png")).wait_to_read()
    path.write_bytes(encoded[:40])
    with pytest.raises(OSError, match="picture.png"):
        read(str(path)).wait_to_read()
    with pytest.raises(ValueError, match="one axis"):
        decode(buffer.reshape((1, -1)))


def test_crops():
    image = picture()
    part, place = mx.image.center_crop(image, (20, 10))
    assert place == (12, 13, 20, 10)
    np.testing.assert_array_equal(part.asnumpy(), image.asnumpy()[13:23, 12:32])
    part, (x, y, w, h) = mx.image.random_crop(image, (20, 10))
    np.testing.assert_array_equal(part.asnumpy(), image.asnumpy()[y : y + h, x : x + w])
    part, place = mx.image.random_size_crop(image, (16, 12), (0.2, 0.8), (0.8, 1.2))
    assert part.shape == (12, 16, 3) and place[2] * place[3] < 37 * 45
    assert mx.image.center_crop(image, (90, 80))[0].shape == (80, 90, 3)
    assert mx.image.resize_short(image, 20).shape == (20, 24, 3)
    assert mx.image.fixed_crop(image, 1, 2, 10, 8, (5, 4)).shape == (4, 5, 3)
    bordered = mx.image.copyMakeBorder(image, 1, 2, 3, 4, values=(9, 8, 7)).asnumpy()
    assert bordered.shape == (40, 52, 3) and bordered[0, 0].tolist() == [9, 8, 7]
    np.testing.assert_array_equal(bordered[1:38, 3:48], image.asnumpy())
    for kind, mode in ((1, "edge"), (2, "symmetric"), (3, "wrap"), (4, "reflect")):
        bordered = mx.image.copyMakeBorder(image, 3, 2, 3, 4, type=kind).asnumpy()
        np.testing.assert_array_equal(bordered, np.pad(image.asnumpy(), ((3, 2), (3, 4), (0, 0)), mode))


def test_rotation():
    chw = picture("float32").transpose((2, 0, 1))
    np.testing.assert_allclose(mx.image.imrotate(chw, 0).asnumpy(), chw.asnumpy(), atol=1e-3)
    square = chw[:, :31, :31]
    for angle, turns in ((90, (1, 3)), (180, (2, 2))):
        got = mx.image.imrotate(square, angle).asnumpy()
        assert any(np.allclose(got, np.rot90(square.asnumpy(), k, (1, 2)), atol=0.01) for k in turns)
    batch = mx.nd.ones((2, 3, 31, 31))
    assert mx.image.random_rotate(batch, (-20, 20), zoom_in=True).asnumpy().min() > 0
    assert mx.image.imrotate(batch, 45, zoom_out=True).asnumpy()[0, :, 0, 0].max() == 0
    turned = np.rot90(square.asnumpy(), 1, (1, 2))
    np.testing.assert_allclose(mx.image.imrotate(square, 90).asnumpy(), turned, atol=0.01)
    with pytest.raises(TypeError):
        mx.image.imrotate(picture(), 3)


def test_augmenters():
    augmenters = mx.image.CreateAugmenter(
        (3, 24, 20),
        resize=30,
        rand_crop=True,
        rand_resize=True,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.1,
        contrast=0.1,
        saturation=0.1,
        hue=0.1,
        pca_noise=0.1,
        rand_gray=0.5,
        inter_method=10,
    )
    assert [type(augmenter).__name__ for augmenter in augmenters] == [
        "ResizeAug",
        "RandomSizedCropAug",
        "HorizontalFlipAug",
        "CastAug",
        "ColorJitterAug",
        "HueJitterAug",
        "LightingAug",
        "RandomGrayAug",
        "ColorNormalizeAug",
    ]
    image = picture()
    for augmenter in augmenters:
        assert augmenter.dumps()
        image = augmenter(image)
    assert image.shape == (24, 20, 3) and image.dtype == np.float32
    assert abs(float(image.asnumpy().mean())) < 2


def test_colour_augmenters_by_formula():
    image = picture("float32")
    values = image.asnumpy()
    gray = values @ np.array([0.299, 0.587, 0.114])
    random.seed(1)
    alpha = 1 + random.uniform(-0.5, 0.5)
    for augmenter, expected in (
        (mx.image.BrightnessJitterAug(0.5), values * alpha),
        (mx.image.ContrastJitterAug(0.5), values * alpha + gray.mean() * (1 - alpha)),
        (mx.image.SaturationJitterAug(0.5), values * alpha + gray[:, :, None] * (1 - alpha)),
    ):
        random.seed(1)
        np.testing.assert_allclose(augmenter(image.copy()).asnumpy(), expected, rtol=1e-4, atol=1e-2)
    turned = mx.image.HueJitterAug(0.5)(image.copy()).asnumpy()
    np.testing.assert_allclose(turned @ np.array([0.299, 0.587, 0.114]), gray, atol=1.5)
    assert np.abs(turned - values).max() > 5


def make_folder(tmp_path):
    lines = []
    for i, name in enumerate(["420.jpg", "422.jpg", "444.jpg", "rgb.png", "rgb.bmp"]):
        (tmp_path / name).write_bytes((IMAGES / name).read_bytes())
        lines.append(f"{i}\t{i}\t{name}\n")
    (tmp_path / "all.lst").write_text("".join(lines))
    return {"path_imglist": str(tmp_path / "all.lst"), "path_root": str(tmp_path)}


@pytest.mark.parametrize(
    "mode, passes",
    [
        ("pad", [[[0, 1], [2, 3], [4, 0]]] * 2),
        ("discard", [[[0, 1], [2, 3]]] * 2),
        ("roll_over", [[[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]]]),
    ],
)
def test_image_iter_modes(tmp_path, mode, passes):
    iterator = mx.image.ImageIter(2, (3, 32, 32), last_batch_handle=mode, **make_folder(tmp_path))
    assert iterator.num_image == 5
    for expected in passes:
        batches = list(iterator)
        assert [batch.label[0].asnumpy().tolist() for batch in batches] == expected
        assert all(batch.data[0].shape == (2, 3, 32, 32) for batch in batches)
        assert batches[-1].pad == (1 if mode == "pad" else 0)
        iterator.reset()


def write_rec(path, labels):
    with open(path, "wb") as file:
        for i, label in enumerate(labels):
            label = np.asarray(label, np.float32)
            record = struct.pack("<IfQQ", len(label), 0, i, 0) + label.tobytes() + CONTENT
            file.write(struct.pack("<II", 0xCED7230A, len(record)) + record + b"\0" * (-len(record) % 4))
    return str(path)


def test_image_iter_sources(tmp_path):
    options = make_folder(tmp_path)
    listed = mx.image.ImageIter(
        2, (3, 32, 32), imglist=[[3, "420.jpg"], [4, "444.jpg"]], path_root=options["path_root"]
    )
    assert next(listed).label[0].asnumpy().tolist() == [3, 4]
    shuffled = mx.image.ImageIter(5, (3, 32, 32), shuffle=True, **options)
    assert sorted(next(shuffled).label[0].asnumpy().tolist()) == [0, 1, 2, 3, 4]
    path = write_rec(tmp_path / "a.rec", [[1, 2], [3, 4], [5, 6]])
    wide = mx.image.ImageIter(2, (3, 32, 32), label_width=2, path_imgrec=path, rand_crop=True)
    assert [batch.label[0].asnumpy().tolist() for batch in wide] == [[[1, 2], [3, 4]], [[5, 6], [1, 2]]]
    with pytest.raises(OSError, match="2 labels; expected label_width, 1"):
        next(mx.image.ImageIter(2, (3, 32, 32), path_imgrec=path))
    with pytest.raises(ValueError, match="path_imgidx"):
        mx.image.ImageIter(2, (3, 32, 32), path_imgrec=path, shuffle=True)
    (tmp_path / "420.jpg").write_bytes(b"broken")
    with pytest.raises(OSError, match="sample 1"):
        next(mx.image.ImageIter(2, (3, 32, 32), **options))


BOXES = [[2, 5, 0, 0.1, 0.2, 0.6, 0.8], [2, 5, 1, 0.3, 0.3, 0.9, 0.7, 2, 0.0, 0.0, 0.5, 0.5]]


def test_detection_iter(tmp_path, caplog):
    iterator = mx.image.ImageDetIter(2, (3, 30, 40), path_imgrec=write_rec(tmp_path / "d.rec", BOXES))
    batch = next(iterator)
    assert batch.data[0].shape == (2, 3, 30, 40)
    np.testing.assert_allclose(
        batch.label[0].asnumpy(),
        [[BOXES[0][2:], [-1] * 5], [BOXES[1][2:7], BOXES[1][7:]]],
        rtol=1e-6,
    )
    other = mx.image.ImageDetIter(2, (3, 30, 40), path_imgrec=write_rec(tmp_path / "e.rec", [BOXES[0]]))
    assert other.label_shape == (1, 5)
    with caplog.at_level("INFO"):
        assert iterator.sync_label_shape(other, verbose=True) is other
        iterator.sync_label_shape(other, verbose=True)
    assert caplog.messages == ["Resized label_shape from (2, 5) and (1, 5) to (2, 5)"]
    assert next(other).label[0].shape == (2, 2, 5)
    with pytest.raises(OSError, match="7 numbers|at least 7"):
        mx.image.ImageDetIter(2, (3, 30, 40), path_imgrec=write_rec(tmp_path / "f.rec", [[2, 5, 0]]))


def test_detection_augmenters():
    image = picture()
    label = np.array([[0, 0.2, 0.2, 0.7, 0.8], [1, 0.5, 0.4, 0.9, 0.9]], np.float32)
    flipped, new = mx.image.DetHorizontalFlipAug(1)(image, label)
    np.testing.assert_array_equal(flipped.asnumpy(), image.asnumpy()[:, ::-1])
    np.testing.assert_allclose(new[0], [0, 0.3, 0.2, 0.8, 0.8], rtol=1e-5)
    padded, new = mx.image.DetRandomPadAug(area_range=(2, 3), pad_val=7)(image, label)
    height, width = padded.shape[:2]
    assert height * width > 1.5 * 37 * 45
    np.testing.assert_allclose((new[0, 3] - new[0, 1]) * width, 0.5 * 45, rtol=1e-4)
    changed = 0
    for _ in range(20):
        crop, new = mx.image.DetRandomCropAug(min_object_covered=0.5, area_range=(0.3, 0.9))(image, label)
        assert new[:, 1:].min() >= 0 and new[:, 1:].max() <= 1 and (new[:, 3] > new[:, 1]).all()
        changed += crop.shape != image.shape
    assert changed > 5
    augmenters = mx.image.CreateDetAugmenter(
        (3, 24, 24), rand_crop=0.5, rand_pad=0.5, rand_mirror=True, mean=True, std=True, brightness=0.1,
        min_object_covered=[0.1, 0.5], hue=0.1, pca_noise=0.1, resize=30,
    )  # fmt: skip
    for _ in range(10):
        data, new = image, label
        for augmenter in augmenters:
            data, new = augmenter(data, new)
            assert augmenter.dumps()
        assert data.shape == (24, 24, 3) and new.shape[1] == 5


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_operators_on_pictures(dtype):
    image = picture(dtype)
    values = image.asnumpy()
    op = mx.nd.image
    tensor = op.to_tensor(image).asnumpy()
    np.testing.assert_allclose(tensor, values.transpose(2, 0, 1) / 255, rtol=1e-5)
    batch = mx.nd.stack(image, image)
    assert op.to_tensor(batch).shape == (2, 3, 37, 45)
    np.testing.assert_array_equal(op.flip_left_right(image).asnumpy(), values[:, ::-1])
    np.testing.assert_array_equal(op.flip_top_bottom(batch).asnumpy(), batch.asnumpy()[:, ::-1])
    np.testing.assert_array_equal(op.crop(image, 3, 4, 20, 10).asnumpy(), values[4:14, 3:23])
    assert op.resize(image, size=(20, 10)).shape == (10, 20, 3)
    assert op.resize(batch, size=20).shape == (2, 20, 20, 3)
    assert op.resize(image, size=20, keep_ratio=True).shape == (20, 24, 3)
    bright = op.random_brightness(image, 1.5, 1.5).asnumpy()
    expected = values.astype(np.float32) * 1.5
    if dtype == "uint8":
        expected = np.clip(np.trunc(expected), 0, 255)
    np.testing.assert_allclose(bright, expected, rtol=1e-5)
    for name in ("random_contrast", "random_saturation", "random_hue"):
        np.testing.assert_allclose(
            getattr(op, name)(image, 1, 1).asnumpy().astype(float),
            values,
            atol=2 if name == "random_hue" else 0.01,
        )
        assert np.abs(getattr(op, name)(image, 0.3, 0.4).asnumpy().astype(float) - values).max() > 3
    assert op.random_color_jitter(image, 0.2, 0.2, 0.2, 0.2).shape == image.shape
    assert op.random_lighting(image, 0.1).shape == image.shape
    moved = op.adjust_lighting(image.astype("float32"), (0.1, 0.2, 0.3)).asnumpy() - values
    assert np.allclose(moved, moved[0, 0], atol=1e-3)
    flips = {bool((op.random_flip_left_right(image).asnumpy() == values).all()) for _ in range(20)}
    assert flips == {True, False}


def test_normalize_and_its_gradient():
    data = mx.nd.array(np.random.rand(2, 3, 4, 5))
    data.attach_grad()
    with mx.autograd.record():
        result = mx.nd.image.normalize(data, mean=(1, 2, 3), std=(2, 4, 5))
    result.backward()
    mean, std = np.array([1, 2, 3])[:, None, None], np.array([2, 4, 5])[:, None, None]
    np.testing.assert_allclose(result.asnumpy(), (data.asnumpy() - mean) / std, rtol=1e-5)
    np.testing.assert_allclose(data.grad.asnumpy(), np.broadcast_to(1 / std, data.shape), rtol=1e-5)
    image = mx.nd.array(np.random.rand(6, 7, 3))
    image.attach_grad()
    with mx.autograd.record():
        part = mx.nd.image.crop(image, 1, 2, 3, 4)
    part.backward()
    expected = np.zeros((6, 7, 3))
    expected[2:6, 1:4] = 1
    np.testing.assert_array_equal(image.grad.asnumpy(), expected)
    assert mx.sym.image.resize(mx.sym.var("x"), size=8).infer_shape(x=(9, 9, 3))[1] == [(8, 8, 3)]


def test_operators_refuse_what_is_no_picture():
    with pytest.raises(ValueError, match=r"expected \(H, W, C\)"):
        mx.nd.image.flip_left_right(mx.nd.zeros((3, 4)))
    with pytest.raises(ValueError, match="do not lie"):
        mx.nd.image.crop(mx.nd.zeros((3, 4, 3)), 2, 2, 3, 3)
    with pytest.raises(ValueError, match="size is"):
        mx.nd.image.resize(mx.nd.zeros((3, 4, 3)), size=(0, 3))
    with pytest.raises(ValueError, match="mean and std"):
        mx.nd.image.normalize(mx.nd.zeros((3, 4, 3)), mean=(1, 2), std=(1, 1))


def test_boxes_are_drawn_into_pictures(tmp_path):
    iterator = mx.image.ImageDetIter(
        2, (3, 30, 40), path_imgrec=write_rec(tmp_path / "d.rec", BOXES), mean=True, std=True
    )
    pictures = list(iterator.draw_next(color=(255, 0, 0), thickness=1, mean=True, std=True))
    assert len(pictures) == len(BOXES)
    iterator.reset()
    raw, encoded = iterator.next_sample()
    label = iterator._parse_label(raw)
    plain = iterator.augmentation_transform(iterator.imdecode(encoded), label)[0].asnumpy()
    plain = plain * mx.image.detection.IMAGENET_STD + mx.image.detection.IMAGENET_MEAN
    changed = np.abs(pictures[0] - plain).max(axis=2) > 1e-3
    boxes = np.zeros(changed.shape, bool)
    for left, top, right, bottom in (label[:, 1:5] * [40, 30, 40, 30]).astype(int):
        boxes[top:bottom, left:right] = True
        np.testing.assert_array_equal(pictures[0][top, left], [255, 0, 0])
        np.testing.assert_array_equal(pictures[0][bottom - 1, right - 1], [255, 0, 0])
    assert changed.any() and not (changed & ~boxes).any()


def test_nearest_pixels_on_borders_are_opencvs():
    for size, to, at, source in ((6, 34, 17, 2), (6, 94, 47, 3), (9, 51, 17, 2)):
        row = mx.nd.arange(size, dtype="uint8").reshape((1, size, 1))
        assert mx.image.imresize(row, to, 1, 0)[0, at, 0].asscalar() == source
