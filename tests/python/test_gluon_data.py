# SPDX-License-Identifier: Apache-2.0
"""Gluon's data sets, samplers, loaders and transforms."""

import contextlib
import gc
import gzip
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import loomix as mx
import numpy as np
import pytest
from loomix import gluon
from loomix.gluon import data
from loomix.gluon.data.vision import transforms

nd = mx.nd


STARTS = int(os.environ.get("LOOMIX_TEST_STARTS", "4"))  # `.ci/long gluon`: 200


class Squares(data.Dataset):
    """Pairs of an array and a number."""

    def __init__(self, length=20):
        self._length = length

    def __len__(self):
        return self._length

    def __getitem__(self, i):
        return np.full((2, 3), i, np.float32), i * i


# ---- data sets and samplers ----


def test_datasets():
    base = data.SimpleDataset(list(range(7)))
    assert [base.shard(3, i)[0] for i in range(3)] == [0, 3, 5] and len(base.shard(3, 0)) == 3
    assert list(base.take(3)) == [0, 1, 2] and len(base.take(None)) == 7
    assert list(base.filter(lambda x: x % 2)) == [1, 3, 5]
    assert list(base.sample(data.SequentialSampler(2, 4))) == [4, 5]
    calls = []
    eager = base.transform(lambda x: calls.append(x) or x * 2, lazy=False)
    assert len(calls) == 7 and eager[2] == 4
    pairs = data.ArrayDataset(nd.arange(6).reshape((3, 2)), [1, 2, 3])
    picture, label = pairs.transform_first(lambda x: x + 1)[2]
    assert picture.asnumpy().tolist() == [5, 6] and label == 3
    assert pairs.transform(lambda x, y: y)[0] == 1
    with pytest.raises(ValueError, match=r"array 1 has 2"):
        data.ArrayDataset([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="index 3 is out of range; there are 3"):
        base.shard(3, 3)


def test_samplers():
    assert sorted(data.RandomSampler(10)) == list(range(10))
    np.random.seed(1)
    first = list(data.RandomSampler(10))
    np.random.seed(1)
    assert first == list(data.RandomSampler(10)) != list(data.RandomSampler(10))
    for how, expected in (
        ("keep", [[0, 1, 2], [3, 4]]),
        ("discard", [[0, 1, 2]]),
        ("rollover", [[0, 1, 2]]),
    ):
        batches = data.BatchSampler(data.SequentialSampler(5), 3, how)
        assert len(batches) == len(expected) and list(batches) == expected
    assert len(batches) == 2 and list(batches) == [[3, 4, 0], [1, 2, 3]]
    with pytest.raises(ValueError, match="last_batch is 'drop'"):
        data.BatchSampler(data.SequentialSampler(5), 3, "drop")


def test_record_files(tmp_path):
    writer = mx.recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w")
    for i in range(3):
        picture = np.full((8, 8, 3), 40 * i, np.uint8)
        writer.write_idx(
            i, mx.recordio.pack_img(mx.recordio.IRHeader(0, float(i), i, 0), picture, img_fmt=".png")
        )
    writer.close()
    raw = data.RecordFileDataset(str(tmp_path / "a.rec"))
    assert len(raw) == 3 and isinstance(raw[1], bytes)
    with pytest.raises(IndexError, match="record 3 of 3"):
        raw[3]
    pictures = data.vision.ImageRecordDataset(str(tmp_path / "a.rec"))
    image, label = pictures[2]
    assert label == 2 and (image.asnumpy() == 80).all()
    grey = data.vision.ImageRecordDataset(str(tmp_path / "a.rec"), flag=0, transform=lambda x, y: x.shape)
    assert grey[0] == (8, 8, 1)
    batches = list(data.DataLoader(pictures, 2, num_workers=2))
    assert [x.shape for x, _ in batches] == [(2, 8, 8, 3), (1, 8, 8, 3)]


def idx(path, array):
    header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    with (gzip.open if str(path).endswith(".gz") else open)(path, "wb") as file:
        file.write(header + array.tobytes())


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_mnist(tmp_path, suffix):
    pictures = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
    idx(tmp_path / f"t10k-images-idx3-ubyte{suffix}", pictures)
    idx(tmp_path / f"t10k-labels-idx1-ubyte{suffix}", np.array([7, 0, 3], np.uint8))
    for kind in (data.vision.MNIST, data.vision.FashionMNIST):
        found = kind(str(tmp_path), train=False)
        image, label = found[2]
        assert len(found) == 3 and image.shape == (28, 28, 1) and image.dtype == np.uint8 and label == 3
        assert (image.asnumpy()[..., 0] == pictures[2]).all()
    with pytest.raises(OSError, match="train-images.* is not in .*could not be fetched"):
        data.vision.MNIST(str(tmp_path))
    (tmp_path / f"t10k-images-idx3-ubyte{suffix}").write_bytes(gzip.compress(b"junk") if suffix else b"junk")
    with pytest.raises(OSError, match="no file of this format"):
        data.vision.MNIST(str(tmp_path), train=False)


def test_cifar(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 255, (4, 3074), np.uint8)
    rows[:, 1:].tofile(tmp_path / "test_batch.bin")
    found = data.vision.CIFAR10(str(tmp_path), train=False)
    image, label = found[1]
    assert image.shape == (32, 32, 3) and label == rows[1, 1]
    assert (image.asnumpy() == rows[1, 2:].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    (tmp_path / "cifar-100-binary").mkdir()
    rows.tofile(tmp_path / "cifar-100-binary" / "train.bin")
    for fine in (False, True):
        assert data.vision.CIFAR100(str(tmp_path), fine_label=fine)[3][1] == rows[3, int(fine)]
    with pytest.raises(OSError, match="expected a multiple of 3073"):
        (tmp_path / "test_batch.bin").write_bytes(b"123")
        data.vision.CIFAR10(str(tmp_path), train=False)


def test_image_folders(tmp_path):
    for folder in ("cat", "dog"):
        (tmp_path / folder).mkdir()
    picture = mx.recordio.pack_img(
        mx.recordio.IRHeader(0, 0.0, 0, 0), np.zeros((4, 5, 3), np.uint8), img_fmt=".png"
    )
    (tmp_path / "dog" / "1.png").write_bytes(mx.recordio.unpack(picture)[1])
    (tmp_path / "dog" / "notes.txt").write_text("no picture")
    with pytest.warns(UserWarning) as warned:
        found = data.vision.ImageFolderDataset(str(tmp_path))
    assert len(warned) == 1 and "notes.txt" in str(warned[0].message)
    assert found.synsets == ["cat", "dog"] and len(found) == 1
    assert found[0][0].shape == (4, 5, 3) and found[0][1] == 1


def test_image_folders_without_images_warn(tmp_path):
    for _ in range(2):
        with pytest.warns(
            UserWarning, match="has no images, so the data set is empty; expected a folder for"
        ):
            assert len(data.vision.ImageFolderDataset(str(tmp_path))) == 0
        (tmp_path / "cat").mkdir(exist_ok=True)


def test_files_of_another_folder_than_the_given_one_are_warned_of(tmp_path, monkeypatch):
    theirs, mine, home = (tmp_path / name for name in ("theirs", "mine", "home"))
    for folder in (theirs, mine, home):
        folder.mkdir()
    idx(theirs / "t10k-images-idx3-ubyte", np.zeros((1, 28, 28), np.uint8))
    idx(theirs / "t10k-labels-idx1-ubyte", np.zeros(1, np.uint8))
    monkeypatch.setattr(data.vision.FashionMNIST, "_folders", (str(theirs),))
    monkeypatch.setenv("HOME", str(home))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(data.vision.FashionMNIST(train=False)) == 1  # nobody gave a folder
    with pytest.warns(
        UserWarning, match=f"root is {mine}, where files are missing; those of {theirs} are"
    ) as caught:
        assert len(data.vision.FashionMNIST(str(mine), train=False)) == 1
    assert caught[0].filename == __file__


# ---- loaders ----


@pytest.mark.parametrize(
    "how",
    [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}, {"num_workers": 1, "prefetch": 0}],
)
def test_loaders_give_the_same(how):
    loader = data.DataLoader(Squares(), 6, last_batch="keep", **how)
    assert len(loader) == 4
    for _ in range(2):
        batches = list(loader)
        assert [x.shape[0] for x, _ in batches] == [6, 6, 6, 2]
        assert all(isinstance(part, nd.NDArray) for batch in batches for part in batch)
        assert np.concatenate([x.asnumpy()[:, 0, 0] for x, _ in batches]).tolist() == list(range(20))
        assert np.concatenate([y.asnumpy() for _, y in batches]).tolist() == [i * i for i in range(20)]
        assert batches[0][1].dtype == np.int64 and batches[0][0].dtype == np.float32


@pytest.mark.parametrize("thread_pool", [False, True])
def test_own_batches(thread_pool):
    def own(samples):
        return {"count": len(samples)}, (np.array([y for _, y in samples]), nd.ones(2))

    loader = data.DataLoader(Squares(4), 2, batchify_fn=own, num_workers=1, thread_pool=thread_pool)
    (count, (numbers, ones)), _ = loader
    assert count == {"count": 2} and isinstance(numbers, np.ndarray) and numbers.tolist() == [0, 1]
    assert isinstance(ones, nd.NDArray) and ones.asnumpy().tolist() == [1, 1]


def test_loaders_that_are_left_early_start_over():
    loader = data.DataLoader(Squares(), 2, num_workers=2)
    for _ in range(3):
        first = next(iter(loader))
        assert first[1].asnumpy().tolist() == [0, 1]


def test_orders():
    assert [
        y.asnumpy().tolist() for _, y in data.DataLoader(Squares(4), 2, sampler=data.SequentialSampler(2, 2))
    ] == [[4, 9]]
    own = data.BatchSampler(data.SequentialSampler(4), 3)
    assert len(data.DataLoader(Squares(4), batch_sampler=own)) == 2
    shuffled = np.concatenate([y.asnumpy() for _, y in data.DataLoader(Squares(), 5, shuffle=True)])
    assert sorted(shuffled) == [i * i for i in range(20)]
    for wrong, match in (
        ({}, "batch_size is missing"),
        ({"batch_size": 2, "shuffle": True, "sampler": own}, "shuffle=True and a sampler are given"),
        ({"batch_size": 2, "batch_sampler": own}, "batch_sampler is given, and batch_size"),
        ({"batch_size": 2, "timeout": 0}, "timeout is 0; expected a number above 0"),
    ):
        with pytest.raises(ValueError, match=match):
            data.DataLoader(Squares(), **wrong)


def test_reloading_and_pinning():
    loader = data.DataLoader(Squares(), 10, num_workers=1, auto_reload=True, pin_memory=True)
    for _ in range(3):
        assert [y.context.device_type for _, y in loader] == ["cpu_pinned"] * 2
    loader.close()


def test_batches_outlive_their_loader():
    loader = data.DataLoader(Pictures(6), 3, num_workers=2)
    batches = list(loader)
    loader.close()
    del loader
    assert len(_shared_batches()) > 0  # no copies
    for k, (pictures, labels) in enumerate(batches):
        assert pictures.dtype == np.uint8 and labels.asnumpy().tolist() == [3 * k, 3 * k + 1, 3 * k + 2]
        assert (pictures.asnumpy() == labels.asnumpy()[:, None, None]).all()
        pictures += 1
        assert (pictures.asnumpy() == labels.asnumpy()[:, None, None] + 1).all()
    del batches, pictures, labels
    assert shared_batches() == []


def test_workers_use_memory_again():
    loader = data.DataLoader(Pictures(120), 2, num_workers=2)
    kept, seen = [], 0
    for k, (pictures, labels) in enumerate(loader):
        assert (pictures.asnumpy() == labels.asnumpy()[:, None, None]).all()
        seen += len(labels)
        if k % 20 == 0:
            kept.append((pictures, labels))
    del pictures
    assert seen == 120 and all((x.asnumpy() == y.asnumpy()[:, None, None]).all() for x, y in kept)
    assert sum(len(worker.memory) for worker in loader._pool._workers) < 25  # of 60 batches
    del kept
    loader.close()
    assert shared_batches() == []


class Pictures(Squares):
    """Samples large enough that a batch is not copied."""

    def __getitem__(self, i):
        return np.full((200, 300), i, np.uint8), i


class Failing(Squares):
    def __getitem__(self, i):
        if i == 5:
            raise FileNotFoundError("no sample 5")
        return super().__getitem__(i)


@pytest.mark.parametrize("thread_pool", [False, True])
def test_errors_of_the_data_set(thread_pool):
    loader = data.DataLoader(Failing(), 2, num_workers=2, thread_pool=thread_pool)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="no sample 5") as raised:
            list(loader)
        assert thread_pool or "worker" in str(raised.value.__cause__)


