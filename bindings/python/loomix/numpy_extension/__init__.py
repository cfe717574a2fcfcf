# SPDX-License-Identifier: Apache-2.0
"""What ``mx.np`` has beyond NumPy (``mx.npx``): layers, devices, array files, and the switches of NumPy semantics."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..base import MXNetValueError
from ..context import Context as Context
from ..context import cpu as cpu
from ..context import cpu_pinned as cpu_pinned
from ..context import current_context as current_context
from ..context import gpu as gpu
from ..context import gpu_memory_info as gpu_memory_info
from ..context import num_gpus as num_gpus
from ..ndarray import waitall as waitall
from ..numpy import _search
from ..numpy._base import F, asarray, cast, no_such_name, row_major
from ..random import seed as seed
from ..util import get_cuda_compute_capability as get_cuda_compute_capability
from ..util import is_np_array as is_np_array
from ..util import is_np_default_dtype as is_np_default_dtype
from ..util import is_np_shape as is_np_shape
from ..util import reset_np as reset_np
from ..util import set_np as set_np
from ..util import set_np_default_dtype as set_np_default_dtype
from ..util import use_np as use_np
from ..util import use_np_array as use_np_array
from ..util import use_np_default_dtype as use_np_default_dtype
from ..util import use_np_shape as use_np_shape
from . import image as image
from . import random as random

# npx's name: the operator's.
_LAYERS = {
    "activation": "Activation",
    "arange_like": "_contrib_arange_like",
    "batch_dot": "batch_dot",
    "batch_flatten": "Flatten",
    "batch_norm": "BatchNorm",
    "cast": "Cast",
    "convolution": "Convolution",
    "deconvolution": "Deconvolution",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "erf": "erf",
    "erfinv": "erfinv",
    "fully_connected": "FullyConnected",
    "gamma": "gamma",
    "gammaln": "gammaln",
    "gather_nd": "gather_nd",
    "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU",
    "log_softmax": "log_softmax",
    "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget",
    "one_hot": "one_hot",
    "pick": "pick",
    "pooling": "Pooling",
    "relu": "relu",
    "reshape_like": "reshape_like",
    "rnn": "RNN",
    "roi_pooling": "ROIPooling",
    "sequence_mask": "SequenceMask",
    "shape_array": "shape_array",
    "sigmoid": "sigmoid",
    "slice": "slice",
    "smooth_l1": "smooth_l1",
    "softmax": "softmax",
    "topk": "topk",
    "group_norm": "GroupNorm",
    "instance_norm": "InstanceNorm",
}
FUNCTIONS: dict[str, Any] = {
    name: _core.op_function(operator, name, "loomix.numpy_extension", 2) for name, operator in _LAYERS.items()
}
globals().update(FUNCTIONS)


def reshape(a: Any, newshape: Any, reverse: bool = False, order: str = "C") -> Any:
    """The same elements under another shape, with codes: -1 is what is left, -2 keeps a size, -3 drops a size of 1,
    -4 keeps all that follow, -5 joins two sizes, and -6 splits one into the two sizes behind it. With `reverse` sizes
    are taken from the right."""
    row_major(order, "npx.reshape")
    return F._npx_reshape(a, newshape=newshape, reverse=reverse)


def nonzero(a: Any) -> Any:
    """The positions of the elements that are not zero, one a row."""
    return _search.argwhere(a)


def constraint_check(x: Any, msg: str) -> Any:
    """True if all elements are; else an error with the message."""
    result = asarray(x).all()
    if not bool(result):
        raise MXNetValueError(msg)
    return result


def masked_softmax(data: Any, mask: Any = None, axis: int = -1, temperature: float = 1.0) -> Any:
    """The softmax over the places where the mask is true; 0 elsewhere."""
    if mask is None:
        return F.softmax(data, axis=axis, temperature=temperature)
    from ..numpy._shape import where

    return where(mask, F.softmax(where(mask, data, -1e18), axis=axis, temperature=temperature), 0.0)


def masked_log_softmax(data: Any, mask: Any = None, axis: int = -1, temperature: float = 1.0) -> Any:
    """The logarithm of :func:`masked_softmax`; minus infinity where the mask is false."""
    if mask is None:
        return F.log_softmax(data, axis=axis, temperature=temperature)
    from ..numpy._shape import where

    return where(
        mask, F.log_softmax(where(mask, data, -1e18), axis=axis, temperature=temperature), float("-inf")
    )


def _updated(data: Any, indices: Any, val: Any, add: bool) -> Any:
    """``indices`` has a row for each axis, as of gather_nd."""
    data, indices = asarray(data), cast(asarray(indices), "int64")
    shape = indices.shape[1:] + data.shape[indices.shape[0] :]
    val = cast(asarray(val, like=data), data.dtype).broadcast_to(shape)
    put = F.scatter_nd(val, indices, shape=data.shape)
    if add:
        return data + put
    hit = F.scatter_nd(F.ones_like(val), indices, shape=data.shape)
    from ..numpy._shape import where

    # The last of several writes to one place must win, so the values are written, not added up.
    written = F.identity(data.detach())
    F._scatter_set_nd(written, val.detach(), indices, shape=data.shape, out=written)
    return where(hit > 0, put + (written - put.detach()), data)


def index_add(data: Any, indices: Any, val: Any) -> Any:
    """A copy of ``data`` with values added at positions."""
    return _updated(data, indices, val, True)


def index_update(data: Any, indices: Any, val: Any) -> Any:
    """A copy of ``data`` with other values at positions."""
    return _updated(data, indices, val, False)


def save(file: str, arr: Any) -> None:
    """Writes arrays to a file in MXNet's format, with NumPy's shapes."""
    from ..ndarray import save as write

    before = _core.exchange_numpy_shapes(True)
    try:
        write(file, arr)
    finally:
        _core.exchange_numpy_shapes(before)


def load(file: str) -> Any:
    """The arrays of a file, as arrays of ``mx.np``."""
    from ..ndarray import load as read

    before = _core.exchange_numpy_shapes(True)
    try:
        found = read(file)
    finally:
        _core.exchange_numpy_shapes(before)
    if isinstance(found, dict):
        return {name: value.as_np_ndarray() for name, value in found.items()}
    return [value.as_np_ndarray() for value in found]


def from_dlpack(dlpack: Any) -> Any:
    """An array that shares the memory of a DLPack capsule, or of what has ``__dlpack__``."""
    from ..ndarray import from_dlpack as share

    return share(dlpack).as_np_ndarray()


def from_numpy(ndarray: Any, zero_copy: bool = True) -> Any:
    """An array of a NumPy array, sharing its memory by default."""
    from ..ndarray import from_numpy as share

    return share(ndarray, zero_copy).as_np_ndarray()


def to_dlpack_for_read(data: Any) -> Any:
    """A DLPack capsule over the computed array."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: Any) -> Any:
    """A DLPack capsule over the array once nothing reads or writes it."""
    return data.to_dlpack_for_write()


def __getattr__(name: str) -> Any:
    raise no_such_name("loomix.numpy_extension", name, FUNCTIONS)
