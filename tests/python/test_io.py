# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import struct
import time
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from loomix import io

MNIST = Path(__file__).resolve().parents[1] / "compat" / "files" / "mnist"


def values(iterator):
    return [(batch.data[0].asnumpy().ravel().tolist(), batch.pad) for batch in iterator]


def test_descriptions():
    desc = io.DataDesc("data", (2, 3), "float16", "NC")
    name, shape = desc
    assert (name, shape, desc.dtype, desc.layout) == ("data", (2, 3), "float16", "NC")
    assert desc == ("data", (2, 3)) and io.DataDesc("x", [1]).dtype is np.float32
    assert [io.DataDesc.get_batch_axis(layout) for layout in (None, "NCHW", "TNC", "C")] == [0, 0, 1, -1]
    listed = io.DataDesc.get_list([("a", (1,)), ("b", (2,))], [("b", "int32")])
    assert [item.dtype for item in listed] == [np.float32, "int32"]


def test_batches():
    batch = io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2,))], pad=1)
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]"
    with pytest.raises(TypeError, match="list"):
        io.DataBatch(mx.nd.ones((2,)))


def test_pad():
    iterator = io.NDArrayIter(np.arange(5), np.arange(5), 2)
    expected = [([0, 1], 0), ([2, 3], 0), ([4, 0], 1)]
    assert values(iterator) == expected
    assert values(iterator) == []
    iterator.reset()
    assert values(iterator) == expected
    assert values(io.NDArrayIter(np.arange(3), None, 8)) == [([0, 1, 2, 0, 1, 2, 0, 1], 5)]


def test_discard():
    iterator = io.NDArrayIter(np.arange(5), None, 2, last_batch_handle="discard")
    for _ in range(2):
        assert values(iterator) == [([0, 1], 0), ([2, 3], 0)]
        iterator.reset()


def test_roll_over():
    iterator = io.NDArrayIter(np.arange(5), None, 2, last_batch_handle="roll_over")
    assert values(iterator) == [([0, 1], 0), ([2, 3], 0)]
    iterator.reset()
    assert values(iterator) == [([4, 0], 1), ([1, 2], 0), ([3, 4], 0)]
    iterator.reset()
    assert values(iterator) == [([0, 1], 0), ([2, 3], 0)]
    iterator.hard_reset()
    assert values(iterator)[0] == ([0, 1], 0)


@pytest.mark.parametrize("mode", ["pad", "discard", "roll_over"])
def test_shuffled_passes_hold_every_sample(mode):
    np.random.seed(0)
    iterator = io.NDArrayIter(np.arange(12), np.arange(12) * 2, 4, shuffle=True, last_batch_handle=mode)
    orders = []
    for _ in range(3):
        seen = []
        for batch in iterator:
            data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            assert (label == 2 * data).all()
            seen += data.tolist()
        assert sorted(seen) == list(range(12))
        orders.append(seen)
        iterator.reset()
    assert orders[0] != orders[1] != orders[2]


def test_shuffle_follows_numpys_seed_as_mxnet_does():
    np.random.seed(0)
    iterator = io.NDArrayIter(np.arange(10), None, 4, shuffle=True)
    first = [v for batch, _ in values(iterator) for v in batch][:10]
    iterator.reset()
    second = [v for batch, _ in values(iterator) for v in batch][:10]
    random = np.random.RandomState(0)
    idx = np.arange(10)
    random.shuffle(idx)
    order = idx.copy()
    assert first == order.tolist()
    random.shuffle(idx)
    assert second == order[idx].tolist()


@pytest.mark.parametrize("mode", ["pad", "roll_over"])
def test_state_brings_back_the_same_batches(mode):
    def make():
        return io.NDArrayIter(np.arange(11), None, 4, shuffle=True, last_batch_handle=mode)

    np.random.seed(3)
    iterator = make()
    list(iterator)
    iterator.reset()
    next(iterator)
    state = json.loads(json.dumps(iterator.get_state()))
    numpy_state = np.random.get_state()
    expected = values(iterator)
    iterator.reset()
    expected += values(iterator)
    other = make()
    other.set_state(state)
    np.random.set_state(numpy_state)
    got = values(other)
    other.reset()
    assert got + values(other) == expected
    with pytest.raises(ValueError):
        io.NDArrayIter(np.arange(10), None, 4).set_state(state)


