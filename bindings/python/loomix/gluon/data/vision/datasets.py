# SPDX-License-Identifier: Apache-2.0
"""Data sets of images. Files that are not there are fetched."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
import tarfile
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .... import image, recordio
from .... import ndarray as nd
from ....base import MXNetFileError, data_dir
from ...utils import _get_repo_file_url, download
from ..dataset import Dataset, RecordFileDataset
from ..workers import in_mode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset", "ImageRecordDataset"]


_ROOT = os.path.join(data_dir(), "datasets")
_FASHION = os.path.join(_ROOT, "fashion-mnist")


class _InMemory(Dataset):
    """Images and labels that are read whole when the data set is made."""

    _folders: tuple[str, ...] = ()  # tried after the given one
    _namespace = ""  # its folder in the public store
    _sums: ClassVar[dict[str, str]] = {}  # SHA-1 sums of the files there

    def __init__(self, root: str, transform: Callable[..., Any] | None) -> None:
        self._root = os.path.expanduser(root)
        self._transform = transform
        self._data, self._label = self._read()

    def _read(self) -> tuple[Any, Any]:
        raise NotImplementedError

    def __getitem__(self, idx: int) -> Any:
        if self._transform is not None:
            return self._transform(self._data[idx], self._label[idx])
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)

    def _find(self, *names: str) -> str:
        """The first file that exists, in the given folder before others; else the first one is fetched there."""
        folders = (self._root, *self._folders)
        for folder in folders:
            for name in names:
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    if folder != self._root and self._root != os.path.expanduser(_FASHION):
                        warnings.warn(
                            f"[{type(self).__name__}] root is {self._root}, where files are missing; those of "
                            f"{folder} are read instead.",
                            stacklevel=6,
                        )
                    return path
        try:
            return self._fetch(names[0])
        except OSError as error:
            raise MXNetFileError(
                f"[{type(self).__name__}] {' or '.join(names)} is not in {' or '.join(folders)}, and could not be "
                f"fetched; put the data set's files there, or give root. {error}"
            ) from error

    def _fetch(self, name: str) -> str:
        """Brings a file from the public store to the folder."""
        address = _get_repo_file_url(f"gluon/dataset/{self._namespace}", name)
        return download(address, os.path.join(self._root, name), sha1_hash=self._sums[name])


def _read_idx(path: str) -> Any:
    """An array of bytes from a file of MNIST's format, compressed or not."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    if len(data) < 8 or data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise MXNetFileError(f"[MNIST] {path} is no file of this format: its first bytes are {data[:4]!r}.")
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    if values.size != np.prod(shape, dtype=np.int64):
        raise MXNetFileError(f"[MNIST] {path} has {values.size} values; its header says {shape}.")
    return values.reshape(shape)


class MNIST(_InMemory):
    """Handwritten digits: 28 x 28 x 1 images of uint8, and labels of int32.

    Parameters
    ----------
    root : str
        The folder of the four files, compressed with gzip or not; those that it lacks are fetched.
    train : bool
        Whether the 60,000 samples for training are read, not the 10,000 for tests.
    transform : function, optional
        Makes a sample from an image and a label.

    Examples
    --------
    >>> import loomix as mx
    >>> pictures = mx.gluon.data.vision.MNIST(root="data/mnist")  # doctest: +SKIP
    """

    _namespace = "mnist"
    _sums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
        "train-labels-idx1-ubyte.gz": "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
        "t10k-images-idx3-ubyte.gz": "c3a25af1f52dad7f726cce8cacb138654b760d48",
        "t10k-labels-idx1-ubyte.gz": "763e7fa3757d93b0cdec073cef058b2004252c17",
    }

    def __init__(
        self,
        root: str = os.path.join(_ROOT, "mnist"),
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _read(self) -> tuple[Any, Any]:
        part = "train" if self._train else "t10k"
        images = f"{part}-images-idx3-ubyte"
        labels = f"{part}-labels-idx1-ubyte"
        data = _read_idx(self._find(images + ".gz", images))
        label = _read_idx(self._find(labels + ".gz", labels)).astype(np.int32)
        if data.ndim != 3 or label.shape != data.shape[:1]:
            raise MXNetFileError(
                f"[{type(self).__name__}] the images have shape {data.shape}, the labels {label.shape}."
            )
        return in_mode(nd.array(data[..., None], dtype=np.uint8)), label


class FashionMNIST(MNIST):
    """Images of clothes, in the form of :class:`MNIST`. Debian's package ``dataset-fashion-mnist`` has them.

    Parameters
    ----------
    root : str
        The folder of the four files. Those that it lacks are read from Debian's, with a warning where `root` is given,
        or fetched.
    train : bool
    transform : function, optional

    Examples
    --------
    >>> import loomix as mx
    >>> pictures = mx.gluon.data.vision.FashionMNIST(root="data/fashion-mnist")  # doctest: +SKIP
    """

    _folders = ("/usr/share/datasets/fashion-mnist",)
    _namespace = "fashion-mnist"
    _sums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
        "train-labels-idx1-ubyte.gz": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
        "t10k-images-idx3-ubyte.gz": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
        "t10k-labels-idx1-ubyte.gz": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
    }

    def __init__(
        self,
        root: str = _FASHION,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, train, transform)