class Killed(Squares):
    def __getitem__(self, i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


def test_killed_workers_are_named():
    loader = data.DataLoader(Killed(), 2, num_workers=2)
    for _ in range(2):  # the second time with new workers
        with pytest.raises(RuntimeError, match=r"worker \d \(process \d+\) was killed by SIGKILL"):
            list(loader)
    assert shared_batches() == []


def shared_batches():
    """Shared memory of batches that has a name, or is open or mapped here, a while after all were dropped."""
    deadline = time.monotonic() + 10
    while (found := _shared_batches()) and time.monotonic() < deadline:
        mx.nd.waitall()
        gc.collect()
        time.sleep(0.02)
    return found


def _shared_batches():
    found = os.listdir("/dev/shm")
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{entry}"))
    with open("/proc/self/maps") as file:
        found += file.read().splitlines()
    return [item for item in found if "loomix-batch" in item]


@contextlib.contextmanager
def busy_engine():
    """A thread that pushes work all the time."""
    stop = threading.Event()

    def push():
        array = nd.ones((64, 64))
        while not stop.is_set():
            for _ in range(20):
                array = nd.dot(array, array) / 64
            array.wait_to_read()

    thread = threading.Thread(target=push)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.timeout(max(120, 3 * STARTS))
@pytest.mark.parametrize("thread_pool", [False, True])
def test_starts_and_stops_under_a_busy_engine(thread_pool):
    """Loaders that are closed, dropped, or left with batches on their way, after some batches or none."""
    descriptors = len(os.listdir("/proc/self/fd"))
    pids = set()
    with busy_engine():
        for i in range(STARTS):
            loader = data.DataLoader(Squares(48), 4, num_workers=4, thread_pool=thread_pool)
            batches = iter(loader)
            for k in range(i % 4):
                assert next(batches)[1].asnumpy()[0] == (4 * k) ** 2
            if not thread_pool and loader._pool is not None:
                pids.update(worker.process.pid for worker in loader._pool._workers)
            if i % 3 == 0:
                loader.close()
            elif i % 3 == 1:
                del batches
            del loader
    gc.collect()
    batches = None
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(alive(pid) for pid in pids):
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids) and (thread_pool or pids)
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2 and shared_batches() == []