def test_names_and_kinds_of_input():
    data = {"a": np.zeros((3, 2)), "b": mx.nd.zeros((3, 1), dtype="int32")}
    iterator = io.NDArrayIter(data, None, 2)
    assert iterator.provide_data == [("a", (2, 2)), ("b", (2, 1))] and iterator.provide_label == []
    assert [item.dtype for item in iterator.provide_data] == [np.float32, np.int32]
    iterator = io.NDArrayIter([np.zeros((3, 2)), np.zeros(3)], np.zeros(3), 1, label_name="y")
    assert [item.name for item in iterator.provide_data + iterator.provide_label] == [
        "_0_data",
        "_1_data",
        "y",
    ]
    batches = io.NDArrayIter(np.arange(12).reshape(2, 6), None, 4, layout="TN")
    assert batches.provide_data == [("data", (2, 4))]
    assert [batch.data[0].asnumpy().tolist() for batch in batches] == [
        [[0, 1, 2, 3], [6, 7, 8, 9]],
        [[4, 5, 0, 1], [10, 11, 6, 7]],
    ]


def test_bad_input():
    for bad, error in (
        (lambda: io.NDArrayIter(np.zeros(4), np.zeros(3), 2), ValueError),
        (lambda: io.NDArrayIter([], None, 2), ValueError),
        (lambda: io.NDArrayIter(None, None, 2), ValueError),
        (lambda: io.NDArrayIter(3, None, 2), TypeError),
        (lambda: io.NDArrayIter(np.zeros(3), None, 0), ValueError),
        (lambda: io.NDArrayIter(np.zeros(3), None, 2, last_batch_handle="keep"), ValueError),
    ):
        with pytest.raises(error):
            bad()


def test_resize():
    iterator = io.ResizeIter(io.NDArrayIter(np.arange(4), None, 2), 3)
    assert values(iterator) == [([0, 1], 0), ([2, 3], 0), ([0, 1], 0)]
    iterator.reset()
    assert len(values(iterator)) == 3
    assert iterator.provide_data == [("data", (2,))]


def test_prefetching():
    both = [io.NDArrayIter(np.arange(6), np.arange(6), 4), io.NDArrayIter(np.arange(6) * 10, None, 4)]
    iterator = io.PrefetchingIter(both, rename_data=[{"data": "a"}, {"data": "b"}])
    assert iterator.provide_data == [("a", (4,)), ("b", (4,))] and iterator.batch_size == 4
    for _ in range(2):
        got = [[array.asnumpy().tolist() for array in batch.data + batch.label] for batch in iterator]
        assert got == [
            [[0, 1, 2, 3], [0, 10, 20, 30], [0, 1, 2, 3]],
            [[4, 5, 0, 1], [40, 50, 0, 10], [4, 5, 0, 1]],
        ]
        iterator.reset()


def test_prefetching_hands_errors_on():
    class Broken(io.DataIter):
        provide_data = [io.DataDesc("data", (1,))]
        provide_label = []

        def next(self):
            raise OSError("disk on fire")

    with pytest.raises(OSError, match="fire"):
        next(io.PrefetchingIter(Broken()))


def mnist(**settings):
    names = {"image": str(MNIST / "images-idx3-ubyte"), "label": str(MNIST / "labels-idx1-ubyte")}
    return io.MNISTIter(**{**names, **settings})


def test_mnist():
    raw = np.frombuffer((MNIST / "images-idx3-ubyte").read_bytes(), np.uint8, offset=16).reshape(40, 28, 28)
    batches = list(mnist(batch_size=16, shuffle=False))
    assert len(batches) == 2
    data = np.concatenate([batch.data[0].asnumpy() for batch in batches])
    assert data.shape == (32, 1, 28, 28) and (data[:, 0] == raw[:32] / np.float32(256)).all()
    labels = np.concatenate([batch.label[0].asnumpy() for batch in batches])
    assert (labels == np.load(MNIST / "labels.npy")[:32]).all()
    flat = mnist(batch_size=8, flat=True, shuffle=False)
    assert flat.provide_data == [("data", (8, 784))] and next(flat).data[0].shape == (8, 784)


