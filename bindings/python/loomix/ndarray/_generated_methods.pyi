# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import DTypeLike

from .. import _core
from .ndarray import NDArray

class NDArrayMethods(_core.NDArrayBase):
    def abs(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def arccos(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def arccosh(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def arcsin(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def arcsinh(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def arctan(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def arctanh(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def argmax_channel(
        self,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: DTypeLike = "float32",
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def cbrt(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def ceil(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def clip(
        self,
        a_min: float,
        a_max: float,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def cos(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def cosh(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def degrees(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def depth_to_space(
        self,
        block_size: int,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def exp(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def expm1(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def fix(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def flip(
        self,
        axis: int | Sequence[int],
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def floor(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def log(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def log10(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def log1p(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def log2(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
        keepdims: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def one_hot(
        self,
        depth: int,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DTypeLike = "float32",
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def ones_like(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def pad(
        self,
        mode: Literal["constant", "edge", "reflect"],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def pick(
        self,
        index: NDArray,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: Literal["clip", "wrap"] = "clip",
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def radians(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def rcbrt(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def reciprocal(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def relu(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def repeat(
        self,
        repeats: int,
        axis: int | None = None,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def reshape_like(
        self,
        rhs: NDArray,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def rint(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def round(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def rsqrt(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def shape_array(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def sigmoid(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def sign(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def sin(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def sinh(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def size_array(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def slice(
        self,
        begin: int | Sequence[int],
        end: int | Sequence[int],
        step: int | Sequence[int] = (),
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def slice_axis(
        self,
        axis: int,
        begin: int,
        end: int | None,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def slice_like(
        self,
        shape_like: NDArray,
        axes: int | Sequence[int] = (),
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def softmax(
        self,
        length: NDArray | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray | Any: ...
    def space_to_depth(
        self,
        block_size: int,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def split(
        self,
        num_outputs: int,
        axis: int = 1,
        squeeze_axis: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray | Any: ...
    def sqrt(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def square(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def swapaxes(
        self,
        dim1: int = 0,
        dim2: int = 0,
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def take(
        self,
        indices: NDArray,
        axis: int = 0,
        mode: Literal["clip", "raise", "wrap"] = "clip",
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def tan(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def tanh(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def tile(
        self,
        reps: int | Sequence[int],
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
        is_ascend: bool = False,
        dtype: DTypeLike = "float32",
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray | Any: ...
    def transpose(
        self,
        axes: int | Sequence[int] = (),
        out: NDArray | list[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    def trunc(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    def zeros_like(self, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