class Slow(Squares):
    def __getitem__(self, i):
        time.sleep(5 if i == 3 else 0)
        return super().__getitem__(i)


@pytest.mark.parametrize("thread_pool", [False, True])
def test_slow_workers_are_errors(thread_pool):
    loader = data.DataLoader(Slow(4), 2, num_workers=1, timeout=1, thread_pool=thread_pool)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="within 1 s" if not thread_pool else "after 1 s"):
        list(loader)
    assert time.monotonic() - start < 4


def test_workers_draw_numbers_of_their_own():
    class Noise(Squares):
        def __getitem__(self, i):
            return np.random.random(), os.getpid()

    batches = list(data.DataLoader(Noise(8), 1, num_workers=2))
    assert len({x.asscalar() for x, _ in batches}) == 8
    assert len({y.asscalar() for _, y in batches}) == 2


@pytest.mark.parametrize("how", ["signal.SIGINT", "signal.SIGKILL"])
def test_no_worker_outlives_the_program(tmp_path, how):
    program = f"""
        import os, signal, sys, time
        import numpy as np
        from loomix.gluon import data
        class Endless(data.Dataset):
            def __len__(self): return 1 << 30
            def __getitem__(self, i): time.sleep(0.01); return i, os.getpid()
        pids = set()
        for n, (x, y) in enumerate(data.DataLoader(Endless(), 2, num_workers=2)):
            pids.update(y.asnumpy().tolist())
            if n == 5:
                print(*pids, flush=True)
                os.kill(os.getpid(), {how})
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert ("KeyboardInterrupt" in result.stderr) == (how == "signal.SIGINT"), result.stderr
    pids = [int(pid) for pid in result.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(alive(pid) for pid in pids):
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---- transforms ----


def picture(height=8, width=6):
    values = np.arange(height * width * 3, dtype=np.uint32) % 251
    return values.astype(np.uint8).reshape(height, width, 3)


def test_to_tensor_and_normalize():
    x = picture()
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), 2.0)])
    expected = (x.transpose(2, 0, 1) / 255 - np.array([0.1, 0.2, 0.3])[:, None, None]) / 2
    np.testing.assert_allclose(steps(nd.array(x, dtype=np.uint8)).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert transforms.Cast("float16")(nd.ones(2)).dtype == np.float16
    mixed = transforms.Compose([transforms.ToTensor(), transforms.CenterCrop(4), transforms.Cast()])
    assert [type(step).__name__ for step in mixed] == ["ToTensor", "CenterCrop", "Cast"]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: transforms.Resize((4, 5)), (5, 4, 3)),
        (lambda: transforms.Resize(3, keep_ratio=True), (4, 3, 3)),
        (lambda: transforms.CenterCrop((4, 2)), (2, 4, 3)),
        (lambda: transforms.RandomResizedCrop(5), (5, 5, 3)),
        (lambda: transforms.CropResize(1, 2, 4, 3), (3, 4, 3)),
        (lambda: transforms.CropResize(1, 2, 4, 3, size=(7, 9)), (9, 7, 3)),
        (lambda: transforms.RandomFlipLeftRight(), (8, 6, 3)),
        (lambda: transforms.RandomFlipTopBottom(), (8, 6, 3)),
        (lambda: transforms.RandomApply(transforms.Resize(2), 1.0), (2, 2, 3)),
        (lambda: transforms.RandomApply(transforms.Resize(2), -1.0), (8, 6, 3)),
    ],
)
def test_shapes_of_transforms(make, shape):
    out = make()(nd.array(picture(), dtype=np.uint8))
    assert out.shape == shape and out.dtype == np.uint8


@pytest.mark.parametrize(
    "make",
    [
        lambda: transforms.RandomBrightness(0.5),
        lambda: transforms.RandomContrast(0.5),
        lambda: transforms.RandomSaturation(0.5),
        lambda: transforms.RandomHue(0.5),
        lambda: transforms.RandomColorJitter(0.5, 0.5, 0.5, 0.5),
        lambda: transforms.RandomLighting(50.0),
    ],
)
def test_colours_change_at_random(make):
    x = nd.array(picture(), dtype=np.float32)
    net = make()
    one, other = net(x), net(x)
    assert one.shape == x.shape and (one.asnumpy() != other.asnumpy()).any()


def test_rotations():
    x = nd.array(picture().transpose(2, 0, 1)[:, :6], dtype=np.float32)
    turned = transforms.Rotate(180)(x).asnumpy()
    np.testing.assert_allclose(turned, x.asnumpy()[:, ::-1, ::-1], rtol=1e-3, atol=1e-2)
    assert (transforms.RandomRotation((-10, 10), rotate_with_proba=0.0)(x) == x).asnumpy().all()
    with pytest.raises(ValueError, match="the smaller angle first"):
        transforms.RandomRotation((10, -10))


def test_pictures_of_a_folder_train(tmp_path):
    steps = transforms.Compose([transforms.Resize(8), transforms.ToTensor()])
    pictures = data.SimpleDataset([(nd.array(picture(), dtype=np.uint8), i % 2) for i in range(6)])
    for x, y in data.DataLoader(pictures.transform_first(steps), 3, num_workers=2):
        assert x.shape == (3, 3, 8, 8) and y.shape == (3,)
        assert isinstance(gluon.nn.Flatten()(x), nd.NDArray)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("samples", [[np.ones(2), np.ones(3)], [([1.0, 2.0], 0), ([1.0], 1)]])
def test_samples_of_different_shapes_are_named(samples, workers):
    with pytest.raises(mx.MXNetError, match=r"samples of a batch have the shapes \(2,\), .*batchify_fn"):
        next(iter(data.DataLoader(samples, 2, num_workers=workers)))
