# SPDX-License-Identifier: Apache-2.0
"""Iterators over pictures in record files."""

import pathlib
import struct

import loomix as mx
import numpy as np
import pytest

IMAGES = pathlib.Path(__file__).parents[1] / "cpp" / "io" / "images"
FILES = ["420.jpg", "422.jpg", "444.jpg", "turned6.jpg", "progressive.jpg", "rgb.png", "gray.jpg"]
SHAPE = (3, 32, 32)


def pack(index, labels, content):
    labels = np.atleast_1d(np.asarray(labels, np.float32))
    if len(labels) == 1:
        return struct.pack("<IfQQ", 0, labels[0], index, 0) + content
    return struct.pack("<IfQQ", len(labels), 0, index, 0) + labels.tobytes() + content


def write(path, records):
    offsets = []
    with open(path, "wb") as file:
        for record in records:
            offsets.append(file.tell())
            file.write(struct.pack("<II", 0xCED7230A, len(record)) + record + b"\0" * (-len(record) % 4))
    return offsets


@pytest.fixture
def rec(tmp_path):
    records = [pack(i + 100, i, (IMAGES / name).read_bytes()) for i, name in enumerate(FILES)]
    path = tmp_path / "images.rec"
    offsets = write(path, records)
    index = tmp_path / "images.idx"
    index.write_text("".join(f"{i + 100}\t{offset}\n" for i, offset in enumerate(offsets)))
    return str(path)


def make(rec, **options):
    options = {"data_shape": SHAPE, "batch_size": 2, **options}
    return mx.io.ImageRecordIter(path_imgrec=rec, **options)


def labels_of(iterator):
    return [batch.label[0].asnumpy().tolist() for batch in iterator]


def everything(iterator, passes=2):
    result = []
    for _ in range(passes):
        result += [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad, b.index.tolist()) for b in iterator]
        iterator.reset()
    return result


def same(a, b):
    return len(a) == len(b) and all(
        np.array_equal(x[0], y[0]) and np.array_equal(x[1], y[1]) and x[2:] == y[2:] for x, y in zip(a, b)
    )


def test_crops_the_middle_and_normalises(rec):
    plain = next(make(rec, batch_size=7)).data[0].asnumpy()
    header, pixels = (IMAGES / "decoded.raw").read_bytes().split(b"\n", 1)
    assert header == b"420.jpg:rgb 37 45 3"
    whole = np.frombuffer(pixels, np.uint8, 37 * 45 * 3).reshape(37, 45, 3)
    np.testing.assert_array_equal(plain[0], whole[2:34, 6:38].transpose(2, 0, 1))
    options = {"mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_b": 4, "scale": 0.5}
    scaled = next(make(rec, batch_size=7, **options)).data[0].asnumpy()
    mean, std = np.array([10, 20, 30]), np.array([2, 1, 4])
    np.testing.assert_allclose(
        scaled[0], (plain[0] - mean[:, None, None]) / std[:, None, None] / 2, rtol=1e-5
    )
    mirrored = next(make(rec, batch_size=7, mirror=True)).data[0].asnumpy()
    np.testing.assert_array_equal(mirrored, plain[:, :, :, ::-1])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "float64", "int32"])
def test_types(rec, dtype):
    plain = next(make(rec)).data[0].asnumpy()
    batch = next(make(rec, dtype=dtype))
    assert batch.data[0].dtype == np.dtype(dtype)
    top = 127 if dtype == "int8" else 255
    np.testing.assert_array_equal(batch.data[0].asnumpy(), np.minimum(plain, top).astype(dtype))
    assert (
        next(mx.io.ImageRecordUInt8Iter(path_imgrec=rec, data_shape=SHAPE, batch_size=2)).data[0].dtype
        == np.uint8
    )


def test_gray(rec):
    batch = next(make(rec, data_shape=(1, 20, 20)))
    assert batch.data[0].shape == (2, 1, 20, 20)