class CIFAR10(_InMemory):
    """32 x 32 x 3 images of ten kinds of things, from the files of the binary version.

    Parameters
    ----------
    root : str
        The folder of ``data_batch_1.bin`` and so on, or of the folder ``cifar-10-batches-bin``. An archive with what it
        lacks is fetched.
    train : bool
        Whether the 50,000 samples for training are read, not the 10,000 for tests.
    transform : function, optional

    Examples
    --------
    >>> import loomix as mx
    >>> pictures = mx.gluon.data.vision.CIFAR10(root="data/cifar10")  # doctest: +SKIP
    """

    _labels = 1  # bytes in front of each image
    _inside = "cifar-10-batches-bin"
    _namespace = "cifar10"
    _sums: ClassVar[dict[str, str]] = {"cifar-10-binary.tar.gz": "fab780a1e191a7eda0f345501ccd62d20f7ed891"}

    def __init__(
        self,
        root: str = os.path.join(_ROOT, "cifar10"),
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _files(self) -> list[str]:
        return [f"data_batch_{i}.bin" for i in range(1, 6)] if self._train else ["test_batch.bin"]

    def _fetch(self, name: str) -> str:
        archive = super()._fetch(next(iter(self._sums)))
        with tarfile.open(archive) as opened:
            for member in opened:
                base = os.path.basename(member.name)
                if member.isfile() and base.endswith(".bin"):
                    taken = opened.extractfile(member)
                    assert taken is not None  # it is a file
                    with taken, open(os.path.join(self._root, base), "wb") as file:
                        shutil.copyfileobj(taken, file)
        path = os.path.join(self._root, name)
        if not os.path.exists(path):
            raise MXNetFileError(f"[{type(self).__name__}] {archive} has no {name}.")
        return path

    def _label_of(self, rows: Any) -> Any:
        return rows[:, 0]

    def _read(self) -> tuple[Any, Any]:
        parts = [
            self._read_file(self._find(name, os.path.join(self._inside, name))) for name in self._files()
        ]
        rows = np.concatenate(parts)
        pictures = rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        arrays = in_mode(nd.array(np.ascontiguousarray(pictures), dtype=np.uint8))
        return arrays, self._label_of(rows).astype(np.int32)

    def _read_file(self, path: str) -> Any:
        values = np.fromfile(path, np.uint8)
        size = 3072 + self._labels
        if values.size == 0 or values.size % size:
            raise MXNetFileError(
                f"[{type(self).__name__}] {path} has {values.size} bytes; expected a multiple of {size}."
            )
        return values.reshape(-1, size)


class CIFAR100(CIFAR10):
    """As :class:`CIFAR10`, with a hundred kinds of things in twenty groups.

    Parameters
    ----------
    root : str
        The folder of ``train.bin`` and ``test.bin``; an archive with what it lacks is fetched.
    fine_label : bool
        Whether labels are kinds, not groups.
    train : bool
    transform : function, optional

    Examples
    --------
    >>> import loomix as mx
    >>> pictures = mx.gluon.data.vision.CIFAR100(root="data/cifar100", fine_label=True)  # doctest: +SKIP
    """

    _labels = 2
    _inside = "cifar-100-binary"
    _namespace = "cifar100"
    _sums: ClassVar[dict[str, str]] = {"cifar-100-binary.tar.gz": "a0bb982c76b83111308126cc779a992fa506b90b"}

    def __init__(
        self,
        root: str = os.path.join(_ROOT, "cifar100"),
        fine_label: bool = False,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _files(self) -> list[str]:
        return ["train.bin" if self._train else "test.bin"]

    def _label_of(self, rows: Any) -> Any:
        return rows[:, int(self._fine_label)]


class ImageRecordDataset(RecordFileDataset):
    """Images and labels from a RecordIO file.

    Parameters
    ----------
    filename : str
        The ``.rec`` file; its index lies beside it.
    flag : {0, 1}
        1 for images in colour, 0 for grey ones.
    transform : function, optional
        Makes a sample from an image and a label.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> name = os.path.join(tempfile.mkdtemp(), "pictures")
    >>> record = mx.recordio.MXIndexedRecordIO(name + ".idx", name + ".rec", "w")
    >>> header = mx.recordio.IRHeader(0, 5.0, 0, 0)
    >>> picture = np.zeros((4, 6, 3), "uint8")
    >>> record.write_idx(0, mx.recordio.pack_img(header, picture, img_fmt=".png"))
    >>> record.close()
    >>> picture, label = mx.gluon.data.vision.ImageRecordDataset(name + ".rec")[0]
    >>> picture.shape, label
    ((4, 6, 3), 5.0)
    """

    def __init__(self, filename: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        header, data = recordio.unpack(super().__getitem__(idx))
        picture = image.imdecode(data, self._flag)
        if self._transform is not None:
            return self._transform(picture, header.label)
        return picture, header.label


class ImageFolderDataset(Dataset):
    """Images in folders, one for each label: ``root/cat/1.jpg``.

    Parameters
    ----------
    root : str
    flag : {0, 1}
        1 for images in colour, 0 for grey ones.
    transform : function, optional
        Makes a sample from an image and a label.

    Attributes
    ----------
    synsets : list of str
        The names of the labels.
    items : list of (str, int)
        Files and labels.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(folder, "cats"))
    >>> header = mx.recordio.IRHeader(0, 0, 0, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((4, 6, 3), "uint8"), img_fmt=".png")
    >>> with open(os.path.join(folder, "cats", "tom.png"), "wb") as file:
    ...     _ = file.write(mx.recordio.unpack(packed)[1])
    >>> pictures = mx.gluon.data.vision.ImageFolderDataset(folder)
    >>> pictures.synsets, pictures[0][0].shape, pictures[0][1]
    (['cats'], (4, 6, 3), 0)
    """

    _suffixes = (".jpg", ".jpeg", ".png")

    def __init__(self, root: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"[{type(self).__name__}] {path} is no folder; it is left out.", stacklevel=2)
                continue
            self.synsets.append(folder)
            self._add(path)
        if not self.items:
            warnings.warn(
                f"[{type(self).__name__}] {self._root} has no images, so the data set is empty; expected a folder for "
                f"each label, such as root/cat/1.jpg, with files of {', '.join(self._suffixes)}.",
                stacklevel=2,
            )

    def _add(self, path: str) -> None:
        label = len(self.synsets) - 1
        for name in sorted(os.listdir(path)):
            if os.path.splitext(name)[1].lower() in self._suffixes:
                self.items.append((os.path.join(path, name), label))
            else:
                warnings.warn(
                    f"[{type(self).__name__}] {os.path.join(path, name)} is left out; expected files of "
                    f"{', '.join(self._suffixes)}.",
                    stacklevel=3,
                )

    def __getitem__(self, idx: int) -> Any:
        name, label = self.items[idx]
        picture = image.imread(name, self._flag)
        return (picture, label) if self._transform is None else self._transform(picture, label)

    def __len__(self) -> int:
        return len(self.items)
