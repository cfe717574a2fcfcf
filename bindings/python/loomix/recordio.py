# SPDX-License-Identifier: Apache-2.0
"""Reads and writes RecordIO files, with MXNet's interface.

Only the small extension ``loomix._record`` is loaded: no engine starts; NumPy and the image formats follow when
labels or images ask for them.
"""

from __future__ import annotations

import numbers
import os
import struct
from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _record, _star

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "RecordFiles",
    "pack",
    "pack_img",
    "unpack",
    "unpack_img",
]

IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])  # type: ignore[name-match]
IRHeader.__doc__ = """What stands before an image in its record.

``label`` is a number, or a sequence of numbers; ``flag`` is then how many there are (``pack`` sets it). ``id`` is, as a
rule, the index in the list that the file was made from, and ``id2`` 0.

Examples
--------
>>> import loomix as mx
>>> mx.recordio.IRHeader(flag=0, label=3.0, id=7, id2=0)
HEADER(flag=0, label=3.0, id=7, id2=0)
"""

_IR_FORMAT = "IfQQ"  # MXNet's names, which scripts that write records themselves use
_IR_SIZE = struct.calcsize(_IR_FORMAT)
_HEADER = struct.Struct(_IR_FORMAT)


class MXRecordIO(_record.RecordFile):
    """A file of records, read or written one after the other.

    ``uri`` is a path; for reading also ``-`` (standard input), ``fd://N``, and ``http://`` or ``https://`` addresses.
    ``flag`` is ``"r"`` or ``"w"``. Where a file is damaged, ``read`` raises an error that names the offset, and the
    next ``read`` goes on with the next whole record; with ``on_damage="skip"`` it goes on by itself and notes what
    was skipped in ``damages``.

    >>> import tempfile; path = tempfile.mktemp(".rec")
    >>> with MXRecordIO(path, "w") as writer:
    ...     for text in (b"one", b"two"):
    ...         writer.write(text)
    >>> list(MXRecordIO(path, "r"))
    [b'one', b'two']
    """

    def __init__(self, uri: str, flag: Any, on_damage: str = "raise") -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.on_damage = on_damage
        self.pid: Any = None
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Opens the file. Writing begins with an empty file."""
        self.is_open = False
        if self.flag == "w":
            self._open_writer(self.uri)
        elif self.flag == "r":
            if self.on_damage not in ("raise", "skip"):
                raise ValueError(f"[MXRecordIO] on_damage is {self.on_damage!r}; expected 'raise' or 'skip'.")
            self._open_reader(self.uri, self.on_damage == "skip")
        else:
            raise ValueError(f"[MXRecordIO] Invalid flag {self.flag!r}; expected 'r' or 'w'.")
        self.writable = self.flag == "w"
        self.pid = os.getpid()
        self.is_open = True

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<{type(self).__name__} {self.uri!r}: {'written' if self.flag == 'w' else 'read'}, {state}>"

    def close(self) -> None:
        """Closes the file; what was written is then complete."""
        if self.is_open:
            self.is_open = False
            self.pid = None
            self._close()

    def reset(self) -> None:
        """Begins again: a file that is read from its first record, one that is written empty."""
        if self.is_open and self.writable:
            self.close()
        self.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.read, None)

    def __getstate__(self) -> dict[Any, Any]:
        if self.is_open and self.writable:
            raise TypeError(
                f"[MXRecordIO] {self.uri} is open for writing and cannot be pickled: the copy would empty the file. "
                "Close it first."
            )
        return dict(self.__dict__)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        if self.is_open:
            self.is_open = False
            self.open()


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with an index beside it, for reading records by their keys.

    The index is a text file of lines ``KEY<tab>OFFSET``. ``keys`` lists the keys in its order, ``idx`` maps each to its
    offset.

    >>> import tempfile; path = tempfile.mktemp()
    >>> with MXIndexedRecordIO(path + ".idx", path + ".rec", "w") as writer:
    ...     for i in range(3):
    ...         writer.write_idx(i, b"record %d" % i)
    >>> MXIndexedRecordIO(path + ".idx", path + ".rec", "r").read_idx(2)
    b'record 2'
    """

    def __init__(
        self,
        idx_path: str,
        uri: str,
        flag: Any,
        key_type: Callable[[str], Any] = int,
        on_damage: str = "raise",
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, Any] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: Any = None
        super().__init__(uri, flag, on_damage)

    def open(self) -> None:
        """Opens the file and its index."""
        super().open()
        self.idx = {}
        self.keys = []
        if self.writable:
            self.fidx = open(self.idx_path, "w")  # close() closes it
        elif self.key_type is int:
            self.keys, self.idx = _record.read_index(self.idx_path)
        else:
            self._read_index()

    def _read_index(self) -> None:
        with open(self.idx_path) as lines:
            for number, line in enumerate(lines, 1):
                fields = line.strip().split("\t")
                if fields == [""]:
                    continue
                try:
                    key, offset = self.key_type(fields[0]), int(fields[1])
                except (ValueError, IndexError) as error:
                    from .base import MXNetFileError

                    raise MXNetFileError(
                        f"[MXIndexedRecordIO] {self.idx_path}, line {number}: expected KEY<tab>OFFSET; "
                        f"found {line.strip()[:80]!r}."
                    ) from error
                self.keys.append(key)
                self.idx[key] = offset

    def close(self) -> None:
        """Closes the file and its index."""
        if self.is_open:
            super().close()
            if self.fidx is not None:
                self.fidx.close()

    def __getstate__(self) -> dict[Any, Any]:
        return {**super().__getstate__(), "fidx": None}

    def _offset_of(self, idx: Any) -> Any:
        try:
            return self.idx[idx]
        except KeyError:
            from .base import MXNetKeyError

            raise MXNetKeyError(f"[MXIndexedRecordIO] {self.idx_path} has no key {idx!r}.") from None

    def seek(self, idx: Any) -> None:
        """Makes the record of key ``idx`` the next to be read."""
        if self._forked():
            self.reset()
        self._seek(self._offset_of(idx))

    def tell(self) -> int:
        """Where in the file the next record will be written."""
        if self.is_open and not self.writable:
            from .base import StateError

            raise StateError(f"[MXIndexedRecordIO] {self.uri} is open for reading; tell() is for writing.")
        return self._tell()

    read_idx = _record.read_idx

    def write_idx(self, idx: Any, buf: Any) -> None:
        """Writes a record, and its line of the index."""
        key = self.key_type(idx)
        offset = self._append(buf)
        self.fidx.write(f"{key}\t{offset}\n")
        self.idx[key] = offset
        self.keys.append(key)


