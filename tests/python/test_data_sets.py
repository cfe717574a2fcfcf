# SPDX-License-Identifier: Apache-2.0
"""test_utils: data sets from local files, and the helpers that tests of MXNet's time use."""

import bz2
import gzip
import os
import pickle
import zipfile

import loomix as mx
import numpy as np
import pytest
from loomix import test_utils as tu


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def idx(values):
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    return header + values.tobytes()


@pytest.fixture
def mnist(folder):
    """Eight training and four test pictures, of which one file is compressed."""
    (folder / "data").mkdir()
    random = np.random.RandomState(0)
    sets = {}
    for kind, count in (("train", 8), ("t10k", 4)):
        images = random.randint(0, 256, (count, 28, 28)).astype("uint8")
        labels = random.randint(0, 10, count).astype("uint8")
        (folder / "data" / f"{kind}-images-idx3-ubyte").write_bytes(idx(images))
        (folder / f"{kind}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
        sets[kind] = images, labels
    return sets


def test_mnist_comes_from_local_files(mnist, folder):
    arrays = tu.get_mnist()
    assert sorted(arrays) == ["test_data", "test_label", "train_data", "train_label"]
    assert arrays["train_data"].shape == (8, 1, 28, 28) and arrays["train_data"].dtype == np.float32
    np.testing.assert_allclose(arrays["test_data"][:, 0], mnist["t10k"][0] / 255, rtol=1e-6)
    np.testing.assert_array_equal(arrays["train_label"], mnist["train"][1])
    tu.get_mnist_ubyte()
    assert (folder / "data" / "train-labels-idx1-ubyte").read_bytes() == idx(mnist["train"][1])
    train, test = tu.get_mnist_iterator(2, (784,))
    assert train.provide_data[0].shape == (2, 784) and len(list(test)) == 2
    assert tu.get_mnist_iterator(2, (1, 28, 28))[0].provide_data[0].shape == (2, 1, 28, 28)
    tu.get_mnist_pkl()
    with gzip.open("data/mnist.pkl.gz") as file:
        parts = pickle.load(file)
    assert [len(labels) for _, labels in parts] == [7, 1, 4]


def test_without_files_fashion_takes_the_place(folder):
    if not os.path.exists("/usr/share/datasets/fashion-mnist"):
        pytest.skip("needs Debian's dataset-fashion-mnist")
    with pytest.warns(UserWarning, match="Fashion-MNIST .* takes its place"):
        arrays = tu.get_mnist()
    assert arrays["train_data"].shape == (60000, 1, 28, 28)
    assert not os.path.exists("data")


def test_cifar_says_what_it_needs(folder):
    with pytest.raises(OSError, match="download=True"):
        tu.get_cifar10()
    names = ["train.rec", "test.rec", "train.lst", "test.lst"]
    os.mkdir("data")
    with zipfile.ZipFile("data/cifar10.zip", "w") as archive:
        for name in names:
            archive.writestr(f"cifar/{name}", name)
    tu.get_cifar10()
    assert sorted(os.listdir("data/cifar")) == sorted(names)
    with zipfile.ZipFile("evil.zip", "w") as archive:
        archive.writestr("../outside", "x")
    with pytest.raises(OSError, match="outside"):
        tu.get_zip_data(".", "http://localhost/evil.zip", "evil.zip")


def test_downloads(folder):
    source = folder / "source.bin"
    source.write_bytes(b"content")
    assert tu.download(source.as_uri(), dirname="there") == os.path.join("there", "source.bin")
    assert (folder / "there" / "source.bin").read_bytes() == b"content"
    source.write_bytes(b"new")
    assert (folder / tu.download(source.as_uri(), dirname="there")).read_bytes() == b"content"
    path = tu.download(source.as_uri(), "again", overwrite=True)
    assert (folder / path).read_bytes() == b"new"
    with pytest.raises(OSError, match="could not be fetched"):
        tu.download((folder / "none").as_uri(), retries=0)
    assert os.listdir("there") == ["source.bin"]
    (folder / "text.bz2").write_bytes(bz2.compress(b"text"))
    tu.get_bz2_data("there", "text", (folder / "text.bz2").as_uri(), "text.bz2")
    assert (folder / "there" / "text").read_bytes() == b"text"
    addresses = {"net": {"symbol": source.as_uri(), "params": source.as_uri()}}
    assert tu.download_model("net", "there", addresses) == (os.path.join("there", "net"), 0)
    assert (folder / "there" / "net-0000.params").exists()
    assert tu.download_model("other", "there", addresses) == (None, 0)


def test_names_that_scripts_take_from_here():
    names = {}
    exec("from loomix.test_utils import *", names)
    assert names["np"] is np and names["mx"] is mx and names["array"] is mx.nd.array
    assert names["os"] is os and names["Context"] is mx.Context and names["rnd"] is np.random
    with pytest.raises(AttributeError):
        _ = tu.nothing


def test_random_numbers_are_checked():
    random = np.random.RandomState(0)
    assert tu.mean_check(lambda n: random.normal(2, 3, n), 2, 3, 10000)
    assert not tu.mean_check(lambda n: random.normal(2.2, 3, n), 2, 3, 10000)
    assert tu.var_check(lambda n: random.normal(2, 3, n), 3, 10000)
    assert not tu.var_check(lambda n: random.normal(2, 3.3, n), 3, 10000)
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda p: 2 * p, 4)
    assert buckets[1] == (0.5, 1.0) and probs == [0.25] * 4
    tu.verify_generator(lambda n: random.uniform(0, 2, n), buckets, probs, 10000, success_rate=0.5)
    with pytest.raises(AssertionError, match="passed 0 of 3"):
        tu.verify_generator(lambda n: random.uniform(0, 1.9, n), buckets, probs, 10000, 3)
    p, found, expected = tu.chi_square_check(lambda n: np.arange(n) % 2, [0, 1], [0.25, 0.75], 100)
    assert p < 1e-6 and found.tolist() == [50, 50] and expected.tolist() == [25, 75]


