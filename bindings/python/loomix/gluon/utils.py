# SPDX-License-Identifier: Apache-2.0
"""Helpers for training loops and blocks."""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
import time
import urllib.error
import urllib.request
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from .._arguments import as_number, as_whole, expect
from ..base import MXNetFileError, MXNetTypeError, MXNetValueError
from ..context import as_context_list
from ..progress_bar import WorkBar

if TYPE_CHECKING:
    from collections import OrderedDict
    from collections.abc import Callable, Sequence

    from typing_extensions import Self

    from ..context import Context
    from ..ndarray import NDArray

__all__ = [
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "split_and_load",
    "split_data",
]


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Cuts a batch into parts.

    Parameters
    ----------
    data : NDArray
    num_slice : int
    batch_axis : int
    even_split : bool
        Whether all parts must have the same size; otherwise the first ones may be longer by one.

    Examples
    --------
    >>> import loomix as mx
    >>> [part.shape for part in split_data(mx.nd.ones((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    expect(hasattr(data, "shape"), "split_data", "data", data, "an NDArray")
    as_whole("split_data", "num_slice", num_slice, least=1)
    size = data.shape[batch_axis]
    if even_split and size % num_slice != 0:
        raise MXNetValueError(
            f"[split_data] axis {batch_axis} of shape {data.shape} does not divide into {num_slice} equal parts; "
            "even_split=False lets the first ones be longer by one."
        )
    if size < num_slice:
        raise MXNetValueError(
            f"[split_data] axis {batch_axis} of shape {data.shape} is too short for {num_slice} parts."
        )
    step, longer = divmod(size, num_slice)
    ends = [(i + 1) * step + min(i + 1, longer) for i in range(num_slice)]
    bounds = list(zip([0, *ends], ends))
    if batch_axis == 0:
        return [data[begin:end] for begin, end in bounds]
    return [nd.slice_axis(data, axis=batch_axis, begin=begin, end=end) for begin, end in bounds]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cuts a batch into one part a device and brings each there; see :func:`split_data`.

    Examples
    --------
    >>> import loomix as mx
    >>> parts = mx.gluon.utils.split_and_load(mx.nd.arange(4), [mx.cpu(0), mx.cpu(1)])
    >>> [part.context for part in parts]
    [cpu(0), cpu(1)]
    """
    ctx_list = as_context_list(ctx_list)
    if not isinstance(data, nd.NDArray):
        data = nd.array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list)]


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> Any:
    """Scales the arrays in place so that the norm of all of them together is at most `max_norm`.

    Parameters
    ----------
    arrays : list of NDArray
    max_norm : float
    check_isfinite : bool
        Whether to wait for the norm, and warn if it is not finite.

    Returns
    -------
    float, or NDArray of shape (1,) if not `check_isfinite`
        The norm before.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([3, 4])
    >>> float(round(mx.gluon.utils.clip_global_norm([x], 1.0), 3))
    5.0
    >>> x.asnumpy().round(3)
    array([0.6, 0.8], dtype=float32)
    """
    expect(isinstance(arrays, (list, tuple)), "clip_global_norm", "arrays", arrays, "a list of NDArrays")
    for array in arrays:
        expect(isinstance(array, nd.NDArray), "clip_global_norm", "one of the arrays", array, "an NDArray")
    as_number("clip_global_norm", "max_norm", max_norm)
    if not arrays:
        raise MXNetValueError("[clip_global_norm] no arrays were given.")
    ctx = arrays[0].context
    squares = [nd.sum(nd.square(array.astype("float32", copy=False))).as_in_context(ctx) for array in arrays]
    total = nd.sqrt(nd.add_n(*squares))
    if check_isfinite and not np.isfinite(total.asscalar()):
        warnings.warn(
            "[clip_global_norm] the norm is not finite, so all gradients become NaN or 0.", stacklevel=2
        )
    scale = nd.minimum(max_norm / (total + 1e-8), 1.0)
    for array in arrays:
        array[:] = array * scale.as_in_context(array.context).astype(array.dtype, copy=False)
    return float(total.asscalar()) if check_isfinite else total


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether a file has this SHA-1, in hexadecimal.

    Examples
    --------
    >>> import hashlib, os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "file")
    >>> with open(name, "w") as file:
    ...     _ = file.write("hello")
    >>> mx.gluon.utils.check_sha1(name, hashlib.sha1(b"hello").hexdigest())
    True
    """
    digest = hashlib.sha1()
    with open(filename, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    text = digest.hexdigest()
    return text[: min(len(text), len(sha1_hash))] == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Renames a file over another, in one step.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "file")
    >>> with open(name, "w") as file:
    ...     _ = file.write("hello")
    >>> mx.gluon.utils.replace_file(name, name + "-new")
    >>> os.path.exists(name), os.path.exists(name + "-new")
    (False, True)
    """
    os.replace(src, dst)


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Downloads a file.

    Parameters
    ----------
    url : str
    path : str, optional
        A file or a folder; by default the current folder.
    overwrite : bool
        Whether to do so although the file is there.
    sha1_hash : str, optional
        What the file must have; one that is there and has another is replaced.
    retries : int
        How often to try again.
    verify_ssl : bool
        Whether the server's certificate is checked.

    Returns
    -------
    str
        The name of the file.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "file")
    >>> with open(name, "w") as file:
    ...     _ = file.write("hello")
    >>> copy = mx.gluon.utils.download(pathlib.Path(name).as_uri(), path=name + "-copy")  # doctest: +ELLIPSIS
    Downloading ...-copy from file:///...
    >>> open(copy).read()
    'hello'
    """
    if path is None or os.path.isdir(path):
        base = url.split("/")[-1]
        if not base:
            raise MXNetValueError(f"[download] no file name follows from {url!r}; give path.")
        fname = base if path is None else os.path.join(path, base)
    else:
        fname = os.path.expanduser(path)
    if retries < 0:
        raise MXNetValueError(f"[download] retries is {retries}; expected 0 or more.")
    if not overwrite and os.path.exists(fname) and (not sha1_hash or check_sha1(fname, sha1_hash)):
        return fname
    os.makedirs(os.path.dirname(os.path.abspath(fname)), exist_ok=True)
    if not verify_ssl:
        warnings.warn("[download] verify_ssl is False: anybody may have changed the file.", stacklevel=2)
    print(f"Downloading {fname} from {url}...")
    for attempt in range(retries + 1):
        try:
            _fetch(url, fname, sha1_hash, verify_ssl)
            return fname
        except (OSError, MXNetFileError) as error:
            if attempt == retries or _is_final(error):
                raise MXNetFileError(
                    f"[download] {url} could not be fetched: {error}. Without a network, put the file at {fname}."
                ) from error
            time.sleep(min(2**attempt, 10))
    return fname


def _is_final(error: OSError) -> bool:
    """Whether trying again is of no use: there is no such file, or no way to the server."""
    if isinstance(error, urllib.error.HTTPError):
        return 400 <= error.code < 500 and error.code not in (408, 429)
    reason = getattr(error, "reason", None)
    return isinstance(reason, (ConnectionRefusedError, FileNotFoundError, socket.gaierror))


def _get_repo_url() -> str:
    """Where libraries fetch their files from: the environment's MXNET_GLUON_REPO, else MXNet's own place."""
    url = os.environ.get("MXNET_GLUON_REPO") or "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
    return url if url.endswith("/") else url + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    return f"{_get_repo_url()}{namespace}/{filename}"


def _fetch(url: str, fname: str, sha1_hash: str | None, verify_ssl: bool) -> None:
    context = None if verify_ssl else ssl._create_unverified_context()
    temporary = f"{fname}.{os.getpid()}.part"
    try:
        with (
            urllib.request.urlopen(url, timeout=60, context=context) as source,
            open(temporary, "wb") as file,
        ):
            size = source.headers.get("Content-Length")
            bar = WorkBar(os.path.basename(fname), int(size) if size else None, "bytes")
            try:
                while block := source.read(1 << 16):
                    file.write(block)
                    bar.show(file.tell())
            finally:
                bar.clear()
        if sha1_hash and not check_sha1(temporary, sha1_hash):
            raise MXNetFileError(f"the content does not have the SHA-1 {sha1_hash}")
        replace_file(temporary, fname)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


class HookHandle:
    """A hook that was registered: ``detach()``, or the end of a ``with`` statement, removes it."""

    _next = 0

    def __init__(self, hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        if not callable(hook):
            raise MXNetTypeError(f"[hook] got an object of type {type(hook).__name__}; expected a function.")
        HookHandle._next += 1
        self._id = HookHandle._next
        hooks[self._id] = hook
        self._hooks = weakref.ref(hooks)

    def detach(self) -> None:
        """Removes the hook."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self._id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.detach()


def indented(text: str, spaces: int) -> str:
    """All lines but the first moved to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * spaces + line for line in rest])