class RecordFiles(_record.RecordFiles):
    """The records of several files, one file after the other, or one part of them.

    ``uris`` is one path or address as ``MXRecordIO`` takes it, or a list of them. With ``num_parts`` the files' bytes,
    taken together, are cut into that many equal ranges; part ``part_index`` has the records that begin in its range, so
    every record is in one part exactly. ``read`` returns the next record or None; ``file`` and ``offset`` say where it
    was. Damage is handled as by ``MXRecordIO``.

    >>> import tempfile; paths = [tempfile.mktemp(".rec") for _ in range(2)]
    >>> for path in paths:
    ...     with MXRecordIO(path, "w") as writer:
    ...         writer.write(b"first"); writer.write(b"second")
    >>> list(RecordFiles(paths))
    [b'first', b'second', b'first', b'second']
    >>> list(RecordFiles(paths, part_index=1, num_parts=2))
    [b'first', b'second']
    """

    def __init__(self, uris: Any, part_index: int = 0, num_parts: int = 1, on_damage: str = "raise") -> None:
        if on_damage not in ("raise", "skip"):
            raise ValueError(f"[RecordFiles] on_damage is {on_damage!r}; expected 'raise' or 'skip'.")
        if isinstance(uris, (str, os.PathLike)):
            uris = [uris]
        self._open([os.fspath(uri) for uri in uris], part_index, num_parts, on_damage == "skip")