def test_last_batch_takes_from_the_next_pass(rec):
    iterator = make(rec)
    assert [batch.pad for batch in iterator] == [0, 0, 0, 1]
    iterator.reset()
    assert labels_of(iterator) == [[1, 2], [3, 4], [5, 6]]
    iterator.reset()
    assert labels_of(iterator)[3] == [6, 0]
    assert labels_of(iterator) == []


def test_without_rounding_the_rest_is_zero(rec):
    iterator = make(rec, round_batch=False)
    for _ in range(2):
        batches = list(iterator)
        assert [batch.pad for batch in batches] == [0, 0, 0, 1]
        assert batches[3].label[0].asnumpy().tolist() == [6, 0]
        assert not batches[3].data[0].asnumpy()[1].any()
        iterator.reset()


def test_batch_larger_than_the_data(rec):
    batch = next(make(rec, batch_size=16))
    assert batch.pad == 9
    assert batch.label[0].asnumpy().tolist() == [*range(7), *range(7), 0, 1]


def test_reset_in_the_middle_begins_again(rec):
    iterator = make(rec)
    iterator.reset()
    next(iterator)
    iterator.reset()
    assert labels_of(iterator) == [[0, 1], [2, 3], [4, 5], [6, 0]]


def test_the_next_pass_is_made_before_reset_and_the_same_as_after_it(rec):
    options = {"shuffle": True, "rand_crop": True, "seed": 2, "prefetch_buffer": 3}
    ahead = make(rec, **options)
    batches = []
    for _ in range(3):
        batches += [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad, b.index.tolist()) for b in ahead]
        assert labels_of(ahead) == []
        mx.nd.waitall()
        ahead.reset()
        ahead.reset()
    assert same(batches, everything(make(rec, **options), 3))


