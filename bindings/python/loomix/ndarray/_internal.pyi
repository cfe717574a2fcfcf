# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ..context import Context
from .ndarray import NDArray

def _Div(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _DivScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _EqualScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Greater(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _GreaterEqualScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _GreaterScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Greater_Equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Hypot(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _HypotScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Lesser(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _LesserEqualScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _LesserScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Lesser_Equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _LogicalAndScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _LogicalOrScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _LogicalXorScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Logical_And(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Logical_Or(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Logical_Xor(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Maximum(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _MaximumScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Minimum(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _MinimumScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Minus(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _MinusScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Mod(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _ModScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Mul(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _MulScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _NotEqualScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Not_Equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Plus(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _PlusScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _Power(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _PowerScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _RDivScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _RMinusScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _RModScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _RPowerScalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _adadelta_update(
    weight: NDArray,
    grad: NDArray,
    mean_square: NDArray,
    mean_step: NDArray,
    rho: float = 0.9,
    epsilon: float = 1e-05,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _adamax_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    largest: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    eta: float | None = None,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _add(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _arctan2(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _bitwise_and(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _bitwise_left_shift(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _bitwise_or(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _bitwise_right_shift(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _bitwise_xor(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _cond(
    *data: NDArray,
    num_outputs: int,
    cond_input_locs: Sequence[int],
    then_input_locs: Sequence[int],
    else_input_locs: Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def _copy(data: NDArray, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def _copysign(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _crop_assign(
    lhs: NDArray,
    rhs: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _crop_assign_scalar(
    data: NDArray,
    scalar: float = 0.0,
    begin: int | Sequence[int] | None = None,
    end: int | Sequence[int] | None = None,
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _cvcopyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _cvimdecode(
    buf: NDArray,
    flag: int = 1,
    to_rgb: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _cvimread(
    filename: str,
    flag: int = 1,
    to_rgb: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _cvimresize(
    src: NDArray,
    w: int,
    h: int,
    interp: int = 1,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _div(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _div_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _foreach(
    *data: NDArray,
    num_outputs: int,
    num_out_data: int,
    in_state_locs: Sequence[int],
    in_data_locs: Sequence[int],
    remain_locs: Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def _full(
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    value: float | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _gcd(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _grad_add(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _greater(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _greater_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _greater_equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _greater_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _histogram(
    data: NDArray,
    bins: NDArray | None = None,
    bin_cnt: int | None = None,
    range: Sequence[float] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def _hypot(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _hypot_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _identity_with_attr_like_rhs(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _lcm(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _lesser(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _lesser_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _lesser_equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _lesser_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _logical_and(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _logical_and_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _logical_or(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _logical_or_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _logical_xor(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _logical_xor_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _maximum(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _maximum_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _minimum(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _minimum_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _minus(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _minus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _mod(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _mod_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    eta: float | None = None,
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _mul(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _mul_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _multi_adamw_update(
    *data: NDArray,
    lrs: Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wds: Sequence[float],
    etas: Sequence[float],
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _multi_lamb_update(
    *data: NDArray,
    learning_rates: Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    wds: Sequence[float],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _multi_lars_rates(
    *data: NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _multi_mp_adamw_update(
    *data: NDArray,
    lrs: Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wds: Sequence[float],
    etas: Sequence[float],
    clip_gradient: float = -1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _multi_mp_lamb_update(
    *data: NDArray,
    learning_rates: Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    wds: Sequence[float],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _nadam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    grad_factor: float | None = None,
    mean_factor: float | None = None,
    variance_factor: float | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _not_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _not_equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _np_cumsum(
    a: NDArray,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _np_reshape(
    data: NDArray,
    newshape: int | Sequence[int],
    reverse: bool = False,
    order: str = "C",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_arctan2(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_bitwise_and(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_bitwise_left_shift(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_bitwise_or(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_bitwise_right_shift(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_bitwise_xor(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_copysign(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_gcd(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_lcm(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npi_reshape(
    data: NDArray,
    newshape: int | Sequence[int],
    reverse: bool = False,
    order: str = "C",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _npx_reshape(
    data: NDArray,
    newshape: int | Sequence[int],
    reverse: bool = False,
    order: str = "C",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _onehot_encode(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _ones(
    shape: int | Sequence[int] = (),
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _parallel_all_reduce(
    data: NDArray,
    group: str = "",
    partial_gradient: bool = True,
    training_only: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _parallel_all_to_all(
    data: NDArray,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    new_axis: int = 1,
    new_whole: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _parallel_gather(
    data: NDArray,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    partial_gradient: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _parallel_own(
    data: NDArray,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _parallel_reduce_scatter(
    data: NDArray,
    group: str = "",
    axis: int = 0,
    whole: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _parallel_share(
    data: NDArray,
    group: str = "",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _plus(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _plus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _power(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _power_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_negative_binomial(
    k: float = 1.0,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_dirichlet(
    sample: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_exponential(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_gamma(
    sample: NDArray,
    alpha: NDArray,
    beta: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_generalized_negative_binomial(
    sample: NDArray,
    mu: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_negative_binomial(
    sample: NDArray,
    k: NDArray,
    p: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_normal(
    sample: NDArray,
    mu: NDArray,
    sigma: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_poisson(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_pdf_uniform(
    sample: NDArray,
    low: NDArray,
    high: NDArray,
    is_log: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_randint(
    low: int,
    high: int,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _ravel_multi_index(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _rdiv_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _rminus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _rmod_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _rnn_param_concat(
    *data: NDArray,
    dim: int = 1,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _rpower_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_exponential(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_generalized_negative_binomial(
    mu: NDArray,
    alpha: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_multinomial(
    data: NDArray,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: DTypeLike = "int32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def _sample_negative_binomial(
    k: NDArray,
    p: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_normal(
    mu: NDArray,
    sigma: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_poisson(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_uniform(
    low: NDArray,
    high: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sample_unique_zipfian(
    range_max: int,
    shape: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def _scatter_elemwise_div(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _scatter_minus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _scatter_plus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _scatter_set_nd(
    lhs: NDArray,
    rhs: NDArray,
    indices: NDArray,
    shape: int | Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _set_value(
    src: Any = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _shuffle(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _slice_assign(
    lhs: NDArray,
    rhs: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _slice_assign_scalar(
    data: NDArray,
    scalar: float = 0.0,
    begin: int | Sequence[int] | None = None,
    end: int | Sequence[int] | None = None,
    step: int | Sequence[int] = (),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _split_v2(
    data: NDArray,
    indices: int | Sequence[int],
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _square_sum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _sub(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _unravel_index(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _while_loop(
    *data: NDArray,
    num_outputs: int,
    num_out_data: int,
    max_iterations: int,
    cond_input_locs: Sequence[int],
    func_input_locs: Sequence[int],
    func_var_locs: Sequence[int],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any: ...
def _zeros(
    shape: int | Sequence[int] = (),
    ctx: Context | str = "",
    dtype: DTypeLike = "float32",
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def _zeros_without_dtype(
    shape: int | Sequence[int] | None = None,
    ctx: Context | str = "",
    dtype: int = -1,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