def pack(header: Any, s: bytes) -> bytes:
    """The bytes of a record: ``header`` (an ``IRHeader``) and the bytes ``s``.

    >>> unpack(pack(IRHeader(0, 4, 2574, 0), b"image"))
    (HEADER(flag=0, label=4.0, id=2574, id2=0), b'image')
    """
    try:
        flag, label, id_, id2 = header
    except (TypeError, ValueError):
        from .base import MXNetTypeError

        raise MXNetTypeError(
            f"[pack] header is {header!r}; expected an IRHeader of flag, label, id, id2."
        ) from None
    if isinstance(label, numbers.Number):
        return _HEADER.pack(0, label, id_, id2) + s
    import numpy as np

    labels = np.asarray(label, dtype=np.float32)
    return _HEADER.pack(labels.size, 0, id_, id2) + labels.tobytes() + s


def unpack(s: bytes) -> Any:
    """The ``IRHeader`` of a record, and the bytes behind it. Several labels are an array that shares memory with ``s``.

    >>> unpack(pack(IRHeader(0, 4, 2574, 0), b"image"))[1]
    b'image'
    """
    try:
        flag, label, id_, id2 = _HEADER.unpack_from(s)
    except struct.error:
        raise _too_short(
            f"a record of {len(s)} bytes has no image header, which takes {_HEADER.size}"
        ) from None
    end = _HEADER.size
    if flag > 0:
        end += 4 * flag
        if len(s) < end:
            raise _too_short(
                f"the header announces {flag} labels, but {len(s) - _HEADER.size} bytes follow it"
            )
        import numpy as np

        label = np.frombuffer(s, np.float32, flag, _HEADER.size)
    return IRHeader(flag, label, id_, id2), s[end:]


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """The bytes of a record with the image ``img``: uint8, height x width (x channels), BGR as in OpenCV.

    ``img_fmt`` is ``".jpg"``, with ``quality`` 1 to 100, or ``".png"``, where ``quality`` is the compression, 0 to 9.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> header = mx.recordio.IRHeader(0, 3.0, 7, 0)
    >>> picture = np.full((2, 2, 3), 100, dtype="uint8")
    >>> packed = mx.recordio.pack_img(header, picture, img_fmt=".png")
    >>> header, picture = mx.recordio.unpack_img(packed)
    >>> header.label, picture.shape
    (3.0, (2, 2, 3))
    """
    import numpy as np

    from . import _codec

    ending = img_fmt.upper()
    if ending not in (".JPG", ".JPEG", ".PNG"):
        raise ValueError(f"[recordio.pack_img] img_fmt is {img_fmt!r}; expected '.jpg', '.jpeg' or '.png'.")
    img = np.ascontiguousarray(img.asnumpy() if hasattr(img, "asnumpy") else img)
    if img.dtype != np.uint8 or img.ndim not in (2, 3):
        raise ValueError(
            f"[recordio.pack_img] an image of {img.dtype} and shape {img.shape} cannot be encoded; expected uint8 and "
            "height, width and perhaps channels."
        )
    channels = img.shape[2] if img.ndim == 3 else 1
    png = ending == ".PNG"
    return pack(
        header,
        _codec.encode(img, img.shape[0], img.shape[1], channels, png, min(quality, 9) if png else quality),
    )


def unpack_img(s: bytes, iscolor: int = -1) -> Any:
    """The ``IRHeader`` of a record, and its image: uint8, height x width (x channels), BGR as in OpenCV.

    ``iscolor`` is -1 (as in the file), 0 (grey) or 1 (colour).

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> header = mx.recordio.IRHeader(0, 3.0, 7, 0)
    >>> picture = np.full((2, 2, 3), 100, dtype="uint8")
    >>> packed = mx.recordio.pack_img(header, picture, img_fmt=".png")
    >>> header, picture = mx.recordio.unpack_img(packed)
    >>> header.label, picture.shape
    (3.0, (2, 2, 3))
    """
    import numpy as np

    from . import _codec

    header, content = unpack(s)
    height, width, channels, pixels = _codec.decode(content, iscolor)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return header, np.frombuffer(pixels, np.uint8).reshape(shape)


def _too_short(what: str) -> Any:
    from .base import MXNetValueError

    return MXNetValueError(f"[recordio.unpack] {what}.")


_star.complete(
    globals(), "RecordIOHandle c_str check_call ctypes current_process namedtuple np numbers struct", "_LIB"
)
