# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import DTypeLike

from .symbol import Symbol

class SymbolMethods:
    def abs(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def arccos(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def arccosh(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def arcsin(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def arcsinh(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def arctan(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def arctanh(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def argmax_channel(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: DTypeLike = "float32",
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def broadcast_like(
        self,
        rhs: Symbol | None = None,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def broadcast_to(
        self,
        shape: int | Sequence[int] = (),
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def cbrt(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def ceil(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def clip(
        self,
        a_min: float | None = None,
        a_max: float | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def cos(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def cosh(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def degrees(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def depth_to_space(
        self,
        block_size: int | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def exp(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def expm1(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def fix(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def flip(
        self,
        axis: int | Sequence[int] | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def floor(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def log(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def log10(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def log1p(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def log2(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
        keepdims: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def one_hot(
        self,
        depth: int | None = None,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def ones_like(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def pad(
        self,
        mode: Literal["constant", "edge", "reflect"] | None = None,
        pad_width: int | Sequence[int] | None = None,
        constant_value: float = 0.0,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def pick(
        self,
        index: Symbol | None = None,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: Literal["clip", "wrap"] = "clip",
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def radians(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def rcbrt(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def reciprocal(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def relu(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def repeat(
        self,
        repeats: int | None = None,
        axis: int | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def reshape_like(
        self,
        rhs: Symbol | None = None,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def rint(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def round(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def rsqrt(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def shape_array(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def sigmoid(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def sign(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def sin(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def sinh(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def size_array(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def slice(
        self,
        begin: int | Sequence[int] | None = None,
        end: int | Sequence[int] | None = None,
        step: int | Sequence[int] = (),
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def slice_axis(
        self,
        axis: int | None = None,
        begin: int | None = None,
        end: int | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def slice_like(
        self,
        shape_like: Symbol | None = None,
        axes: int | Sequence[int] = (),
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def softmax(
        self,
        length: Symbol | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def space_to_depth(
        self,
        block_size: int | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def split(
        self,
        num_outputs: int | None = None,
        axis: int = 1,
        squeeze_axis: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def sqrt(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def square(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def swapaxes(
        self,
        dim1: int = 0,
        dim2: int = 0,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def take(
        self,
        indices: Symbol | None = None,
        axis: int = 0,
        mode: Literal["clip", "raise", "wrap"] = "clip",
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def tan(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def tanh(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def tile(
        self,
        reps: int | Sequence[int] | None = None,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
        is_ascend: bool = False,
        dtype: DTypeLike = "float32",
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def transpose(
        self,
        axes: int | Sequence[int] = (),
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
    def trunc(self, name: str | None = None, attr: dict[str, str] | None = None, **attrs: Any) -> Symbol: ...
    def zeros_like(
        self,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **attrs: Any,
    ) -> Symbol: ...