@pytest.mark.parametrize("indexed", [False, True])
def test_shuffle_gives_each_record_once(rec, indexed):
    options = {"path_imgidx": rec.replace(".rec", ".idx")} if indexed else {}
    iterator = make(rec, batch_size=7, shuffle=True, seed=3, **options)
    orders = []
    for _ in range(3):
        orders.append(next(iterator).label[0].asnumpy().tolist())
        iterator.reset()
    assert all(sorted(order) == list(range(7)) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    again = make(rec, batch_size=7, shuffle=True, seed=3, **options)
    assert next(again).label[0].asnumpy().tolist() == orders[0]


AUGMENTATION = {
    "shuffle": True,
    "rand_crop": True,
    "rand_mirror": True,
    "resize": 40,
    "max_rotate_angle": 20,
    "max_shear_ratio": 0.1,
    "max_aspect_ratio": 0.2,
    "min_random_scale": 0.9,
    "max_random_scale": 1.2,
    "pad": 2,
    "brightness": 0.3,
    "contrast": 0.3,
    "saturation": 0.3,
    "pca_noise": 0.1,
    "random_h": 10,
    "random_s": 10,
    "random_l": 10,
    "inter_method": 10,
    "max_random_contrast": 0.1,
    "max_random_illumination": 5,
}


@pytest.mark.parametrize("options", [{"rand_crop": True, "rand_mirror": True}, AUGMENTATION])
def test_the_seed_gives_the_same_batches_for_any_number_of_threads(rec, options):
    one = everything(make(rec, preprocess_threads=1, seed=5, **options))
    assert same(one, everything(make(rec, preprocess_threads=3, prefetch_buffer=1, seed=5, **options)))
    assert not same(one, everything(make(rec, seed=6, **options)))
    half = len(one) // 2
    assert not np.array_equal(one[0][0], one[half][0])  # another pass


@pytest.mark.parametrize(
    "options",
    [
        {
            "random_resized_crop": True,
            "min_random_area": 0.3,
            "min_aspect_ratio": 0.7,
            "max_aspect_ratio": 1.4,
        },
        {"min_crop_size": 10, "max_crop_size": 30, "rand_crop": True},
        {"rotate": 45, "fill_value": 0},
        {"min_img_size": 50},
        {"inter_method": 9, "resize": 64},
        {"data_shape": (3, 60, 50)},
    ],
)
def test_augmentations_give_the_shape(rec, options):
    iterator = make(rec, **options)
    for batch in iterator:
        assert batch.data[0].shape == (2, *options.get("data_shape", SHAPE))
        values = batch.data[0].asnumpy()
        assert values.min() >= 0 and values.max() <= 255 and values.std() > 5


def test_parts(rec):
    parts = [labels_of(make(rec, batch_size=1, num_parts=3, part_index=i)) for i in range(3)]
    assert sorted(sum(sum(parts, []), [])) == list(range(7))
    with pytest.raises(ValueError, match="part_index is 3"):
        make(rec, num_parts=3, part_index=3)


def test_labels(tmp_path, rec):
    image = (IMAGES / "420.jpg").read_bytes()
    path = str(tmp_path / "wide.rec")
    write(path, [pack(i, [i, i + 1, i + 2], image) for i in range(3)])
    iterator = make(path, label_width=3)
    assert iterator.provide_label[0].shape == (2, 3)
    assert next(iterator).label[0].asnumpy().tolist() == [[0, 1, 2], [1, 2, 3]]
    message = r"3 labels; expected label_width, which is 1.\nin .*wide.rec, record at offset 0"
    with pytest.raises(OSError, match=message):
        next(make(path)).data[0].asnumpy()
    listed = tmp_path / "list.lst"
    listed.write_text("".join(f"{i + 100}\t{i * 10}\t{i}\tname{i}\n" for i in range(7)))
    assert next(make(rec, path_imglist=str(listed), label_width=2)).label[0].asnumpy().tolist() == [
        [0, 0],
        [10, 1],
    ]
    listed.write_text("1\t2\tname\n")
    with pytest.raises(OSError, match="no labels for id 100"):
        next(make(rec, path_imglist=str(listed))).data[0].asnumpy()
    listed.write_text("1\tname\n")
    with pytest.raises(OSError, match="line 1"):
        make(rec, path_imglist=str(listed))


def damaged(tmp_path):
    image = (IMAGES / "444.jpg").read_bytes()
    contents = [image, image[: len(image) // 2], image, b"no picture", image, image]
    path = str(tmp_path / "damaged.rec")
    offsets = write(path, [pack(i, i, content) for i, content in enumerate(contents)])
    return path, offsets


def test_damaged_pictures_are_errors_with_file_and_offset(tmp_path):
    path, offsets = damaged(tmp_path)
    iterator = make(path)
    with pytest.raises(
        OSError, match=f"damaged or cut off.*\nin .*damaged.rec, record at offset {offsets[1]} .id 1."
    ):
        next(iterator).data[0].asnumpy()
    with pytest.raises(OSError, match="expected a JPEG"):
        next(iterator).data[0].asnumpy()
    assert next(iterator).data[0].asnumpy().any()


def test_damaged_pictures_are_left_out_on_request(tmp_path):
    path, _ = damaged(tmp_path)
    iterator = make(path, batch_size=3, on_damage="skip")
    batches = list(iterator)
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[0, 2, 0], [4, 5, 4]]
    assert [batch.pad for batch in batches] == [1, 1]
    assert np.array_equal(batches[0].data[0].asnumpy()[0], batches[0].data[0].asnumpy()[2])
    mx.nd.waitall()  # batches of the next pass are made already, and not counted
    assert iterator.skipped == 2
    assert "damaged.rec, record at offset" in iterator.skipped_reasons[0]
    iterator.reset()
    assert len(list(iterator)) == 2 and iterator.skipped == 4


def test_damaged_records(tmp_path, rec):
    content = bytearray(pathlib.Path(rec).read_bytes())
    content[1400:1404] = b"\1\2\3\4"  # the second record's magic number lies here
    start = content.find(struct.pack("<I", 0xCED7230A), 8)
    content[start] ^= 0xFF
    path = tmp_path / "broken.rec"
    path.write_bytes(content)
    with pytest.raises(OSError, match="broken.rec"):
        for batch in make(str(path)):
            batch.data[0].asnumpy()
    iterator = make(str(path), on_damage="skip", batch_size=1)
    seen = sum(labels_of(iterator), [])
    assert set(range(2, 7)) <= set(seen) and iterator.skipped >= 1


def test_files_that_cannot_be_used(tmp_path, rec):
    with pytest.raises(OSError, match="missing.rec"):
        make(str(tmp_path / "missing.rec"))
    with pytest.raises(OSError, match="missing.idx"):
        make(rec, path_imgidx=str(tmp_path / "missing.idx"))
    empty = tmp_path / "empty.rec"
    empty.write_bytes(b"")
    with pytest.raises(OSError, match="no records"):
        next(make(str(empty)))
    with pytest.raises(ValueError, match="path_imgrec is empty"):
        make("")
    wrong = tmp_path / "wrong.idx"
    wrong.write_text("0\t12\n")
    with pytest.raises(OSError, match="offset 12"):
        next(make(rec, path_imgidx=str(wrong)))
    mx.nd.waitall()  # the batches that were read ahead failed, too, but nobody asked for them


def test_arguments_that_make_no_sense(rec):
    with pytest.raises(ValueError, match="data_shape"):
        make(rec, data_shape=(2, 8, 8))
    with pytest.raises(ValueError, match="batch_size"):
        make(rec, batch_size=0)
    with pytest.warns(UserWarning, match="the argument 'rand_cro' is unknown"):
        make(rec, rand_cro=True)
    with pytest.raises(ValueError, match="min_crop_size"):
        make(rec, min_crop_size=5)
    with pytest.raises(ValueError, match="preprocess_threads"):
        make(rec, preprocess_threads=0)


def test_descriptions(rec):
    iterator = make(rec, data_name="x", label_name="y", dtype="uint8")
    assert iterator.provide_data == [("x", (2, *SHAPE))] and iterator.provide_data[0].dtype == np.uint8
    assert iterator.provide_label == [("y", (2,))]
    names = [name for name, _, _ in mx.io.ImageRecordIter.parameters()]
    assert {"path_imgrec", "max_random_illumination", "seed_aug", "shuffle_chunk_size"} <= set(names)


def test_memory_stays_flat_over_many_passes(rec):
    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    iterator = make(rec, rand_crop=True, resize=64, preprocess_threads=2)

    def run(passes):
        for _ in range(passes):
            for batch in iterator:
                batch.data[0].wait_to_read()
            iterator.reset()

    run(20)
    before = resident()
    run(100)
    assert resident() - before < 4 << 20


DETECTION_LABELS = [
    [2, 5, 0, 0.1, 0.2, 0.6, 0.8],
    [2, 5, 1, 0.3, 0.3, 0.9, 0.7, 2, 0, 0, 0.5, 0.5],
    [4, 5, 9, 9, 3, 0.2, 0.2, 0.4, 0.4],
]


def make_detection(tmp_path, labels=DETECTION_LABELS, **options):
    image = (IMAGES / "444.jpg").read_bytes()
    path = str(tmp_path / "boxes.rec")
    write(path, [pack(i, label, image) for i, label in enumerate(labels)])
    options = {"data_shape": (3, 30, 40), "batch_size": len(labels), **options}
    return mx.io.ImageDetRecordIter(path_imgrec=path, **options)


def test_detection(tmp_path):
    iterator = make_detection(tmp_path)
    assert iterator.provide_label[0].shape == (3, 16)
    batch = next(iterator)
    label = batch.label[0].asnumpy()
    for row, expected in zip(label, DETECTION_LABELS):
        assert row[:4].tolist() == [3, 30, 40, len(expected)]
        np.testing.assert_allclose(row[4 : 4 + len(expected)], expected, rtol=1e-6)
        assert (row[4 + len(expected) :] == -1).all()
    whole = mx.image.imread(str(IMAGES / "444.jpg"))
    expected = mx.image.imresize(whole, 40, 30).asnumpy().transpose(2, 0, 1)
    np.testing.assert_array_equal(batch.data[0].asnumpy()[0], expected)
    fitted = next(make_detection(tmp_path, resize_mode="fit", label_pad_width=20, label_pad_value=7))
    assert fitted.label[0].shape == (3, 24) and fitted.label[0].asnumpy()[0, :3].tolist() == [3, 30, 36]
    assert not fitted.data[0].asnumpy()[:, :, :, 36:].any()
    mirrored = next(make_detection(tmp_path, rand_mirror_prob=1)).label[0].asnumpy()
    np.testing.assert_allclose(mirrored[0, 7:11], [0.4, 0.2, 0.9, 0.8], rtol=1e-5)


def test_detection_augmentation(tmp_path):
    options = {
        "rand_crop_prob": 0.7,
        "min_crop_scales": (0.3, 0.5),
        "num_crop_sampler": 2,
        "min_crop_object_coverages": (0.2,),
        "rand_pad_prob": 0.5,
        "max_pad_scale": 2,
        "rand_mirror_prob": 0.5,
        "max_random_hue": 10,
        "random_hue_prob": 0.5,
        "max_random_contrast": 0.3,
        "random_contrast_prob": 0.5,
        "seed": 4,
    }
    one = everything(make_detection(tmp_path, preprocess_threads=1, **options), passes=10)
    assert same(one, everything(make_detection(tmp_path, preprocess_threads=3, **options), passes=10))
    seen = set()
    for _, label, _, _ in one:
        for row in label:
            header = int(row[4])
            boxes = row[4 + header : 4 + int(row[3])].reshape(-1, 5)[:, 1:]
            assert len(boxes) and (boxes >= -1e-6).all() and (boxes <= 1 + 1e-6).all()
            assert (boxes[:, 2] > boxes[:, 0]).all()
            seen.add(tuple(boxes[0].round(3)))
    assert len(seen) > 15


def test_detection_labels_that_make_no_sense(tmp_path):
    with pytest.raises(OSError, match="8 numbers says that its header has 2 and each object 5"):
        next(make_detection(tmp_path, [[2, 5, 0, 0.1, 0.2, 0.6, 0.8, 1]])).data[0].asnumpy()
    with pytest.raises(OSError, match="more than label_pad_width, which is 9"):
        next(make_detection(tmp_path, label_pad_width=9)).data[0].asnumpy()
    with pytest.raises(ValueError, match="min_crop_scales has 2 numbers"):
        make_detection(tmp_path, min_crop_scales=(0.1, 0.2))


def test_a_mean_image_that_is_not_there_is_made(rec, tmp_path):
    path = str(tmp_path / "mean.bin")
    plain = [b.data[0].asnumpy()[: 2 - b.pad] for b in make(rec, round_batch=False)]
    mean = np.concatenate(plain).mean(0)
    changed = make(rec, mean_img=path, scale=0.5, round_batch=False)
    assert np.abs(mx.nd.load(path)["mean_img"].asnumpy() - mean).max() < 1e-4
    for found, pixels in zip(changed, plain):
        assert np.abs(found.data[0].asnumpy()[: len(pixels)] - (pixels - mean) * 0.5).max() < 1e-4
    again = next(make(rec, mean_img=path)).data[0].asnumpy()  # from the file
    assert np.abs(again - (plain[0] - mean)).max() < 1e-4


def test_no_mean_image_of_no_images(tmp_path):
    path = str(tmp_path / "damaged.rec")
    write(path, [pack(0, 0, b"no image")])
    with pytest.raises(OSError, match="expected a JPEG"):
        make(path, mean_img=str(tmp_path / "mean.bin"), on_damage="skip")
    assert not (tmp_path / "mean.bin").exists()