def test_chi_square_probabilities():
    """Quantiles from tables."""
    from loomix.test_utils.chance import _chi_square_tail

    for x, degrees, probability in ((3.841459, 1, 0.05), (18.307038, 10, 0.05), (2.557, 10, 0.99), (0, 3, 1)):
        assert _chi_square_tail(x, degrees) == pytest.approx(probability, rel=1e-3)


def test_input_of_certain_forms():
    assert tu.get_identity_mat(2).asnumpy().tolist() == [[1, 0], [0, 1]]
    assert tu.get_identity_mat_batch(3).shape == (2, 3, 3)
    assert tu.create_2d_tensor(2, 3).asnumpy().tolist() == [[0] * 3, [1] * 3]
    assert tu.create_vector(3).dtype == np.int64
    q = tu.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    assert abs(np.linalg.eigvals(tu.new_matrix_with_real_eigvals_nd((2, 3, 3))).imag).max() < 1e-9
    s = tu.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_array_equal(s, s.transpose(0, 2, 1))
    assert tu.rand_coord_2d(1, 2, 3, 4) == (1, 3)
    low = tu.random_uniform_arrays((100,), low=5, high=6, dtype="float32")[0]
    assert low.min() >= 5 and low.max() <= 6 and low.dtype == np.float32


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_input(stype):
    array, parts = tu.rand_sparse_ndarray((6, 4), stype, density=0.5, data_init=2.0)
    values = array.asnumpy()
    assert array.stype == stype and set(np.unique(values)) <= {0, 2}
    assert len(parts) == (2 if stype == "row_sparse" else 3)
    assert (tu.create_sparse_array((3, 2), stype, density=1.0, data_init=1).asnumpy() == 1).all()
    assert (tu.create_sparse_array_zd((3, 2), stype, 0).asnumpy() == 0).all()
    changed = tu.rand_ndarray((4, 4), stype, density=1.0, modifier_func=lambda v: 5.0)
    assert (changed.asnumpy() == 5).all()


