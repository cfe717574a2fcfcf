# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels compiled while a program runs: not part of Loomix; the names say what to use instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from . import _star
from .base import MXNetNotImplementedError

__all__ = ["CudaKernel", "CudaModule"]


def _fail(who: str) -> NoReturn:
    raise MXNetNotImplementedError(
        f"[rtc] {who}: Loomix compiles no CUDA source at run time. Write the operator with mx.operator.CustomOp, or "
        "compile the kernel with CuPy or Numba and hand it arrays by nd.to_dlpack_for_write."
    )


class CudaModule:
    """Raises NotImplementedError: there is no compiler for CUDA source in Loomix."""

    def __init__(self, source: str, options: Sequence[str] = (), exports: Sequence[str] = ()) -> None:
        _fail("CudaModule")

    def get_kernel(self, name: str, signature: str) -> Any:
        """Raises NotImplementedError."""
        _fail("CudaModule.get_kernel")


class CudaKernel:
    """Raises NotImplementedError, as :class:`CudaModule`, which made them."""

    def __init__(self, handle: Any, name: str, is_ndarray: Any, dtypes: Any) -> None:
        _fail("CudaKernel")

    def launch(self, args: Any, ctx: Any, grid_dims: Any, block_dims: Any, shared_mem: int = 0) -> None:
        """Raises NotImplementedError."""
        _fail("CudaKernel.launch")


_star.complete(
    globals(),
    "CudaKernelHandle CudaModuleHandle NDArray array c_array c_array_buf c_str c_str_array check_call "
    "ctypes mx_uint np numeric_types re string_types",
    "_LIB",
)
