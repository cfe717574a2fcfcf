# SPDX-License-Identifier: Apache-2.0
"""Data sets for tests and examples: from local files; fetched only where that is asked for."""

from __future__ import annotations

import bz2
import gzip
import os
import pickle
import shutil
import urllib.parse
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base import MXNetFileError, MXNetValueError
from ..io import DataIter

__all__ = [
    "DummyIter",
    "download",
    "download_model",
    "get_bz2_data",
    "get_cifar10",
    "get_im2rec_path",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_zip_data",
]

_MNIST = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}
_MNIST_ADDRESS = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_CIFAR_ADDRESS = "http://data.mxnet.io/data/cifar10.zip"
# Of the same form as MNIST; Debian's package dataset-fashion-mnist.
_FASHION = "/usr/share/datasets/fashion-mnist"


class DummyIter(DataIter):
    """The first batch of another iterator for ever: to time the rest of a program.

    Parameters
    ----------
    real_iter : DataIter
        The iterator.

    Examples
    --------
    >>> import loomix as mx
    >>> batches = mx.test_utils.DummyIter(mx.io.NDArrayIter(mx.nd.zeros((2, 3)), batch_size=1))
    >>> next(batches).data[0].shape
    (1, 3)
    """

    def __init__(self, real_iter: Any) -> None:
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(iter(real_iter))

    def next(self) -> Any:
        return self.the_batch


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Fetches a file, unless it is there.

    Parameters
    ----------
    url : str
        Its address.
    fname : str, optional
        Its name; the end of the address by default.
    dirname : str, optional
        Its folder, which is made if it does not exist.
    overwrite : bool
        Whether a file that is there is fetched again.
    retries : int
        How often a transfer that fails is tried again.

    Returns
    -------
    str
        The file's path.

    Raises
    ------
    OSError
        When it cannot be fetched.
    """
    from ..gluon import utils

    if fname is None:
        fname = urllib.parse.urlparse(url).path.rstrip("/").split("/")[-1]
    if dirname is not None:
        fname = os.path.join(dirname, fname)
    return utils.download(url, fname, overwrite, retries=retries)


def _missing(what: str, where: Sequence[str]) -> MXNetFileError:
    return MXNetFileError(
        f"[test_utils] there is no {what} in {' or '.join(where)}. Put it there, or give download=True to fetch it."
    )


def _mnist_file(name: str, fetch: bool) -> str:
    """The path of one of MNIST's files, compressed or not."""
    folders = ["data", "."]
    for folder in folders:
        for ending in ("", ".gz"):
            path = os.path.join(folder, name + ending)
            if os.path.exists(path):
                return path
    if fetch:
        return download(_MNIST_ADDRESS + name + ".gz", dirname="data")
    path = os.path.join(_FASHION, name + ".gz")
    if not os.path.exists(path):
        raise _missing(name, folders)
    warnings.warn(
        f"[test_utils] there is no {name} in {' or '.join(folders)}; Fashion-MNIST ({path}) takes its place. "
        "download=True fetches MNIST.",
        UserWarning,
        stacklevel=3,
    )
    return path


def get_mnist(download: bool = False) -> dict[str, Any]:
    """MNIST as NumPy arrays: train_data, train_label, test_data and test_label.

    The files are looked for in ``data`` and in the current folder, then among Debian's data sets, whose Fashion-MNIST
    has the same form.

    Parameters
    ----------
    download : bool
        Whether files that are missing are fetched, into ``data``.

    Returns
    -------
    dict of str to numpy.ndarray
        Images are float32 from 0 to 1, of shape (count, 1, 28, 28).
    """
    from ..io.files import read_idx

    arrays = {what: np.array(read_idx(_mnist_file(name, download))) for what, name in _MNIST.items()}
    for what in ("train_data", "test_data"):
        arrays[what] = arrays[what].reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return arrays


def get_mnist_pkl(download: bool = False) -> None:
    """Sees to it that ``data/mnist.pkl.gz`` exists: training, validation and test data as pickled arrays."""
    path = os.path.join("data", "mnist.pkl.gz")
    if os.path.exists(path):
        return
    arrays = get_mnist(download)
    flat = {what: arrays[what].reshape(len(arrays[what]), -1) for what in ("train_data", "test_data")}
    held = len(flat["train_data"]) // 6
    train = (flat["train_data"][:-held], arrays["train_label"][:-held])
    validation = (flat["train_data"][-held:], arrays["train_label"][-held:])
    os.makedirs("data", exist_ok=True)
    with gzip.open(path, "wb", compresslevel=1) as file:
        pickle.dump((train, validation, (flat["test_data"], arrays["test_label"])), file)


