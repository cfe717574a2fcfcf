# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ..context import Context
from .symbol import Symbol

def _Div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _DivScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _EqualScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _GreaterEqualScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _GreaterScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Greater_Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _HypotScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _LesserEqualScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _LesserScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Lesser_Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _LogicalAndScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _LogicalOrScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _LogicalXorScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Logical_And(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Logical_Or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Logical_Xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _MaximumScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _MinimumScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _MinusScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _ModScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _MulScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _NotEqualScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Not_Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _PlusScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _Power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _PowerScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _RDivScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _RMinusScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _RModScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _RPowerScalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _arctan2(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _bitwise_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _bitwise_left_shift(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _bitwise_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _bitwise_right_shift(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _bitwise_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _cond(
    *data: Symbol,
    num_outputs: int,
    cond_input_locs: Sequence[int],
    then_input_locs: Sequence[int],
    else_input_locs: Sequence[int],
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def _copy(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _copysign(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _crop_assign(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    begin: int | Sequence[int] | None = None,
    end: int | Sequence[int] | None = None,
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _crop_assign_scalar(
    data: Symbol | None = None,
    scalar: float = 0.0,
    begin: int | Sequence[int] | None = None,
    end: int | Sequence[int] | None = None,
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _div_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _equal_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _foreach(
    *data: Symbol,
    num_outputs: int,
    num_out_data: int,
    in_state_locs: Sequence[int],
    in_data_locs: Sequence[int],
    remain_locs: Sequence[int],
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def _full(
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    value: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _gcd(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _grad_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _greater_equal_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _greater_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _histogram(
    data: Symbol | None = None,
    bins: Symbol | None = None,
    bin_cnt: int | None = None,
    range: Sequence[float] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _hypot_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _identity_with_attr_like_rhs(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _lcm(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _lesser_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _lesser_equal_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _lesser_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _logical_and_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _logical_or_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _logical_xor_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _maximum_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _minimum_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _minus_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _mod_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _mul_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _not_equal_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _np_cumsum(
    a: Symbol | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _np_reshape(
    data: Symbol | None = None,
    newshape: int | Sequence[int] | None = None,
    reverse: bool = False,
    order: str = "C",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_arctan2(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_bitwise_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_bitwise_left_shift(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_bitwise_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_bitwise_right_shift(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_bitwise_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_copysign(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_gcd(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_lcm(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npi_reshape(
    data: Symbol | None = None,
    newshape: int | Sequence[int] | None = None,
    reverse: bool = False,
    order: str = "C",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _npx_reshape(
    data: Symbol | None = None,
    newshape: int | Sequence[int] | None = None,
    reverse: bool = False,
    order: str = "C",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _onehot_encode(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _ones(
    shape: int | Sequence[int] = (),
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _parallel_all_reduce(
    data: Symbol | None = None,
    group: str = "",
    partial_gradient: bool = True,
    training_only: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _parallel_all_to_all(
    data: Symbol | None = None,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    new_axis: int = 1,
    new_whole: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _parallel_gather(
    data: Symbol | None = None,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    partial_gradient: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _parallel_own(
    data: Symbol | None = None,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _parallel_reduce_scatter(
    data: Symbol | None = None,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _parallel_share(
    data: Symbol | None = None,
    group: str = "",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _plus_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _power_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_negative_binomial(
    k: float = 1.0,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_dirichlet(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_exponential(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_gamma(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_generalized_negative_binomial(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_negative_binomial(
    sample: Symbol | None = None,
    k: Symbol | None = None,
    p: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_normal(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_poisson(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_pdf_uniform(
    sample: Symbol | None = None,
    low: Symbol | None = None,
    high: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_randint(
    low: int,
    high: int,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _ravel_multi_index(
    data: Symbol | None = None,
    shape: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _rdiv_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _rminus_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _rmod_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _rnn_param_concat(
    *data: Symbol,
    dim: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def _rpower_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_exponential(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_gamma(
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_generalized_negative_binomial(
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_multinomial(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_negative_binomial(
    k: Symbol | None = None,
    p: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_normal(
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_poisson(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_uniform(
    low: Symbol | None = None,
    high: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sample_unique_zipfian(
    range_max: int,
    shape: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _scatter_elemwise_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _scatter_minus_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _scatter_plus_scalar(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _scatter_set_nd(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    indices: Symbol | None = None,
    shape: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _shuffle(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _slice_assign(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    begin: int | Sequence[int] | None = None,
    end: int | Sequence[int] | None = None,
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _slice_assign_scalar(
    data: Symbol | None = None,
    scalar: float = 0.0,
    begin: int | Sequence[int] | None = None,
    end: int | Sequence[int] | None = None,
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _split_v2(
    data: Symbol | None = None,
    indices: int | Sequence[int] | None = None,
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _square_sum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _unravel_index(
    data: Symbol | None = None,
    shape: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _while_loop(
    *data: Symbol,
    num_outputs: int,
    num_out_data: int,
    max_iterations: int,
    cond_input_locs: Sequence[int],
    func_input_locs: Sequence[int],
    func_var_locs: Sequence[int],
    name: str | None = None,
    attr: dict[str, str] | None = None,
) -> Symbol: ...
def _zeros(
    shape: int | Sequence[int] = (),
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def _zeros_without_dtype(
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: int = -1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