def test_unknown_arguments_are_warned_of_once(csv, recwarn):
    def texts():
        found = [str(item.message) for item in recwarn.list if item.category is UserWarning]
        recwarn.clear()
        return [text.partition(" effect. ")[0] + " effect." for text in found]

    mnist(batch_size=8, data_shape=(1, 28, 28), preprocess=4)
    assert texts() == [
        f"[MNISTIter] the argument '{name}' is unknown and has no effect."
        for name in ("data_shape", "preprocess")
    ]
    mnist(batch_size=8, data_shape=(1, 28, 28))
    assert texts() == []
    io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=(2,), batch_size=3, stranger=1)
    assert texts() == ["[CSVIter] the argument 'stranger' is unknown and has no effect."]
    (csv / "rows").write_text("1 0:2\n0 1:3\n")
    io.LibSVMIter(data_libsvm=str(csv / "rows"), data_shape=(2,), batch_size=2, stranger=1)
    assert texts() == ["[LibSVMIter] the argument 'stranger' is unknown and has no effect."]
    with pytest.raises(OSError):
        io.ImageRecordIter(path_imgrec=str(csv / "none.rec"), data_shape=(3, 4, 4), batch_size=2, stranger=1)
    assert texts() == ["[ImageRecordIter] the argument 'stranger' is unknown and has no effect."]


def test_unknown_arguments_get_a_suggestion(csv):
    with pytest.warns(UserWarning, match="'dta_name' is unknown and has no effect. Did you mean 'data_name'"):
        io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=(2,), batch_size=3, dta_name="x")
    with (
        pytest.warns(UserWarning, match="'rand_miror' is unknown .* Did you mean 'rand_mirror'"),
        pytest.raises(OSError),
    ):
        io.ImageRecordIter(
            path_imgrec=str(csv / "none.rec"), data_shape=(3, 4, 4), batch_size=2, rand_miror=True
        )


def test_what_batches_are_for_is_a_kind_of_device(csv):
    def read(ctx):
        return io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=(2,), ctx=ctx)

    for ctx in ("cpu", "gpu", mx.gpu(0), None):
        assert next(read(ctx)).data[0].context == mx.cpu()
    with pytest.raises(ValueError, match=r"\[CSVIter\] ctx is 'tpu'; expected 'cpu' or 'gpu'"):
        read("tpu")


def test_mnist_order_and_parts():
    def labels(**settings):
        return [v for batch in mnist(batch_size=10, **settings) for v in batch.label[0].asnumpy().tolist()]

    plain = labels(shuffle=False)
    assert labels(seed=1) == labels(seed=1) != labels(seed=2)
    assert sorted(labels(seed=1)) == sorted(plain)
    assert labels(shuffle=False, num_parts=2, part_index=0) == plain[:20]
    assert labels(shuffle=False, num_parts=2, part_index=1) == plain[20:]
    iterator = mnist(batch_size=10)
    first = next(iterator).index
    state = iterator.get_state()
    rest = [batch.index.tolist() for batch in iterator]
    iterator.reset()
    assert (next(iterator).index == first).all()
    iterator.set_state(state)
    assert [batch.index.tolist() for batch in iterator] == rest


def test_mnist_opens_compressed_files_and_quickly(tmp_path):
    for name in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        (tmp_path / name).write_bytes(gzip.compress((MNIST / name).read_bytes()))
    settings = {"batch_size": 8, "shuffle": False}
    other = mnist(
        image=str(tmp_path / "images-idx3-ubyte"), label=str(tmp_path / "labels-idx1-ubyte"), **settings
    )
    for one, two in zip(mnist(**settings), other):
        assert (one.data[0].asnumpy() == two.data[0].asnumpy()).all()
    began = time.perf_counter()
    mnist(batch_size=8)
    assert time.perf_counter() - began < 1


def test_mnist_bad_files(tmp_path):
    path = tmp_path / "x"
    good = (MNIST / "images-idx3-ubyte").read_bytes()
    for content in (
        b"",
        b"\0\0",
        b"\0\0\x08\x03\0\0",
        good[:1000],
        b"\1" + good[1:],
        struct.pack(">IIII", 2051, 2**31 - 1, 2**31 - 1, 2**31 - 1),
        struct.pack(">II", 2049, 0),
        b"\x1f\x8bnonsense",
    ):
        path.write_bytes(content)
        with pytest.raises(OSError):
            mnist(image=str(path))
    with pytest.raises(OSError):
        mnist(image=str(tmp_path / "missing"))
    path.write_bytes(struct.pack(">II", 2049, 3) + b"\1\2\3")
    with pytest.raises(ValueError, match="40 images but 3 labels"):
        mnist(label=str(path))
    with pytest.raises(ValueError):
        mnist(num_parts=2, part_index=2)