def test_sparse_input_as_asked_for():
    rows = tu.create_sparse_array((4, 2), "row_sparse", data_init=3, rsp_indices=[3, 1])
    assert rows.asnumpy().tolist() == [[0, 0], [3, 3], [0, 0], [3, 3]]
    power = tu.rand_ndarray((6, 20), "csr", density=0.4, distribution="powerlaw").asnumpy()
    assert (power != 0).sum(axis=1)[:4].tolist() == [1, 2, 4, 8]
    with pytest.raises(ValueError, match="powerlaw"):
        tu.rand_ndarray((6, 4), "csr", density=0.1, distribution="powerlaw")
    with pytest.raises(ValueError, match="stype"):
        tu.rand_sparse_ndarray((2, 2), "default")


def test_comparisons():
    a, b = np.array([1, 2.0, 3, 4]), np.array([1, 2.0, 3, 5])
    tu.assert_almost_equal_with_err(a, b, etol=0.3)
    with pytest.raises(AssertionError, match=r"at \(3,\)"):
        tu.assert_almost_equal_with_err(a, b, etol=0.2)
    tu.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1, 2.0]))
    assert not tu.almost_equal_ignore_nan(a, b)
    with pytest.raises(AssertionError, match="shape"):
        tu.checkShapes(a, b[:2])
    assert "maximum error: (3,), x=4" in tu.locationError(a, b, (3,), ("x", "y"), maxError=True)
    one = (mx.nd.ones(2), None, (mx.nd.zeros(1),))
    tu.compare_ndarray_tuple(one, (mx.nd.ones(2), mx.nd.ones(1), (mx.nd.zeros(1),)))
    with pytest.raises(AssertionError):
        tu.compare_ndarray_tuple(one, (mx.nd.ones(2), None, (mx.nd.ones(1),)))
    assert tu.np_reduce(np.ones((2, 3)), (0,), True, np.sum).tolist() == [[2, 2, 2]]
    assert tu.collapse_sum_like(np.ones((2, 3, 4)), (3, 1)).tolist() == [[8], [8], [8]]
    assert tu.assign_each(a, lambda v: v + 1).tolist() == [2, 3, 4, 5]
    assert tu.assign_each2(a, b, lambda v, w: v - w).tolist() == [0, 0, 0, -1]
    assert tu.get_etol() == 0 and tu.get_tolerance(a, None, {np.dtype("float64"): 3}) == 3
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    assert tu.same_symbol_structure(x + 1, y + 2) and not tu.same_symbol_structure(x + 1, x * 1)


def test_optimizers_are_compared():
    make = mx.optimizer.create
    tu.compare_optimizer(make("sgd", momentum=0.9), make("sgd", momentum=0.9), (3, 4), "float32")
    tu.compare_optimizer(make("adam"), make("adam"), [(3, 4), (2,)], "float32", ntensors=2)
    with pytest.raises(AssertionError):
        tu.compare_optimizer(make("sgd"), make("sgd", learning_rate=1.0), (3, 4), "float32")


def test_a_batch_is_repeated_and_the_error_output_is_lost(capfd):
    source = tu.DummyIter(mx.io.NDArrayIter(np.arange(8).reshape(4, 2), batch_size=2))
    assert [source.next().data[0].asnumpy()[0, 0] for _ in range(5)] == [0] * 5
    with tu.discard_stderr():
        os.write(2, b"lost")
    os.write(2, b"kept")
    assert capfd.readouterr().err == "kept"


def test_blocks_are_the_same_when_they_are_compiled():
    def build():
        return mx.gluon.nn.Dense(3, activation="tanh", weight_initializer=mx.init.One())

    x = mx.nd.array([[1, 2], [3, 4]])
    tu.check_gluon_hybridize_consistency(
        build, [x], lambda v: np.tanh(np.repeat(v.sum(1, keepdims=True), 3, 1))
    )
    with pytest.raises(AssertionError):
        tu.check_gluon_hybridize_consistency(build, [x], lambda v: v.sum(1, keepdims=True))