def get_mnist_ubyte(download: bool = False) -> None:
    """Sees to it that ``data`` holds MNIST's four files, uncompressed; see :func:`get_mnist`."""
    os.makedirs("data", exist_ok=True)
    for name in _MNIST.values():
        target = os.path.join("data", name)
        if os.path.exists(target):
            continue
        path = _mnist_file(name, download)
        opened: Any = gzip.open if path.endswith(".gz") else open
        with opened(path, "rb") as source, open(target + ".part", "wb") as file:
            shutil.copyfileobj(source, file)
        os.replace(target + ".part", target)


def get_mnist_iterator(
    batch_size: int,
    input_shape: Sequence[int],
    num_parts: int = 1,
    part_index: int = 0,
    download: bool = False,
) -> tuple[Any, Any]:
    """Iterators over MNIST's training and test data; images are flat unless ``input_shape`` has three axes."""
    from ..io import MNISTIter

    get_mnist_ubyte(download)
    iterators = []
    for kind in ("train", "test"):
        iterators.append(
            MNISTIter(
                image=os.path.join("data", _MNIST[f"{kind}_data"]),
                label=os.path.join("data", _MNIST[f"{kind}_label"]),
                batch_size=batch_size,
                shuffle=kind == "train",
                flat=len(input_shape) != 3,
                num_parts=num_parts,
                part_index=part_index,
            )
        )
    return iterators[0], iterators[1]


def get_cifar10(download: bool = False) -> None:
    """Sees to it that ``data/cifar`` holds CIFAR-10 as record files: train.rec and test.rec, with their lists."""
    names = [
        os.path.join("data", "cifar", name) for name in ("train.rec", "test.rec", "train.lst", "test.lst")
    ]
    if all(os.path.exists(name) for name in names):
        return
    archive = os.path.join("data", "cifar10.zip")
    if not os.path.exists(archive):
        if not download:
            raise _missing("cifar/train.rec, and no cifar10.zip", ["data"])
        _fetch(_CIFAR_ADDRESS, archive)
    _unpack(archive, "data")


def _fetch(url: str, path: str) -> None:
    download(url, fname=path)


def _unpack(archive: str, folder: str) -> None:
    """Unpacks a zip archive; its files may not leave the folder."""
    root = os.path.realpath(folder)
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            if os.path.commonpath([root, os.path.realpath(os.path.join(root, name))]) != root:
                raise MXNetFileError(f"[test_utils] {archive} holds {name!r}, which is outside of {folder}.")
        file.extractall(root)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Fetches the zip archive ``data_origin_name`` into a folder, unless it is there, and unpacks it."""
    _unpack(download(url, fname=data_origin_name, dirname=data_dir), data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Fetches the bz2 file ``data_origin_name`` and unpacks it to ``data_name``, unless that is there."""
    target = os.path.join(data_dir, data_name)
    if os.path.exists(target):
        return
    packed = download(url, fname=data_origin_name, dirname=data_dir)
    with bz2.open(packed, "rb") as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file)
    os.remove(packed)


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[str | None, int]:
    """Fetches a checkpoint.

    Parameters
    ----------
    model_name : str
        Name of the model.
    dst_dir : str
        Folder for its files.
    meta_info : dict
        For each model the addresses of its files: ``{"name": {"symbol": ..., "params": ...}}``.

    Returns
    -------
    tuple of (str or None, int)
        Prefix and epoch of the checkpoint; (None, 0) for a model that ``meta_info`` does not know.
    """
    if meta_info is None:
        raise MXNetValueError(
            "[download_model] meta_info is missing; expected the addresses of the model's files."
        )
    if model_name not in meta_info:
        return None, 0
    prefix = os.path.join(dst_dir, model_name)
    download(meta_info[model_name]["symbol"], f"{prefix}-symbol.json")
    download(meta_info[model_name]["params"], f"{prefix}-0000.params")
    return prefix, 0


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """The program that makes record files of images: below the folder in the variable ``home_env``, else the
    package's own."""
    places = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", "im2rec")]
    if home_env in os.environ:
        places.insert(0, os.path.join(os.environ[home_env], "tools", "im2rec.py"))
    for place in places:
        if os.path.isfile(place):
            return place
    raise MXNetFileError(f"[get_im2rec_path] there is no {' and no '.join(places)}.")