@pytest.fixture
def csv(tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n3,4\n5,6\n7,8\n")
    (tmp_path / "label.csv").write_text("0\n1\n2\n3\n")
    return tmp_path


def test_csv(csv):
    def make(**settings):
        return io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=(2,), batch_size=3, **settings)

    rounded = make(label_csv=str(csv / "label.csv"))
    assert [(b.label[0].asnumpy().tolist(), b.pad) for b in rounded] == [([0, 1, 2], 0), ([3, 0, 1], 2)]
    rounded.reset()
    assert [(b.label[0].asnumpy().tolist(), b.pad) for b in rounded] == [([2, 3, 0], 1)]
    plain = make(round_batch=False)
    for _ in range(2):
        assert values(plain) == [([1, 2, 3, 4, 5, 6], 0), ([7, 8, 3, 4, 5, 6], 2)]
        plain.reset()
    assert plain.provide_data == [("data", (3, 2))] and plain.provide_label == [("softmax_label", (3,))]
    whole = make(dtype="int32")
    assert next(whole).data[0].dtype == np.int32
    folder = csv / "many"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_text("1,2\n")
    assert len(list(io.CSVIter(data_csv=str(folder), data_shape=(2,), batch_size=1))) == 2


def test_csv_bad_files(csv):
    with pytest.raises(OSError):
        io.CSVIter(data_csv=str(csv / "none.csv"), data_shape=(2,), batch_size=1)
    with pytest.raises(ValueError):
        io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=(3,), batch_size=1)
    (csv / "bad.csv").write_text("1,x\n")
    with pytest.raises(OSError):
        io.CSVIter(data_csv=str(csv / "bad.csv"), data_shape=(2,), batch_size=1)
    (csv / "short.csv").write_text("1\n")
    with pytest.raises(ValueError):
        io.CSVIter(str(csv / "data.csv"), (2,), label_csv=str(csv / "short.csv"), batch_size=1)


def test_a_list_of_numbers_is_not_an_array():
    with pytest.raises(ValueError, match="softmax_label is a list of numbers.*np.array"):
        mx.io.NDArrayIter(np.zeros((2, 2)), [0.0, 1.0])


@pytest.mark.parametrize("shape", [2, np.int64(2), [2], "2", "(2,)", "[2]", " ( 2 , ) "])
def test_shapes_may_be_numbers_and_texts(csv, shape):
    assert mx.io.DataDesc("data", shape).shape == (2,)
    batches = mx.io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=shape, batch_size=1)
    assert batches.provide_data[0].shape == (1, 2)
    labels = mx.io.CSVIter(str(csv / "data.csv"), "2", label_csv=str(csv / "data.csv"), label_shape=shape)
    assert labels.provide_label[0].shape == (1, 2)
    rows = csv / "rows.libsvm"
    rows.write_text("1 0:1 1:2\n")
    assert mx.io.LibSVMIter(data_libsvm=str(rows), data_shape=shape).provide_data[0].shape == (1, 2)


def test_the_shape_of_images_may_be_a_text(tmp_path):
    pictures = mx.image.ImageIter(1, "(3, 4, 5)", imglist=[[1, "a.png"]], path_root=str(tmp_path))
    assert pictures.provide_data[0].shape == (1, 3, 4, 5)
    assert mx.io.DataDesc("data", "()").shape == ()


@pytest.mark.parametrize("shape", ["x", "(2", "2.5", "-2", "(2,,3)", 2.5, None])
def test_shapes_that_are_none(csv, shape):
    for make in (
        lambda: mx.io.DataDesc("data", shape),
        lambda: mx.io.CSVIter(data_csv=str(csv / "data.csv"), data_shape=shape),
        lambda: mx.io.LibSVMIter(data_libsvm=str(csv / "data.csv"), data_shape=shape),
    ):
        with pytest.raises(
            (TypeError, ValueError), match=r"\[(DataDesc|CSVIter|LibSVMIter)\] .*expected an int"
        ):
            make()
